"""A launch of few CTAs that run long: what is on the machine is fast-forwarded between stretches that are simulated in detail."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import DeviceFault
from simtlab.execute.counting import no_counts
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import Work
from simtlab.sampling import clusters, long_ctas, machine, many_ctas
from simtlab.sampling.settings import Sampling
from simtlab.sampling.windows import Gap, Window
from simtlab.workloads.loading import workloads
from tests.sampling.kernels import CUT, device

SOURCE = r"""
extern "C" __global__ void lasting(const float *x, float *y, int turns) {
    __shared__ float there[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < turns; k++) {
        there[threadIdx.x] = x[(i * 33 + k * 1031) & 32767];
        __syncthreads();
        if (threadIdx.x & 1) sum += there[127 - threadIdx.x];
        else sum = sum * 0.5f + there[threadIdx.x];
        __syncthreads();
    }
    y[i] = sum;
}
extern "C" __global__ void faulty(float *y, int turns, int n) {
    float sum = 0;
    for (int k = 0; k < turns; k++) sum = sum * 0.5f + y[threadIdx.x] + k;
    y[threadIdx.x == 77 ? n : threadIdx.x] = sum;
}
extern "C" __global__ void adding(int *sum, int turns) {
    for (int k = 0; k < turns; k++) atomicAdd(sum + (threadIdx.x + k) % 1024, k);
}
"""
TURNS, BLOCK = 1500, 128
COLUMNS = [int(Stall.ISSUED), int(Work.LANES)]


def launch(gpu, ctas=8, turns=TURNS):
    n = ctas * BLOCK
    x, y = gpu.array(np.random.default_rng(3).random(32768, np.float32)), gpu.zeros(n)
    return gpu.compile(SOURCE)["lasting"](ctas, BLOCK, [x, y, np.int32(turns)]), y.numpy()


@cache
def both(ctas=8, turns=TURNS):
    """In full and sampled."""
    return launch(device(None), ctas, turns), launch(device(), ctas, turns)


@pytest.fixture
def hurried(monkeypatch):
    """Gaps everywhere: windows are short, every rate counts as stable, and every launch is run on the machine."""
    monkeypatch.setattr(long_ctas, "LEAST_CYCLES", 150)
    monkeypatch.setattr(long_ctas, "EARLIEST", 0)
    monkeypatch.setattr(long_ctas, "LONGEST", 100)
    monkeypatch.setattr(long_ctas, "stable_windows", lambda some, few, error: list(some[-few:]) if len(some) >= few else [])
    monkeypatch.setattr(machine, "FEWEST_WAVES", 1 << 40)
    monkeypatch.setattr(clusters.Cluster, "is_due", lambda cluster: True)
    return {"error": 0.5, "windows": 2, "similar": 0.5}


@pytest.mark.quick
def test_most_of_a_steady_launch_is_fast_forwarded_and_its_cycles_are_within_their_bar():
    (full, _), (sampled, _) = both()
    mark = sampled.timing.sampled
    assert full.cycles > 3 * long_ctas.EARLIEST
    assert mark.share < 0.65
    assert mark.gaps >= 3
    assert abs(sampled.cycles - full.cycles) <= max(mark.error, 0.02) * full.cycles
    assert 0 < mark.error < 0.1


def test_memory_instructions_and_lanes_are_those_of_a_run_in_full():
    (full, before), (sampled, after) = both()
    assert before.tobytes() == after.tobytes()
    assert sampled.instructions == full.instructions
    counts = [one.timing.counts_by_instruction[:, COLUMNS] for one in (full, sampled)]
    assert np.array_equal(*counts)


def test_every_scheduler_cycle_has_one_cause():
    _, (sampled, _) = both()
    timing, schedulers = sampled.timing, sampled.config.issue.schedulers
    assert (timing.stalls_by_scheduler.sum(axis=2) == timing.cycles).all()
    assert sum(timing.stalls.values()) == timing.cycles * CUT["core.cores"] * schedulers
    for name in ("l1_misses", "l2_accesses", "shared_passes"):
        assert sampled.counters[name] == pytest.approx(both()[0][0].counters[name], rel=0.05), name


def test_two_sampled_runs_are_the_same():
    _, (first, _) = both()
    second, _ = launch(device())
    assert (first.cycles, first.counters, first.stalls) == (second.cycles, second.counters, second.stalls)


def test_ctas_end_and_begin_in_a_gap(hurried, monkeypatch):
    gpu, ended = device(hurried), []
    plain = long_ctas.LongCtas._fast_forward

    def watched(self, held):
        before = self.machine.ended
        plain(self, held)
        ended.append(self.machine.ended - before)

    monkeypatch.setattr(long_ctas.LongCtas, "_fast_forward", watched)
    (full, before), (sampled, after) = launch(device(None), 60, 20), launch(gpu, 60, 20)
    assert sum(ended) > 10
    assert before.tobytes() == after.tobytes()
    assert sampled.instructions == full.instructions


def test_a_launch_that_ends_in_a_gap_ends(hurried, monkeypatch):
    """Nothing was left for the machine to do, and it waited for ever."""
    monkeypatch.setattr(long_ctas, "EMPTIER", 0)
    monkeypatch.setattr(long_ctas.LongCtas, "_next_gap", lambda self: 1e7)
    (full, before), (sampled, after) = launch(device(None), 4, 200), launch(device(hurried), 4, 200)
    assert before.tobytes() == after.tobytes()
    assert sampled.instructions == full.instructions
    assert sampled.timing.sampled.gaps == 1


def test_a_fault_in_a_gap_is_told_as_in_a_full_run(hurried, monkeypatch):
    monkeypatch.setattr(long_ctas.LongCtas, "_next_gap", lambda self: 1e7)
    messages = []
    for sample in (None, hurried):
        gpu = device(sample)
        with pytest.raises(DeviceFault) as fault:
            gpu.compile(SOURCE)["faulty"](1, BLOCK, [gpu.zeros(BLOCK), np.int32(300), np.int32(1 << 28)])
        messages.append(str(fault.value).splitlines()[0])
    assert gpu.machine._sampler._held is not None
    assert "thread (77, 0, 0)" in messages[0]
    assert messages[0] == messages[1]


@pytest.mark.filterwarnings("error::RuntimeWarning")  # CTAs that had executed nothing in a window went on by 0 / 0 instructions
def test_sums_that_nobody_reads_may_come_in_any_order(hurried):
    results = []
    for sample in (None, hurried):
        gpu = device(sample)
        total = gpu.zeros(1024, "i4")
        run = gpu.compile(SOURCE)["adding"](12, BLOCK, [total, np.int32(100)])
        results.append((run.instructions, total.numpy().tobytes()))
    assert results[0] == results[1]
    assert run.timing.sampled.gaps > 2


def test_what_a_cta_that_ends_has_left_is_for_the_next(hurried, monkeypatch):
    """CTAs that began in a gap stood at their beginning until its next part, all of them side by side."""
    seen, plain = [], machine.SampledMachine.fast_forward
    of_a_cta = launch(device(None), 200, 20)[0].instructions / 200

    def one_and_a_half(self, instructions):
        if seen:
            return plain(self, instructions)
        wanted = np.where(instructions > 0, 1.5 * of_a_cta, 0)
        counts, warps = plain(self, wanted)
        seen.append(int(counts["executed"].sum()) / wanted.sum())
        return counts, warps

    monkeypatch.setattr(machine.SampledMachine, "fast_forward", one_and_a_half)
    launch(device(hurried), 200, 20)
    assert 0.98 < seen[0] < 1.05


@pytest.mark.parametrize(("idle", "waves"), [(0.0, long_ctas.APART), (2.0, 0)])
def test_where_dram_is_used_the_first_waves_are_simulated(hurried, monkeypatch, idle, waves):
    """Their CTAs begin together, share what they load, and come apart: STE was 27% too quick."""
    first, plain = [], long_ctas.LongCtas._fast_forward

    def watched(self, held):
        first.append(self.machine.ended // self.wave)
        plain(self, held)

    monkeypatch.setattr(long_ctas, "IDLE_DRAM", idle)
    monkeypatch.setattr(long_ctas.LongCtas, "_fast_forward", watched)
    launch(device(hurried), 200, 20)
    assert first[0] == waves


def windows(*rates, cycles=4000):
    return [Window(np.array([float(cycles)]), round(rate * cycles), 0.7) for rate in rates]


class Behind(long_ctas.LongCtas):
    """A launch behind a gap before which its IPC was 0.16."""

    def __init__(self, since, warps=8):
        self.settings, self._since, self._has_dropped = Sampling(), since, False
        self.gap, self._behind, self._edges = Gap(no_counts(1), windows(0.16, 0.15, 0.16)), "gap", list(range(len(since)))
        self.machine, self._warps = SimpleNamespace(warps=warps), 8
        self._window = lambda *ends: ends


SLOW, USUAL = windows(*[0.070, 0.068, 0.071, 0.070, 0.069, 0.072]), windows(*[0.159, 0.161, 0.158, 0.160] * 3)


def test_few_windows_at_another_rate_than_before_a_gap_are_not_a_stable_one():
    """KM's warps go on in step behind a gap, at half the rate, in windows that agree."""
    assert not Behind(SLOW[:5])._stable_now()
    assert len(Behind(SLOW)._stable_now()) == 6
    assert len(Behind(USUAL[:3])._stable_now()) == 3


def test_windows_before_those_that_agree_belong_to_the_gap():
    sampler = Behind([*SLOW[:4], *USUAL])
    assert sampler._stable_now() == USUAL
    sampler._settle_gap()
    assert sampler.gap.filling == ("gap", 4)
    assert sampler.gap.after == USUAL[: long_ctas.RECENT]


def test_windows_with_fewer_warps_say_nothing_of_the_gap():
    sampler = Behind([*SLOW[:4], *USUAL], warps=6)
    assert sampler._stable_now() == USUAL
    sampler._settle_gap()
    assert sampler.gap.after == []


@pytest.mark.parametrize(("since", "turn"), [(USUAL, 4), (SLOW, 1)])
def test_what_is_compared_grows_where_the_rate_behind_a_gap_is_as_before(since, turn):
    sampler = Behind(since)
    sampler._stable, sampler._turn, sampler._was_unlike = since, 2 * long_ctas.COMPARED, True
    sampler._learn_turn()
    assert sampler._turn == turn * long_ctas.COMPARED
    sampler._learn_turn()  # only of the last gap
    assert sampler._turn == turn * long_ctas.COMPARED


LONG_TURNS = r"""
extern "C" __global__ void long_turns(float *y, int turns) {
    float sum = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x, bits = i;
    for (int k = 0; k < turns; k++) {
        #pragma unroll
        for (int a = 0; a < 150; a++) sum = sum * 0.5f + 1.0f;
        #pragma unroll
        for (int a = 0; a < 75; a++) bits = (bits ^ (bits << 3)) + k;
        __syncthreads();
    }
    y[i] = sum + bits;
}
"""


def test_a_loop_whose_turns_are_long_ends_few_gaps(monkeypatch):
    """Each quarter of a gap executed other instructions: HST's histogram of 256 bins had 647 gaps, all of them short."""
    marks = []
    for learns in (False, True):
        if not learns:
            monkeypatch.setattr(long_ctas.LongCtas, "_learn_turn", lambda self: None)
        gpu = device()
        y = gpu.zeros(8 * BLOCK)
        marks.append(gpu.compile(LONG_TURNS)["long_turns"](8, BLOCK, [y, np.int32(1200)]).timing.sampled)
        monkeypatch.undo()
    assert marks[0].gaps > 2 * marks[1].gaps > 0
    assert marks[0].share > 1.5 * marks[1].share


def outcome(gpu, name):
    run = sl.workload(name, size="tiny").run(gpu)
    outputs = {key: np.asarray(value).tobytes() for key, value in run.outputs.items()}
    return outputs, [one.timing.counts_by_instruction[:, COLUMNS] for one in run.launches], run


def same_as_in_full(name, preset, hurried, **options):
    plain, full, _ = outcome(sl.Gpu(preset, threads=1, **options), name)
    found, sampled, run = outcome(sl.Gpu(preset, threads=1, sample=hurried, **options), name)
    assert found == plain
    told = [one.timing.sampled.reason for one in run.launches]  # whose CTAs communicate take turns by what the caches hold
    assert all("communicate" in why or np.array_equal(*counts) for why, *counts in zip(told, full, sampled, strict=True))
    return sum(one.timing.sampled.gaps for one in run.launches)


@pytest.mark.parametrize("name", ["BFS", "RAY"])
def test_workloads_do_what_they_do_in_full(hurried, name):
    assert same_as_in_full(name, "caps-gtx480", hurried) > 10


@pytest.mark.slow  # as PTX they do so every day
@pytest.mark.parametrize("name", ["BFS"])
def test_workloads_as_machine_code_do_what_they_do_in_full(hurried, name):
    assert same_as_in_full(name, "h200", hurried) > 3


def test_warps_whose_lanes_meet_at_barriers_do_what_they_do_in_full(hurried):
    assert same_as_in_full("MUM", "caps-gtx480", hurried, reconvergence="barriers") > 10


def test_host_threads_make_no_difference(hurried):
    runs = []
    for threads in (1, 3):
        *_, run = outcome(sl.Gpu("v100", threads=threads, sample=hurried), "BFS")
        runs.append([(one.cycles, one.timing.counters, one.timing.sampled.gaps) for one in run.launches])
    assert runs[0] == runs[1]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["caps-gtx480", "v100", "h200"])
@pytest.mark.parametrize("name", workloads())
def test_all_workloads_do_what_they_do_in_full(hurried, name, preset):
    same_as_in_full(name, preset, hurried)


@pytest.mark.slow  # twenty seconds
@pytest.mark.parametrize(("wave", "sampler"), [(20_000, long_ctas.LongCtas), (1 << 40, many_ctas.ManyCtas)])
def test_a_launch_of_few_waves_that_take_long_is_fast_forwarded(monkeypatch, wave, sampler):
    """Of ten waves, each of which takes more than so many cycles."""
    monkeypatch.setattr(long_ctas, "EARLIEST", 60_000)
    monkeypatch.setattr(many_ctas, "LONG_WAVE", wave)
    gpu = device()
    (full, before), (sampled, after) = launch(device(None), 320, 100), launch(gpu, 320, 100)
    mark = sampled.timing.sampled
    assert type(gpu.machine._sampler) is sampler
    assert mark.gaps >= 1
    assert mark.share < 0.8
    assert before.tobytes() == after.tobytes()
    assert sampled.instructions == full.instructions
    assert abs(sampled.cycles - full.cycles) <= max(mark.error, 0.02) * full.cycles


def test_a_launch_of_many_such_waves_is_not(monkeypatch):
    monkeypatch.setattr(many_ctas, "LONG_WAVE", 1000)
    monkeypatch.setattr(many_ctas, "FEW_WAVES", 10)
    gpu = device()
    launch(gpu, 320, 20)
    assert type(gpu.machine._sampler) is many_ctas.ManyCtas
