"""Where an address lives: its L2 slice, DRAM channel, bank, row and column.

Blocks of `slice_interleave_bytes` go round the slices. What a slice sees, its blocks put side by side, fills a row of one
of its banks, then a row of its next bank, then the next row. This is the Fermi mapping of GPGPU-Sim's GTX 480
configuration (`dramid@8;…RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS`: 256-byte blocks, the channels first, the lowest bank bit choosing
between a channel's two slices), written as arithmetic so that the number of channels need not be a power of two.

Optional hashing spreads strides that would fall on one slice or bank: the slice number, or the bank number, is combined
with the higher part of the address, by exclusive or where their number is a power of two (permutation-based interleaving:
Zhang, Zhu, Zhang, MICRO 2000), else by addition modulo it. Either keeps the mapping one to one.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simtlab.compiled import compiled
from simtlab.errors import SimtlabError
from simtlab.machine.limits import MAX_DRAM_BANKS, MAX_PORTS

HASH_DIGITS = 3  # how many digits (to the base of what is hashed) of the higher part take part; chosen
LOWER_BITS = (1 << 31) - 1  # of a row's number: what a request has room for

address_map_t = np.dtype(
    [
        ("slices", "i8"),
        ("channels", "i8"),
        ("slices_per_channel", "i8"),
        ("banks_per_slice", "i8"),  # a channel's banks are dealt out to its slices
        ("bank_shift", "i8"),  # of banks_per_slice if that is a power of two, else -1
        ("interleave_shift", "i8"),
        ("row_shift", "i8"),
        ("hash_slices", "i8"),
        ("hash_banks", "i8"),
        ("channel", "i2", (MAX_PORTS,)),  # which channel is whose turn, …
        ("share", "i2", (MAX_PORTS,)),  # … and which of its slices
    ],
    align=True,
)

_DEFAULTS: dict[str, Any] = {"slice_interleave_bytes": 256, "hash_slices": False, "hash_banks": False}  # 256: dramid@8
_KEYS = ("slices", "channels", "banks", "row_bytes", *_DEFAULTS)


def configure(map: Any, settings: Mapping[str, Any]) -> None:
    """Fill a map from `slices`, `channels`, `banks` (of a channel), `row_bytes`, and optionally the keys of the defaults."""
    values = _checked(settings)
    slices_per_channel = values["slices"] // values["channels"]
    map.slices = values["slices"]
    map.channels = values["channels"]
    map.slices_per_channel = slices_per_channel
    banks_per_slice = values["banks"] // slices_per_channel
    map.banks_per_slice = banks_per_slice
    map.bank_shift = banks_per_slice.bit_length() - 1 if banks_per_slice & (banks_per_slice - 1) == 0 else -1
    map.interleave_shift = values["slice_interleave_bytes"].bit_length() - 1
    map.row_shift = values["row_bytes"].bit_length() - 1
    map.hash_slices = bool(values["hash_slices"])
    map.hash_banks = bool(values["hash_banks"])
    turns = np.arange(map.slices)
    map.channel[: map.slices], map.share[: map.slices] = turns % map.channels, turns // map.channels


def new_map(settings: Mapping[str, Any]) -> Any:
    """A map of its own, configured."""
    map = np.zeros(1, address_map_t).view(np.recarray)[0]
    configure(map, settings)
    return map


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    for key in settings:
        if key not in _KEYS:
            raise SimtlabError(f"address_map.{key}: no such setting; known are {', '.join(sorted(_KEYS))}")
    for key in _KEYS:
        if key not in settings and key not in _DEFAULTS:
            raise SimtlabError(f"address_map.{key} is missing")
    values = _DEFAULTS | dict(settings)
    channels, slices, banks = values["channels"], values["slices"], values["banks"]
    _require(values, "channels", channels >= 1, "1 or more")
    _require(values, "slices", slices >= 1 and slices % channels == 0, f"a multiple of the {channels} channels")
    _require(values, "slices", slices <= MAX_PORTS, f"at most {MAX_PORTS}")
    each = slices // channels
    _require(values, "banks", 1 <= banks <= MAX_DRAM_BANKS, f"1 to {MAX_DRAM_BANKS}")
    _require(values, "banks", banks % each == 0, f"a multiple of {each}, the slices of a channel")
    for key in ("slice_interleave_bytes", "row_bytes"):
        _require(values, key, values[key] >= 1 and values[key] & (values[key] - 1) == 0, "a power of two")
    return values


def _require(values: Mapping[str, Any], key: str, holds: bool, allowed: str) -> None:
    if not holds:
        raise SimtlabError(f"address_map.{key} = {values[key]!r}: must be {allowed}")


@compiled
def locate(map, requests, number):
    """Set the slice, channel, bank, row and column (the byte within the row) of a request from its address."""
    request = requests.entry[number]
    slices, banks = np.uint64(map.slices), np.uint64(map.banks_per_slice)
    blocks = np.uint64(request.address >> map.interleave_shift)  # unsigned: dividing is simpler
    turn = np.int64(blocks % slices)
    block = np.int64(blocks // slices)
    if map.hash_slices:
        turn = hashed(turn, block, map.slices)
    own = (block << map.interleave_shift) | (request.address & ((1 << map.interleave_shift) - 1))
    page = own >> map.row_shift
    if map.bank_shift >= 0:
        row, bank = page >> map.bank_shift, page & ((1 << map.bank_shift) - 1)
    else:
        row, bank = np.int64(np.uint64(page) // banks), np.int64(np.uint64(page) % banks)
    if map.hash_banks:
        bank = hashed(bank, row, map.banks_per_slice)
    share = map.share[turn]
    request.channel = map.channel[turn]
    request.slice = request.channel * map.slices_per_channel + share
    request.bank = bank * map.slices_per_channel + share
    request.row = row & LOWER_BITS
    request.column = own & ((1 << map.row_shift) - 1)


@compiled
def hashed(index, upper, count):
    """Another index under `count`: for each value of `upper`, a permutation of the indices."""
    is_power_of_two = count & (count - 1) == 0
    for _ in range(HASH_DIGITS):
        if is_power_of_two:
            index ^= upper % count
        else:
            index = (index + upper) % count
        upper //= count
    return index


def unhashed(index: int, upper: int, count: int) -> int:
    """The index that `hashed` moved to `index`."""
    for _ in range(HASH_DIGITS):
        index = index ^ upper % count if count & (count - 1) == 0 else (index - upper) % count
        upper //= count
    return index


def address_of(map: Any, slice: int, bank: int, row: int, column: int) -> int:
    """The address that `locate` maps to a slice's bank, row and column."""
    slices_per_channel, banks = int(map.slices_per_channel), int(map.banks_per_slice)
    bank = bank // slices_per_channel
    if map.hash_banks:
        bank = unhashed(bank, row, banks)
    own = ((row * banks + bank) << int(map.row_shift)) | column
    block = own >> int(map.interleave_shift)
    turn = slice // slices_per_channel + slice % slices_per_channel * int(map.channels)
    if map.hash_slices:
        turn = unhashed(turn, block, int(map.slices))
    block = block * int(map.slices) + turn
    return (block << int(map.interleave_shift)) | (own & ((1 << int(map.interleave_shift)) - 1))
