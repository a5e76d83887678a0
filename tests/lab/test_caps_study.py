"""The CAPS study: which runs its figures need, figures of nothing, and two of tiny runs. Its mechanisms are in tests/papers."""

import json

import pytest

from simtlab.lab.paper.report import make_report
from simtlab.lab.paper.study import Runs, Setting, load_study
from simtlab.lab.papers.caps import global_loads
from simtlab.lab.store.results import results
from tests.lab.conftest import simtlab

STUDY = load_study("caps")
RUNS = {"fig1a": 1, "fig1b": 1, "fig4": 16, "fig10": 8 * 16, "fig11": 4 * 8 * 16, "fig12a": 128, "fig12b": 128, "fig13a": 128,
        "fig13b": 128, "fig14a": 32, "fig14b": 48, "fig15": 128}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_figure_has_a_run_for_each_program_and_mechanism(name):
    figure = STUDY.figure(name)
    sweeps = figure.sweeps(Setting("caps-gtx480", "tiny"))
    assert len(list(Runs(sweeps).experiments())) == RUNS[name]


def test_figures_share_their_runs():
    sweeps = [sweep for figure in STUDY.figures for sweep in figure.sweeps(Setting("caps-gtx480", "tiny"))]
    found = Runs(sweeps).keys()
    assert len(found) == 1 + 512 + 16 + 16 + 16  # the observer; fig11 has fig10's; CAPS without wake-up, on LRR, on two-level


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_a_figure_without_results_has_no_values(figure):
    chart = figure.chart([])
    assert all(value is None for values in chart.series.values() for value in values)
    for expected in figure.expected:
        assert chart.value(expected.series, expected.group) is None


@pytest.mark.parametrize(("name", "figures"), [
    ("fig1", ["fig1a", "fig1b"]), ("fig10", ["fig10"]), ("fig12", ["fig12a", "fig12b"]), ("fig12a", ["fig12a"]), ("fig4", ["fig4"]),
])  # fmt: skip
def test_a_name_stands_for_a_figure_or_its_parts(name, figures):
    assert [figure.name for figure in STUDY.chosen(name)] == figures


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Figures 1 and 4 at tiny: the store, and what `simtlab paper` says."""
    folder = tmp_path_factory.mktemp("caps")
    arguments = ["--only", "fig1", "--only", "fig4", "--size", "tiny", "--store", folder / "store.sqlite", "--out", folder / "out"]
    first, again = (simtlab("paper", "caps", *arguments) for _ in range(2))
    assert first.stderr.startswith("17 experiments: 0 stored, 17 to run")
    assert again.stderr == "17 experiments: 17 stored, 0 to run\n"
    return folder


@pytest.mark.slow  # twenty seconds for the runs of all of them
def test_figures_1_and_4_come_from_the_store(tiny):
    report = json.loads((tiny / "out" / "report.json").read_text())["figures"]
    assert list(report) == ["fig1a", "fig1b", "fig4"]
    figures = [figure for name in ("fig1", "fig4") for figure in STUDY.chosen(name)]
    made = make_report(STUDY, figures, ["caps-gtx480"], "tiny", tiny / "store.sqlite", [])
    for name, charts in made.charts.items():
        assert charts["caps-gtx480"].as_json() == report[name]["machines"]["caps-gtx480"]
    page = (tiny / "out" / "index.md").read_text()
    assert "| program | loads in loops / loads | four most executed loads |" in page
    assert "| MM | 2/2 | 4 |" in page


@pytest.mark.slow  # twenty seconds for the runs of all of them
def test_a_lone_cta_predicts_at_distances_up_to_seven_and_never_from_another(tiny):
    """Nine CTAs of eight warps on fifteen cores: none has a neighbour."""
    chart = json.loads((tiny / "out" / "report.json").read_text())["figures"]["fig1a"]["machines"]["caps-gtx480"]
    accuracy, same, other = chart["values"].values()
    assert accuracy == same
    assert all(0 < value < 1 for value in accuracy[:7])
    assert accuracy[7:] == [None] * 3
    assert other == [0] * 7 + [None] * 3


@pytest.mark.slow  # twenty seconds for the runs of all of them
def test_loads_are_executed_as_often_as_the_programs_loops_say(tiny):
    values = json.loads((tiny / "out" / "report.json").read_text())["figures"]["fig4"]["machines"]["caps-gtx480"]
    executions = dict(zip(values["groups"], values["values"]["four most executed loads"], strict=True))
    assert executions["MM"] == 64 / 16  # tiles of the inner dimension
    assert executions["CP"] == executions["JC1"] == executions["FFT"] == 1  # without a loop
    assert values["notes"]["FFT"] == "0/16"
    assert values["notes"]["KM"] == "2/2"


@pytest.mark.slow  # twenty seconds for the runs of all of them
def test_loads_are_told_by_their_pc_and_come_with_the_most_executed_first(tiny):
    """LPS: two loads before the loop over planes, two in it; a warp at the border of the grid skips some."""
    (result,) = results(tiny / "store.sqlite").where("workload=LPS")
    loads = global_loads(result)
    assert [in_loop for _, _, in_loop in loads].count(True) == 2
    assert loads == sorted(loads, reverse=True)
    launches = result.table("launches")
    warps = sum(x * y * z * 4 for x, y, z in launches["grid"])  # blocks of 32 x 4
    assert set(map(tuple, launches["block"])) == {(32, 4, 1)}
    assert all(executions == pytest.approx(repeats * warps) for executions, repeats, _ in loads)
    assert max(executions for executions, _, in_loop in loads if not in_loop) <= warps
