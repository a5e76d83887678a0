"""The study of LOADS: its runs, figures of nothing, and all figures of tiny runs."""

import json
from collections import defaultdict

import pytest

import simtlab as sl
from simtlab.lab.paper.study import Runs, Setting, load_study
from simtlab.lab.papers.loads import GRAPH, MOST_DISTANT, PROGRAMS, SIZES
from simtlab.lab.store.results import results
from simtlab.workloads.frame import KERNELS
from simtlab.workloads.loading import find, load
from tests.lab.conftest import simtlab

STUDY = load_study("loads")
GPU = "loads-c2050"


def test_figures_share_their_runs():
    sweeps = [sweep for figure in STUDY.figures for sweep in figure.sweeps(Setting(GPU, "tiny"))]
    assert len(Runs(sweeps).keys()) == 5 * 15  # the machine as it is, and four suggestions


@pytest.mark.parametrize("figure", STUDY.figures, ids=lambda figure: figure.name)
def test_a_figure_without_results_has_no_values(figure):
    chart = figure.drawn([])
    assert all(value is None for values in chart.series.values() for value in values)
    for expected in figure.expected:
        assert chart.value(expected.series, expected.group) is None


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All of the paper's own figures at tiny."""
    folder = tmp_path_factory.mktemp("loads")
    only = [word for name in ("table1", *(f"fig{k}" for k in range(1, 13))) for word in ("--only", name)]
    arguments = [*only, "--size", "tiny", "--store", folder / "store.sqlite", "--out", folder / "out"]
    done = simtlab("paper", "loads", *arguments)
    assert done.stderr.startswith("15 experiments: 0 stored, 15 to run")
    return folder


def values(folder, name: str) -> dict[str, dict[str, float]]:
    """A figure's values by series and group."""
    chart = json.loads((folder / "out" / "report.json").read_text())["figures"][name]["machines"][GPU]
    return {series: dict(zip(chart["groups"], row, strict=True)) for series, row in chart["values"].items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fig1a", "fig1b", "fig1c", "fig3a"])
def test_shares_of_a_whole_add_up_to_one(tiny, name):
    found = values(tiny, name)
    for program in PROGRAMS:
        assert sum(found[series][program] for series in found) == pytest.approx(1)


@pytest.mark.slow
def test_the_parts_of_figure_5_are_the_turnaround(tiny):
    parts = values(tiny, "fig5")
    stored = {str(result.value("workload")): result for result in results(tiny / "store.sqlite")}
    for program in PROGRAMS:
        table = stored[program].table("loads")
        for name in "DN":
            rows = [k for k, one in enumerate(table["class"]) if one == name]
            executed = sum(table["executed"][k] for k in rows)
            if executed:
                mean = sum(table["turnaround"][k] for k in rows) / executed
                assert sum(parts[series][f"{program} {name}"] for series in parts) == pytest.approx(mean)
            else:
                assert all(parts[series][f"{program} {name}"] is None for series in parts)


@pytest.mark.slow
def test_programs_without_loads_from_loaded_addresses_have_no_such_bars(tiny):
    a_warp = values(tiny, "fig2a")["non-deterministic"]
    assert [name for name in PROGRAMS if a_warp[name] is not None] == ["SPMV", "HTW", *GRAPH]


@pytest.mark.slow
def test_the_figure_of_requests_has_a_line_for_each_class(tiny):
    lines = values(tiny, "fig6")
    ends = [(line.split()[0], line.split()[-1]) for line in lines]
    assert ends == [(program, name) for program in ("BFS", "SSSP", "SPMV") for name in "DN"]
    assert all(list(line) == SIZES for line in lines.values())


@pytest.mark.slow
def test_the_figure_of_gaps_adds_up_to_the_turnaround_of_figure_6(tiny):
    parts, lines = values(tiny, "fig7"), values(tiny, "fig6")
    whole = next(line for name, line in lines.items() if name.startswith("BFS") and name.endswith("N"))
    for size in SIZES:
        if whole[size] is not None:
            assert sum(parts[name][size] for name in parts) == pytest.approx(whole[size])


@pytest.mark.slow
def test_distances_are_shares(tiny):
    for name in ("fig12a", "fig12b", "fig12c"):
        for line in values(tiny, name).values():
            assert len(line) == MOST_DISTANT
            assert sum(value for value in line.values() if value) <= 1 + 1e-9


def test_suggestions_are_over_the_machine_as_it_is(tmp_path):
    """Two runs of one program: with one group of the L2, and with four."""
    study, store = tmp_path / "two.toml", tmp_path / "s.sqlite"
    study.write_text(f'workloads = "BFS"\nsize = "tiny"\ngpu = "{GPU}"\n[set]\n"l2.groups" = [1, 4]\n')
    simtlab("sweep", study, "--store", store)
    found = list(results(store))
    chart = STUDY.figure("suggested").drawn(found)
    one, four = sorted(found, key=lambda result: result.value("l2.groups"))
    assert chart.value("L2 in 4 groups", "BFS") == pytest.approx(four.value("ipc") / one.value("ipc"))
    assert chart.value("2 neighbouring CTAs", "BFS") is None


def lines_with_loads(module) -> dict[str, dict[int | None, set[bool]]]:
    """Of each kernel, the source lines with global loads, and the classes of those."""
    found = {}
    for name in module.kernels:
        program, lines = module[name].program, defaultdict(set)
        for one in program.loads:
            source = program.lowered[one.pc].origin.source
            lines[source.line if source else None].add(bool(one.deterministic))
        found[name] = dict(lines)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_classes_are_the_same_without_optimisation(name):
    """Line by line, wherever both have a load: the optimiser takes some away, and moves some to the line of an inlined function."""
    folder = find(name)
    definition = load(folder)
    options = [list(definition.OPTIONS), [*definition.OPTIONS, "-G"]]
    optimised, plain = (lines_with_loads(sl.Gpu().compile(folder / KERNELS, options=one, names=definition.KERNEL_NAMES))
                        for one in options)  # fmt: skip
    assert list(optimised) == list(plain)
    both = [(kernel, line) for kernel in optimised for line in optimised[kernel] if line in plain[kernel]]
    assert {place: optimised[place[0]][place[1]] for place in both} == {place: plain[place[0]][place[1]] for place in both}
    lines = sum(len(lines) for lines in optimised.values())
    assert len(both) >= 0.7 * lines
