"""Where an address lives: its L2 slice, DRAM channel, bank, row and column.

Blocks of `slice_interleave_bytes` go round the slices. What a slice sees, its blocks put side by side, fills a row of one
of its banks, then a row of its next bank, then the next row. This is the Fermi mapping of GPGPU-Sim's GTX 480
configuration (`dramid@8;…RRRR.RRRRRRRR.BBBCCCCB.CCSSSSSS`: 256-byte blocks, the channels first, the lowest bank bit choosing
between a channel's two slices), written as arithmetic so that the number of channels need not be a power of two.

Optional hashing spreads strides that would fall on one slice or bank: the slice number, or the bank number, is combined
with the higher part of the address, by exclusive or where their number is a power of two (permutation-based interleaving:
Zhang, Zhu, Zhang, MICRO 2000), else by addition modulo it. Either keeps the mapping one to one.

With `page_bytes`, blocks do not go round all slices. A page is in one of `stacks` of memory, and which one is next looks like
chance; its blocks go round one of the stack's groups of slices, the next page in the stack to its next group. So it is on an H200:
of as many consecutive bytes as are under way at a time, some slices have a quarter more than others. Every `shuffled_pages` pages
all slices have had as many. This mapping is one to one too.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from simtlab.compiled import compiled
from simtlab.errors import SimtlabError
from simtlab.machine.limits import MAX_DRAM_BANKS, MAX_PORTS, MAX_SHUFFLED_PAGES

HASH_DIGITS = 3  # how many digits (to the base of what is hashed) of the higher part take part; chosen
LOWER_BITS = (1 << 31) - 1  # of a row's number: what a request has room for
TURN = 29  # places by which the next shuffled pages begin later in the same order; chosen

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
        ("page_shift", "i8"),  # of pages that are shuffled, or -1
        ("shuffled_pages", "i8"),
        ("pages_per_group", "i8"),  # of the shuffled ones
        ("group", "u1", (MAX_SHUFFLED_PAGES,)),  # of slices, that has a page, …
        ("rank", "u1", (MAX_SHUFFLED_PAGES,)),  # … and which of its pages that is,
        ("first", "u1", (MAX_SHUFFLED_PAGES,)),  # … and by which slice of the group it begins
        ("channel", "i2", (MAX_PORTS,)),  # which channel is whose turn, …
        ("share", "i2", (MAX_PORTS,)),  # … and which of its slices
    ],
    align=True,
)

_DEFAULTS: dict[str, Any] = {"slice_interleave_bytes": 256, "hash_slices": False, "hash_banks": False,
                             "page_bytes": 0, "shuffled_pages": 0, "stacks": 1}  # 256: dramid@8  # fmt: skip
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
    map.page_shift = -1
    if 0 < _blocks(values) < map.slices:
        _shuffle(map, values)
    turns = np.arange(map.slices)
    map.channel[: map.slices], map.share[: map.slices] = turns % map.channels, turns // map.channels


def _shuffle(map: Any, values: Mapping[str, Any]) -> None:
    """Give each of the pages a group of slices, and count the pages of each."""
    pages, groups = values["shuffled_pages"], values["slices"] // _blocks(values)
    stacks = min(values["stacks"], groups)
    map.page_shift = values["page_bytes"].bit_length() - 1
    map.shuffled_pages, map.pages_per_group = pages, pages // groups
    each, given = groups // stacks, np.zeros(stacks, np.int64)
    for page, number in enumerate(sorted(range(pages), key=_mixed)):
        stack = number % stacks
        map.group[page], map.rank[page] = stack * each + given[stack] % each, given[stack] // each
        map.first[page] = map.rank[page] % _blocks(values)
        given[stack] += 1


def _blocks(values: Mapping[str, Any]) -> int:
    """Of a page that is in slices of one group. In a machine of no more slices it is in all of them, whichever page it is."""
    return int(values["page_bytes"] // values["slice_interleave_bytes"])


def _mixed(number: int) -> int:
    """A number of 32 bits that looks like chance (MurmurHash3's last steps)."""
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        number = (number ^ number >> shift) * factor & 0xFFFFFFFF
    return number ^ number >> 16


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
    if values["page_bytes"]:
        blocks = _blocks(values)
        dividing = blocks > 0 and values["page_bytes"] & (values["page_bytes"] - 1) == 0 and slices % min(blocks, slices) == 0
        _require(values, "page_bytes", dividing, f"0, or a power of two whose blocks divide the {slices} slices")
        pages, groups = values["shuffled_pages"], max(slices // blocks, 1)
        _require(values, "shuffled_pages", 0 < pages <= MAX_SHUFFLED_PAGES and pages % groups == 0,
                 f"a multiple of the {groups} groups of slices, at most {MAX_SHUFFLED_PAGES}")  # fmt: skip
        _require(values, "stacks", groups % min(values["stacks"], groups) == 0, f"a divisor of the {groups} groups of slices")
    return values


def _require(values: Mapping[str, Any], key: str, holds: bool, allowed: str) -> None:
    if not holds:
        raise SimtlabError(f"address_map.{key} = {values[key]!r}: must be {allowed}")


@compiled
def locate(map, requests, number):
    """Set the slice, channel, bank, row and column (the byte within the row) of a request from its address."""
    request = requests.entry[number]
    banks = np.uint64(map.banks_per_slice)
    turn, block = shuffled(map, request.address) if map.page_shift >= 0 else interleaved(map, request.address)
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
def interleaved(map, address):
    """Whose turn of the slices a block is, and which of the slice's blocks."""
    slices, blocks = np.uint64(map.slices), np.uint64(address >> map.interleave_shift)  # unsigned: dividing is simpler
    turn = np.int64(blocks % slices)
    block = np.int64(blocks // slices)
    if map.hash_slices:
        turn = hashed(turn, block, map.slices)
    return turn, block


@compiled
def shuffled(map, address):
    """The same where pages are shuffled."""
    page, pages = np.uint64(address >> map.page_shift), np.uint64(map.shuffled_pages)
    times = np.int64(page // pages)
    place = np.int64((page + np.uint64(TURN * times)) % pages)
    shift = map.page_shift - map.interleave_shift
    member = (np.int64(map.first[place]) ^ (address >> map.interleave_shift)) & ((1 << shift) - 1)
    turn = (np.int64(map.group[place]) << shift) | member
    return turn, times * map.pages_per_group + map.rank[place]


def unshuffled(map: Any, turn: int, block: int) -> int:
    """The first address of a block that `shuffled` gives this turn and number."""
    shift, pages = int(map.page_shift - map.interleave_shift), int(map.shuffled_pages)
    times, rank = divmod(block, int(map.pages_per_group))
    (place,) = np.flatnonzero((map.group[:pages] == turn >> shift) & (map.rank[:pages] == rank))
    page = times * pages + (int(place) - (TURN + pages) * times) % pages
    member = (turn ^ int(map.first[place])) & ((1 << shift) - 1)
    return page << int(map.page_shift) | member << int(map.interleave_shift)


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
    if map.page_shift >= 0:
        return unshuffled(map, turn, block) | (own & ((1 << int(map.interleave_shift)) - 1))
    if map.hash_slices:
        turn = unhashed(turn, block, int(map.slices))
    block = block * int(map.slices) + turn
    return (block << int(map.interleave_shift)) | (own & ((1 << int(map.interleave_shift)) - 1))
