"""The CAPS study: which runs its figures need, and figures of nothing. Its mechanisms have tests of their own (tests/papers)."""

import pytest

from simtlab.lab.paper.study import Runs, Setting, load_study

STUDY = load_study("caps")
RUNS = {"fig10": 8 * 16, "fig11": 4 * 8 * 16, "fig12a": 128, "fig12b": 128, "fig13a": 128, "fig13b": 128, "fig14a": 32,
        "fig14b": 48, "fig15": 128}  # fmt: skip


@pytest.mark.parametrize("name", RUNS)
def test_a_figure_has_a_run_for_each_program_and_mechanism(name):
    figure = STUDY.figure(name)
    sweeps = figure.sweeps(Setting("caps-gtx480", "tiny"))
    assert len(list(Runs(sweeps).experiments())) == RUNS[name]


def test_figures_share_their_runs():
    sweeps = [sweep for figure in STUDY.figures for sweep in figure.sweeps(Setting("caps-gtx480", "tiny"))]
    found = Runs(sweeps).keys()
    assert len(found) == 512 + 16 + 16 + 16  # fig11 has fig10's; CAPS without wake-up, on LRR, on two-level


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_a_figure_without_results_has_no_values(figure):
    chart = figure.chart([])
    assert all(value is None for values in chart.series.values() for value in values)
    for expected in figure.expected:
        assert chart.value(expected.series, expected.group) is None
