"""A core watched cycle by cycle: what is seen is what is counted, and looking changes nothing."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.watch import Watch

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


@pytest.mark.parametrize("window", [(5, 5), (7, 3), (-1, 4), (0, 200_000)])
def test_a_window_that_is_none_gets_a_sentence(window):
    with pytest.raises(sl.SimtlabError, match="window"):
        Watch(0, *window)
