"""`simtlab profile`, `simtlab watch` and `--trace`: what they write, and words for what is wrong."""

import gzip
import json

import numpy as np
import pytest

from simtlab.cli.answer import BAD_INPUT
from tests.cli.conftest import SAXPY, SAXPY_ARGUMENTS, invoke, refused

LAUNCH = [SAXPY, "--grid", 4, "--block", 256, *SAXPY_ARGUMENTS]
MACHINE = ["--gpu", "caps-gtx480", "--set", "core.cores=2"]


def test_profile_says_where_the_cycles_went_and_writes_the_page(tmp_path):
    page = tmp_path / "page.html"
    told = invoke("profile", *LAUNCH, *MACHINE, "-o", page)
    assert told.exit_code == 0, told.output
    assert told.stdout.startswith("saxpy: ")
    assert "cycles" in told.stdout.splitlines()[0]
    assert "\n1. " in told.stdout
    assert f"wrote {page}" in told.stdout.replace("\n", "")
    found = json.loads(invoke("profile", *LAUNCH, *MACHINE, "-o", page, "--json").stdout)
    run = json.loads(invoke("run", *LAUNCH, *MACHINE, "--json").stdout)
    assert found["launches"][0]["cycles"] == run["timing"]["cycles"]
    assert found["launches"][0]["stalls"] == run["timing"]["stalls"]
    assert found["launches"][0]["advice"]
    text = page.read_text()
    assert f'"cycles":{run["timing"]["cycles"]}' in text.replace(" ", "")


def test_a_baseline_is_compared_with(tmp_path):
    page = tmp_path / "page.html"
    done = invoke("profile", *LAUNCH, *MACHINE, "--policy", "warp_scheduler=gto", "--baseline", ".", "-o", page)
    assert done.exit_code == 0, done.output
    assert 'id="l0-compare"' in page.read_text()


def test_a_workload_has_a_profile_by_kernel(tmp_path):
    page = tmp_path / "page.html"
    done = invoke("profile", "BFS", "--size", "tiny", *MACHINE, "-o", page, "--json")
    launches = json.loads(done.stdout)["launches"]
    assert sum(one["launches"] for one in launches) > len(launches) or len(launches) <= 12
    assert page.exists()


def test_a_trace_has_the_window_and_no_more(tmp_path):
    path = tmp_path / "t.json.gz"
    done = invoke("run", *LAUNCH, *MACHINE, "--trace", path, "--window", "600:700")
    assert done.exit_code == 0, done.output
    events = [e for e in json.loads(gzip.decompress(path.read_bytes()))["traceEvents"] if e["ph"] == "X"]
    assert min(event["ts"] for event in events) == 600
    assert max(event["ts"] + event["dur"] for event in events) == 700
    assert "100 cycles" in done.stdout


def test_a_window_from_0_on_has_as_many_cycles_as_it_says(tmp_path):
    path = tmp_path / "t.json"
    told = json.loads(invoke("run", *LAUNCH, *MACHINE, "--trace", path, "--window", "0:500", "--json").stdout)
    assert told["traced_cycles"] == 500
    ends = [event["ts"] + event["dur"] for event in json.loads(path.read_text())["traceEvents"] if event["ph"] == "X"]
    assert max(ends) == 501
    found = json.loads(invoke("watch", *LAUNCH, *MACHINE, "--window", "0:3", "--json").stdout)
    assert [one["cycle"] for one in found["cycles"]] == [1, 2, 3]


def test_watch_begins_with_the_first_issue():
    done = invoke("watch", *LAUNCH, *MACHINE)
    assert done.exit_code == 0, done.output
    first = done.stdout.split("\n\n")[0]
    assert "scheduler 0 issued" in first
    assert "ld.param" in first


def test_watch_writes_a_page(tmp_path):
    page = tmp_path / "watch.html"
    done = invoke("watch", *LAUNCH, *MACHINE, "--core", 1, "-o", page)
    assert "200 cycles to step through" in done.stdout
    assert "core 1</title>" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", *LAUNCH, "--trace", "t.json"], "needs a machine"),
        (["run", *LAUNCH, *MACHINE, "--trace", "t.json", "--window", "9"], "must be two core cycles"),
        (["run", *LAUNCH, *MACHINE, "--trace", "t.json", "--window", "9:3"], "the lower first"),
        (["run", *LAUNCH, *MACHINE, "--trace", "/no/such/t.json"], "no folder that can be written to"),
        (["watch", *LAUNCH, *MACHINE, "--core", 2], "the cores of this machine are 0 to 1"),
        (["watch", *LAUNCH, *MACHINE, "--window", "800000:800010"], "choose an earlier --window"),
        (["watch", *LAUNCH, *MACHINE, "--window", "0:6000", "-o", "w.html"], "at most 5,000 cycles"),
        (["profile", *LAUNCH, "--gpu", "no-such-gpu"], "no-such-gpu"),
        (["profile", *LAUNCH, "-o", "/"], "it is a folder"),
    ],
)
def test_what_is_wrong_is_said(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words in refused(BAD_INPUT, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_stored_result_is_run_again_and_compared_with_another(tmp_path):
    store, study = tmp_path / "s.db", tmp_path / "study.toml"
    study.write_text('workloads = "SCN"\nsize = "tiny"\ngpu = "caps-gtx480"\nset.core.cores = 2\n'
                     'policies.warp_scheduler = ["lrr", "gto"]\n')  # fmt: skip
    done = invoke("sweep", study, "--store", store, "--processes", 1)
    assert done.exit_code == 0, done.output
    found = json.loads(invoke("results", "--store", store, "--json").stdout)["results"]
    keys = {one["warp_scheduler"]: one["key"] for one in found}
    page = tmp_path / "page.html"
    told = json.loads(invoke("profile", keys["gto"], "--store", store, "--baseline", keys["lrr"], "-o", page, "--json").stdout)
    cycles = next(one["cycles"] for one in found if one["key"] == keys["gto"])
    assert sum(one["cycles"] for one in told["launches"]) == cycles
    assert 'id="l0-compare"' in page.read_text()
    assert "abcdef0123" in refused(BAD_INPUT, "profile", "abcdef0123", "--store", store)


OTHER = ["--gpu", "caps-gtx480", "--set", "core.cores=4"]


def test_two_runs_of_a_file_are_stored_and_compared(tmp_path):
    store, page = tmp_path / "s.db", tmp_path / "page.html"
    runs = [json.loads(invoke("run", *LAUNCH, *machine, "--store", store, "--json").stdout) for machine in (MACHINE, OTHER, OTHER)]
    few, many, again = (run["key"] for run in runs)
    assert again == many
    listed = json.loads(invoke("results", "--store", store, "--json").stdout)["results"]
    assert {one["key"]: (one["workload"], one["size"], one["cycles"], one["core.cores"]) for one in listed} == {
        few: ("saxpy", "launches", runs[0]["timing"]["cycles"], 2),
        many: ("saxpy", "launches", runs[1]["timing"]["cycles"], 4),
    }
    told = json.loads(invoke("profile", few, "--store", store, "--baseline", many, "-o", page, "--json").stdout)
    assert [one["cycles"] for one in told["launches"]] == [runs[0]["timing"]["cycles"]]
    assert 'id="l0-compare"' in page.read_text()
    compared = invoke("results", few, "--compare", many, "--store", store)
    assert compared.exit_code == 0
    assert "core.cores" in compared.stdout


def test_a_stored_run_can_be_traced_too(tmp_path):
    store = tmp_path / "s.db"
    told = invoke("run", *LAUNCH, *MACHINE, "--store", store, "--trace", tmp_path / "t.json", "--window", "0:10")
    assert "10 cycles" in told.stdout
    assert f"in {store}" in told.stdout.replace("\n", "")
    assert (tmp_path / "t.json").exists()


def test_a_workload_is_stored_as_a_sweep_stores_it(tmp_path):
    """Under the same key: the sweep has nothing left to run."""
    store, study = tmp_path / "s.db", tmp_path / "study.toml"
    key = json.loads(invoke("run", "SCN", "--size", "tiny", *MACHINE, "--store", store, "--json").stdout)["key"]
    study.write_text('workloads = "SCN"\nsize = "tiny"\ngpu = "caps-gtx480"\nset.core.cores = 2\n')
    swept = json.loads(invoke("sweep", study, "--store", store, "--processes", 1, "--plan", "--json").stdout)
    assert swept["plan"]["missing"] == 0, swept
    listed = json.loads(invoke("results", "--store", store, "--json").stdout)["results"]
    assert [one["key"] for one in listed] == [key]
    done = invoke("profile", key, "--store", store, "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.output


def test_launches_of_a_file_with_its_own_machine_are_stored(tmp_path, monkeypatch):
    """They can be run again from another folder; that the program has changed since is said."""
    values, source = tmp_path / "x.npy", tmp_path / "twice.cu"
    np.save(values, np.ones(64, "f4"))
    source.write_text('extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }')
    launches = tmp_path / "l.toml"
    launches.write_text('source = "twice.cu"\ngpu = "caps-gtx480"\n[arrays]\nx = "f32[]=x.npy"\n'
                        '[[launch]]\ngrid = 1\nblock = 64\nargs = ["x"]\nrepeat = 2\n')  # fmt: skip
    monkeypatch.chdir(tmp_path)
    by_file = json.loads(invoke("run", "l.toml", "--store", "s.db", "--json").stdout)["key"]
    options = ["--grid", 1, "--block", 64, "--arg", "f32[]=x.npy", "--gpu", "caps-gtx480"]
    by_options = json.loads(invoke("run", "twice.cu", *options, "--store", "s.db", "--json").stdout)["key"]
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    for key, launched in ((by_file, 2), (by_options, 1)):
        told = json.loads(invoke("profile", key, "--store", "../s.db", "-o", "page.html", "--json").stdout)
        assert sum(one["launches"] for one in told["launches"]) == launched
    source.write_text('extern "C" __global__ void twice(float *x) { x[threadIdx.x] = x[63 - threadIdx.x] + x[threadIdx.x] / 3; }')
    assert "when stored" in refused(BAD_INPUT, "profile", by_options, "--store", "../s.db", "-o", "page.html")


def test_a_result_of_a_machine_and_a_policy_of_ones_own_is_run_again(tmp_path, monkeypatch):
    """The store has the machine's keys, so its file may be gone; the policy's file is asked for where it was."""
    from simtlab.policies.choice import FOLDER

    machine, policy = tmp_path / "mine.toml", tmp_path / "turns.py"
    machine.write_text('base = "caps-gtx480"\n[core]\ncores = 2\n[l1d]\nways = 8\n')
    policy.write_text((FOLDER / "warp_scheduler" / "lrr.py").read_text())
    monkeypatch.chdir(tmp_path)
    chosen = ["--gpu", "mine.toml", "--policy", "warp_scheduler=./turns.py"]
    ran = json.loads(invoke("run", *LAUNCH, *chosen, "--store", "s.db", "--json").stdout)
    machine.unlink()
    monkeypatch.chdir(tmp_path.parent)
    again = ["profile", ran["key"], "--store", tmp_path / "s.db", "-o", tmp_path / "page.html"]
    told = invoke(*again, "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["launches"][0]["cycles"] == ran["timing"]["cycles"]
    policy.unlink()
    assert f"no warp scheduler '{policy}'" in refused(BAD_INPUT, *again)


def test_what_cannot_be_stored_is_not(tmp_path):
    store = tmp_path / "s.db"
    assert "needs a machine" in refused(BAD_INPUT, "run", *LAUNCH, "--store", store)
    stopped = invoke("run", *LAUNCH, *MACHINE, "--max-cycles", 50, "--store", store)
    assert stopped.exit_code != 0
    assert not store.exists()
