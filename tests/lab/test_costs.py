"""What a sweep costs besides its runs: little time, and no memory that grows with their number."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

import simtlab as sl
from simtlab.lab import ingredients
from simtlab.lab.record import Record
from simtlab.lab.store.results import results
from simtlab.lab.store.store import Store
from simtlab.lab.sweep.loop import Loop
from simtlab.lab.sweep.plan import make_plan
from simtlab.lab.sweep.pool import Pool, usual_processes
from simtlab.lab.sweep.study import read_study
from simtlab.lab.sweep.task import Outcome, Task, Watch
from simtlab.workloads.loading import workloads
from tests.lab.test_store import record

TWO_CORES = pytest.mark.skipif(usual_processes() < 2, reason="needs two cores")


class Meter(Watch):
    """Notes the time and this process's memory at every result."""

    def __init__(self):
        self.times, self.seconds, self.kilobytes = [], [], []

    def finished(self, record: Record) -> None:
        self.times.append(time.monotonic())
        self.seconds.append(record.seconds)
        status = Path("/proc/self/status").read_text()
        self.kilobytes.append(int(status.split("VmRSS:")[1].split()[0]))


def tiny_runs(count: int) -> sl.Sweep:
    """Runs of two programs of the package at size tiny."""
    return sl.Sweep(["MM", "CP"], "tiny", "caps-gtx480", seed=list(range(count // 2)))


def timed(sweep: sl.Sweep, store: Path, processes: int):
    meter = Meter()
    with Store(store) as opened, Pool(processes) as pool:
        return Loop(sweep, opened, pool, meter).run(), meter


SHORT_SECONDS = 0.04  # what handing out, storing and checking a run may cost where the run itself takes less than ten times that


def test_between_runs_a_worker_waits_for_less_than_a_tenth_of_the_time(store):
    """From the first result on, so that starting the process, which costs the same for any number of runs, does not count."""
    summary, meter = timed(tiny_runs(16), store, 1)
    assert summary.done == 16
    wall, inside = meter.times[-1] - meter.times[0], sum(meter.seconds[1:])
    assert wall - inside < max(0.1 * wall, 15 * SHORT_SECONDS), f"{inside:.2f} of {wall:.2f} s"


@pytest.fixture(scope="module")
def two_hundred(tmp_path_factory):
    """Every program of the package at size tiny, eight inputs each: 200 runs and more, on one process and on two."""
    sweep, folder = sl.Sweep(workloads(), "tiny", "caps-gtx480", seed=list(range(8))), tmp_path_factory.mktemp("costs")
    assert len(sweep) >= 200
    done = {processes: timed(sweep, folder / f"{processes}.sqlite", processes) for processes in (1, 2)}
    for processes, (summary, _) in done.items():
        share = summary.run_seconds / (processes * summary.wall_seconds)
        print(f"\n{summary.done} runs, processes: {processes}, {summary.wall_seconds:.1f} s, {share:.1%} of it inside the runs")
    return done


@pytest.mark.slow
@pytest.mark.alone
@TWO_CORES
def test_a_sweep_of_200_tiny_runs_spends_under_a_tenth_of_its_time_outside_them(two_hundred):
    """Starting the processes, handing out and storing, as a share of the processes' time. On a machine with nothing else to do."""
    summary, meter = two_hundred[2]
    assert summary.run_seconds > 0.9 * 2 * summary.wall_seconds
    assert meter.kilobytes[-1] - meter.kilobytes[50] < 4096


@pytest.mark.slow
@pytest.mark.alone
@TWO_CORES
def test_two_processes_are_at_least_1_7_times_as_fast_as_one(two_hundred):
    """On a machine with nothing else to do; where two runs side by side slow each other down, so much less."""
    one, two = (two_hundred[processes][0] for processes in (1, 2))
    assert one.wall_seconds / one.run_seconds > 1.7 * two.wall_seconds / two.run_seconds


def test_planning_ten_thousand_experiments_takes_seconds_and_reads_each_program_once(store, tmp_path, monkeypatch):
    study = tmp_path / "study.toml"
    study.write_text(f'workloads = ["BFS", "MM"]\nsize = "tiny"\ngpu = "caps-gtx480"\nseed = {list(range(313))}\n'
                     f'[policies]\nwarp_scheduler = ["lrr", "gto"]\n[set]\nl1d.mshr_entries = {list(range(1, 9))}\n')  # fmt: skip
    read, digest = [], ingredients.workload_digest
    monkeypatch.setattr(ingredients, "workload_digest", lambda folder: read.append(folder.name) or digest(folder))
    begin = time.process_time()
    with Store(store) as opened:
        plan = make_plan(read_study(study), opened)
    assert time.process_time() - begin < 5
    assert plan.total == plan.missing == 10016
    assert sorted(set(read)) == ["bfs", "mm"]
    assert len(read) <= 8  # the program and its import, in the look that checks and in the one that plans


class Instant:
    """Workers that need no time: every experiment has the same result under its own key."""

    places = 4

    def __init__(self, pattern: Record):
        self.pattern, self.waiting = pattern, []

    def waiting_for(self) -> str:
        return ""

    def start(self, task: Task) -> None:
        self.waiting.append(task)

    def wait(self, seconds: float) -> Outcome:
        task = self.waiting.pop(0)
        return Outcome(task, record=replace(self.pattern, key=task.key, tables={"instructions": os.urandom(50_000)}))

    def stop(self) -> None:
        pass


def test_the_memory_of_a_sweep_does_not_grow_with_its_runs(sweep, store):
    meter = Meter()
    with Store(store) as opened:
        summary = Loop(sweep(400), opened, Instant(record("")), meter).run()
    assert summary.done == len(results(store, versions="all")) == 400
    assert meter.kilobytes[-1] - meter.kilobytes[100] < 4096  # these 300 records are 15 MB
