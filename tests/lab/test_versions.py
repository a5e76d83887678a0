"""Results under one name by code that was changed: the latest is given, older ones are listed, compared and deleted."""

import json

import pytest

import simtlab as sl
from simtlab.lab.errors import StudyError
from simtlab.lab.store.comparison import Comparison
from simtlab.lab.store.results import Results
from simtlab.lab.store.store import Store
from tests.cli.conftest import invoke, refused
from tests.lab.test_store import record

INPUTS = {"parameters": {"nodes": 4}, "seed": 0, "files": {}}


def made_by(key: str, policy: str, program: str = "p", cycles: int = 100, **changed):
    """A result by a policy and a program whose sources have these digests."""
    policies = {"warp_scheduler": {"name": "mine", "label": "mine", "parameters": {}, "sources": policy}}
    counters = {"cycles": cycles, "instructions": 250}
    return record(key, inputs={**INPUTS, "sources": program}, policies=policies, counters=counters, **changed)


@pytest.fixture
def edited(store):
    """Results of a policy before and after an edit, of one that was not edited, and of an older simtlab that told no digests."""
    with Store(store) as opened:
        opened.add(made_by("aa11", "before", cycles=100))
        opened.add(made_by("bb22", "same", cycles=70, workload="MM"))
        opened.add(made_by("cc33", "after", cycles=50))
        plain = {"warp_scheduler": {"name": "gto", "label": "gto", "parameters": {}}}
        opened.add(record("dd44", inputs=INPUTS, policies=plain))
    return store


def keys(found) -> list[str]:
    return [result.key for result in found]


def test_the_latest_result_of_an_edited_policy_is_given_and_older_ones_on_request(edited):
    assert keys(sl.results(edited)) == ["bb22", "cc33", "dd44"]
    assert keys(sl.results(edited, versions="all")) == ["aa11", "bb22", "cc33", "dd44"]
    assert keys(sl.results(edited, versions="old")) == ["aa11"]
    assert keys(sl.results(edited, ["workload=BFS"], versions="old")) == ["aa11"]
    assert keys(Results(edited, keys=frozenset({"aa11"}))) == ["aa11"]  # a sweep's own results, whatever came later
    with pytest.raises(StudyError, match="versions is 'new'; it must be one of latest, all, old"):
        sl.results(edited, versions="new")


def test_a_table_tells_the_code_of_each_result_by_its_digest(edited):
    table = sl.results(edited).to_pandas()
    assert list(table["cycles"]) == [70, 50, 100]
    assert list(table["warp_scheduler.sources"])[:2] == ["same", "after"]
    assert table["warp_scheduler.sources"].isna().tolist() == [False, False, True]
    everything = sl.results(edited, versions="all").to_pandas()
    assert list(everything["workload.sources"])[:3] == ["p", "p", "p"]
    assert keys(sl.results(edited, ["warp_scheduler.sources=before"], versions="all")) == ["aa11"]


def test_an_edited_program_and_another_simtlab_are_versions_too(store):
    with Store(store) as opened:
        opened.add(made_by("aa11", "same", program="before"))
        opened.add(made_by("bb22", "same", program="after"))
        opened.add(made_by("cc33", "same", program="after", sources="a newer simtlab"))
    assert keys(sl.results(store)) == ["cc33"]


def test_a_sweep_that_asks_for_an_older_result_makes_it_the_latest_again(edited):
    """An edit that was taken back: nothing runs, and what is given is by the code that is there now."""
    with Store(edited) as opened:
        opened.ask(["aa11"])
    assert keys(sl.results(edited)) == ["aa11", "bb22", "dd44"]


def test_the_command_line_says_that_it_leaves_some_out_and_lists_them_with_what_changed(edited):
    latest = invoke("results", "--store", edited).stdout
    assert "aa11" not in latest
    assert latest.endswith("1 older result with these names, by earlier code, is left out: --all lists them too, --old alone\n")
    listed = invoke("results", "--store", edited, "--all").stdout.splitlines()
    assert "warp_scheduler.sources" in listed[0].split()
    assert [(line.split()[0], line.split()[-4]) for line in listed[1:3]] == [("aa11", "before"), ("bb22", "same")]
    assert "older" not in listed[-1]
    old = json.loads(invoke("results", "--store", edited, "--old", "--json").stdout)["results"]
    assert [(row["key"], row["warp_scheduler.sources"]) for row in old] == [("aa11", "before")]
    assert json.loads(invoke("results", "--store", edited, "--json").stdout)["older"] == 1
    assert "--all and --old cannot be used together" in refused(2, "results", "--store", edited, "--all", "--old")


def test_an_older_result_is_shown_and_compared_by_its_key(edited):
    shown = [line.split() for line in invoke("results", "aa", "--store", edited).stdout.splitlines()]
    assert ["warp_scheduler.sources", "before"] in shown
    found = sl.results(edited)
    changed = Comparison(found.one("aa"), found.one("cc")).changed()
    assert changed == [("warp_scheduler.sources", "before", "after")]


def test_old_results_are_deleted_and_nothing_else(edited):
    assert invoke("results", "--old", "--delete", "--store", edited).stdout == "1 result deleted\n"
    assert keys(sl.results(edited, versions="all")) == ["bb22", "cc33", "dd44"]
    assert invoke("results", "--where", "workload=MM", "--delete", "--store", edited).stdout == "1 result deleted\n"
    assert keys(sl.results(edited, versions="all")) == ["cc33", "dd44"]
    assert invoke("results", "cc", "--delete", "--store", edited).stdout == "1 result deleted\n"
    assert keys(sl.results(edited)) == ["dd44"]
    with Store(edited) as opened:
        assert list(opened.rows("SELECT count(*) FROM tables")) == [(1,)]


def test_deleting_needs_to_be_told_what(edited):
    assert "a result's key, --where CONDITION, or --old" in refused(2, "results", "--delete", "--store", edited)
    assert "a result's key, --where CONDITION, or --old" in refused(2, "results", "--delete", "--all", "--store", edited)
    assert "takes one key, and no result in" in refused(2, "results", "zz", "--delete", "--store", edited)
    assert len(sl.results(edited, versions="all")) == 4
