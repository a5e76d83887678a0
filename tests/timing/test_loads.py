"""What global loads do to the memory system: hand-made kernels whose figures are known, and sums that must add up everywhere."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.cta_sharing import FIRST_PLACES
from simtlab.machine.load_figures import L2_ANSWERS, OUTCOMES, PARTS, summed
from simtlab.machine.utilisation import idle_units
from tests.timing.machines import gpu
from tests.timing.test_jump import both_ways

FAILURES = ["fail_tag", "fail_mshr", "fail_network"]
PLENTY = {"l1d.mshr_entries": 64, "l1d.mshr_merges": 32, "l1d.miss_queue_entries": 64}
FOUR_SETS = {**PLENTY, "l1d.index": "linear", "l1d.bytes": 2048, "l1d.ways": 4, "shared_memory.shares_l1": False}
STRIDED = """
extern "C" __global__ void k(const int *x, int *y, int stride) {
    y[blockIdx.x * blockDim.x + threadIdx.x] = x[threadIdx.x * stride];
}
"""
TWICE = """
extern "C" __global__ void k(const volatile int *x, int *y) {
    int first = x[threadIdx.x];
    y[threadIdx.x] = x[threadIdx.x + (first & 1)];
}
"""
# CTAs 0 and `apart` read the same blocks, each one element of each; the others read a block of their own.
SHARED = """
extern "C" __global__ void k(const int *x, int *y, int apart, int blocks) {
    int sum = 0, mine = blockIdx.x == apart ? 0 : blockIdx.x;
    for (int k = 0; k < (mine ? 1 : blocks); k++) sum += x[(mine * blocks + k) * 32];
    y[blockIdx.x] = sum;
}
"""


def strided(changes: dict, stride: int, threads: int = 32, ctas: int = 1) -> sl.Run:
    device = gpu(changes)
    x, y = device.zeros(threads * stride + 1, np.int32), device.zeros(ctas * threads, np.int32)
    return device.compile(STRIDED)["k"](ctas, threads, [x, y, np.int32(stride)])


def only(run: sl.Run) -> dict:
    """The row of a kernel's one load."""
    table = run.loads.table()
    assert len(table["pc"]) == 1
    return {name: values[0] for name, values in table.items()}


@pytest.mark.parametrize(("stride", "requests"), [(1, 1), (2, 2), (16, 16), (32, 32), (0, 1)])
def test_a_load_makes_a_request_for_each_line_that_its_warp_touches(stride, requests):
    load = only(strided(PLENTY, stride, threads=128))
    assert (load["executed"], load["threads"], load["class"]) == (4, 128, "D")
    assert load["requests"] == 4 * requests
    assert load["line"] == 3


def test_only_active_threads_count():
    device = gpu()
    x, y = device.zeros(64, np.int32), device.zeros(64, np.int32)
    text = 'extern "C" __global__ void k(const int *x, int *y) { if (threadIdx.x % 8 == 0) y[threadIdx.x] = x[threadIdx.x]; }'
    load = only(device.compile(text)["k"](1, 64, [x, y]))
    assert (load["executed"], load["threads"], load["requests"]) == (2, 8, 2)


@pytest.mark.parametrize(
    ("cause", "changes", "stride"),
    [
        ("fail_tag", FOUR_SETS, 4 * 32),  # all lines in the first of four sets
        ("fail_mshr", {**PLENTY, "l1d.mshr_entries": 2}, 32),
        ("fail_network", {**PLENTY, "l1d.miss_queue_entries": 1}, 32),
    ],
)
def test_requests_that_the_l1_rejects_are_told_by_their_cause(cause, changes, stride):
    run = strided(changes, stride)
    load = only(run)
    assert load["requests"] == load["miss"] == 32
    assert load[cause] > 0
    assert {name: load[name] for name in FAILURES if name != cause} == dict.fromkeys(set(FAILURES) - {cause}, 0)
    assert load[cause] == load["by_itself"] + 1 - 32  # every cycle from the first request to the last took one or rejected one
    stores = run.counters[f"l1_{cause}"] - load[cause]  # the kernel's one store can be rejected too
    assert 0 <= stores <= (0 if cause != "fail_network" else run.cycles)


def test_all_ways_in_flight_reject_until_the_first_line_comes():
    """Four ways: the fifth request waits for the first's data, then one goes with each line that comes."""
    load = only(strided(FOUR_SETS, 4 * 32))
    of_five = only(strided(FOUR_SETS, 4 * 32, threads=5))
    alone = only(strided(PLENTY, 1))
    assert of_five["requests"] == 5
    assert of_five["by_itself"] > alone["turnaround"] // 2
    assert load["by_itself"] > 6 * of_five["by_itself"]  # 28 requests wait, in seven rounds of four


def test_one_load_of_one_warp_takes_the_unloaded_time_and_no_more():
    load = only(strided({}, 1))
    assert load["turnaround"] == load["unloaded"] > 100
    assert [load[name] for name in PARTS[1:]] == [0, 0, 0]
    assert (load["miss"], load["l2_miss"], load["l2_hit"]) == (1, 1, 0)


def test_a_second_load_hits_and_takes_the_l1_latency():
    device = gpu()
    x, y = device.zeros(64, np.int32), device.zeros(64, np.int32)
    table = device.compile(TWICE)["k"](1, 32, [x, y]).loads.table()
    assert table["class"] == ["D", "N"]
    assert (table["hit"], table["miss"]) == ([0, 1], [1, 0])
    latency = device.machine.config.l1d.hit_latency_cycles
    assert latency <= table["turnaround"][1] <= latency + 8


def test_warps_of_the_same_line_join_the_first_and_wait_for_it():
    load = only(strided({**PLENTY}, 0, threads=128))
    assert (load["miss"], load["hit_reserved"], load["hit"]) == (1, 3, 0)
    assert load["l2_miss"] == 1
    assert load["by_earlier"] > 0
    assert load["turnaround"] == sum(load[part] for part in PARTS)


def test_the_gaps_between_first_and_last_request():
    """Eight requests: the L1 takes one a core cycle, the network one a cycle of its own, two of the core's. What the L2 has
    leaves it as it came; what it must fetch does not."""
    device = gpu(PLENTY)
    x, y = device.zeros(32 * 8, np.int32), device.zeros(32, np.int32)
    kernel = device.compile(STRIDED)["k"]
    cold, warm = (kernel(1, 32, [x, y, np.int32(8)]).loads.by_requests() for _ in range(2))
    for rows in (cold, warm):
        assert (rows["requests"], rows["executed"]) == ([8], [1])
        assert (rows["gap_l1d"], rows["gap_to_l2"]) == ([7], [14])
    assert warm["gap_from_l2"] == [14]
    assert cold["gap_from_l2"][0] > 14
    alone = strided(PLENTY, 1).loads.by_requests()
    assert [alone[name] for name in ("gap_l1d", "gap_to_l2", "gap_from_l2")] == [[0], [0], [0]]


def test_turnaround_grows_with_the_requests():
    means = [only(strided({}, stride))["turnaround"] for stride in (1, 2, 4, 8, 16, 32)]
    assert means == sorted(means)
    assert means[-1] > means[0] + 31


def test_the_l2_has_what_another_core_asked_for():
    device = sl.Gpu("loads-c2050", set={"core.cores": 2})
    x, y = device.zeros(1, np.int32), device.zeros(2 * 32, np.int32)
    text = """extern "C" __global__ void k(const volatile int *x, int *y) {
        for (int k = 0; k < blockIdx.x * 400; k++) __threadfence();
        y[blockIdx.x * 32 + threadIdx.x] = x[0];
    }"""
    load = only(device.compile(text)["k"](2, 32, [x, y]))
    assert (load["miss"], load["l2_miss"], load["l2_hit"]) == (2, 1, 1)


@pytest.mark.parametrize(("apart", "blocks"), [(1, 1), (1, 7), (5, 3), (11, 20)])
def test_two_ctas_that_share_blocks(apart, blocks):
    device = sl.Gpu("loads-c2050")
    x, y = device.zeros(32 * 12 * blocks, np.int32), device.zeros(12, np.int32)
    device.compile(SHARED)["k"](12, 1, [x, y, np.int32(apart), np.int32(blocks)])
    found = device.machine.sharing()
    assert (found.blocks, found.accesses) == (blocks + 10, 2 * blocks + 10)
    assert (found.shared_blocks, found.shared_accesses, found.sharers) == (blocks, 2 * blocks, 2 * blocks)
    assert found.distances == {"D": {apart: blocks}, "N": {}}
    assert found.cold_miss_ratio == (blocks + 10) / (2 * blocks + 10)


def test_a_block_read_once_is_shared_by_nobody():
    device = gpu()
    x, y = device.zeros(32, np.int32), device.zeros(32, np.int32)
    device.compile(STRIDED)["k"](1, 32, [x, y, np.int32(1)])
    found = device.machine.sharing()
    assert found.facts() == {"blocks": 1, "accesses": 1, "shared_blocks": 0, "shared_accesses": 0, "sharers": 0, "left_out": 0}
    assert found.distances == {"D": {}, "N": {}}


def test_nothing_is_shared_before_anything_runs():
    found = gpu().machine.sharing()
    assert (found.blocks, found.accesses, found.cold_miss_ratio) == (0, 0, 0.0)


def test_sectors_of_a_block_are_one_access():
    device = sl.Gpu("v100", set={"core.cores": 1})
    x, y = device.zeros(32, np.int32), device.zeros(32, np.int32)
    load = only(device.compile(STRIDED)["k"](1, 32, [x, y, np.int32(1)]))
    assert load["requests"] == 4
    assert device.machine.sharing().accesses == 1


def test_more_blocks_than_the_first_table_holds():
    """The table grows while a kernel runs; no access is lost, and none is counted twice."""
    device, blocks = sl.Gpu("loads-c2050"), 3 * FIRST_PLACES // 4
    x, y = device.zeros(blocks * 32, np.int32), device.zeros(blocks, np.int32)
    text = """extern "C" __global__ void k(const int *x, int *y) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        y[i] = x[i * 32];
    }"""
    kernel = device.compile(text)["k"]
    kernel(blocks // 256, 256, [x, y])
    found = device.machine.sharing()
    assert (found.blocks, found.accesses, found.left_out) == (blocks, blocks, 0)
    kernel(blocks // 256, 256, [x, y])
    found = device.machine.sharing()
    assert (found.blocks, found.accesses, found.shared_blocks) == (blocks, 2 * blocks, 0)


def test_shared_loads_are_counted():
    device = gpu()
    text = """extern "C" __global__ void k(const int *x, int *y) {
        __shared__ int s[64];
        s[threadIdx.x] = x[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = s[63 - threadIdx.x] + s[threadIdx.x ^ 1];
    }"""
    x, y = device.zeros(64, np.int32), device.zeros(64, np.int32)
    run = device.compile(text)["k"](1, 64, [x, y])
    assert run.counters["shared_loads"] == 4
    assert run.loads["executed"].sum() == 2


def test_the_load_store_unit_is_held_by_what_the_l1_rejects():
    run = strided(FOUR_SETS, 4 * 32)
    load, stores = only(run), 1
    rejected = sum(run.counters[f"l1_{name}"] for name in FAILURES)
    held = load["requests"] + stores + rejected  # a cycle for each access that was taken, and for each try that was not
    idle = idle_units(run.counters, run.cycles, {"sp": 1, "sfu": 1})
    assert rejected >= load["fail_tag"] > 0
    assert idle["LD/ST"] == pytest.approx(1 - held / run.cycles)
    assert idle["SFU"] == 1
    assert 0 < idle["SP"] < 1


def test_local_memory_and_stores_are_no_global_loads():
    device = gpu()
    text = """extern "C" __global__ void k(int *y, int n) {
        volatile int mine[40];
        for (int k = 0; k < 40; k++) mine[k] = k * n;
        y[threadIdx.x] = mine[(n * 7) % 40];
    }"""
    run = device.compile(text)["k"](1, 32, [device.zeros(32, np.int32), np.int32(3)])
    assert run.loads["executed"].sum() == 0
    assert run.counters["l1_accesses"] > 40
    assert device.machine.sharing().accesses == 0


def test_launches_side_by_side_have_their_own():
    device = sl.Gpu("loads-c2050")
    x, y = device.zeros(64 * 64, np.int32), device.zeros(4 * 64, np.int32)
    kernel = device.compile(STRIDED)["k"]
    runs = [kernel(4, 64, [x, y, np.int32(stride)], stream=device.stream()) for stride in (1, 32)]
    device.synchronize()
    assert [only(run)["requests"] for run in runs] == [8, 256]


def test_a_column_that_is_not_there():
    with pytest.raises(KeyError, match="loads have no column 'request'; they have executed, threads, requests"):
        strided({}, 1).loads["request"]


MACHINES = {
    "loads-c2050": {},
    "caps-gtx480": {"prefetcher": "caps", "warp_scheduler": "pas"},
    "dyncta-30core": {},
    "v100": {},
}


@pytest.mark.parametrize("preset", MACHINES)
@pytest.mark.parametrize("name", ["BFS", "SPMV", "LU"])
def test_parts_and_outcomes_add_up(name, preset):
    device = sl.Gpu(preset, **MACHINES[preset])
    run = sl.workload(name, "tiny").run(device)
    for launch in run.launches:
        loads = launch.loads
        assert (sum(loads[part] for part in PARTS) == loads["turnaround"]).all()
        assert (np.array([loads[part] for part in PARTS]) >= 0).all()
        assert (sum(loads[outcome] for outcome in OUTCOMES[:3]) == loads["requests"]).all()
        assert (sum(loads[answer] for answer in L2_ANSWERS) == loads["miss"]).all()
        assert (loads["threads"] <= 32 * loads["executed"]).all()
        sizes = launch.loads.by_requests()
        assert sum(n * times for n, times in zip(sizes["requests"], sizes["executed"], strict=True)) == loads["requests"].sum()
        assert sum(sizes["turnaround"]) == loads["turnaround"].sum()
    sums = summed([launch.loads for launch in run.launches])
    in_blocks = device.machine.sharing().accesses
    requests = sum(sums[name]["requests"] for name in "DN")
    line, sector = device.machine.config.l1d.line_bytes, device.machine.config.l1d.sector_bytes
    assert in_blocks == requests if line == sector == 128 else 0 < in_blocks <= requests


@pytest.mark.parametrize("name", ["BFS", "SPMV", "GRM"])
def test_what_is_skipped_changes_nothing(name):
    def run(device: sl.Gpu) -> list:
        loads = [(one.loads.table(), one.loads.by_requests()) for one in sl.workload(name, "tiny").run(device).launches]
        return [loads, device.machine.sharing()]

    _, (skipping, walking) = both_ways(run, "loads-c2050", {}, {})
    assert skipping == walking


@pytest.mark.parametrize("preset", ["loads-c2050", "v100"])
def test_counting_changes_nothing_else(preset):
    found = []
    for counts in (1, 0):
        device = sl.Gpu(preset)
        device.machine.records.gpu[0].counts_loads = counts
        run = sl.workload("BFS", "tiny").run(device)
        found.append([(one.cycles, one.counters, one.stalls) for one in run.launches])
        assert any(one.loads["executed"].sum() for one in run.launches) == bool(counts)
    assert found[0] == found[1]
