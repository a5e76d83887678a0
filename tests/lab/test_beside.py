"""A program that comes while another one runs: what a study says of it, that both results are right, and what is stored."""

from dataclasses import replace

import pytest

import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.lab.errors import StudyError
from simtlab.lab.experiment import Beside, Experiment
from simtlab.lab.machines import MachineChoice
from simtlab.lab.run_experiment import run_experiment
from simtlab.lab.sweep.payload import pack_payload, unpack_payload
from simtlab.lab.sweep.study import read_study
from simtlab.lab.sweep.sweep import Sweep
from simtlab.policies.choice import PolicyChoice
from simtlab.workloads.beside import run_beside
from simtlab.workloads.errors import WrongResult
from simtlab.workloads.frame import workload

TWO_CORES = {"core.cores": 2}


def on_two_cores(**policies) -> sl.Gpu:
    return sl.Gpu("gtx480", set=TWO_CORES, **policies)


def test_two_programs_run_side_by_side():
    """Together they take longer than either alone, and less than one after the other."""
    first, other = workload("BLK", "tiny"), workload("SCP", "tiny")
    alone = [one.run(on_two_cores()).cycles for one in (first, other)]
    both = run_beside(first, other, on_two_cores())
    assert [len(run.launches) for run in (both.first, both.other)] == [1, 1]
    elapsed = {launch.timing.elapsed for launch in both.launches}
    assert len(elapsed) == 1
    assert max(alone) < elapsed.pop() < sum(alone)
    assert both.other_cycles == both.other.cycles


def test_a_delay_is_when_the_other_comes():
    """It counts from the machine's cycle 0; the first launch begins in cycle 1."""
    begins = {}
    for delay in (0, 2000):
        both = run_beside(workload("MM", "tiny"), workload("SCP", "tiny"), on_two_cores(), delay_cycles=delay)
        first, other = (run.launches[0].timing.start for run in (both.first, both.other))
        begins[delay] = other - first
    assert begins == {0: 0, 2000: 1999}


def test_each_launch_has_its_own_program():
    both = run_beside(workload("BLK", "tiny"), workload("SCP", "tiny"), on_two_cores())
    assert [both.program_of(launch).name == launch.kernel for launch in both.launches] == [True, True]


def test_a_program_that_reads_between_its_launches_goes_on_after_the_other():
    """BFS looks at its frontier after every level: what it launched before the first look runs beside the other."""
    both = run_beside(workload("BFS", "tiny"), workload("SCP", "tiny"), on_two_cores())
    assert len(both.first.launches) > 2
    assert both.other.launches[0].timing.start == both.first.launches[0].timing.start
    assert both.first.launches[-1].timing.start > both.other.launches[0].timing.start


def test_the_result_of_the_other_is_checked_too(program):
    with pytest.raises(WrongResult):
        run_beside(workload("BLK", "tiny"), workload(program, "tiny", wrong=1), on_two_cores())


# Studies --------------------------------------------------------------------------------------------------------------

STUDY = """
workloads = "{program}"
size = "tiny"
gpu = "gtx480"
[beside]
workload = "SCP"
delay_cycles = [0, 500]
[set]
core.cores = 2
[policies]
preemption = ["none", "always,how=1"]
"""


def test_a_study_file_says_what_comes_beside(program, tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(program=program))
    sweep = read_study(file)
    assert len(sweep) == 4
    found = sweep.run(store=tmp_path / "store.sqlite", processes=1)
    assert sorted(result.value("beside.delay_cycles") for result in found) == [0, 0, 500, 500]
    for result in found:
        assert result.choices["beside.workload"] == "SCP"
        assert result.value("beside.priority") == 1
        assert 0 < result.value("beside_cycles") <= result.value("cycles")
        assert result.table("launches")["kernel"][0] == "steps"
        assert len(result.table("launches")["kernel"]) == 2
    assert len(list(found.where("beside.delay_cycles=500"))) == 2


@pytest.mark.parametrize(("beside", "words"), [
    ({"priority": 1}, "beside names no workload"),
    ({"workload": "SCP", "priority": 4}, "beside.priority is 4; it must be a whole number from 0 to 3"),
    ({"workload": "SCP", "delay_cycles": 1.5}, "beside.delay_cycles is 1.5"),
    ({"workload": "SCP", "lorries": 3}, "SCP has no parameter 'lorries'"),
    ({"workload": "ABSENT"}, "ABSENT"),
    ({"workload": 3}, "beside.workload is 3; it must be a text"),
])  # fmt: skip
def test_what_is_wrong_is_told_before_anything_runs(beside, words):
    with pytest.raises((StudyError, SimtlabError), match=words):
        [one.key for one in Sweep("BLK", "tiny", "gtx480", beside=beside).experiments()]


def test_what_comes_beside_is_part_of_the_key():
    alone = Experiment("BLK", "tiny", MachineChoice("gtx480"))
    several = [Beside("SCP", "tiny"), Beside("SCP", "small"), Beside("MM", "tiny"), Beside("SCP", "tiny", priority=2),
               Beside("SCP", "tiny", delay_cycles=100)]  # fmt: skip
    assert len({alone.key, *(replace(alone, beside=one).key for one in several)}) == 6


def test_what_comes_beside_travels_with_the_experiment(program, tmp_path, monkeypatch):
    monkeypatch.setattr("simtlab.lab.sweep.payload.cache_directory", lambda: tmp_path / "worker")
    experiment = Experiment("BLK", "tiny", MachineChoice("gtx480"), beside=Beside(str(program), "tiny"))
    payload, sources = pack_payload(experiment)
    unpacked = unpack_payload(payload, {digest: path.read_bytes() for digest, path in sources.items()})
    assert str(tmp_path / "worker") in unpacked.beside.workload
    assert unpacked.key == experiment.key


def test_an_urgent_program_is_done_sooner_with_preemption():
    """HT's CTAs of 256 threads fill the one core: an urgent kernel waits for one to end, or for a context to be saved."""
    machine = MachineChoice("gtx480", {"core.cores": 1, "core.max_ctas": 2})
    both = Experiment("HT", "tiny", machine, beside=Beside("SCP", "tiny", delay_cycles=1500))
    waits = run_experiment(both).counters
    policy = {"preemption": PolicyChoice("always", {"how": 1})}
    soon = run_experiment(replace(both, machine=replace(machine, policies=policy))).counters
    assert soon["beside_cycles"] < waits["beside_cycles"]
