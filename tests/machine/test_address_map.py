"""Does every address live in exactly one place, do places fill evenly, and do neighbours share rows?"""

import numpy as np
import pytest

from simtlab.errors import SimtlabError
from simtlab.machine.memory.address_map import address_of, locate, new_map
from simtlab.machine.request import new_requests

FERMI = {"slices": 12, "channels": 6, "banks": 16, "row_bytes": 4096}
DYNCTA = {"slices": 8, "channels": 8, "banks": 4, "row_bytes": 2048}
ONE = {"slices": 1, "channels": 1, "banks": 8, "row_bytes": 1024}
HASHES = [{}, {"hash_banks": True}, {"hash_slices": True}, {"hash_banks": True, "hash_slices": True}]
MAPS = [pytest.param(base | hashes, id=f"{name}-{'-'.join(hashes) or 'plain'}")
        for name, base in (("fermi", FERMI), ("dyncta", DYNCTA), ("one", ONE)) for hashes in HASHES]  # fmt: skip

requests = new_requests()[0]


def place(map, address):
    requests.entry[0].address = address
    locate(map, requests, 0)
    request = requests.entry[0]
    return int(request.slice), int(request.bank), int(request.row), int(request.column)


@pytest.mark.parametrize("settings", MAPS)
def test_every_address_has_a_place_of_its_own_and_back(settings):
    map = new_map(settings)
    chance = np.random.default_rng(1)
    addresses = [*range(0, 1 << 20, 509), *(int(address) for address in chance.integers(0, 1 << 36, 2000))]
    places = {place(map, address): address for address in addresses}
    assert len(places) == len(set(addresses))
    for (slice, bank, row, column), address in places.items():
        assert address_of(map, slice, bank, row, column) == address
        assert slice < settings["slices"]
        assert bank < settings["banks"]
        assert column < settings["row_bytes"]


@pytest.mark.parametrize("settings", MAPS)
def test_whole_rows_of_all_banks_are_used_up_without_gaps(settings):
    map = new_map(settings)
    rows = 2
    size = settings["channels"] * settings["banks"] * settings["row_bytes"] * rows
    places = {place(map, address) for address in range(0, size, 256)}
    share = settings["slices"] // settings["channels"]
    expected = {
        (slice, bank, row, column)
        for slice in range(settings["slices"])
        for bank in range(slice % share, settings["banks"], share)
        for row in range(rows)
        for column in range(0, settings["row_bytes"], 256)
    }
    assert places == expected


def test_256_byte_blocks_go_round_the_channels_then_to_their_other_slices():
    map = new_map(FERMI)
    slices = [place(map, 256 * block)[0] for block in range(14)]
    assert slices == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11, 0, 2]
    assert place(map, 255)[0] == 0
    assert int(requests.entry[0].channel) == 0
    assert place(map, 256 * 7)[0] == 3
    assert int(requests.entry[0].channel) == 1


@pytest.mark.parametrize("settings", MAPS)
def test_consecutive_blocks_of_a_slice_fill_a_row_before_they_go_on(settings):
    map = new_map(settings)
    blocks = settings["row_bytes"] // 256
    seen = []
    for block in range(4 * blocks * settings["slices"]):
        slice, bank, row, column = place(map, 256 * block)
        if slice == 0:
            seen.append((bank, row, column))
    pages = [seen[first : first + blocks] for first in range(0, len(seen), blocks)]
    for page in pages:
        assert len({(bank, row) for bank, row, _ in page}) == 1
        assert [column for _, _, column in page] == list(range(0, settings["row_bytes"], 256))
    assert len({page[0][:2] for page in pages}) == len(pages) == 4


def test_the_two_slices_of_a_channel_have_banks_of_their_own():
    map = new_map(FERMI)
    for block in range(5000):
        slice, bank, _, _ = place(map, 256 * block)
        assert bank % 2 == slice % 2


def spread(settings, stride, part):
    map = new_map(settings)
    found = [place(map, stride * step)[part] for step in range(960)]
    return np.bincount(found, minlength=1)


def test_hashing_spreads_a_stride_that_falls_on_one_slice():
    assert spread(FERMI, 12 * 256, 0).max() == 960
    for stride in (12 * 256, 12 * 12 * 256, 8192):
        assert spread(FERMI | {"hash_slices": True}, stride, 0).max() <= 1.5 * 960 / 12


def test_hashing_spreads_a_stride_that_falls_on_one_bank():
    stride = 8 * 4 * 2048  # every slice's whole set of banks
    assert spread(DYNCTA, stride, 1).max() == 960
    assert spread(DYNCTA | {"hash_banks": True}, stride, 1).max() <= 1.2 * 960 / 4


@pytest.mark.parametrize("settings", MAPS)
def test_random_addresses_spread_evenly_over_slices(settings):
    map = new_map(settings)
    chance = np.random.default_rng(2)
    counts = np.bincount([place(map, int(address))[0] for address in chance.integers(0, 1 << 32, 6000)])
    assert len(counts) == settings["slices"]
    assert counts.min() > 0.8 * counts.mean()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slices": 13}, "address_map.slices = 13: must be a multiple of the 6 channels"),
        ({"banks": 15}, "address_map.banks = 15: must be a multiple of 2"),
        ({"banks": 64}, "address_map.banks = 64: must be 1 to 32"),
        ({"row_bytes": 3000}, "address_map.row_bytes = 3000: must be a power of two"),
        ({"slice_interleave_bytes": 100}, "address_map.slice_interleave_bytes = 100: must be a power of two"),
        ({"colour": 1}, "address_map.colour: no such setting"),
    ],
)
def test_impossible_settings_are_refused_by_name(changes, message):
    with pytest.raises(SimtlabError, match=message):
        new_map(FERMI | changes)


def test_a_missing_setting_is_named():
    with pytest.raises(SimtlabError, match=r"address_map\.banks is missing"):
        new_map({key: value for key, value in FERMI.items() if key != "banks"})
