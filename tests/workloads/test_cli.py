"""`simtlab run BFS`, `simtlab list workloads`, and the page made from the same numbers."""

import json
from pathlib import Path

import pytest

import simtlab as sl
from tests.cli.conftest import SAXPY, invoke, refused

PAGE = Path(__file__).parents[2] / "docs" / "workloads.md"
# Their functional runs at the paper's size take long: 2 to 40 G warp instructions, and graphs of a million nodes.
TOO_LONG = ("2MM", "GAUS", "GRM", "HTW", "LKC", "LU", "MIS", "PVC", "SSSP")


def test_every_workload_is_listed_at_every_size_with_its_numbers():
    rows = json.loads(invoke("list", "workloads", "--json").stdout)["workloads"]
    assert [(row["name"], row["size"]) for row in rows] == [
        (name, size) for name in sl.workloads() for size in ("tiny", "small", "paper")
    ]
    assert {row["name"] for row in rows if row["launches"] is None} == set(TOO_LONG)
    for row in rows:
        if row["size"] == "paper" and row["name"] in TOO_LONG:
            continue
        assert row["launches"] >= 1
        assert row["instructions"] > 0
        assert 0 <= row["global_load_share"] < 1  # none where all data come through textures, constant memory or parameters
        assert row["checked"]


def test_the_list_as_text():
    lines = invoke("list", "workloads").stdout.splitlines()
    numbers = ["launches", "warp", "instructions", "global", "loads"]
    assert lines[0].split() == ["name", "suite", "papers", "category", "DYNCTA", "size", *numbers]
    bfs = next(line.split() for line in lines if line.startswith("BFS") and " tiny " in line)
    assert bfs[:8] == ["BFS", "Rodinia", "CAPS", "DYNCTA", "LOADS", "irregular", "Type-M", "tiny"]
    assert bfs[-1].endswith("%")


def test_the_list_has_the_papers_the_type_of_dyncta_and_the_aliases():
    rows = {row["name"]: row for row in json.loads(invoke("list", "workloads", "--json").stdout)["workloads"]}
    assert (rows["HSP"]["papers"], rows["HSP"]["dyncta_type"]) == (["CAPS", "DYNCTA"], "Type-C")
    assert "HOT" in rows["HSP"]["aliases"]
    assert (rows["STE"]["papers"], rows["STE"]["dyncta_type"]) == (["CAPS"], None)
    assert {name for name, row in rows.items() if not row["papers"]} == {"ATM", "CQ", "HT"}  # of BOOK 5.1.4
    assert all(("DYNCTA" in row["papers"]) == (row["dyncta_type"] is not None) for row in rows.values())


def test_the_page_is_up_to_date():
    """If this fails: simtlab list workloads --markdown > docs/workloads.md."""
    assert invoke("list", "workloads", "--markdown").stdout == PAGE.read_text()


def test_a_run_tells_what_it_did_and_that_it_is_right():
    result = invoke("run", "BFS", "--size", "tiny")
    assert result.exit_code == 0, result.output
    assert "workload           BFS, size tiny" in result.stdout
    assert "as the reference has them: cost" in result.stdout
    assert "Kernel2" in result.stdout


def test_an_alias_runs_the_program():
    assert "workload           HSP, size tiny" in invoke("run", "HOT", "--size", "tiny").stdout


def test_a_run_as_json():
    found = json.loads(invoke("run", "mm", "--size", "tiny", "--seed", 4, "--threads", 1, "--json").stdout)
    assert (found["workload"], found["size"], found["checked"], found["gpu"]) == ("MM", "tiny", True, None)
    (launch,) = found["launches"]
    assert (launch["grid"], launch["block"]) == ([3, 3, 1], [16, 16, 1])
    assert launch["instructions"] == found["instructions"]
    (kernel,) = found["kernels"]
    assert (kernel["kernel"], kernel["registers_from"], kernel["shared_bytes"]) == ("matrixMul", "ptxas for sm_75", 2048)
    assert kernel["registers"] > kernel["own_registers"] > 0


def test_a_run_on_a_file_of_the_users(tmp_path):
    file = tmp_path / "path.txt"
    file.write_text("0 1\n1 2\n2 0\n0 3\n")
    assert "launches           6" in invoke("run", "BFS", "--size", "tiny", "--input", f"graph={file}").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["BFZ"], "did you mean BFS"),
        (["BFS", "--size", "huge"], "its sizes are tiny, small, paper"),
        (["BFS", "--grid", 4], "--grid cannot be used with a workload"),
        (["BFS", "--input", "graph"], "bad --input 'graph'"),
        (["BFS", "--input", "graph=missing.gr"], "missing.gr: cannot be read: No such file"),
        (["CP", "--input", "graph=missing.gr"], "CP takes no input file 'graph'"),
        (["BFS", "--gpu", "caps-gtx48"], "caps-gtx480"),
        ([SAXPY, "--size", "tiny"], "--size is for workloads"),
        (["tests"], "is no workload: it has no workload.py and no kernel.cu"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments, message, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    assert message in refused(2, "run", *arguments)


def test_instances_of_a_template_are_counted_each_for_itself():
    """The wavelet's strips are 128 columns wide for an image of 480, and 64 for the next level's."""
    from simtlab.workloads.measured import measure

    found = measure(sl.workload("DWT", size="tiny", width=480, height=8))
    wide, narrow = (kernel for kernel in found.kernels if kernel.name == "fdwt53Kernel")
    assert (wide.threads, narrow.threads) == (128, 64)
    assert wide.global_loads > narrow.global_loads > 0
    assert sum(kernel.global_loads for kernel in found.kernels) == found.global_loads
