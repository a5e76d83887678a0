"""The first level of memory, one mechanism a test, on a machine of one core with one scheduler. About 10 s."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import load
from simtlab.machine.counters import COUNTERS
from tests.timing import mixed
from tests.timing.machines import gpu, kernel

LINE = 128
SMALL = {"shared_memory.shares_l1": False, "l1d.index": "linear"}


@pytest.fixture(scope="module")
def device():
    return gpu(SMALL)


def counted(device, body: str, threads: int = 32, lines: int = 4096, grid: int = 1) -> dict[str, int]:
    """The counters of a kernel whose %d1 points at a line-aligned array; the L2 is as earlier kernels left it."""
    array = device.zeros(lines * LINE // 4, "u4")
    assert array.address % LINE == 0
    found = kernel(device, "ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n" + body)(grid, threads, [array, array]).counters
    array.free()
    return found


def address(stride_bytes: int, offset: int = 0) -> str:
    """%d2 = %d1 + tid * stride + offset"""
    return f"mul.wide.u32 %d2, %r1, {stride_bytes};\nadd.u64 %d2, %d2, %d1;\nadd.u64 %d2, %d2, {offset};\n"


def load_at(offset: int, register: int = 10) -> str:
    return f"ld.global.u32 %r{register}, [%d1+{offset}];\n"


def then(register: int) -> str:
    """Wait for a register: the next instruction needs it."""
    return f"add.u32 %r{register}, %r{register}, 1;\n"


def loads_in_turn(*lines: int) -> str:
    """Loads of whole lines, each begun when the one before has come back."""
    return "".join(load_at(LINE * line) + then(10) for line in lines)


# Coalescing ----------------------------------------------------------------------------------------------------------

WORD, DOUBLE = "ld.global.u32 %r10, [%d2];\n", "ld.global.u64 %d10, [%d2];\n"
QUAD = "ld.global.v4.u32 {%r10,%r11,%r12,%r13}, [%d2];\n"


@pytest.mark.parametrize(
    ("access", "stride", "offset", "accesses"),
    [
        (WORD, 4, 0, 1),
        (WORD, 0, 0, 1),
        (WORD, 8, 0, 2),
        (WORD, 128, 0, 32),
        (WORD, 4, 64, 2),
        (DOUBLE, 8, 0, 2),
        (QUAD, 16, 0, 4),
        (QUAD, 16, 64, 5),
    ],
    ids=["one line", "one word", "stride 2", "stride 32", "misaligned", "64-bit", "128-bit", "128-bit misaligned"],
)  # fmt: skip
def test_32_lanes_become_as_few_accesses_as_they_touch_lines(device, access, stride, offset, accesses):
    found = counted(device, address(stride, offset) + access)
    assert found["l1_accesses"] == found["l1_misses"] == accesses


@pytest.mark.parametrize(("stride", "offset", "accesses"), [(4, 0, 4), (4, 16, 5), (8, 0, 8), (128, 0, 32)])
def test_a_sectored_cache_takes_32_bytes_at_a_time(stride, offset, accesses):
    device = sl.Gpu(load("v100").replace({"core.cores": 1}), memory_bytes=1 << 26)
    found = counted(device, address(stride, offset) + WORD)
    assert found["l1_accesses"] == found["l1_misses"] == accesses


def test_lanes_that_are_masked_off_ask_for_nothing(device):
    guarded = "setp.lt.u32 %p1, %r1, 3;\n" + address(128) + "@%p1 ld.global.u32 %r10, [%d2];\n"
    assert counted(device, guarded)["l1_accesses"] == 3


# Misses --------------------------------------------------------------------------------------------------------------


def test_two_misses_to_one_line_share_one_request(device):
    found = counted(device, load_at(0, 10) + load_at(64, 11))
    assert (found["l1_misses"], found["l1_hits_reserved"], found["l1_hits"]) == (1, 1, 0)
    assert found["round_trips"] == 1


def test_a_load_after_the_line_has_come_hits(device):
    found = counted(device, loads_in_turn(0, 0))
    assert (found["l1_misses"], found["l1_hits_reserved"], found["l1_hits"]) == (1, 0, 1)


def no_failures(found: dict[str, int], *but: str) -> bool:
    return all(found[f"l1_fail_{cause}"] == 0 for cause in ("tag", "mshr", "network") if cause not in but)


def test_a_fifth_line_for_a_set_of_four_ways_waits_for_a_tag(device):
    apart = address(device.machine.config.l1d.sets * LINE) + WORD
    assert no_failures(counted(device, apart, threads=4))
    found = counted(device, apart, threads=5)
    assert found["l1_fail_tag"] > 100  # a whole trip to memory
    assert no_failures(found, "tag")


def test_more_lines_than_mshrs_wait_for_one():
    small = gpu(SMALL | {"l1d.mshr_entries": 4})
    apart = address(LINE) + WORD
    assert no_failures(counted(small, apart, threads=4))
    found = counted(small, apart, threads=5)
    assert found["l1_fail_mshr"] > 100
    assert no_failures(found, "mshr")


def test_one_more_than_the_merge_limit_waits_for_the_line():
    small = gpu(SMALL | {"l1d.mshr_merges": 2})
    assert no_failures(counted(small, load_at(0), threads=64))
    found = counted(small, load_at(0), threads=96)
    assert found["l1_fail_mshr"] > 100
    assert (found["l1_misses"], found["l1_hits_reserved"], found["l1_hits"]) == (1, 1, 1)


def test_a_short_miss_queue_makes_accesses_wait_for_the_network():
    tiny, wide = gpu(SMALL | {"l1d.miss_queue_entries": 1}), gpu(SMALL | {"l1d.miss_queue_entries": 64})
    body = address(128) + WORD
    assert counted(wide, body)["l1_fail_network"] == 0
    found = counted(tiny, body)
    assert found["l1_fail_network"] >= 31  # 32 requests, a network cycle (two core cycles) each
    assert no_failures(found, "network")


# Writes --------------------------------------------------------------------------------------------------------------

STORE = "st.global.u32 [%d1], %r1;\nmembar.gl;\n"


@pytest.mark.parametrize(("policy", "hits", "writes"), [("write-through", 1, 1), ("write-evict", 0, 1), ("write-back", 1, 1)])
def test_a_write_leaves_its_line_or_takes_it_away(policy, hits, writes):
    """Load, store, load of one line: what the second load finds, and what reached the L2."""
    machine = gpu(SMALL | {"l1d.write_global": policy})
    found = counted(machine, loads_in_turn(0) + STORE + loads_in_turn(0), threads=1)
    assert (found["l1_hits"], found["l1_misses"]) == (hits, 2 - hits)
    assert found["l2_writes"] == writes


@pytest.mark.parametrize(("policy", "writes"), [("write-through", 3), ("write-evict", 3), ("write-back", 1)])
def test_a_dirty_line_reaches_the_l2_when_the_run_ends(policy, writes):
    """Three stores to one line: written through they all go to the L2; a write-back L1 sends the line once, at the end."""
    machine = gpu(SMALL | {"l1d.write_global": policy, "l1d.write_allocate": True})
    assert counted(machine, 3 * STORE, threads=1)["l2_writes"] == writes


def test_all_dirty_lines_of_all_cores_reach_the_l2_when_the_run_ends():
    """More of them than the network takes in a cycle: 15 cores, 32 lines each, and the pool's requests are all given back."""
    machine = sl.Gpu("caps-gtx480", set={"l1d.write_global": "write-back", "l1d.write_allocate": True})
    body = "ld.param.u64 %d1, [a]; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r1, %r1, 32, %tid.x; mul.wide.u32 %d2, %r1, 128;"
    array = machine.zeros(15 * 32 * 32, "u4")
    found = kernel(machine, body + "add.u64 %d1, %d1, %d2; st.global.u32 [%d1], %r1;")(15, 32, [array, array])
    assert found.counters["l2_writes"] == 15 * 32
    assert (array.numpy()[::32] == np.arange(480)).all()


WHOLE_LINE = address(4) + "st.global.u32 [%d2], %r1;\nmembar.gl;\n"


@pytest.mark.parametrize(
    ("policy", "allocate", "hits", "writes"),
    [
        ("write-through", False, 0, 1),
        ("write-through", True, 1, 1),
        ("write-evict", False, 0, 1),
        ("write-evict", True, 0, 1),
        ("write-back", False, 0, 1),  # GPGPU-Sim's GTX 480 for local memory: a miss is written through
        ("write-back", True, 1, 1),  # at the end of the run
    ],
)
def test_a_write_that_misses_takes_a_line_where_it_may(policy, allocate, hits, writes):
    """Store and load of one line: what the load finds, and what reached the L2."""
    machine = gpu(SMALL | {"l1d.write_global": policy, "l1d.write_allocate": allocate})
    found = counted(machine, WHOLE_LINE + loads_in_turn(0))
    assert (found["l1_hits"], found["l1_misses"], found["l2_writes"]) == (hits, 1 - hits, writes)


@pytest.mark.parametrize(("threads", "hits"), [(32, 4), (31, 3), (24, 3), (8, 1), (1, 0)])
def test_a_write_through_keeps_the_sectors_it_writes_whole(threads, hits):
    """As on an H200, where a load of a line that 32 lanes have just written takes 37 cycles and one of a line that fewer have
    written goes to the L2. What the hardware also does: a load of just the written part of a sector hits."""
    sectors = {"l1d.write_global": "write-through", "l1d.write_allocate": True, "l1d.sector_bytes": 32}
    store = f"setp.lt.u32 %p1, %r1, {threads};\n" + address(4) + "@%p1 st.global.u32 [%d2], %r1;\nmembar.gl;\n"
    found = counted(gpu(SMALL | sectors), store + WORD)
    assert (found["l1_hits"], found["l1_misses"], found["l2_writes"]) == (hits, 4 - hits, -(-threads // 8))


def test_a_write_completes_a_line_with_its_sector():
    """A line with its first sector there; the other three are written, then the whole line is read."""
    sectors = {"l1d.write_global": "write-through", "l1d.write_allocate": True, "l1d.sector_bytes": 32}
    store = "setp.ge.u32 %p1, %r1, 8;\n" + address(4) + "@%p1 st.global.u32 [%d2], %r1;\nmembar.gl;\n"
    found = counted(gpu(SMALL | sectors), loads_in_turn(0) + store + WORD)
    assert (found["l1_hits"], found["l1_misses"]) == (4, 1)


def test_a_line_that_a_write_through_takes_sends_a_dirty_one_off():
    """A local store leaves a dirty line; global stores to its set evict it."""
    changes = {"l1d.write_local": "write-back", "l1d.write_allocate": True, "l1d.write_global": "write-through"}
    machine = gpu(SMALL | changes | {"l1d.bytes": LINE, "l1d.ways": 1})
    body = ".local .align 4 .b8 box[4];\nst.local.u32 [box], %r1;\n" + WHOLE_LINE
    assert counted(machine, body)["l2_writes"] == 2


def test_global_stores_skip_an_l1_that_is_for_local_memory_only():
    changes = {"l1d.write_global": "write-back", "l1d.write_allocate": True, "l1d.bypass_global": True}
    found = counted(gpu(SMALL | changes), WHOLE_LINE + loads_in_turn(0))
    assert (found["l2_writes"], found["l1_hits"], found["l1_lookups"]) == (1, 0, 0)


@pytest.mark.parametrize("allocate", ["on-miss", "on-fill"])
@pytest.mark.parametrize("room", [1, 2, 8])
def test_a_dirty_line_goes_to_the_l2_when_it_is_pushed_out(allocate, room):
    """Also where it and the miss that evicts it cannot leave together."""
    write_back = {"l1d.write_global": "write-back", "l1d.write_allocate": True}
    machine = gpu(SMALL | write_back | {"l1d.allocate": allocate, "l1d.miss_queue_entries": room})
    sets = machine.machine.config.l1d.sets
    found = counted(machine, STORE + loads_in_turn(*(sets * k for k in range(1, 5))), threads=1)
    assert found["l2_writes"] == 1
    assert found["l1_misses"] == 4


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_with_few_requests_in_all_everything_takes_longer_and_ends(limit):
    """Two cores that may wait for so few answers each, and an L2 that must write dirty lines back."""
    changes = {"core.cores": 2, "l2.bytes": 4096, "l1d.write_global": "write-back", "l1d.write_allocate": True}
    plenty, scarce, walking = (gpu(SMALL | changes) for _ in range(3))
    walking.machine.records.gpu[0].jump = 0
    for machine in (scarce, walking):
        machine.machine.records.requests[0].limit = limit
    runs = [mixed.launch(machine, 4) for machine in (plenty, scarce, walking)]
    assert all(written == mixed.expected(4) for _, written in runs)
    assert runs[1][0].cycles > runs[0][0].cycles
    assert runs[1][0].counters == runs[2][0].counters


def test_dirty_lines_of_the_l2_are_written_to_dram_when_pushed_out():
    machine = gpu(SMALL)
    l2 = machine.machine.config.l2
    lines = 2 * l2.lines * l2.slices
    number = "mov.u32 %r20, %ctaid.x;\nmad.lo.u32 %r1, %r20, 1024, %r1;\n"
    found = counted(machine, number + address(LINE) + "st.global.u32 [%d2], %r1;\n", threads=1024, grid=lines // 1024, lines=lines)
    assert found["l2_writes"] == lines
    assert found["l2_write_backs"] == lines // 2
    assert 0 < found["dram_writes"] <= found["l2_write_backs"]


def test_a_word_written_makes_only_its_sector_present_in_a_sectored_l2():
    """gtx480: L1 lines of 128 bytes, L2 sectors of 32. A word is written to each of 32 lines, then the lines are read."""
    machine = sl.Gpu(load("gtx480").replace({"core.cores": 1}), memory_bytes=1 << 26)
    found = counted(machine, address(LINE) + "st.global.u32 [%d2], %r1;\nmembar.gl;\n" + WORD)
    assert found["l2_writes"] == 32
    assert found["l2_misses"] >= 32  # the other three sectors of each


def write_some(first: int, last: int) -> str:
    """Lanes write the words from one to another of the array, and are waited for."""
    lanes = f"setp.ge.u32 %p1, %r1, {first};\nsetp.le.and.u32 %p1, %r1, {last}, %p1;\n"
    return lanes + address(4) + "@%p1 st.global.u32 [%d2], %r1;\nmembar.gl;\n"


@pytest.mark.parametrize(
    ("writes", "read", "from_dram"),
    [
        ([(0, 7)], 0, 0),  # a sector written whole is there
        ([(0, 3)], 0, 1),  # half of one is not
        ([(0, 3), (4, 7)], 0, 0),  # both halves are
        ([(8, 15)], 0, 1),  # a write to the second sector is none to the first,
        ([(8, 15)], 8, 0),  # … but to the second
        ([(0, 31)], 24, 0),
    ],
)
def test_a_sector_of_the_l2_is_there_when_all_its_words_are_written(writes, read, from_dram):
    """L1 lines of 128 bytes that are not used, L2 sectors of 32."""
    changes = SMALL | {"l1d.enabled": False, "l1d.sector_bytes": 32, "l2.sector_bytes": 32}
    write, read_it = "".join(write_some(*some) for some in writes), f"ld.global.u32 %r10, [%d1+{4 * read}];\n" + then(10)
    only_written, found = (counted(gpu(changes), body) for body in (write, write + read_it))
    assert found["l2_misses"] - found["l1i_misses"] == only_written["l2_misses"] - only_written["l1i_misses"] + from_dram


def test_a_word_that_many_lanes_write_is_sent_once():
    """A header of 8 bytes and 4 of data are one flit of 32 bytes; a whole line takes five."""
    store = "st.global.u32 [%d2], %r1;\n"
    alike, apart = (counted(gpu(SMALL), address(stride) + store) for stride in (0, 4))
    assert alike["request_packets"] == apart["request_packets"]
    assert apart["request_flits"] - alike["request_flits"] == 4


@pytest.mark.parametrize(("words", "sectors"), [((0, 31), 4), ((8, 23), 2), ((0, 0), 1), ((31, 31), 1)])
def test_the_sectors_from_the_first_that_is_dirty_to_the_last_go_to_dram(words, sectors):
    machine = gpu(SMALL | {"l2.sector_bytes": 32, "l2.bytes": 1024, "l2.ways": 1})
    l2 = machine.machine.config.l2
    lines = 2 * l2.lines * l2.slices
    step = f"add.u64 %d1, %d1, {LINE};\n"
    found = counted(machine, (write_some(*words) + step) * lines, lines=lines)
    assert found["l2_write_backs"] >= lines // 2  # instructions evict some too
    assert found["l2_write_back_sectors"] == sectors * found["l2_write_backs"]


# Which line goes -----------------------------------------------------------------------------------------------------


def test_the_least_recently_used_line_makes_room(device):
    sets = device.machine.config.l1d.sets
    a, b, c, d, e = (sets * k for k in range(5))
    assert counted(device, loads_in_turn(a, b, c, d, a, e) + loads_in_turn(a))["l1_hits"] == 2
    assert counted(device, loads_in_turn(a, b, c, d, a, e) + loads_in_turn(b))["l1_hits"] == 1


def test_first_in_first_out_does_not_mind_a_use():
    machine = gpu(SMALL | {"l1d.replacement": "fifo"})
    sets = machine.machine.config.l1d.sets
    a, b, c, d, e = (sets * k for k in range(5))
    assert counted(machine, loads_in_turn(a, b, c, d, a, e) + loads_in_turn(a))["l1_hits"] == 1
    assert counted(machine, loads_in_turn(a, b, c, d, a, e) + loads_in_turn(b))["l1_hits"] == 2


@pytest.mark.parametrize(("index", "hits"), [("linear", 0), ("hashed", 16)])
def test_a_power_of_two_stride_fills_one_set_unless_the_index_is_hashed(index, hits):
    """16 lines a way's size apart, twice: one set of 4 ways keeps none of them, 16 sets keep all."""
    machine = gpu(SMALL | {"l1d.index": index})
    sets = machine.machine.config.l1d.sets
    far = [sets * k for k in range(16)]
    assert counted(machine, loads_in_turn(*far, *far))["l1_hits"] == hits


def test_a_line_pushed_out_of_the_l1_is_still_in_the_l2(device):
    sets = device.machine.config.l1d.sets
    far = [sets * k for k in range(5)]
    once, again = (counted(device, loads_in_turn(*lines)) for lines in (far, [*far, 0]))
    assert again["l1_misses"] == once["l1_misses"] + 1 == 6
    assert again["l2_hits"] - once["l2_hits"] >= 1


# Around the L1 -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["l1d.enabled", "l1d.bypass_global"])
def test_a_bypassed_l1_sends_every_load_to_the_l2(key):
    machine = gpu(SMALL | {key: key == "l1d.bypass_global"})
    found = counted(machine, loads_in_turn(0, 0, 0))
    assert (found["l1_hits"], found["l1_misses"], found["round_trips"]) == (0, 3, 3)


def test_an_atomic_is_done_at_the_l2_and_leaves_no_stale_line(device):
    found = counted(device, loads_in_turn(0) + "atom.global.add.u32 %r11, [%d1], 1;\n" + then(11) + loads_in_turn(0))
    assert found["l2_atomics"] == 1
    assert (found["l1_hits"], found["l1_misses"]) == (0, 2)


def test_constants_hit_after_the_first_access(device):
    text = """.version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .b32 c[16] = {7};
    .visible .entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .b64 %d<9>;
    ld.const.u32 %r1, [c]; add.u32 %r1, %r1, 1; ld.const.u32 %r2, [c]; add.u32 %r2, %r2, %r1; ld.const.u32 %r3, [c+4];
    add.u32 %r3, %r3, %r2; ld.param.u64 %d1, [a]; st.global.u32 [%d1], %r3; ret; }"""
    out = device.zeros(1, "u4")
    found = device.load(text)["k"](1, 32, [out]).counters
    assert out[0] == 15
    assert (found["l1c_misses"], found["l1c_hits"]) == (1, 2)


def test_a_constant_that_must_wait_for_the_network_misses_once():
    machine = gpu(SMALL | {"l1d.miss_queue_entries": 1})
    text = """.version 7.0\n.target sm_75\n.address_size 64\n.const .align 4 .b32 c[16] = {7};
    .visible .entry k(.param .u64 a) { .reg .b32 %r<9>; .reg .b64 %d<9>; ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 128; add.u64 %d2, %d2, %d1; ld.global.u32 %r3, [%d2]; ld.const.u32 %r2, [c]; ret; }"""
    assert machine.load(text)["k"](1, 32, [machine.zeros(1024, "u4")]).counters["l1c_misses"] == 1


def test_an_instruction_line_that_finds_no_way_misses_once():
    """Two warps in different lines of code, two lines in all: every miss counted is a request that the L2 has served."""
    machine = gpu({"l1i.bytes": 256, "l1i.ways": 2})
    apart = "mov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\n" + "".join(
        f"setp.eq.u32 %p1, %r2, {k};\n@%p1 bra L{k};\n" for k in range(4)
    )
    blocks = "".join(f"L{k}: " + "add.u32 %r3, %r3, 1;\n" * 32 + "bra E;\n" for k in range(4))
    found = kernel(machine, apart + blocks + "E:")(1, 128, [np.uint64(0), np.uint64(0)]).counters
    assert found["l1i_misses"] == found["l2_accesses"] > 8


# Counters ------------------------------------------------------------------------------------------------------------

EVERYTHING = r"""
__constant__ float c[4] = {1, 2, 3, 4};
extern "C" __global__ void all(float *x, double *y, int *n, int far) {
    __shared__ float s[1024];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    s[t] = x[i] + x[i + 1];
    __syncthreads();
    float v = s[(t * 32) & 1023] + c[i & 3] + __sinf(s[t]);
    for (int k = 0; k < 8; k++) v += x[(i * 32 + k * far) & 0xfffff];
    y[i] = v * y[i] + 1.0;
    x[(i * 32) & 0xfffff] = v;
    if (t == 0) atomicAdd(n, 1);
}
"""


NAMES = {counter.name for counter in COUNTERS}


def test_every_counter_moves():
    """Some move in tests of their own: above, in test_energy, test_l2_entry, test_tlb, tests/mechanisms; none uses tensor units."""
    changes = {"core.cores": 2, "l1d.mshr_entries": 8, "l1d.miss_queue_entries": 2, "l2.mshr_entries": 1}
    moved = {name for name, value in everything("caps-gtx480", changes).items() if value}
    for preset in ("v100", "h200"):
        moved |= {name for name, value in everything(preset, {"core.cores": 2}).items() if value}
    elsewhere = {"l2_write_backs", "dram_writes", "dram_write_accesses", "l1_fail_tag", "busy_tensor", "replays", "dual_issued"}
    elsewhere |= {"l1t_hits", "l1t_misses", "busy_tex", "l2_bypasses", "l2_coalesced", "stores_combined", "tlb_misses", "tlb_walks"}
    elsewhere |= {name for name in NAMES if name.startswith(("prefetch", "lanes_"))}
    assert NAMES - moved <= elsewhere


def everything(preset: str, changes: dict) -> dict[str, int]:
    device = sl.Gpu(load(preset).replace(changes), memory_bytes=1 << 26)
    x, y, n = device.zeros(1 << 20), device.zeros(8192, "f8"), device.zeros(1, "i4")
    run = device.compile(EVERYTHING)["all"](8, 1024, [x, y, n, np.int32(1 << 15)])
    assert n[0] == 8
    return run.counters
