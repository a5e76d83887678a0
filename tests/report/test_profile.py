"""The figures of a profile: they are the run's own, and those of several launches add up."""

import gc

import numpy as np
import pytest

import simtlab as sl
from simtlab.report.profile import MOST_LAUNCHES, added, by_kernel

SOURCE = """
extern "C" __global__ void gather(const int *at, const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[at[i]] + 1;
}
"""


@pytest.fixture(scope="module")
def gpu():
    """Kept as long as its runs are looked at: it has the intervals."""
    return sl.Gpu("caps-gtx480", set={"core.cores": 2})


@pytest.fixture(scope="module")
def runs(gpu):
    gpu.machine.interval_cycles = 64
    at = gpu.array(np.random.default_rng(1).permutation(2048).astype("i4"))
    x, y = gpu.array(np.arange(2048, dtype="f4")), gpu.zeros(2048, "f4")
    kernel = gpu.compile(SOURCE)["gather"]
    return [kernel(n // 256, 256, [at, x, y, n]) for n in (2048, 1024, 2048)]


def row(profile, start):
    return next(one for one in profile.rows if one.text.startswith(start))


def test_a_launch_has_the_counts_of_its_run(runs):
    for run in runs:
        (profile,) = run.figures()
        assert (profile.cycles, profile.instructions) == (run.cycles, run.instructions)
        assert profile.stalls == run.stalls
        assert sum(one.issued for one in profile.rows) == run.instructions
        assert sum(one.lanes for one in profile.rows) == run.timing.thread_instructions


def test_the_intervals_of_a_launch_are_those_of_its_time(runs):
    for run in runs:
        (profile,) = run.figures()
        assert np.all(profile.intervals["cycle"] > 0)
        assert np.all(profile.intervals["cycle"] <= run.cycles)
        seen = profile.intervals["instructions"].sum()
        assert seen == pytest.approx(run.instructions, rel=0.1)  # the first interval may have begun in the launch before


def test_an_instruction_names_the_loads_it_waits_for(runs):
    (profile,) = runs[0].figures()
    index, value = row(profile, "ld.global.u32"), row(profile, "ld.global.f32")
    assert row(profile, "add.f32").waits_on == [value.pc]
    assert index.pc in {pc for one in profile.rows if one.text.startswith("mul.wide.s32") for pc in one.waits_on}
    assert (index.load_class, value.load_class) == ("D", "N")
    assert value.l1_hits + value.l1_misses == value.accesses
    assert row(profile, "st.global").is_load is False


def test_the_source_of_a_line_is_there(runs):
    (profile,) = runs[0].figures()
    store = row(profile, "st.global")
    assert profile.sources[store.file].splitlines()[store.line - 1].strip() == "y[i] = x[at[i]] + 1;"


def test_launches_of_one_kernel_add_up(runs):
    parts = [one for run in runs for one in run.figures()]
    total = added(parts)
    assert total.launches == 3
    assert total.cycles == sum(run.cycles for run in runs)
    assert total.counters["l1_misses"] == sum(run.counters["l1_misses"] for run in runs)
    assert total.scheduler_cycles == sum(sum(run.stalls.values()) for run in runs)
    issued = np.sum([[one.issued for one in part.rows] for part in parts], axis=0)
    assert [one.issued for one in total.rows] == issued.tolist()
    assert np.all(np.diff(total.intervals["cycle"]) > 0)


def test_few_launches_are_shown_one_by_one_and_many_by_kernel(runs):
    one = runs[0].figures()
    assert len(by_kernel(one * MOST_LAUNCHES)) == MOST_LAUNCHES
    (together,) = by_kernel(one * (MOST_LAUNCHES + 1))
    assert together.launches == MOST_LAUNCHES + 1


def test_a_functional_run_has_no_figures():
    gpu = sl.Gpu()
    run = gpu.compile('extern "C" __global__ void nothing() {}')["nothing"](1, 1, [])
    with pytest.raises(sl.SimtlabError, match="this run has no timing"):
        run.figures()
    with pytest.raises(sl.SimtlabError, match="this run has no timing"):
        run.explain()


def test_a_workloads_run_is_explained_too(tmp_path):
    run = sl.workload("SCN", size="tiny").run(sl.Gpu("caps-gtx480", set={"core.cores": 2}))
    assert run.explain().count("cycles,") >= 1
    assert run.profile(tmp_path / "scn.html").exists()


def test_a_run_does_not_keep_its_gpu_and_is_explained_without_it():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    run = gpu.compile('extern "C" __global__ void nothing() {}')["nothing"](1, 32, [])
    assert run.gpu() is gpu
    del gpu
    gc.collect()
    assert run.gpu() is None
    assert run.explain().startswith("nothing: ")
    assert len(run.figures()[0].intervals["cycle"]) == 0
