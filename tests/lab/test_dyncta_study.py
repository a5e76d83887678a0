"""The study of DYNCTA: its runs, figures of nothing, and figures of tiny runs."""

import json

import pytest

from simtlab.cli.workloads import resident_ctas
from simtlab.lab.paper.study import Runs, Setting, load_study
from simtlab.lab.papers.dyncta import EXAMPLES, INPUTS, MACHINE, MOST, PROGRAMS, TYPES, VARIANTS, fits, scaled
from simtlab.lab.store.results import results
from simtlab.policies.choice import read_choice
from simtlab.workloads.loading import find, load
from simtlab.workloads.measured import stored
from tests.lab.conftest import simtlab

STUDY = load_study("dyncta")


def runs_of(size: str, *names: str) -> int:
    figures = [figure for name in names for figure in STUDY.chosen(name)]
    return len(Runs([sweep for figure in figures for sweep in figure.runs(Setting(MACHINE, size))]).keys())


def test_there_are_the_31_programs_of_table_ii_and_their_types():
    assert {kind: len(names) for kind, names in TYPES.items()} == {"M": 18, "C": 10, "X": 3}
    for kind, names in TYPES.items():
        for name in names:
            told = load(find(name)).DYNCTA_TYPE
            assert told == f"Type-{kind}"


def test_every_number_of_ctas_up_to_what_fits_is_tried():
    """FITS is what the machine gives a program's kernels at `small`."""
    for name in PROGRAMS:
        ctas = max(resident_ctas(kernel)[MACHINE][0] for kernel in stored()[name]["small"].kernels)
        assert fits(name, MACHINE) == ctas
    assert runs_of("tiny", "fig1") == sum(fits(name, MACHINE) for name in PROGRAMS)
    assert fits("AES", "v100") == MOST


def test_figures_share_their_runs():
    most = sum(fits(name, MACHINE) for name in PROGRAMS)
    assert runs_of("tiny", "fig9", "fig10", "fig11", "fig3", "fig8") == most + 3 * 31  # DYNCTA, two-level, both
    assert runs_of("tiny", "cores", "mshrs", "memory-clock") == 2 * 31 * (1 + 2 + 2 + 2)
    assert runs_of("tiny", "parameters") == 31 * (1 + len(VARIANTS))


def test_inputs_of_their_own_are_for_small_alone():
    axes = [sweep.axes() for sweep in STUDY.figure("fig3").runs(Setting(MACHINE, "small"))]
    own = {row["workloads"][0]: row for row in axes if any(name.startswith("parameters.") for name in row)}
    assert set(own) == set(INPUTS)
    assert own["PVC"]["parameters.lines"] == [32_768]
    assert len(STUDY.figure("fig3").runs(Setting(MACHINE, "paper"))) == 1


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_a_figure_without_results_has_no_values(figure):
    chart = figure.drawn([])
    assert all(value is None for values in chart.series.values() for value in values)
    for expected in figure.expected:
        assert chart.value(expected.series, expected.group) is None


def test_thresholds_are_scaled_together():
    assert scaled(0.5) == "dyncta,idle=8,memory_low=64,memory_high=192"
    assert read_choice(scaled(1.5)).parameters == {"idle": 24, "memory_low": 192, "memory_high": 576}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dyncta")
    only = [word for name in ("fig4", "fig8") for word in ("--only", name)]
    simtlab("paper", "dyncta", *only, "--size", "tiny", "--store", folder / "store.sqlite", "--out", folder / "out")
    return folder


def values(folder, name: str) -> dict[str, dict[str, float]]:
    """A figure's values by series and group."""
    chart = json.loads((folder / "out" / "report.json").read_text())["figures"][name]["machines"][MACHINE]
    return {series: dict(zip(chart["groups"], row, strict=True)) for series, row in chart["values"].items()}


@pytest.mark.slow
def test_a_core_does_one_of_four_things(tmp_path):
    only = ("--only", "table2", "--only", "fig3")
    simtlab("paper", "dyncta", *only, "--size", "tiny", "--store", tmp_path / "store.sqlite", "--out", tmp_path / "out")
    shares = values(tmp_path, "fig3")
    for program in [*PROGRAMS, "M", "mean"]:
        assert sum(shares[series][program] for series in shares) == pytest.approx(1)


@pytest.mark.slow
def test_the_lines_of_figure_4_end_at_one(tiny):
    for name in ("fig4a", "fig4c"):
        lines = values(tiny, name)
        for program in EXAMPLES:
            most = fits(program, MACHINE)
            assert lines[program][str(most)] == 1
            assert all(lines[program][str(n)] > 0 for n in range(1, most))
            assert all(lines[program][str(n)] is None for n in range(most + 1, MOST + 1))


@pytest.mark.slow
def test_ctas_over_time_are_never_more_than_fit(tiny):
    for name, program in (("fig8a", "SAD"), ("fig8d", "FFT")):
        running = [value for value in values(tiny, name)["running CTAs"].values() if value is not None]
        assert running
        assert 0 < max(running) <= fits(program, MACHINE)


@pytest.mark.slow
def test_a_result_tells_its_ratios_and_its_type(tiny):
    found = results(tiny / "store.sqlite").where("workload=SAD", "cta_throttle=dyncta")
    (result,) = found
    assert result.value("dyncta_type") in "CMX"
    assert 0 < result.value("active_time") < 1
    assert result.value("round_trip") == result.counters["round_trip_cycles"] / result.counters["round_trips"]
    ends, ratios = result.over_time("active_time")
    assert ends[-1] == result.value("cycles")
    assert len(ratios) == len(ends)
    assert len(found.where("active_time>0", "core_utilisation<=1")) == 1
