"""Stored results found again: filters, one with all its counters, two side by side, exports."""

import csv
import json

import pytest

import simtlab as sl
from simtlab.lab.errors import StoreError, StudyError
from simtlab.lab.store.comparison import Comparison
from simtlab.lab.store.store import Store
from tests.cli.conftest import invoke, refused
from tests.lab.test_store import failure, record


def policies(name: str, **parameters) -> dict:
    label = ",".join([name, *(f"{key}={value}" for key, value in parameters.items())])
    return {"warp_scheduler": {"name": name, "label": label, "parameters": parameters}}


INPUTS = {"parameters": {"nodes": 4}, "seed": 0, "files": {}}


@pytest.fixture
def filled(store):
    meanings = {"cycles": ("core cycles", "How long."), "l1_hits": ("accesses", "Found.")}
    with Store(store) as opened:
        opened.add(record("aa11", inputs=INPUTS, counters={"cycles": 100, "instructions": 250, "l1_hits": 8}), meanings)
        opened.add(record("ab22", inputs=INPUTS, workload="MM", policies=policies("two-level", active_warps=6), seconds=2.0))
        machine = {"name": "v100", "l1d.ways": 4, "l1d.bytes": 1024}
        counters = {"cycles": 50, "instructions": 250, "l1_hits": 4}
        opened.add(record("bc33", inputs=INPUTS, gpu="v100", machine=machine, changes={}, counters=counters))
        opened.add_failure(failure("dd44"))
    return store


@pytest.mark.parametrize(
    ("conditions", "keys"),
    [
        (["workload=BFS"], ["aa11", "bc33"]),
        (["workload=bfs", "gpu=v100"], ["bc33"]),
        (["l1d.ways=8"], ["aa11", "ab22"]),
        (["l1d.ways!=8"], ["bc33"]),
        (["warp_scheduler=two-level"], ["ab22"]),
        (["warp_scheduler=two-level,active_warps=6"], ["ab22"]),
        (["warp_scheduler.active_warps>=6"], ["ab22"]),
        (["cycles<100"], ["bc33"]),
        (["ipc>2", "l1_hits>4"], ["aa11"]),
        (["nodes=4"], ["aa11", "ab22", "bc33"]),
        (["prefetcher=none"], ["aa11", "ab22", "bc33"]),
        (["workload=CP"], []),
    ],
)
def test_conditions(filled, conditions, keys):
    assert [result.key for result in sl.results(filled, conditions)] == keys


def test_a_condition_on_nothing_is_refused(filled):
    with pytest.raises(StudyError, match="no result has anything called 'l1_hit'; did you mean l1_hits"):
        list(sl.results(filled, ["l1_hit>3"]))
    with pytest.raises(StudyError, match="bad condition 'workload'"):
        sl.results(filled, ["workload"])


@pytest.mark.parametrize("condition", ["ipc>>3", "ipc=>3", "ipc==3", "ipc>", "ipc!>3", "=3", "ipc", ">3", "ipc <> 3"])
def test_what_is_no_condition_is_refused_with_what_one_looks_like(filled, condition):
    with pytest.raises(StudyError) as caught:
        sl.results(filled).where(condition)
    assert f"bad condition '{condition}': it must be a name, a comparison (<=, >=, !=, =, <, >) and a value" in str(caught.value)
    assert "for example workload=BFS or ipc>=2" in str(caught.value)


def test_a_number_is_not_compared_with_a_text(filled):
    with pytest.raises(StudyError, match="bad condition 'ipc>fast': ipc is a number, and 'fast' is none; for example ipc>2"):
        list(sl.results(filled, ["ipc>fast"]))
    assert [result.key for result in sl.results(filled, ["finished>2025"])] == ["aa11", "ab22", "bc33"]
    assert "bad condition 'l1d.ways=many'" in refused(2, "results", "--store", filled, "--where", "l1d.ways=many")


def test_a_table_for_pandas_has_choices_counters_and_origin(filled):
    table = sl.results(filled).to_pandas()
    assert list(table["key"]) == ["aa11", "ab22", "bc33"]
    assert list(table["l1d.ways"]) == [8, 8, 4]  # changed in two, the machine's own in the third
    assert list(table["warp_scheduler"]) == ["gto", "two-level,active_warps=6", "gto"]
    assert list(table["ipc"]) == [2.5, 2.5, 5.0]
    assert table["l1_hits"].isna().tolist() == [False, True, False]
    assert {"seconds", "host", "finished", "version", "sources", "nodes", "seed"} <= set(table)


def test_two_results_side_by_side(filled):
    found = sl.results(filled)
    comparison = Comparison(found.one("aa"), found.one("bc"))
    assert comparison.changed() == [("gpu", "caps-gtx480", "v100"), ("l1d.ways", 8, 4), ("l1d.bytes", None, 1024)]
    rows = {name: (a, b, ratio) for name, a, b, ratio in comparison.counters()}
    assert rows["cycles"] == (100, 50, 0.5)
    assert rows["ipc"] == (2.5, 5.0, 2.0)
    shown = invoke("results", "aa", "--compare", "bc", "--store", filled).stdout
    assert "l1d.ways   8            4" in shown
    assert json.loads(invoke("results", "aa", "--compare", "bc", "--store", filled, "--json").stdout)["changed"][0]["what"] == "gpu"


def test_the_command_line_lists_and_shows(filled):
    listed = invoke("results", "--store", filled).stdout.splitlines()
    assert listed[0].split()[:3] == ["key", "workload", "size"]
    assert [line.split()[0] for line in listed[1:]] == ["aa11", "ab22", "bc33"]
    assert "MM" not in invoke("results", "--store", filled, "--where", "workload=BFS").stdout
    one = invoke("results", "aa", "--store", filled).stdout
    assert "l1_hits           8  accesses     Found." in one
    assert "k: 2 a core, limited by warps" in one
    assert "cycles" in invoke("results", "aa", "--table", "launches", "--store", filled).stdout
    assert "BFS tiny, caps-gtx480: it broke" in invoke("results", "--failed", "--store", filled).stdout
    assert json.loads(invoke("results", "bc", "--store", filled, "--json").stdout)["counters"]["cycles"]["unit"] == "core cycles"


def test_keys_that_do_not_single_one_out_are_refused(filled):
    assert "2 results in" in refused(2, "results", "a", "--store", filled)
    assert "no result in" in refused(2, "results", "zz", "--store", filled)
    assert "has no table 'launch'; it has launches" in refused(2, "results", "aa", "--table", "launch", "--store", filled)
    assert "--compare needs a result's key" in refused(2, "results", "--compare", "aa", "--store", filled)


def test_exports_hold_the_same_rows(filled, tmp_path):
    import pandas as pd

    for suffix in ("csv", "json", "parquet"):
        assert "3 results written" in invoke("results", "--store", filled, "--export", tmp_path / f"out.{suffix}").stdout
    with (tmp_path / "out.csv").open() as opened:
        rows = list(csv.DictReader(opened))
    assert [row["cycles"] for row in rows] == ["100", "100", "50"]
    assert [row["l1_hits"] for row in rows] == ["8", "", "4"]
    whole = json.loads((tmp_path / "out.json").read_text())
    assert [row["counters"]["cycles"] for row in whole["results"]] == [100, 100, 50]
    assert whole["counters"]["l1_hits"] == {"unit": "accesses", "meaning": "Found."}
    table = pd.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(table, sl.results(filled).to_pandas(), check_dtype=False)


def test_exports_that_cannot_be_are_refused(filled, tmp_path):
    assert "must end in .csv, .json or .parquet" in refused(2, "results", "--store", filled, "--export", tmp_path / "out.xlsx")
    assert "there is no folder" in refused(2, "results", "--store", filled, "--export", tmp_path / "no" / "out.csv")
    with pytest.raises(StoreError, match="there is no store"):
        list(sl.results(tmp_path / "none.sqlite"))


def test_the_best_policy_of_a_slot_is_read_back_as_a_choice(store):
    with Store(store) as opened:
        rows = (("a", "MM", "lrr", 90), ("b", "MM", "gto", 80), ("c", "BFS", "lrr", 50), ("d", "BFS", "gto", 50))
        for key, workload, scheduler, cycles in rows:
            counters = {"cycles": cycles, "instructions": 1}
            opened.add(record(key, inputs=INPUTS, workload=workload, policies=policies(scheduler), counters=counters))
    assert sl.results(store).best("warp_scheduler") == {"MM": "gto", "BFS": "gto"}
    assert sl.results(store).best("warp-scheduler")["MM"] == "gto"
    with pytest.raises(StudyError, match="there is no slot 'scheduler'"):
        sl.results(store).best("scheduler")


def test_a_ratio_of_counters_that_a_result_has_not_is_nothing(filled):
    result = sl.results(filled).one("aa11")
    assert result.value("active_time") is None
    assert result.value("dyncta_type") is None
