"""The studies survey-caches and survey-scheduling: which mechanisms they have, figures of nothing, words, and tiny runs."""

import json
from types import SimpleNamespace

import pytest

from simtlab.errors import ConfigError
from simtlab.lab.paper.charts import Chart
from simtlab.lab.paper.study import Runs, Setting, load_study
from simtlab.lab.paper.survey import Survey, by_program, rank, sides, who_wins
from simtlab.lab.papers.survey_caches import PARTS, SURVEY, WHOLE, mechanism
from simtlab.lab.papers.survey_scheduling import SPINNING, over_rival
from simtlab.policies.choice import available
from simtlab.workloads.loading import find
from tests.lab.conftest import start

STUDIES = [load_study(name) for name in ("survey-caches", "survey-scheduling")]
FIGURES = [pytest.param(figure, id=f"{study.name}-{figure.name}") for study in STUDIES for figure in study.figures]
LEFT_OUT = {"jia-taxonomy": "locality taxonomy"}


def experiments():
    for study in STUDIES:
        for figure in study.figures:
            yield from Runs(figure.runs(Setting(study.gpu, "small"))).experiments()


def test_every_mechanism_is_in_a_study_or_told_as_left_out():
    used = {str(choice).split(",")[0] for one in experiments() for slot, choice in one.machine.policies.items()
            if slot.startswith("mechanism")}  # fmt: skip
    assert used == set(available("mechanism")) - set(LEFT_OUT)
    told = " ".join(study.remarks.get("Left out", "") for study in STUDIES)
    assert all(words in told for words in LEFT_OUT.values())


def test_coordinated_bypassing_has_a_profile_and_nothing_else_has():
    for one in experiments():
        uses = any(choice.name == "coordinated-bypass" for choice in one.machine.policies.values())
        assert one.machine.profile == ("baseline" if uses else "none")


def test_every_program_has_a_reason():
    for study in STUDIES:
        sweeps = [sweep for figure in study.figures for sweep in figure.runs(Setting("gtx480", "tiny"))]
        programs = {program for sweep in sweeps for program in sweep.workloads}
        assert all(find(name) and f"{name} " in study.remarks["Programs"] for name in programs)


def test_the_studies_share_their_baseline():
    caches, scheduling = (
        {str(one) for figure in study.figures for one in Runs(figure.runs(Setting("gtx480", "small"))).experiments()}
        for study in STUDIES
    )
    shared = caches & scheduling
    assert sum("mechanism" not in one and "static-limit" not in one for one in shared) == len(SURVEY.programs)
    assert all("mechanism=ccws" in one for one in shared if "mechanism" in one)


def test_row_locality_is_kept_for_dram_that_serves_requests_in_order():
    """The policy oldest-first would take row hits of a bank out of order all the same."""
    figure = next(figure for figure in STUDIES[0].figures if figure.name == "arbitration")
    runs = list(Runs(figure.runs(Setting("gtx480", "small"))).experiments())
    in_order = [one for one in runs if one.machine.changes == {"dram.scheduler": "fcfs"}]
    assert len(in_order) == 3 * len(SURVEY.programs)
    assert all(not one.machine.changes for one in runs if one not in in_order)
    assert all("dram_scheduler" not in one.machine.policies for one in runs)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_without_results_has_no_values_and_says_so(figure):
    chart = figure.drawn([])
    assert all(value is None for values in chart.series.values() for value in values)
    for expected in figure.expected:
        assert chart.value(expected.series, expected.group) is None
    if figure.words:
        words = " ".join(figure.words(chart))
        assert "leads" not in words
        assert "run." in words


def test_a_mechanism_that_is_not_there_is_an_error():
    with pytest.raises(ConfigError, match="no mechanism 'absent'"):
        Runs(SURVEY.runs({"absent": mechanism("absent")})(Setting("gtx480", "tiny"))).keys()
    with pytest.raises(ConfigError, match="no mechanism 'absent'"):
        SURVEY.values([], mechanism("absent"))


# Results --------------------------------------------------------------------------------------------------------------


def result(program: str, cycles: int, changes: dict | None = None, **policies: str) -> SimpleNamespace:
    chosen = {"warp_scheduler": "gto", "cta_dispatch": "round-robin", **policies}
    values = {"workload": program, "cycles": cycles}
    return SimpleNamespace(value=values.get, changes=changes or {}, policies={slot: {"label": one} for slot, one in chosen.items()})


def test_results_are_told_apart_by_policies_parameters_and_keys():
    survey = Survey({"kind": {"KM": "is one", "BFS": "is another"}}, {"warp_scheduler": "gto"})
    found = [
        result("KM", 1000), result("BFS", 800), result("KM", 500, mechanism="mrpb"), result("KM", 400, mechanism="mrpb,bypass=0"),
        result("KM", 250, {"l1d.ways": 64}, mechanism="mrpb"), result("KM", 200, mechanism="mrpb", mechanism_2="medic"),
        result("KM", 100, warp_scheduler="lrr"),
    ]  # fmt: skip
    assert survey.gain(found, WHOLE["MRPB"]) == [2.0, None]
    assert survey.gain(found, PARTS["order alone"]) == [2.5, None]
    assert survey.gain(found, mechanism("mrpb,reorder=1")) == [2.0, None]  # its default
    assert survey.gain(found, mechanism("mrpb", "medic")) == [5.0, None]
    assert survey.values(found, {}) == [1000, 800]
    assert survey.values(found, {}, keys={"l1d.ways": 64}) == [None, None]
    assert survey.gain(found, {}, {"warp_scheduler": "lrr"}) == [0.1, None]
    assert survey.best(found, {"none": {}, "MRPB": WHOLE["MRPB"]}) == [500, None]


# Words ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("values", "words"), [
    ({"A": 1.2, "B": 1.1, "C": 0.9}, "Kind: A leads with 1.200, then B 1.100; C 0.900 loses."),
    ({"A": 1.2, "B": 1.195, "C": 1.0}, "Kind: A and B lead with 1.200, and nothing else gains."),
    ({"A": 1.005, "B": 0.5, "C": 0.4}, "Kind: nothing gains 1% or more; A comes out highest with 1.005; C 0.400 and B 0.500 lose."),
    ({"A": 1.3, "B": None}, "Kind: A leads with 1.300. Not all programs have run with B."),
    ({"A": None, "B": None}, "Kind: not all programs have run."),
    ({"A": 0.7}, "Kind: nothing gains 1% or more; A comes out highest with 0.700; A 0.700 loses."),
])  # fmt: skip
def test_words_on_a_kind_follow_its_numbers(values, words):
    assert rank("kind", values) == words


def test_words_on_programs_follow_their_numbers():
    series = {"A": [1.5, 1.0, 0.8, None], "B": [1.2, 1.004, 1.3, None]}
    means = {"first": ["P", "Q"], "all": ["P", "Q", "R", "S"]}
    chart = Chart(["P", "Q", "R", "S"], series, "speedup", means=means, mean="geometric")
    assert by_program(chart) == "Highest in each program: P A (1.50), Q none, R B (1.30), S has not run."
    assert sides(chart, "A") == "A gains on 1 and loses on 1 of 3."
    assert sides(chart, "B") == "B gains on 2 and loses on 0 of 3."
    assert who_wins(chart)[0] == "First: A leads with 1.225, then B 1.098. All: not all programs have run."


def test_words_on_locks_follow_the_numbers():
    series = {"speed over CAWA": [1.5, 1.0, 0.9], "energy of CAWA over its own": [1.6, 1.0, 1.0]}
    chart = SPINNING.chart(series, "times better")
    assert over_rival(chart, "CAWA") == (
        "Over CAWA: 1.105 times the speed in the mean, faster on HT and slower on CQ; CAWA takes 1.170 times its energy."
    )
    same = SPINNING.chart({name: [1.0, 1.0, 1.0] for name in series}, "times better")
    assert "as fast everywhere" in over_rival(same, "CAWA")
    missing = SPINNING.chart({name: [1.0, None, 1.0] for name in series}, "times better")
    assert over_rival(missing, "CAWA") == "Over CAWA: not everything has run."


# Tiny runs ------------------------------------------------------------------------------------------------------------


OF_TWO = """
from dataclasses import replace
from simtlab.lab.paper.study import load_study

def of_two(figure):
    runs = figure.sweeps
    return replace(figure, sweeps=lambda setting: [replace(one, workloads={programs!r}) for one in runs(setting)])

WHOLE = load_study({name!r})
STUDY = replace(WHOLE, figures=[of_two(figure) for figure in WHOLE.figures])
"""


@pytest.mark.slow
@pytest.mark.parametrize(("study", "programs"), [(STUDIES[0], ["KM", "MIS"]), (STUDIES[1], ["SCP", "HT"])])
def test_a_study_of_two_programs_at_tiny(study, programs, tmp_path):
    """Its page has every figure with every program and mechanism, and its words name the highest of each program."""
    file, out = tmp_path / "two.py", tmp_path / "out"
    file.write_text(OF_TWO.format(programs=programs, name=study.name))
    command = "paper", file, "--size", "tiny", "--store", tmp_path / "store.sqlite", "--out", out
    assert "to run" in finished(*command)
    page, report = (out / "index.md").read_text(), json.loads((out / "report.json").read_text())["figures"]
    assert list(report) == [figure.name for figure in study.figures]
    for figure in study.figures:
        assert f"## {figure.name}: {figure.title}" in page
        chart = report[figure.name]["machines"]["gtx480"]
        ran = [name for name in programs if name in chart["groups"]]
        for name, values in chart["values"].items():
            assert name in page
            assert all(dict(zip(chart["groups"], values, strict=True))[program] is not None for program in ran), (figure.name, name)
        if figure.words is who_wins:
            check_words(report[figure.name]["words"], chart, ran)
        assert all(paragraph in page for paragraph in report[figure.name]["words"])
    assert finished(*command).rstrip().endswith(" 0 to run")


def finished(*command) -> str:
    """What a command that went well says beside its output; hooks that were never compiled take minutes."""
    process = start(*command)
    _, said = process.communicate(timeout=1800)
    assert process.returncode == 0, said
    return said


def check_words(words, chart, programs):
    for program in programs:
        place = chart["groups"].index(program)
        highest, leader = max((values[place], name) for name, values in chart["values"].items())
        assert (f"{program} {leader} ({highest:.2f})" if highest >= 1.01 else f"{program} none") in words[1]
