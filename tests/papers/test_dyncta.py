"""DYNCTA: Algorithm 1 branch by branch, the text's walk-through, and what pausing does to CTAs."""

from types import SimpleNamespace

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.cta_slots import pause_beyond_limit
from simtlab.machine.core.kinds import Activity
from simtlab.policies.cta_throttle import dyncta
from simtlab.policies.load import available
from tests.timing.machines import gpu

MOST = 4


class Core:
    """A core as the policy sees it: what it did since the last look decides."""

    def __init__(self, n: int, most: int = MOST) -> None:
        self.most, self.record = most, SimpleNamespace(n_activity=[0] * len(Activity))
        self.record.samples, self.record.resident = 1, 1
        self.own = SimpleNamespace(**dict.fromkeys(dyncta.state.names, 0) | dyncta.parameters | {"n": n})

    def begin(self) -> int:
        """The limit as a launch begins."""
        self.record.samples = 0
        return self.after(2048, 0)

    def after(self, idle: int, memory: int) -> int:
        """The limit after a period with so many idle cycles and so many in which all warps waited for data."""
        self.record.n_activity[Activity.IDLE] += idle
        self.record.n_activity[Activity.MEMORY] += memory
        return dyncta.sample.function(self.record, self.own, np.uint64(self.most), 0)


@pytest.mark.parametrize(("most", "begins_with"), [(8, 4), (5, 2), (2, 1), (1, 1)])
def test_a_core_begins_with_half_of_what_fits(most, begins_with):
    assert Core(0, most).begin() == begins_with


@pytest.mark.parametrize(("start", "begins_with"), [(1, 1), (8, 8), (32, 8)])
def test_another_beginning(start, begins_with):
    core = Core(0, 8)
    core.own.start = start
    assert core.begin() == begins_with


def test_every_launch_begins_anew():
    core = Core(1, 8)
    assert core.begin() == 4


def test_a_core_without_ctas_does_not_count_in_the_mean():
    core = Core(2)
    core.record.resident = 0
    core.after(2048, 0)
    assert (core.own.n, core.own.samples) == (3, 0)


@pytest.mark.parametrize(
    ("n", "idle", "memory", "then"),
    [
        (2, 16, 2000, 3),  # C_idle is high: one more, whatever C_mem is
        (2, 15, 2000, 1),  # just below: C_mem decides
        (4, 16, 0, 4),  # no more than fit
        (2, 0, 127, 3),  # C_mem is low
        (4, 0, 0, 4),
        (2, 0, 128, 2),  # in between nothing changes
        (2, 0, 383, 2),
        (2, 0, 384, 1),  # high: one less
        (1, 0, 2048, 1),  # but one at least
    ],
)
def test_every_branch_of_algorithm_1(n, idle, memory, then):
    core = Core(n)
    assert core.after(idle, memory) == then
    assert (core.own.raised, core.own.lowered) == (int(then > n), int(then < n))


def test_counts_are_of_one_period():
    core = Core(2)
    assert [core.after(0, 300), core.after(0, 300), core.after(0, 400)] == [2, 2, 1]
    assert (core.own.samples, core.own.limits) == (3, 5)


def paused_ctas(core, limit: int) -> list[int]:
    core.cta_limit = limit
    pause_beyond_limit(core)
    return [c for c in range(4) if int(core.paused) >> c & 1]


def test_the_texts_walk_through():
    """N = 4, three CTAs of one warp, n = 3 → 2 → 1 → 2 → 3: CTA3 pauses, then CTA2; CTA2 goes on first, then all do."""
    core = gpu({"core.max_ctas": 4}).machine.records.cores[0]
    core.free_ctas, core.resident, core.occupied = np.uint64(0b1000), 3, np.uint64(0b111)
    for c in range(3):
        core.cta_age[c], core.ctas[c].n_warps, core.slot_of[c, 0], core.slots[c].cta = c + 1, 1, c, c
    decisions = Core(3)
    limits = [decisions.after(0, 400), decisions.after(0, 400), decisions.after(0, 0), decisions.after(0, 0)]
    assert limits == [2, 1, 2, 3]
    assert [paused_ctas(core, limit) for limit in limits] == [[2], [1, 2], [2], []]


LOWER = '''"""All CTAs at first, one from the second look on."""
import numpy as np
from simtlab.policies.hook import hook

state = np.dtype([("period", "i8"), ("calls", "i8")])
parameters = {"period": 50}

@hook
def sample(core, own, most, cycle):
    own.calls += 1
    return np.int64(most) if own.calls < 3 else 1
'''
BUSY = """
extern "C" __global__ void k(long long *end, float *y, int rounds) {
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    for (int k = 0; k < rounds; k++) { a = a * 0.5f + 1; b = b * 0.5f + 1; c = c * 0.5f + 1; d = d * 0.5f + 1; }
    y[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
    if (threadIdx.x == 0) end[blockIdx.x] = clock64();
}
"""
HANDED_ON = """
extern "C" __global__ void k(volatile int *flag, int *y) {
    if (threadIdx.x == 0) {
        if (blockIdx.x == 0) { while (flag[0] == 0); }
        else { for (int k = 0; k < 300; k++) y[k % 7] += k; flag[0] = 1; __threadfence(); }
    }
}
"""
GRID_BARRIER = """
extern "C" __global__ void k(int *arrived, int *y) {
    for (int round = 1; round <= 3; round++) {
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1);
            while (atomicAdd(arrived, 0) < round * gridDim.x);
        }
        __syncthreads();
        y[blockIdx.x * blockDim.x + threadIdx.x] += 1;
    }
}
"""


@pytest.fixture
def lower(tmp_path):
    path = tmp_path / "lower.py"
    path.write_text(LOWER)
    return str(path)


@pytest.mark.parametrize("scheduler", available("warp_scheduler"))
def test_a_paused_cta_comes_after_the_others_under_any_scheduler(scheduler, lower):
    """Two CTAs that keep the core busy: the older one is done long before the younger."""
    device = gpu(cta_throttle=lower, warp_scheduler=scheduler)
    end, y = device.zeros(2, np.int64), device.zeros(2 * 256)
    device.compile(BUSY)["k"](2, 256, [end, y, np.int32(300)])
    first, second = end.numpy().tolist()
    assert first < 0.7 * second


def test_a_paused_cta_goes_on_where_no_other_can(lower):
    """One warp each, which is seldom ready: both go on, and the younger takes no longer than if nothing were paused."""
    runs = []
    for policies in ({}, {"cta_throttle": lower}):
        device = gpu(**policies)
        runs.append(device.compile(BUSY)["k"](2, 32, [device.zeros(2, np.int64), device.zeros(64), np.int32(300)]).cycles)
    assert runs[1] < 1.1 * runs[0]


@pytest.mark.parametrize("scheduler", ["lrr", "gto", "oldest", "two-level"])
@pytest.mark.parametrize("text", [HANDED_ON, GRID_BARRIER], ids=["flag", "barrier"])
def test_nothing_is_paused_for_ever(text, scheduler, lower):
    """The older CTA waits for something that the younger, paused one does."""
    device = gpu(cta_throttle=lower, warp_scheduler=scheduler, max_cycles=2_000_000)
    y = device.zeros(2 * 64, np.int32)
    device.compile(text)["k"](2, 64, [device.zeros(1, np.int32), y])
    if text is GRID_BARRIER:
        assert y.numpy().tolist() == [3] * 128


def limits_of(run: sl.Run) -> tuple[float, int, int]:
    counted = {name: run.counters[f"cta_throttle.dyncta.{name}"] for name in dyncta.counters}
    return counted["limits"] / counted["samples"], counted["raised"], counted["lowered"]


def test_a_kernel_that_computes_gets_all_its_ctas():
    device = sl.Gpu("dyncta-30core", set={"core.cores": 3}, cta_throttle="dyncta")
    run = device.compile(BUSY)["k"](60, 128, [device.zeros(60, np.int64), device.zeros(60 * 128), np.int32(600)])
    mean, raised, lowered = limits_of(run)
    assert mean > 6
    assert raised >= 3 * 4
    assert lowered == 0


def test_a_kernel_that_waits_for_memory_gets_fewer():
    """A chase in global memory: a CTA after the other is paused, down to one."""
    text = """
    extern "C" __global__ void k(const int *x, int *y, int n) {
        int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4096 % n + threadIdx.x % 32, lane = threadIdx.x % 32;
        for (int k = 0; k < 60; k++) i = ((i - lane + x[i] + 32 * 1009) & (n - 1)) + lane;  // a line of a warp's own each time
        y[blockIdx.x * blockDim.x + threadIdx.x] = i;
    }"""
    device = sl.Gpu("dyncta-30core", set={"core.cores": 3}, cta_throttle="dyncta")
    n = 1 << 20
    run = device.compile(text)["k"](48, 128, [device.zeros(n, np.int32), device.zeros(48 * 128, np.int32), np.int32(n)])
    mean, _, lowered = limits_of(run)
    assert mean < 3
    assert lowered > 3


UNEVEN = """
extern "C" __global__ void k(float *y) {  // CTAs with an odd number have three times the work
    float a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
    int rounds = blockIdx.x & 1 ? 300 : 100;
    for (int k = 0; k < rounds; k++) { a = a * 0.5f + 1; b = b * 0.5f + 1; c = c * 0.5f + 1; d = d * 0.5f + 1; }
    y[blockIdx.x * blockDim.x + threadIdx.x] = a + b + c + d;
}
"""


def test_the_two_cores_of_fig_6():
    """Eight CTAs on two cores. (a) All at once, four a core: core 1 is done long before core 2. (b) Two at a time: whoever is done
    takes the next, both cores work to the end, and all are done sooner."""
    runs = {}
    for ctas in (4, 2):
        device = gpu({"core.cores": 2, "core.max_ctas": 4}, cta_throttle=f"static,ctas={ctas}")
        runs[ctas] = device.compile(UNEVEN)["k"](8, 256, [device.zeros(8 * 256)])
    used = {ctas: run.timing.ratios["core_utilisation"] for ctas, run in runs.items()}
    assert used[4] < 0.75
    assert used[2] > 0.85
    assert runs[2].cycles < 0.85 * runs[4].cycles
