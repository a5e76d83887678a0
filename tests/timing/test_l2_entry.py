"""What happens between a core and an L2 slice of an H200: sectors of a line in one packet, reads coalesced at the slice, the way
between the halves of the chip, stores that are combined. Cores that execute PTX, CTAs of one warp each, caches cold."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing.machines import kernel

SECTORS = 4  # of a line of 128 bytes
OFF = {
    "network.coalescing_cores": 0, "network.packet_sectors": 1, "l2.sectors_per_cycle": 1, "l2.coalesced_reads": 1,
    "l2.parts": 1, "l1d.store_combining_cycles": 0, "dram.t_refi": 0, "core.isa": "ptx", "l1i.ideal": True,
}  # fmt: skip
ADDRESS = "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d1, %d3;\n"
OWN = "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1; mul.wide.u32 %d5, %r3, 4; add.u64 %d5, %d5, %d2;\n"
READ = "ld.global.u32 %r4, [%d4];\nst.global.u32 [%d5], %r4;\n"
WAIT = "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra G;\nmov.u32 %r9, 0;\nW: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 400;\n@%p2 bra W;\n"
LATE = WAIT + "G: " + READ  # all CTAs but the first, when its data are there


def machine(cores: int = 1, **changes) -> sl.Gpu:
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    return sl.Gpu("h200", set=OFF | {"core.cores": cores} | changed, memory_bytes=1 << 24)


def ran(device: sl.Gpu, body: str, ctas: int = 1) -> tuple[dict[str, int], np.ndarray]:
    """The counters of a kernel whose threads have their place in a line in %d4 and one of their own in %d5, and what it wrote."""
    line, out = device.array(np.arange(7, 71, dtype="u4")), device.zeros((ctas, 32), "u4")
    run = kernel(device, ADDRESS + OWN + body)(ctas, 32, [line, out])
    return {"cycles": run.cycles, **run.counters}, out.numpy()


# Sectors of a line in one packet ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sectors", "packets"), [(1, 4), (2, 2), (3, 2), (4, 1), (8, 1)])
def test_the_sectors_of_a_line_are_asked_for_with_one_packet(sectors, packets):
    """And a store of 32 lanes is as many more, of a flit for each sector."""
    found, written = ran(machine(network__packet_sectors=sectors), READ)
    assert found["request_packets"] == 2 * packets
    assert found["request_flits"] == packets + SECTORS
    assert found["l2_accesses"] == 2 * SECTORS
    assert (written == np.arange(7, 39)).all()


def test_reads_of_two_lines_are_two_packets():
    two = "ld.global.v2.u32 {%r4, %r5}, [%d6];\nadd.u32 %r4, %r4, %r5;\nst.global.u32 [%d5], %r4;\n"
    found, _ = ran(machine(network__packet_sectors=8), "add.u64 %d6, %d4, %d3;\n" + two)
    assert found["request_packets"] == 2 + 1
    assert found["l1_misses"] == 2 * SECTORS


def test_answers_that_are_there_together_travel_together():
    """The second core reads what the L2 has: at a sector a cycle each is a packet, at two a cycle two are."""
    one, two = (ran(machine(2, network__packet_sectors=4, l2__sectors_per_cycle=rate), LATE, ctas=2)[0] for rate in (1, 2))
    assert one["l2_hits"] == two["l2_hits"] == SECTORS
    assert one["reply_packets"] - two["reply_packets"] == 2


# A slice's sectors in a cycle ---------------------------------------------------------------------------------------------


def test_a_line_takes_two_cycles_where_a_slice_gives_two_sectors_of_it():
    """The second core reads a line that the first has brought into the L2."""
    took = {}
    for rate in (1, 2, 4):
        found, _ = ran(machine(2, network__packet_sectors=4, network__flit_bytes=256, l2__sectors_per_cycle=rate), LATE, ctas=2)
        assert found["l2_hits"] == SECTORS
        took[rate] = found["cycles"]
    assert took[1] > took[2] > took[4]


# Reads that wait at a slice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("together", "lookups"), [(1, 4), (2, 2), (3, 2), (4, 1), (16, 1)])
def test_reads_of_one_sector_that_wait_together_are_looked_up_once(together, lookups):
    found, written = ran(machine(4, l2__coalesced_reads=together, l2__coalescing_cycles=64), READ, ctas=4)
    assert found["l2_accesses"] - found["l2_writes"] == SECTORS * lookups
    assert found["l2_coalesced"] == SECTORS * (4 - lookups)
    assert found["round_trips"] == SECTORS * 4
    assert (written == np.arange(7, 39)).all()


def test_a_read_that_comes_later_is_looked_up_by_itself():
    """Four cores start in the cycles behind each other."""
    found, _ = ran(machine(4, l2__coalesced_reads=4, l2__coalescing_cycles=0, core__cta_starts_per_1000_cycles=10), READ, ctas=4)
    assert found["l2_coalesced"] == 0


def test_what_is_not_among_those_compared_is_looked_up_by_itself():
    found, _ = ran(machine(4, l2__coalesced_reads=4, l2__coalescing_cycles=64, l2__coalescing_entries=0), READ, ctas=4)
    assert found["l2_coalesced"] == 0


# The halves of the chip -----------------------------------------------------------------------------------------------------

PLACES = [512 * block for block in (0, 5, 17, 30, 48, 61, 77, 90)]  # of both halves


def chased(device: sl.Gpu, offset: int) -> int:
    """Cycles of a kernel whose one thread loads a word, the second time that it runs."""
    array = device.zeros(1 << 16, "u4")
    made = kernel(device, f"ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1+{offset}];\nadd.u32 %r2, %r1, 1;\n")
    return [made(1, 1, [array, array]).cycles for _ in range(2)][1]


@pytest.mark.parametrize("crossing", [0, 1, 64])
def test_a_slice_of_the_other_half_is_so_much_farther(crossing):
    """Of eight slices some are in the half of the core, some are not."""
    device = machine(l2__parts=2, l2__crossing_cycles=crossing)
    found = {chased(device, place) for place in PLACES}
    near = min(found)
    assert found == {near, near + crossing}


def missed(device: sl.Gpu, offset: int) -> int:
    """Cycles of a kernel whose one thread loads a word that the L2 does not have."""
    array = device.zeros(1 << 16, "u4")
    made = kernel(device, f"ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1+{offset}];\nadd.u32 %r2, %r1, 1;\n")
    device.machine.reset()
    return made(1, 1, [array, array]).cycles


@pytest.mark.parametrize("crossing", [0, 1, 121])
def test_a_miss_of_the_other_half_goes_a_longer_way_once_more(crossing):
    device = machine(l2__parts=2, l2__crossing_cycles=64, l2__miss_crossing_cycles=crossing)
    found = {missed(device, place) for place in PLACES}
    near = min(found)
    assert found - {near} <= {near + 64 + crossing, near + 64 + crossing + 1}  # DRAM has another clock
    assert len(found) == 2


def test_hits_do_not_go_the_way_of_misses():
    found = [{chased(machine(l2__parts=2, l2__miss_crossing_cycles=more), place) for place in PLACES} for more in (0, 121)]
    assert found[0] == found[1]


def test_in_one_part_no_miss_has_a_longer_way():
    device = machine(l2__parts=1, l2__miss_crossing_cycles=121)
    assert len({missed(device, place) for place in PLACES}) == 1


def test_in_one_part_all_slices_are_as_far():
    device = machine(l2__parts=1, l2__crossing_cycles=64)
    assert len({chased(device, place) for place in PLACES}) == 1


# Stores that leave a core together --------------------------------------------------------------------------------------------


def stores(count: int, between: str = "") -> str:
    """A warp writes to four sectors so many times."""
    return between.join("st.global.u32 [%d5], %r1;\n" for _ in range(count))


@pytest.mark.parametrize(("cycles", "writes"), [(0, 16), (200, 4)])
def test_stores_to_a_sector_within_some_cycles_are_one_write(cycles, writes):
    found, written = ran(machine(l1d__store_combining_cycles=cycles), stores(4))
    assert (found["l2_writes"], found["stores_combined"]) == (writes, 16 - writes)
    assert (written == np.arange(32)).all()


def test_a_store_that_comes_later_is_a_write_of_its_own():
    wait = "mov.u32 %r9, 0;\nW: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, 100;\n@%p2 bra W;\n"
    found, _ = ran(machine(l1d__store_combining_cycles=50), stores(2, wait))
    assert (found["l2_writes"], found["stores_combined"]) == (8, 0)


def test_stores_of_two_cores_are_never_combined():
    found, _ = ran(machine(2, l1d__store_combining_cycles=200), "st.global.u32 [%d4], %r1;\n", ctas=2)
    assert (found["l2_writes"], found["stores_combined"]) == (8, 0)


def test_the_l2_has_all_words_of_stores_that_were_combined():
    """Even lanes write, then odd ones: the sectors are whole, and reading them from another core needs no DRAM."""
    halves = "and.b32 %r8, %r1, 1;\nsetp.eq.u32 %p1, %r8, 0;\n@%p1 st.global.u32 [%d4], %r1;\n@!%p1 st.global.u32 [%d4], %r1;\n"
    read = "membar.gl;\nld.global.cg.u32 %r4, [%d4];\nst.global.u32 [%d5], %r4;\n"
    found, written = ran(machine(l1d__store_combining_cycles=200, l1d__enabled=False), halves + read)
    assert found["stores_combined"] == SECTORS
    assert found["l2_misses"] == 0
    assert (written == np.arange(32)).all()
