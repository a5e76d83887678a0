"""Whatever is not looked at because nothing can happen there changes no counter: sleeping, jumping and running ahead are all
switched off together by `gpu.jump = 0`, and every run must be as before."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.kinds import Unit
from simtlab.machine.core.stall import NO_WARP
from simtlab.machine.core.timing import timing_table
from simtlab.machine.memory.l1 import expect_answer
from simtlab.machine.request import Kind
from simtlab.machine.run_ahead import SPENT, is_alone
from tests.timing import mixed

UNEVEN = r"""
extern "C" __global__ void uneven(float *y, int most) {
    __shared__ float sums[128];
    int rounds = 20 + (blockIdx.x * 37) % most;
    float x = threadIdx.x;
    for (int k = 0; k < rounds; k++) x = x * 0.5f + (threadIdx.x & 1 ? k : -k);
    sums[threadIdx.x] = x;
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = sums[127 - threadIdx.x];
}
"""
LOAD_BETWEEN = r"""
extern "C" __global__ void load_between(const float *x, float *y, int rounds) {
    __shared__ float kept[64];
    float sum = threadIdx.x;
    for (int k = 0; k < rounds; k++) {
        kept[threadIdx.x] = sum;
        for (int n = 0; n < 4 + (int)(threadIdx.x >> 5); n++) sum = sum * 0.5f + kept[63 - threadIdx.x];
        sum += x[(threadIdx.x + 8 * k) % 96];
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
"""
CASES = {
    "BFS": ("caps-gtx480", {}, {}),
    "MM": ("caps-gtx480", {}, {"core.detail": 1}),
    "SCN": ("gtx480", {}, {}),
    "HST": ("v100", {}, {}),
    "LPS": ("dyncta-56core", {}, {}),
    "STE": ("caps-gtx480", {"prefetcher": "caps", "warp_scheduler": "pas"}, {}),
    "HSP": ("h200", {}, {}),
    "CNV": ("caps-gtx480", {}, {"l1d.reread": True, "issue.replay": True}),
    "JC1": ("loads-c2050", {"prefetcher": "inter"}, {"core.detail": 2}),
}


def both_ways(run, preset: str, policies: dict, changes: dict) -> tuple[sl.Gpu, list]:
    """What `run` gives on a machine that skips what it can and on one that skips nothing; and the first of them."""
    skipping, walking = (sl.Gpu(preset, set=changes, **policies) for _ in range(2))
    walking.machine.records.gpu[0].jump = 0
    return skipping, [run(skipping), run(walking)]


@pytest.mark.parametrize("name", CASES)
def test_a_program_takes_the_same_cycles_and_counts_the_same(name):
    def run(gpu: sl.Gpu) -> list:
        return [(one.cycles, one.counters, one.stalls) for one in sl.workload(name, "tiny").run(gpu).launches]

    _, (skipping, walking) = both_ways(run, *CASES[name])
    assert skipping == walking


@pytest.mark.parametrize("detail", [1, 2, 3])
@pytest.mark.parametrize("changes", [{}, {"core.cores": 4, "core.max_ctas": 3}, {"issue.dual_issue": True}])
def test_cores_that_run_ahead_get_their_ctas_when_it_is_time(detail, changes):
    """CTAs of different lengths that touch memory only at their end: cores are ahead of each other when one has room."""

    def run(gpu: sl.Gpu) -> tuple:
        y = gpu.zeros(90 * 128)
        done = gpu.compile(UNEVEN)["uneven"](90, 128, [y, np.int32(200)])
        return done.cycles, done.counters, done.stalls, done.timing.stalls_by_instruction.tolist()

    gpu, (skipping, walking) = both_ways(run, "caps-gtx480", {}, {"core.detail": detail, **changes})
    assert skipping == walking
    assert (gpu.machine.records.gpu[0].ahead > 0) == ("issue.dual_issue" not in changes)


@pytest.mark.parametrize(
    ("preset", "policies", "changes"),
    [
        ("caps-gtx480", {}, {"core.cores": 2}),  # warps are refused a fetch for many cycles
        ("loads-c2050", {}, {"core.cores": 2, "core.detail": 2}),
        ("gtx480", {"prefetcher": "next-line"}, {"core.cores": 2, "l1d.mshr_entries": 1, "issue.scoreboard": "coon"}),  # the end
    ],
)
def test_refused_fetches_and_late_prefetches_change_nothing(preset, policies, changes):
    def run(gpu: sl.Gpu) -> tuple:
        done, _ = mixed.launch(gpu, 6)
        return done.cycles, done.counters, done.stalls

    _, (skipping, walking) = both_ways(run, preset, policies, changes)
    assert skipping == walking


CONSTANTS = r"""
__constant__ float weights[64];
extern "C" __global__ void weigh(float *y, int most) {
    int rounds = 20 + (blockIdx.x * 37) % most;
    float x = threadIdx.x;
    for (int k = 0; k < rounds; k++) x = x * weights[(threadIdx.x + k) & 63] + __shfl_xor_sync(0xffffffff, x, 1);
    y[blockIdx.x * blockDim.x + threadIdx.x] = x;
}
"""


@pytest.mark.parametrize(("preset", "detail"), [("caps-gtx480", 1), ("caps-gtx480", 2), ("caps-gtx480", 3), ("h200", 2)])
def test_cores_run_ahead_past_constants_and_exchanges_of_machine_code(preset, detail):
    """They go to the load/store unit, on an h200 both, and matter to no other core."""

    def run(gpu: sl.Gpu) -> tuple:
        y = gpu.zeros(90 * 128)
        done = gpu.compile(CONSTANTS)["weigh"](90, 128, [y, np.int32(60)])
        return done.cycles, done.counters, done.stalls, done.timing.stalls_by_instruction.tolist()

    gpu, (skipping, walking) = both_ways(run, preset, {"isa": "sm_90"}, {"core.detail": detail, "core.cores": 12})
    assert skipping == walking
    assert gpu.machine.records.gpu[0].ahead > 0


def test_only_what_others_may_read_or_write_keeps_a_core_from_running_ahead():
    gpu = sl.Gpu("h200")
    program = gpu.compile(CONSTANTS)["weigh"].program
    rows = timing_table(program, gpu.machine.config.units, gpu.machine.config.issue, 1)["row"][0]
    found = {i.origin.opcode: row for i, row in zip(program.functions["weigh"].instructions, rows, strict=False)}
    assert {"LDC", "SHFL", "STG"} <= set(found)
    assert all(found[name]["unit"] == Unit.LDST for name in ("LDC", "SHFL", "STG"))
    assert [name for name in found if found[name]["uses_memory"]] == ["STG"]


STORE_FIRST = r"""
extern "C" __global__ void store_first(float *y, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = threadIdx.x;
    for (int part = 0; part < 8; part++) {
        y[i] = x;
        for (int k = 0; k < turns; k++) x = x * 0.5f + k;
    }
    y[i] = x;
}
"""


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("caps-gtx480", {}), ("h200", {}), ("v100", {}),
        ("caps-gtx480", {"network.kind": "ideal", "network.channel_latency_cycles": 1,
                         "clocks.l2_mhz": 233.0, "l2.latency_cycles": 3}),
    ],
)  # fmt: skip
def test_cores_with_stores_under_way_count_the_same(preset, changes):
    def run(gpu: sl.Gpu) -> tuple:
        y = gpu.zeros(90 * 64)
        done = gpu.compile(STORE_FIRST)["store_first"](90, 64, [y, np.int32(50)])
        return done.cycles, done.counters, done.stalls, y.numpy().tobytes()

    _, (skipping, walking) = both_ways(run, preset, {}, changes)
    assert skipping == walking


@pytest.mark.parametrize("preset", ["caps-gtx480", "h200"])
def test_a_core_is_alone_until_its_first_answer_can_come(preset):
    """It has been to the L2."""
    gpu = sl.Gpu(preset)
    y = gpu.zeros(64)
    gpu.compile(STORE_FIRST)["store_first"](1, 64, [y, np.int32(5)])
    chip, core = gpu.machine.records.gpu[0], gpu.machine.records.cores[0]
    least = (gpu.machine.config.l2.latency_cycles - 1) * chip.core_khz // chip.l2.khz
    assert chip.least_trip == chip.least_read_trip == least > 50
    core.occupied, core.to_memory, core.outstanding, core.deferred, chip.dispatching, chip.places_ctas = 1, 0, 0, 0, 0, 0
    chip.injecting[0] = 0
    chip.outcome = SPENT
    for kind in (Kind.WRITE, Kind.ATOMIC, Kind.READ):
        core.outstanding = 0
        expect_answer(chip, core, np.int64(kind))
        assert core.outstanding == 1
        alone = []
        for cycle in (chip.cycle + least - 1, chip.cycle + least):
            chip.wake[0] = cycle
            alone.append(bool(is_alone(chip, core)))
        assert alone == [True, False]


@pytest.mark.parametrize(
    ("preset", "changes"), [*(("caps-gtx480", {"core.detail": detail}) for detail in (1, 2, 3)), ("h200", {})]
)
def test_cores_stop_within_a_cycle_before_they_load(preset, changes):
    """What they load the L1 has after the first rounds, so that they run ahead from one load to the next."""

    def run(gpu: sl.Gpu) -> tuple:
        x, y = gpu.array(np.arange(96, dtype=np.float32)), gpu.zeros(12 * 64)
        done = gpu.compile(LOAD_BETWEEN)["load_between"](12, 64, [x, y, np.int32(60)])
        return done.cycles, done.counters, done.stalls, done.timing.stalls_by_instruction.tolist(), y.numpy().tobytes()

    gpu, (skipping, walking) = both_ways(run, preset, {}, {"core.cores": 4, **changes})
    assert skipping == walking
    assert gpu.machine.records.gpu[0].ahead > 0
    assert (np.asarray(gpu.machine.records.cores)["chosen"] == NO_WARP).all()
