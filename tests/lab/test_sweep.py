"""Sweeps lose nothing: workers killed, hanging and out of memory, the sweep itself killed, Ctrl-C, two at once."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from simtlab.lab.store.results import results
from simtlab.lab.store.store import Store
from simtlab.lab.sweep.loop import Loop, SweepFailed
from simtlab.lab.sweep.pool import Pool
from simtlab.lab.sweep.task import Watch
from tests.lab.conftest import everything, marking, simtlab, start, wait_for_results, wait_until


class Killer(Watch):
    """Kills a worker as soon as it has something to do, so many times."""

    def __init__(self, pool: Pool, times: int):
        self.pool, self.times, self.reasons = pool, times, []

    def tick(self, under_way: int) -> None:
        for worker in self.pool._busy:
            if self.times and worker.ready:
                self.times -= 1
                os.kill(worker.process.pid, signal.SIGKILL)
                return

    def lost(self, task, why: str) -> None:
        self.reasons.append(why)


def run(sweep, store: Path, pool: Pool, watch: Watch | None = None):
    with Store(store) as opened, pool:
        return Loop(sweep, opened, pool, watch or Watch()).run()


@pytest.mark.quick
def test_a_sweep_runs_what_is_missing_and_nothing_else(sweep, store):
    first = run(sweep(2), store, Pool(2))
    assert (first.done, first.stored_before, first.failures) == (2, 0, [])
    again = run(sweep(3), store, Pool(2))
    assert (again.done, again.stored_before) == (1, 2)
    table = sweep(3).run(store).to_pandas()  # all there: no process is started
    assert sorted(table["seed"]) == [0, 1, 2]
    assert (table["cycles"] > 0).all()


def test_a_result_is_what_the_same_run_gives_outside_the_lab(sweep, store, program):
    import simtlab as sl

    run(sweep(1), store, Pool(1))
    alone = sl.workload(program, size="tiny").run(sl.Gpu("caps-gtx480", set={"core.cores": 1, "l1d.mshr_entries": 16}))
    (result,) = results(store)
    timing = alone.launches[0].timing
    assert result.plain["cycles"] == timing.cycles
    assert {name: result.counters[name] for name in timing.counters} == timing.counters
    record = results(store).record(result.key)
    rows = record.table("instructions")
    for k, cause in enumerate(timing.stalls):
        assert rows[f"stall_{cause}"] == timing.stalls_by_instruction[:, k].tolist()
    assert set(rows["file"]) <= {"kernel.cu", None}
    loads = [(name, looped) for name, load, looped in zip(rows["instruction"], rows["load"], rows["in_loop"], strict=True) if load]
    assert [looped for _, looped in loads].count(False) >= 1  # x[i % n]
    assert all(name.startswith("ld.global") for name, _ in loads)
    assert record.table("launches")["cycles"] == [timing.cycles]


def test_a_killed_worker_costs_a_retry_and_changes_no_result(sweep, store, tmp_path):
    long = sweep(3, parameters={"rounds": 3000})
    pool = Pool(1)
    killer = Killer(pool, times=2)
    summary = run(long, store, pool, killer)
    assert (summary.done, summary.retries, summary.failures) == (3, 2, [])
    assert all("SIGKILL" in reason for reason in killer.reasons)
    run(long, tmp_path / "undisturbed.sqlite", Pool(1))
    assert everything(store) == everything(tmp_path / "undisturbed.sqlite")


@pytest.mark.slow  # five seconds
def test_a_process_is_replaced_after_many_runs(sweep, store, monkeypatch):
    monkeypatch.setattr("simtlab.lab.sweep.pool.RUNS_A_PROCESS", 2)
    used = set()

    class Note(Watch):
        def started(self, task):
            used.update(worker.process.pid for worker in pool._busy)

    pool = Pool(1)
    summary = run(sweep(3), store, pool, Note())
    assert (summary.done, summary.retries, len(used)) == (3, 0, 2)


def test_a_run_that_kills_every_worker_fails_after_three_tries_and_the_rest_goes_on(sweep, store, program):
    definition = program / "workload.py"
    definition.write_text(definition.read_text() + "\n\nimport os, signal\nplain = run\n\n\ndef run(launcher, data):\n"
                          "    if data['wrong']:\n        os.kill(os.getpid(), signal.SIGKILL)\n    return plain(launcher, data)\n")
    summary = run(sweep(1, parameters={"wrong": [1, 0]}), store, Pool(1))
    assert (summary.done, summary.retries, len(summary.failures)) == (1, 2, 1)
    failure = summary.failures[0]
    assert failure.tries == 3
    assert "tried 3 times" in failure.error
    assert "SIGKILL" in failure.error
    with Store(store) as opened:
        assert [found.error for found in opened.failures()] == [failure.error]


def test_a_run_that_hangs_is_ended_and_tried_again(sweep, store, program, tmp_path):
    definition, mark = program / "workload.py", tmp_path / "was here"
    definition.write_text(definition.read_text() + f"\n\nimport os, time\nplain = run\n\n\ndef run(launcher, data):\n"
                          f"    if not os.path.exists({str(mark)!r}):\n        open({str(mark)!r}, 'w').close()\n"
                          "        time.sleep(1000)\n    return plain(launcher, data)\n")
    summary = run(sweep(1), store, Pool(1, patience_seconds=4))
    assert (summary.done, summary.retries) == (1, 1)


@pytest.mark.slow  # seven seconds
def test_memory_that_runs_out_counts_as_a_death(sweep, store, program):
    definition = program / "workload.py"
    definition.write_text(definition.read_text() + "\n\nplain = run\n\n\ndef run(launcher, data):\n"
                          "    if data['wrong']:\n        np.zeros(1 << 50)\n    return plain(launcher, data)\n")
    summary = run(sweep(1, parameters={"wrong": [1, 0]}), store, Pool(1))
    assert (summary.done, summary.retries) == (1, 2)
    assert "ran out of memory" in summary.failures[0].error


@pytest.mark.parametrize(("code", "words"), [("sys.exit(3)", "it called sys.exit(3)"), ("sys.exit()", "it called sys.exit()"),
                                             ("raise ValueError('no')", "ValueError: no")])  # fmt: skip
def test_a_workload_that_exits_or_raises_is_a_failure_with_its_line_and_the_rest_goes_on(sweep, store, program, code, words):
    definition = program / "workload.py"
    added = f"\n\nimport sys\nplain = run\n\n\ndef run(launcher, data):\n    if data['wrong']:\n        {code}\n"
    text = definition.read_text() + added
    definition.write_text(text + "    return plain(launcher, data)\n")
    summary = run(sweep(1, parameters={"wrong": [1, 0]}), store, Pool(1))
    assert (summary.done, summary.retries, len(summary.failures)) == (1, 0, 1)
    line = text.splitlines().index(f"        {code}") + 1
    assert summary.failures[0].error == f"{words} ({definition}:{line})"


@pytest.mark.slow  # seven seconds
def test_a_worker_that_ends_by_itself_is_told_by_its_status_and_not_as_out_of_memory(sweep, store, program):
    definition = program / "workload.py"
    definition.write_text(definition.read_text() + "\n\nimport os\n\n\ndef run(launcher, data):\n    os._exit(7)\n")
    (failure,) = run(sweep(1), store, Pool(1)).failures
    assert "its process ended with status 7" in failure.error
    assert "memory" not in failure.error


def test_wrong_results_and_errors_are_failures_not_results(sweep, store):
    with pytest.raises(SweepFailed, match="WrongResult: STEPS at size tiny: 64 of 64 elements of 'y' are wrong"):
        sweep(1, parameters={"wrong": [5]}).run(store)
    with pytest.raises(SweepFailed, match=r"n must|ValueError|LaunchError"):
        sweep(1, parameters={"n": [16]}).run(store)  # a grid of no blocks
    assert len(results(store)) == 0
    with Store(store) as opened:
        assert len(opened.failures()) == 2


def test_sources_changed_in_mid_sweep_are_noticed(sweep, store, program):
    class Editor(Watch):
        def started(self, task):
            (program / "kernel.cu").write_text((program / "kernel.cu").read_text() + "// edited\n")

    summary = run(sweep(1), store, Pool(1), Editor())
    assert summary.done == 0
    assert "sources were changed" in summary.failures[0].error
    assert len(results(store)) == 0


def test_changing_one_line_of_a_policy_runs_just_its_runs_again(sweep, store, policy):
    both = sweep(1, policies={"warp_scheduler": ["gto", str(policy)]})
    assert run(both, store, Pool(1)).done == 2
    text = policy.read_text()
    policy.write_text(text.replace("63", "0"))
    again = run(both, store, Pool(1))
    assert (again.done, again.stored_before) == (1, 1)
    everything_stored = [(r.policies["warp_scheduler"]["name"], r.key) for r in results(store, versions="all")]
    assert [name for name, _ in everything_stored] == ["gto", "lowest", "lowest"]
    keys = [key for _, key in everything_stored]
    assert [r.key for r in results(store)] == [keys[0], keys[2]]
    before, after = (results(store).one(key).value("warp_scheduler.sources") for key in keys[1:])
    assert before != after
    policy.write_text(text)  # the edit is taken back: nothing runs, and the first result is the latest again
    both.run(store)
    assert [r.key for r in results(store)] == keys[:2]


# The command line -----------------------------------------------------------------------------------------------------


def test_the_command_line_plans_runs_lists_failures_and_resumes(study, store):
    path = study(2, more="[parameters]\nwrong = [0, 1]")
    plan = json.loads(simtlab("sweep", path, "--store", store, "--plan", "--json").stdout)["plan"]
    assert (plan["total"], plan["stored"], plan["missing"]) == (4, 0, 4)
    first = simtlab("sweep", path, "--store", store, "--processes", 1)
    assert first.returncode == 1
    assert first.stderr.startswith("4 experiments: 0 stored, 4 to run; no earlier results")
    assert "2 run and stored, 0 stored before, 2 failed" in first.stdout
    assert first.stdout.count("failed: STEPS tiny") == 2
    assert "Traceback" not in first.stderr
    path = study(2, more="[parameters]\nwrong = 0")
    again = simtlab("sweep", path, "--store", store)
    assert again.returncode == 0
    assert again.stderr == "2 experiments: 2 stored, 0 to run\n"
    more = simtlab("sweep", study(3), "--store", store, "--plan")
    assert more.stdout.startswith("3 experiments: 2 stored, 1 to run, about ")
    assert "are wrong" in simtlab("results", "--failed", "--store", store).stdout


def test_ctrl_c_once_finishes_what_runs_and_stores_it(study, store):
    path = study(40, "small", "parameters.rounds = 40000")
    running = start("sweep", path, "--store", store, "--processes", 1, start_new_session=True)
    wait_for_results(store, 1)
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does it
    out, err = running.communicate(timeout=300)
    assert running.returncode == 130
    assert "finishing the 1 under way; Ctrl-C again stops now" in err
    assert "stopped by Ctrl-C" in out
    stored = len(results(store))
    assert 1 < stored < 40
    assert f"{stored} run and stored" in out


def started_long_run(study, store: Path, tmp_path: Path) -> subprocess.Popen:
    """A sweep in the middle of a run that takes many minutes."""
    path, mark = study(1, "small", "[parameters]\nrounds = 3000000"), tmp_path / "begun"
    running = start("sweep", path, "--store", store, "--processes", 1, env=marking(mark))
    wait_until(mark.exists, "a worker begins the run")
    return running


def test_ctrl_c_twice_stops_now(study, store, tmp_path):
    running = started_long_run(study, store, tmp_path)
    running.send_signal(signal.SIGINT)
    assert "finishing the 1 under way; Ctrl-C again stops now\n" in running.stderr
    assert running.poll() is None
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    running.communicate()
    assert len(results(store)) == 0


@pytest.mark.slow  # ten seconds
def test_two_sweeps_on_one_store_both_finish(study, store, tmp_path):
    path = study(6)
    running = [start("sweep", path, "--store", store, "--processes", 1) for _ in range(2)]
    answers = [process.communicate(timeout=600) for process in running]
    assert [process.returncode for process in running] == [0, 0], answers
    assert simtlab("sweep", path, "--store", tmp_path / "alone.sqlite", "--processes", 1).returncode == 0
    assert everything(store) == everything(tmp_path / "alone.sqlite")


@pytest.mark.slow  # thirteen seconds with one kill; what one killed worker does is an everyday test
@pytest.mark.parametrize("times", [1, 20])
def test_a_sweep_killed_at_random_moments_and_resumed_ends_with_the_same_store(study, store, tmp_path, times):
    path, chance = study(4 * times, "small"), random.Random(times)
    for _ in range(times):
        running = start("sweep", path, "--store", store, "--processes", 2)
        wait_for_some(chance, running, store)
        running.kill()
        running.communicate()
    assert simtlab("sweep", path, "--store", store).returncode == 0
    assert simtlab("sweep", path, "--store", tmp_path / "undisturbed.sqlite", "--processes", 1).returncode == 0
    assert everything(store) == everything(tmp_path / "undisturbed.sqlite")
    assert len(results(store)) == 4 * times


def wait_for_some(chance: random.Random, running: subprocess.Popen, store: Path) -> None:
    """Until a moment at random: while it starts, or soon after one more result, or two, or three."""
    more, until = chance.choice([0, 1, 1, 2, 3]), time.monotonic() + chance.uniform(0, 2)
    wanted = (len(results(store)) if store.exists() else 0) + more

    def is_time() -> bool:
        if running.poll() is not None or not more:
            return running.poll() is not None or time.monotonic() > until
        return store.exists() and len(results(store)) >= wanted

    wait_until(is_time, f"{wanted} results are stored")
    time.sleep(chance.uniform(0, 0.2))  # the middle of something, whatever it is


def test_workers_do_not_outlive_a_killed_sweep(study, store, tmp_path):
    running = started_long_run(study, store, tmp_path)
    workers = children(running.pid)
    assert workers
    running.kill()
    running.communicate()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers), "no worker is running")


def children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task")
    return [int(child) for task in tasks.iterdir() for child in (task / "children").read_text().split()]
