"""A run's key: equal for equal ingredients, another one as soon as anything it depends on changes."""

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from simtlab.errors import CycleLimit, SimtlabError
from simtlab.lab import sources
from simtlab.lab.experiment import Experiment
from simtlab.lab.machines import MachineChoice
from simtlab.lab.run_experiment import run_experiment
from simtlab.policies.choice import PolicyChoice
from simtlab.storage import PACKAGE


def experiment(workload="BFS", size="tiny", gpu="caps-gtx480", changes=None, scheduler=None, **more) -> Experiment:
    policies = {"warp_scheduler": scheduler} if scheduler else {}
    return Experiment(str(workload), size, MachineChoice(gpu, changes or {}, policies), **more)


def test_what_is_left_out_and_what_is_said_to_be_usual_are_the_same():
    assert experiment(gpu="v100").key == experiment(gpu="v100", scheduler=PolicyChoice("lrr")).key
    assert experiment().key == experiment(scheduler=PolicyChoice("two-level")).key  # what the preset has
    assert experiment().key == experiment(changes={"l1d.ways": 4}).key
    named = experiment(scheduler=PolicyChoice("two-level", {"active_warps": 8}))
    assert named.key == experiment(scheduler=PolicyChoice("two-level")).key


@pytest.mark.parametrize(
    "other",
    [
        experiment("MM"), experiment(size="small"), experiment(gpu="gtx480"), experiment(changes={"l1d.mshr_entries": 16}),
        experiment(scheduler=PolicyChoice("gto")), experiment(scheduler=PolicyChoice("two-level", {"active_warps": 6})),
        experiment(seed=1), experiment(parameters={"nodes": 2048}),
    ],
    ids=str,
)  # fmt: skip
def test_every_choice_is_part_of_the_key(other):
    assert other.key != experiment().key


def test_the_cuda_compiler_is_part_of_the_key(monkeypatch):
    """PTX and register counts come from it, and with them how many CTAs fit in a core."""
    before = experiment().key
    monkeypatch.setattr(sources, "compiler_version", lambda: "13.0.1")
    sources.simulator_digest.cache_clear()
    after = experiment().key
    sources.simulator_digest.cache_clear()
    assert after != before


def test_a_result_has_its_time_on_the_machine_which_the_clocks_change(program):
    """At 1,400 MHz a cycle takes 1 / 1400 us, with clocks that are 15% faster 1 / 1.15 of that."""
    faster = {"clocks": PolicyChoice("fixed", {"core": 2, "memory": 2, "period": 16})}
    usual, fast = (
        run_experiment(Experiment(str(program), "tiny", MachineChoice("caps-gtx480", {"core.cores": 1}, policies))).counters
        for policies in ({}, faster)
    )
    assert usual["machine_seconds"] == pytest.approx(usual["cycles"] / 1400e6, rel=0.01)
    assert fast["machine_seconds"] == pytest.approx(fast["cycles"] / (1.15 * 1400e6), rel=0.01)


def test_a_result_says_whose_register_count_decided(program):
    record = run_experiment(experiment(program, changes={"core.cores": 1}))
    assert {row["registers_from"] for row in record.occupancy} == {"ptxas for sm_75"}
    assert all(row["registers"] > 0 for row in record.occupancy)


def test_a_machine_file_counts_by_its_values(tmp_path):
    path = tmp_path / "caps-gtx480.toml"
    path.write_text('base = "caps-gtx480"\n# a remark\nl1d.mshr_entries = 32\n')
    assert experiment(gpu=str(path)).key == experiment().key
    path.write_text('base = "caps-gtx480"\nl1d.mshr_entries = 33\n')
    assert experiment(gpu=str(path)).key != experiment().key


def test_a_policy_of_ones_own_counts_by_its_text(policy, tmp_path):
    def keys():
        return experiment(scheduler=PolicyChoice(str(policy))).key, experiment().key

    before = keys()
    elsewhere = tmp_path / "folder" / policy.name
    elsewhere.parent.mkdir()
    shutil.copy(policy, elsewhere)
    assert experiment(scheduler=PolicyChoice(str(elsewhere))).key == before[0]
    policy.write_text(policy.read_text().replace("63", "62"))
    after = keys()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_a_workload_counts_by_its_folder_wherever_it_is(program, tmp_path):
    before = experiment(program).key
    moved = tmp_path / "elsewhere" / "steps"
    shutil.copytree(program, moved)
    assert experiment(moved).key == before
    (program / "header.h").write_text("#define N 3\n")
    assert experiment(program).key != before


def test_a_workload_that_was_edited_is_imported_anew(program):
    """Old code must never run under the key of the new."""
    one = experiment(program, changes={"core.cores": 1})
    before, definition = run_experiment(one), program / "workload.py"
    definition.write_text(definition.read_text().replace('"rounds": 2', '"rounds": 9'))
    after = run_experiment(one)
    assert (before.inputs["parameters"]["rounds"], after.inputs["parameters"]["rounds"]) == (2, 9)
    assert after.instructions > before.instructions
    assert after.key == one.key != before.key


def test_a_header_outside_the_folder_counts_when_it_is_included(program, tmp_path):
    header = tmp_path / "common.h"
    header.write_text("#define N 3\n")
    without = experiment(program).key
    (program / "kernel.cu").write_text('#include "../common.h"\n' + (program / "kernel.cu").read_text())
    included = experiment(program).key
    header.write_text("#define N 4\n")
    assert len({without, included, experiment(program).key}) == 3


def test_an_input_file_counts_by_its_contents(tmp_path):
    graph, copy = tmp_path / "graph.el", tmp_path / "copy.el"
    graph.write_text("0 1\n1 2\n")
    copy.write_text("0 1\n1 2\n")
    before = experiment(files={"graph": str(graph)}).key
    assert experiment(files={"graph": str(copy)}).key == before
    graph.write_text("0 1\n1 0\n")
    assert experiment(files={"graph": str(graph)}).key != before


def test_a_policys_limits_are_looked_at_before_anything_runs(policy):
    policy.write_text(policy.read_text() + '\nparameters = {"depth": 4}\nlimits = {"depth": (1, 8)}\n')
    experiment(scheduler=PolicyChoice(str(policy), {"depth": 8})).ingredients()
    with pytest.raises(SimtlabError, match="depth = 9 is impossible: allowed is from 1 to 8"):
        experiment(scheduler=PolicyChoice(str(policy), {"depth": 9})).ingredients()


KEYS = """
import json, sys
from simtlab.lab.experiment import Experiment
from simtlab.lab.machines import MachineChoice
from simtlab.policies.choice import PolicyChoice
runs = [(w, s) for w in ("BFS", "CNV") for s in ("lrr", "gto")]
print(json.dumps({f"{w} {s}": Experiment(w, "tiny", MachineChoice("caps-gtx480", {}, {"warp_scheduler": PolicyChoice(s)})).key
                  for w, s in runs}))
"""


@pytest.fixture(scope="module")
def copy_of_simtlab(tmp_path_factory) -> Path:
    """simtlab's sources where they can be edited."""
    folder = tmp_path_factory.mktemp("copy") / "simtlab"
    shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@cache
def keys_as_it_is(package: Path) -> dict[str, str]:
    return keys_in(package)


def keys_in(package: Path) -> dict[str, str]:
    done = subprocess.run([sys.executable, "-c", KEYS], env={"PYTHONPATH": str(package.parent)}, capture_output=True, check=True)
    return json.loads(done.stdout)


def changed_keys(package: Path, file: str) -> set[str]:
    """Which runs have another key after a line was added to a file."""
    before, path = keys_as_it_is(package), package / file
    text = path.read_text()
    path.write_text(text + "\n# a line\n")
    after = keys_in(package)
    path.write_text(text)
    return {name for name in before if before[name] != after[name]}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("policies/warp_scheduler/gto.py", {"BFS gto", "CNV gto"}),
        ("workloads/bfs/workload.py", {"BFS lrr", "BFS gto"}),
        ("workloads/graphs.py", {"BFS lrr", "BFS gto"}),  # the generator of BFS's input
        ("workloads/cnv/kernel.cu", {"CNV lrr", "CNV gto"}),
        ("machine/core/issue.py", {"BFS lrr", "BFS gto", "CNV lrr", "CNV gto"}),
        ("policies/hook.py", {"BFS lrr", "BFS gto", "CNV lrr", "CNV gto"}),
        ("cli/results.py", set()),
        ("lab/store/results.py", set()),
        ("workloads/page.py", set()),
        ("machine/presets/v100.toml", set()),
    ],
)
def test_a_change_counts_for_the_runs_that_depend_on_it(copy_of_simtlab, file, changed):
    assert changed_keys(copy_of_simtlab, file) == changed


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (experiment("BSF"), "did you mean BFS"),
        (experiment(gpu="gtx48"), "did you mean gtx480"),
        (experiment(scheduler=PolicyChoice("gtoo")), "did you mean 'gto'"),
        (experiment(scheduler=PolicyChoice("gto", {"depth": 3})), "has no parameter 'depth'"),
        (experiment(scheduler=PolicyChoice("two-level", {"active_warps": 2.5})), "allowed is a whole number"),
        (experiment(changes={"l1d.wayz": 3}), "did you mean l1d.ways"),
        (experiment(size="huge"), "its sizes are tiny, small, paper"),
        (experiment(parameters={"nodez": 3}), "has no parameter 'nodez'"),
        (experiment(files={"graph": "nowhere.el"}), "cannot read nowhere.el"),
        (experiment(gpu=None), "needs a machine"),
    ],
    ids=str,
)
def test_what_does_not_exist_is_named(wrong, message):
    with pytest.raises(SimtlabError, match=message):
        wrong.ingredients()


def test_a_launch_that_goes_on_for_ever_is_given_up(monkeypatch):
    monkeypatch.setattr("simtlab.lab.run_experiment.MOST_CYCLES", 1000)
    with pytest.raises(CycleLimit, match="not done after 1000 cycles"):
        run_experiment(Experiment("MM", "tiny", MachineChoice("gtx480")))
