"""A core watched cycle by cycle: what is seen is what is counted, and looking changes nothing."""

from time import process_time

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import CycleLimit
from simtlab.machine.watch import Watch
from tests.everyday import every
from tests.timing import mixed
from tests.timing.test_jump import UNEVEN

SOURCE = """
extern "C" __global__ void parts(const int *x, volatile int *y) {
    int i = threadIdx.x;
    int v = x[i];
    if (v < 8) { y[i] = v; y[i] = v * 3 + 1; }
    else y[i] = v - 5;
}
"""
FAR = 3000


def launched(detail, watch=None, warps=2):
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1, "core.detail": detail})
    gpu.machine.watch = watch
    x, y = gpu.array(np.arange(32 * warps, dtype="i4") % 32), gpu.zeros(32 * warps, "i4")
    return gpu.compile(SOURCE)["parts"](1, 32 * warps, [x, y])


@pytest.mark.parametrize("detail", [1, 2, 3])
def test_looking_changes_no_count(detail):
    plain, watched = launched(detail), launched(detail, Watch(0, 0, FAR))
    assert plain.cycles == watched.cycles
    assert plain.counters == watched.counters
    assert plain.stalls == watched.stalls


@pytest.mark.parametrize("detail", [1, 2, 3])
def test_every_issue_and_every_cause_is_seen(detail):
    watch = Watch(0, 0, FAR)
    run = launched(detail, watch)
    assert sum(len(cycle.issued) for cycle in watch.cycles) == run.instructions
    seen = [cause for cycle in watch.cycles for cause in cycle.causes]
    for cause in ("issued", "long_scoreboard", "wait"):
        assert seen.count(cause) == run.stalls[cause], cause


def test_issued_instructions_are_those_that_were_counted():
    watch = Watch(0, 0, FAR)
    run = launched(3, watch)
    pcs = np.bincount([pc for cycle in watch.cycles for _, pc in cycle.issued], minlength=len(run.program.lowered))
    assert pcs.tolist() == run.timing.stalls_by_instruction[:, 0].tolist()


def test_a_window_has_its_cycles_and_no_others():
    watch = Watch(0, 40, 60)
    launched(3, watch)
    assert [cycle.cycle for cycle in watch.cycles] == list(range(40, 60))


def test_an_instruction_goes_from_collector_to_unit_and_is_gone():
    watch = Watch(0, 0, FAR)
    run = launched(3, watch, warps=1)
    load = next(pc for pc, one in enumerate(run.program.lowered) if one.origin.spelling.startswith("ld.global"))
    stages = [one.stage for cycle in watch.cycles for one in cycle.instructions if one.pc == load]
    assert list(dict.fromkeys(stages)) == ["collect", "memory"]
    assert any(cycle.mshrs for cycle in watch.cycles)
    waiting = [cycle for cycle in watch.cycles if cycle.warps and cycle.warps[0].waits == "long scoreboard"]
    assert len(waiting) > 100
    assert all(cycle.warps[0].pending for cycle in waiting)


def test_a_window_from_0_on_has_as_many_cycles_as_it_says():
    """A machine's first cycle is 1."""
    watch = Watch(0, 0, 50)
    launched(3, watch)
    assert [cycle.cycle for cycle in watch.cycles] == list(range(1, 51))


def uneven(watch, changes, ctas=90):
    gpu = sl.Gpu("caps-gtx480", set=changes)
    gpu.machine.watch = watch
    y = gpu.zeros(ctas * 128)
    return gpu, gpu.compile(UNEVEN)["uneven"](ctas, 128, [y, np.int32(200)])


@pytest.mark.parametrize("detail", [1, 3])
def test_a_short_window_shows_what_a_long_one_does_where_cores_run_ahead(detail):
    """And changes no counter."""
    gpu, plain = uneven(None, {"core.detail": detail})
    assert gpu.machine.records.gpu[0].ahead > 0
    whole, short = Watch(3, 1, 9000), Watch(3, 1500, 1900)
    uneven(whole, {"core.detail": detail})
    _, run = uneven(short, {"core.detail": detail})
    assert short.cycles == whole.cycles[1499:1899]
    assert (run.cycles, run.counters, run.stalls) == (plain.cycles, plain.counters, plain.stalls)


def test_two_instructions_issued_in_one_cycle_are_both_seen():
    watch = Watch(0, 0, 30_000)
    _, run = uneven(watch, {"core.cores": 1, "issue.dual_issue": True}, ctas=8)
    assert run.counters["dual_issued"] > 100
    assert len(watch.cycles) == run.cycles
    assert sum(len(cycle.issued) for cycle in watch.cycles) == run.instructions


def test_a_log_that_is_full_is_taken_and_begun_anew():
    watch = Watch(0, 0, 60_000)
    _, run = uneven(watch, {"core.cores": 1}, ctas=16)
    assert len([part for part in watch._log if len(part) > 900_000]) > 0
    assert [cycle.cycle for cycle in watch.cycles] == list(range(1, run.cycles + 1))
    assert sum(len(cycle.issued) for cycle in watch.cycles) == run.instructions


def test_a_window_goes_on_in_the_next_launch():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    gpu.machine.watch = watch = Watch(0, 0, 5000)
    y = gpu.zeros(32, "i4")
    module = gpu.compile("""
        extern "C" __global__ void first(int *y) { y[threadIdx.x] += 1; }
        extern "C" __global__ void second(int *y) { y[threadIdx.x] *= 5; }
    """)
    runs = [module[name](1, 32, [y]) for name in ("first", "second", "first")]
    assert watch.programs == [runs[0].program, runs[1].program]
    kernels = [warp.kernel for cycle in watch.cycles for warp in cycle.warps]
    assert list(dict.fromkeys(kernels)) == [0, 1]
    assert kernels[-1] == 0
    assert sum(len(cycle.issued) for cycle in watch.cycles) == sum(run.instructions for run in runs)


PARTS = {"inject": ["inject"], "request_network": ["request network"], "l2": ["L2"], "dram": ["DRAM"],
         "reply_network": ["reply network", "fill"]}  # fmt: skip


@pytest.mark.parametrize(
    ("preset", "changes"),
    every(2, [("caps-gtx480", {}), ("gtx480", {"network.kind": "ideal"}), ("h200", {}),
              ("caps-gtx480", {"l1d.write_global": "write-back", "core.detail": 2})]),
)  # fmt: skip
def test_the_stages_of_all_requests_add_up_to_the_latency_that_is_counted(preset, changes):
    gpu = sl.Gpu(preset, set={"core.cores": 1, **changes})
    gpu.machine.watch = watch = Watch(0, 0, 100_000)
    run, _ = mixed.launch(gpu, 4)
    assert len(watch.cycles) == run.cycles
    counted = [one for one in watch.requests if one.kind not in ("write", "write back", "instruction")]
    assert len(counted) == run.counters["round_trips"] > 50
    assert {"read", "atomic", "instruction"} <= {one.kind for one in watch.requests}
    for part, stages in PARTS.items():
        cycles = sum(end - begin for one in counted for stage, begin, end in one.stages(run.cycles) if stage in stages)
        assert cycles == run.counters[f"latency_{part}_cycles"], part
    for one in watch.requests:
        on_its_way = one.sent, one.arrived, one.to_dram, one.from_dram, one.answered, one.delivered
        times = [time for time in (one.born, *on_its_way, one.ended) if time is not None]
        assert times == sorted(times)
        assert one.ended is not None
    misses = [one for one in watch.requests if one.l2 == "miss"]
    assert misses
    assert all(one.to_dram is not None and one.from_dram is not None for one in misses)
    if "l1d.write_global" in changes:
        backs = [one for one in watch.requests if one.kind == "write back"]
        assert backs
        assert all(one.arrived is not None and one.answered is None for one in backs)


def test_a_request_under_way_at_the_end_of_a_window_is_where_it_is():
    def requests(watch):
        gpu = sl.Gpu("caps-gtx480", set={"core.cores": 2})
        gpu.machine.watch = watch
        mixed.launch(gpu, 4)
        return watch.requests

    whole = requests(Watch(1, 0, 100_000))
    misses = [one for one in whole if one.to_dram is not None]
    last = misses[len(misses) // 2].to_dram + 5
    short = requests(Watch(1, last - 300, last))

    def seen(some):
        alive = [one for one in some if one.born < last and (one.ended is None or one.ended > last - 300)]
        ways = [[(stage, begin, min(end, last)) for stage, begin, end in one.stages(last) if begin < last] for one in alive]
        return sorted((one.address, one.kind, way) for one, way in zip(alive, ways, strict=True))

    assert seen(short) == seen(whole)
    assert {list(one.stages(last))[-1][0] for one in short if one.ended is None} >= {"DRAM"}


def test_a_run_that_is_given_up_shows_the_requests_it_had():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    gpu.machine.watch = watch = Watch(0, 0, 5000)
    gpu.machine.max_cycles = 200
    with pytest.raises(CycleLimit):
        mixed.launch(gpu, 4)
    assert len(watch.cycles) == 200
    assert any(one.ended is None for one in watch.requests)


@pytest.mark.slow
@pytest.mark.alone
def test_two_thousand_cycles_make_a_run_hardly_longer():
    """That of a kernel with 150,000 cycles; reading what was seen apart."""

    def seconds(watch):
        gpu = sl.Gpu("caps-gtx480", threads=1)  # as a run that is watched has
        x, y = gpu.zeros(1 << 20), gpu.zeros(1 << 20)
        text = 'extern "C" __global__ void add(const float *x, float *y) { int i = blockIdx.x * 256 + threadIdx.x; y[i] += x[i]; }'
        kernel = gpu.compile(text)["add"]
        kernel(1, 256, [x, y])
        gpu.machine.watch = watch
        begin = process_time()
        run = kernel(1 << 12, 256, [x, y])
        assert run.cycles > 100_000
        return process_time() - begin

    watches = [Watch(0, 20_000, 22_000) for _ in range(5)]
    plain, watched = (min(times) for times in zip(*((seconds(None), seconds(watch)) for watch in watches), strict=True))
    assert watched < 1.25 * plain
    begin = process_time()
    assert len(watches[0].cycles) == 2000
    assert process_time() - begin < plain


@pytest.mark.parametrize("window", [(5, 5), (7, 3), (-1, 4), (0, 200_000)])
def test_a_window_that_is_none_gets_a_sentence(window):
    with pytest.raises(sl.SimtlabError, match="window"):
        Watch(0, *window)
