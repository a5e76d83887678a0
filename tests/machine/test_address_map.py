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

PAGES = {"slices": 96, "channels": 96, "banks": 32, "row_bytes": 2048, "slice_interleave_bytes": 512, "page_bytes": 4096,
         "shuffled_pages": 264, "stacks": 6}  # fmt: skip
TWO_SLICES = {"slices": 12, "channels": 6, "banks": 16, "row_bytes": 4096, "page_bytes": 1024, "shuffled_pages": 30, "stacks": 3}
SHUFFLED = [pytest.param(PAGES, id="h200"), pytest.param(PAGES | {"hash_banks": True}, id="hashed banks"),
            pytest.param(TWO_SLICES, id="two slices a channel")]  # fmt: skip

requests = new_requests()[0]


def place(map, address):
    requests.entry[0].address = address
    locate(map, requests, 0)
    request = requests.entry[0]
    return int(request.slice), int(request.bank), int(request.row), int(request.column)


@pytest.mark.parametrize("settings", [*MAPS, *SHUFFLED])
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


@pytest.mark.parametrize("settings", [*MAPS, *SHUFFLED])
def test_random_addresses_spread_evenly_over_slices(settings):
    map = new_map(settings)
    chance = np.random.default_rng(2)
    counts = np.bincount([place(map, int(address))[0] for address in chance.integers(0, 1 << 32, 500 * settings["slices"])])
    assert len(counts) == settings["slices"]
    assert counts.min() > 0.8 * counts.mean()


# Shuffled pages


@pytest.mark.parametrize("settings", SHUFFLED)
@pytest.mark.parametrize("times", [0, 1, 7])
def test_all_slices_have_as_many_of_the_shuffled_pages(settings, times):
    map, pages = new_map(settings), settings["shuffled_pages"]
    size, block = settings["page_bytes"], int(1 << int(map.interleave_shift))
    found = [place(map, address)[0] for address in range(times * pages * size, (times + 1) * pages * size, block)]
    assert set(np.bincount(found)) == {pages * size // block // settings["slices"]}


@pytest.mark.parametrize("settings", SHUFFLED)
def test_the_blocks_of_a_page_have_a_slice_each_of_one_group(settings):
    map, size = new_map(settings), settings["page_bytes"]
    blocks = size >> int(map.interleave_shift)
    for page in range(600):
        turns = []
        for block in range(blocks):
            slice = place(map, page * size + (block << int(map.interleave_shift)))[0]
            each = settings["slices"] // settings["channels"]
            turns.append(slice // each + slice % each * settings["channels"])
        assert len(set(turns)) == blocks
        assert len({turn // blocks for turn in turns}) == 1


def test_pages_of_one_stack_go_round_its_groups():
    """Of the 12 groups of 8 slices each stack has two."""
    map = new_map(PAGES)
    seen = {stack: [] for stack in range(6)}
    for page in range(264):
        group = place(map, 4096 * page)[0] // 8
        seen[group // 2].append(group % 2)
    assert all(groups == [0, 1] * 22 for groups in seen.values())


def test_pages_that_lie_a_power_of_two_apart_are_in_all_stacks_and_begin_in_any_slice():
    map = new_map(PAGES)
    for stride in (1 << 12, 1 << 14, 1 << 19, 1 << 20, 1 << 21, 1 << 24):
        slices = np.array([place(map, stride * step)[0] for step in range(480)])
        assert np.bincount(slices // 16, minlength=6).max() < 1.4 * 80
        assert np.bincount(slices % 8, minlength=8).max() < 1.6 * 60


@pytest.mark.parametrize("block", range(8))
def test_the_same_block_of_all_pages_is_in_all_slices_as_often(block):
    """Of 264 pages each group of slices has 22: a slice has two or three of them first."""
    map = new_map(PAGES)
    counts = np.bincount([place(map, 4096 * page + 512 * block)[0] for page in range(264)], minlength=96)
    assert set(counts) == {2, 3}


@pytest.mark.parametrize("slices", [1, 2, 8])
def test_pages_of_few_slices_are_in_all_of_them_as_without(slices):
    few = PAGES | {"slices": slices, "channels": slices}
    plain = few | {"page_bytes": 0}
    places = [(place(new_map(few), address), place(new_map(plain), address)) for address in range(0, 1 << 20, 4000)]
    assert all(found == expected for found, expected in places)


@pytest.mark.parametrize(("slices", "stacks"), [(16, 2), (24, 3), (32, 4), (48, 6)])
def test_a_machine_of_fewer_groups_than_stacks_has_a_group_in_each(slices, stacks):
    map = new_map(PAGES | {"slices": slices, "channels": slices})
    found = [place(map, 4096 * page)[0] // 8 for page in range(264)]
    assert np.bincount(found).tolist() == [264 // stacks] * stacks


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"page_bytes": 3000}, "address_map.page_bytes = 3000: must be 0, or a power of two whose blocks divide the 96 slices"),
        ({"page_bytes": 256}, "address_map.page_bytes = 256: must be 0, or a power of two"),
        ({"page_bytes": 32768}, "address_map.page_bytes = 32768: must be 0, or a power of two whose blocks divide the 96 slices"),
        ({"shuffled_pages": 100}, "address_map.shuffled_pages = 100: must be a multiple of the 12 groups of slices"),
        ({"shuffled_pages": 0}, "address_map.shuffled_pages = 0: must be a multiple of the 12 groups of slices"),
        ({"shuffled_pages": 1200}, "address_map.shuffled_pages = 1200: must be a multiple .* at most 512"),
        ({"stacks": 5}, "address_map.stacks = 5: must be a divisor of the 12 groups of slices"),
    ],
)
def test_impossible_pages_are_refused_by_name(changes, message):
    with pytest.raises(SimtlabError, match=message):
        new_map(PAGES | changes)


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
