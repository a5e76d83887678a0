"""What an H200's memory does that older presets' does not, one mechanism a test: one core that executes PTX, caches cold."""

import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from simtlab.machine.config import load as config
from tests.timing.machine_code import machine, ran, stamp
from tests.timing.test_l1 import address, counted, then

BARRIER, ARRIVAL = 11, 2  # core.barrier_cycles, core.barrier_arrival_cycles


def h200(**changes) -> sl.Gpu:
    changed = {key.replace("__", "."): value for key, value in changes.items()}
    usual = {"core.cores": 1, "core.isa": "ptx", "l1i.ideal": True}
    return sl.Gpu("h200", set=usual | changed, memory_bytes=1 << 26)


@pytest.fixture(scope="module")
def device():
    return h200()


# The L1 knows which words were written ------------------------------------------------------------------------------------


def store(lanes: int) -> str:
    return f"setp.lt.u32 %p1, %r1, {lanes};\n" + address(4) + "@%p1 st.global.u32 [%d2], %r1;\nmembar.gl;\n"


def load(first: int, last: int) -> str:
    lanes = f"setp.ge.u32 %p2, %r1, {first};\nsetp.le.and.u32 %p2, %r1, {last}, %p2;\n"
    return lanes + "@%p2 ld.global.u32 %r10, [%d2];\n" + then(10)


@pytest.mark.parametrize(
    ("lanes", "read", "hits", "misses"),
    [
        (5, (0, 4), 1, 0),  # the words that were written
        (5, (2, 3), 1, 0),
        (5, (0, 5), 0, 1),  # one that was not
        (5, (5, 7), 0, 1),
        (5, (8, 8), 0, 1),  # another sector of the line
        (13, (0, 12), 2, 0),  # a whole sector and a part of one
        (13, (0, 31), 1, 3),
    ],
)
def test_a_load_hits_words_that_a_partial_store_wrote_and_misses_the_others(device, lanes, read, hits, misses):
    found = counted(device, store(lanes) + load(*read))
    assert (found["l1_hits"], found["l1_misses"]) == (hits, misses)


def test_without_a_mask_of_words_a_sector_in_part_misses():
    found = counted(h200(l1d__hits_written_words=False), store(5) + load(0, 4))
    assert (found["l1_hits"], found["l1_misses"]) == (0, 1)


def test_a_mask_of_words_needs_sectors_that_it_covers():
    """The mask that a load carries is of 32 bytes: it would take words beyond for written."""
    with pytest.raises(ConfigError, match=r"l1d\.sector_bytes = 128 is impossible: l1d\.hits_written_words has a mask for 32"):
        config("caps-gtx480").replace({"l1d.hits_written_words": True})


# The L2 reads 64 bytes at a time --------------------------------------------------------------------------------------------


def loads_of(*sectors: int) -> str:
    return "".join(f"ld.global.u32 %r10, [%d1+{32 * sector}];\n" + then(10) for sector in sectors)


@pytest.mark.parametrize(
    ("sectors", "misses", "bursts"),
    [((0,), 1, 2), ((1,), 1, 2), ((0, 1), 1, 2), ((1, 0), 1, 2), ((1, 2), 2, 4), ((0, 1, 2, 3), 2, 4)],
)
def test_a_miss_brings_its_neighbour_sector(sectors, misses, bursts):
    """A burst is 32 bytes; blocks of 64 begin at even sectors."""
    found = counted(h200(), loads_of(*sectors), threads=1)
    assert (found["l2_misses"], found["l2_hits"]) == (misses, len(sectors) - misses)
    assert found["dram_read_accesses"] == bursts


def test_a_miss_without_a_block_brings_what_it_wants():
    found = counted(h200(l2__fetch_bytes=0), loads_of(0, 1), threads=1)
    assert (found["l2_misses"], found["l2_hits"], found["dram_read_accesses"]) == (2, 0, 2)


def test_a_block_longer_than_a_line_is_refused():
    with pytest.raises(ConfigError, match=r"l2\.fetch_bytes = 256 is impossible: it may be at most l2\.line_bytes \(128\)"):
        config("h200").replace({"l2.fetch_bytes": 256})


# Atomics ---------------------------------------------------------------------------------------------------------------------


def add(lanes: int, stride: int) -> str:
    return f"setp.lt.u32 %p1, %r1, {lanes};\n" + address(stride) + "@%p1 red.global.add.u32 [%d2], 1;\n"


@pytest.mark.parametrize(
    ("lanes", "stride", "accesses"),
    [(1, 0, 1), (7, 0, 7), (32, 0, 32), (8, 4, 1), (32, 4, 4), (32, 128, 32)],
)
def test_lanes_of_an_atomic_on_one_address_make_an_access_each(device, lanes, stride, accesses):
    """Those on words of one sector go together."""
    found = counted(device, add(lanes, stride))
    assert found["l1_accesses"] == found["l2_atomics"] == accesses


def test_lanes_on_one_address_go_together_where_atomics_are_not_by_lane():
    found = counted(h200(l1d__atomics_by_lane=False), add(32, 0))
    assert found["l1_accesses"] == found["l2_atomics"] == 1


# A CTA's barrier ----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def of_machine_code():
    return machine()


@pytest.mark.parametrize("warps", [1, 2, 4, 8, 16, 20])
def test_a_barrier_takes_its_own_time_and_that_of_each_arrival(of_machine_code, warps):
    """The first warps stamp in cycle 0 and arrive in cycle 2; arrivals are taken one after the other."""
    _, found = ran(of_machine_code, stamp(0) + "BAR.SYNC.DEFER_BLOCKING 0x0\n" + stamp(1), warps=warps)
    assert found[:, 1].min() == 2 + warps * ARRIVAL + BARRIER


@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
def test_warps_leave_a_barrier_where_a_scoreboard_keeps_dependences(isa):
    """PTX, and machine code that `issue.dependences` leaves to a scoreboard."""
    device = h200(core__isa=isa, issue__dependences="scoreboard")
    source = 'extern "C" __global__ void k(int *y) { __shared__ int s[64]; s[threadIdx.x] = threadIdx.x; __syncthreads(); ' \
             "y[threadIdx.x] = s[63 - threadIdx.x]; }"  # fmt: skip
    out = device.zeros(64, "i4")
    run = device.compile(source)["k"](1, 64, [out])
    assert out.numpy().tolist() == list(range(63, -1, -1))
    assert run.cycles < 10_000
