"""Studies: figures, pages and a report from declared runs, ours beside the paper's, machines side by side."""

import json
from pathlib import Path

import pytest

from simtlab.cli.sweep import SweepAnswer
from simtlab.lab.errors import StudyError
from simtlab.lab.paper.charts import Chart, normalised, speedups
from simtlab.lab.paper.drawing import STYLE, draw, in_lines, laid_out
from simtlab.lab.paper.report import _value_table
from simtlab.lab.paper.study import load_study, studies
from simtlab.lab.papers import schedulers
from simtlab.lab.store.result import Result
from simtlab.lab.store.results import results
from simtlab.lab.store.store import Store
from simtlab.lab.sweep.loop import Summary
from simtlab.lab.sweep.plan import Plan
from tests.cli.conftest import refused
from tests.lab.conftest import simtlab

STUDY = '''
from pathlib import Path

from simtlab.lab.paper.charts import Chart, normalised, tabulate
from simtlab.lab.paper.study import Expected, Figure, Study
from simtlab.lab.sweep.sweep import Sweep

ROUNDS, SCHEDULERS = [2, 40], ["lrr", "gto"]


def runs(setting):
    return [Sweep(str(Path(__file__).parent / "steps"), setting.size, setting.gpu, set={"core.cores": 1},
                  parameters={"rounds": ROUNDS}, policies={"warp_scheduler": SCHEDULERS})]


def chart(found):
    values = tabulate(found, "rounds", "warp_scheduler", "cycles", ROUNDS, SCHEDULERS)
    groups = [str(k) for k in ROUNDS]
    return Chart(groups, values, "cycles", kind="lines", group_label="rounds", means={"mean": groups}, form=",.0f")


STUDY = Study("steps", "Steps & rounds", "a test", "How long do <rounds> take?", [
    Figure("fig1", "Cycles by rounds", runs, chart, [Expected("mean of LRR", "lrr", "mean", 1000.0, "Fig. 1")]),
    Figure("fig2", "The same again", runs, chart),
], gpu="caps-gtx480", size="tiny")
'''


@pytest.fixture
def mine(program, tmp_path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(STUDY)
    return path


def test_a_study_is_run_drawn_and_written_and_resumes_from_the_store(mine, store, tmp_path):
    out = tmp_path / "out"
    done = simtlab("paper", mine, "--out", out, "--store", store, "--processes", 1)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("4 experiments: 0 stored, 4 to run")
    names = {"fig1.svg", "fig1.png", "fig2.svg", "fig2.png", "index.md", "index.html", "report.json"}
    assert {path.name for path in out.iterdir()} == names
    report = json.loads((out / "report.json").read_text())
    values = report["figures"]["fig1"]["machines"]["caps-gtx480"]["values"]
    by_hand = {(r.value("warp_scheduler"), r.value("rounds")): r.plain["cycles"] for r in results(store)}
    assert values["gto"][:2] == [by_hand["gto", 2], by_hand["gto", 40]]
    (expected,) = report["figures"]["fig1"]["expected"]
    mean = (by_hand["lrr", 2] + by_hand["lrr", 40]) / 2
    assert (expected["paper"], expected["ours"], expected["ratio"]) == (1000.0, mean, mean / 1000)
    page = (out / "index.md").read_text()
    assert f"| mean of LRR | Fig. 1 | 1,000 | {mean:,.0f} | {mean / 1000:.2f} |" in page
    assert "![Cycles by rounds, caps-gtx480](fig1.svg)" in page
    html = (out / "index.html").read_text()
    assert html.count("<svg") == 2
    assert "How long do &lt;rounds&gt; take?" in html
    assert "mean of LRR" in done.stdout

    before = {path.name: path.read_bytes() for path in out.iterdir()}
    again = simtlab("paper", mine, "--out", out, "--store", store)
    assert again.stderr == "4 experiments: 4 stored, 0 to run\n"
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.slow
def test_another_machine_stands_beside_the_studys_own(mine, store, tmp_path):
    out = tmp_path / "out"
    done = simtlab("paper", mine, "--only", "fig1", "--gpu", "v100", "--out", out, "--store", store)
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("8 experiments")
    assert {path.name for path in out.iterdir()} == {
        "fig1.svg", "fig1.png", "fig1-v100.svg", "fig1-v100.png", "index.md", "index.html", "machines.md", "machines.html",
        "report.json",
    }  # fmt: skip
    page = (out / "machines.md").read_text()
    assert "| cores | 15 | 80 |" in page
    assert "| rounds | lrr, caps-gtx480 | lrr, v100 | gto, caps-gtx480 | gto, v100 |" in page
    report = json.loads((out / "report.json").read_text())
    assert report["machines"] == ["caps-gtx480", "v100"]
    ours = report["figures"]["fig1"]["machines"]
    assert ours["v100"]["values"]["lrr"] != ours["caps-gtx480"]["values"]["lrr"]


def test_a_run_that_fails_leaves_a_gap_and_is_named(mine, store, tmp_path, program):
    definition = program / "workload.py"
    definition.write_text(definition.read_text().replace("value + data[\"wrong\"]", "value + (data[\"rounds\"] == 40)"))
    done = simtlab("paper", mine, "--out", tmp_path / "out", "--store", store)
    assert done.returncode == 1
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["figures"]["fig1"]["machines"]["caps-gtx480"]["values"]["lrr"][1:] == [None, None]
    assert len(report["failures"]) == 2
    page = (tmp_path / "out" / "index.md").read_text()
    assert "## Not everything ran" in page
    assert "| mean of LRR | Fig. 1 | 1,000 | – | – |" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["schedulrs"], "there is no study 'schedulrs'; did you mean 'schedulers'?"),
        (["schedulers", "--only", "icp"], "has no figure 'icp'; did you mean 'ipc'?"),
        (["schedulers", "--gpu", "v10"], "no machine named v10: did you mean v100?"),
        (["schedulers", "--size", "big"], "has no size 'big'"),
        (["nowhere.py"], "there is no study in nowhere.py"),
    ],
)
def test_what_is_wrong_is_named_before_anything_runs(arguments, message, store):
    done = simtlab("paper", *arguments, "--store", store)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("error: ")


def test_the_studies_are_listed_and_load():
    listed = simtlab("list", "papers").stdout
    for name in studies():
        assert load_study(name).title in listed
    with pytest.raises(StudyError, match="no study"):
        load_study("nothing")


def test_notes_stand_under_names_and_in_a_column(tmp_path):
    chart = Chart(["a", "b"], {"x": [1.0, 2.0]}, "v", notes={"a": "3/4"}, notes_label="share", means={"mean": ["a", "b"]})
    assert chart.as_json()["notes"] == {"a": "3/4"}
    assert "notes" not in Chart(["a"], {"x": [1.0]}, "v").as_json()
    table = _value_table({"gpu": chart})
    assert (table.header, table.rows) == (["program", "share", "x"], [["a", "3/4", "1"], ["b", "", "2"], ["mean", "", "1.5"]])
    plain = Chart(chart.groups, chart.series, chart.label, means=chart.means)
    drawn, without = (draw(one, "Notes", tmp_path / name)[0].read_text() for name, one in (("with", chart), ("without", plain)))
    assert drawn != without


def test_means_are_over_all_members_or_not_at_all():
    chart = Chart(["a", "b", "c"], {"x": [1.0, 4.0, None]}, "v", means={"ab": ["a", "b"], "all": ["a", "b", "c"]}, mean="geometric")
    assert chart.value("x", "ab") == pytest.approx(2.0)
    assert chart.value("x", "all") is None
    assert chart.values("x") == [1.0, 4.0, None, pytest.approx(2.0), None]
    assert normalised({"x": [2.0, None], "y": [4.0, 1.0]}, to="x") == {"x": [1.0, None], "y": [2.0, None]}
    assert speedups({"x": [8.0, 4.0, None], "y": [None, 1.0, 2.0]}) == {"x": [1.0, 2.0, None], "y": [None, None, None]}


@pytest.mark.parametrize("kind", ["bars", "stacked", "lines"])
def test_every_kind_of_chart_is_drawn_the_same_each_time(kind, tmp_path):
    chart = Chart(["a", "b"], {"x": [1.0, None], "y": [2.0, 3.0]}, "v", kind=kind, base=1.0)
    first = [path.read_bytes() for path in draw(chart, "title", tmp_path / "one")]
    second = [path.read_bytes() for path in draw(chart, "title", tmp_path / "two")]
    assert first == second
    assert first[0].startswith(b"<?xml")
    assert first[1].startswith(b"\x89PNG")


@pytest.mark.slow
@pytest.mark.parametrize("name", studies())
def test_no_text_of_a_figure_goes_beyond_its_edges(name):
    """Labels longer than their side are broken into lines; Figure 10's of CAPS was cut off."""
    from matplotlib import pyplot, rc_context

    study = load_study(name)
    with rc_context(STYLE):
        for figure in study.figures:
            drawn = laid_out(figure.chart([]), f"{figure.title}, {study.gpu}")
            drawn.draw_without_rendering()
            axes = drawn.axes[0]
            for text in (axes.yaxis.label, axes.xaxis.label, axes._left_title, *drawn.legends):
                box = text.get_window_extent()
                inside = box.x0 >= 0 and box.y0 >= 0 and box.x1 <= drawn.bbox.x1 and box.y1 <= drawn.bbox.y1
                assert inside or not box.width, f"{figure.name}: {text}"
            pyplot.close(drawn)


def test_a_text_is_broken_between_words_into_lines_of_about_one_length():
    assert in_lines("IPC over two-level without prefetching", 2) == "IPC over two-level\nwithout prefetching"
    assert in_lines("cycles", 3) == "cycles"


MISTAKES = {  # what is changed in the study's file, what is said, and on which line if that can be known
    "in the file itself": ("ROUNDS, SCHEDULERS =", "x + 1\nROUNDS, SCHEDULERS =", "NameError: name 'x' is not defined", 8),
    "in its syntax": ("def runs(setting):", "def runs(setting)", "SyntaxError: expected ':'", 11),
    "in its runs": ("setting.gpu, set", "setting.gpus, set", "AttributeError: 'Setting' object has no attribute 'gpus'", 12),
    "in its chart": ("for k in ROUNDS]", "for k in ROUND]", "NameError: name 'ROUND' is not defined", 18),
    "an exit": ("ROUNDS, SCHEDULERS =", "raise SystemExit(3)\nROUNDS, SCHEDULERS =", "it called sys.exit(3)", 8),
    "no list of runs": ("return [Sweep(", "return (Sweep(", "figure fig1: its runs must be a list of Sweep", None),
    "no chart": ("return Chart(", "Chart(", "figure fig1: its chart must be a Chart, and is None", None),
    "too few values": ("return Chart(groups, values", "return Chart([*groups, 'x'], values", "has 2 values for 3 groups", None),
    "another kind": ('kind="lines"', 'kind="line"', "the chart's kind is 'line'; it must be one of bars, stacked, lines", None),
    "a mean of nothing": ('means={"mean": groups}', 'means={"mean": ["a"]}', "a mean is over 'a', which is no group", None),
    "no figures": ('"How long do <rounds> take?", [', '"How long?", [3, ', "figures must be simtlab.lab.paper.study.Figure", None),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_a_studys_file_is_told_in_a_sentence_with_its_line(mine, store, tmp_path, mistake, monkeypatch):
    """In this process, with results that need no runs."""
    before, after, words, line = MISTAKES[mistake]
    assert before in STUDY
    text = STUDY.replace(before, after, 1)
    mine.write_text(text.replace("SCHEDULERS})]", "SCHEDULERS}))") if mistake == "no list of runs" else text)
    swept = SweepAnswer(Plan(4, 4, None), Summary(stored_before=4), store)
    monkeypatch.setattr("simtlab.cli.paper.run_sweep", lambda runs, place: (list(runs.experiments()), swept)[1])
    Store(store).close()
    said = refused(2, "paper", mine, "--store", store, "--out", tmp_path / "out")
    assert words in said
    assert line is None or f"error: {mine}:{line}: " in said
    assert said.count("\n") == 1


def fake(workload: str, scheduler: str, ipc: float) -> Result:
    stalls = {f"stall_{name}": 1 for name in schedulers.STALLS}
    policies = {"warp_scheduler": {"name": scheduler, "label": scheduler, "parameters": {}}}
    plain = {"workload": workload, "ipc": ipc}
    return Result(plain, {"parameters": {}, "files": {}, "seed": 0}, {}, policies, stalls, [], {})


def test_the_schedulers_study_shows_sixteen_programs_under_five_schedulers():
    numbered = list(enumerate(schedulers.SCHEDULERS, 1))
    found = [fake(program, scheduler, float(k)) for program in schedulers.PROGRAMS for k, scheduler in numbered]
    assert len(found) == 80
    assert schedulers.ipc(found).value("gto", "BFS") == 2.0
    assert schedulers.speedup(found).value("fetch-groups", "all") == pytest.approx(5.0)
    stalls = schedulers.stalls(found)
    assert sum(stalls.value(name, "MM") for name in stalls.series) == pytest.approx(1.0)
    (sweep,) = schedulers.runs(type("S", (), {"gpu": "caps-gtx480", "size": "tiny"}))
    assert len(sweep) == 80


@pytest.mark.slow
def test_the_schedulers_study_runs_whole(tmp_path, store):
    done = simtlab("paper", "schedulers", "--size", "tiny", "--out", tmp_path / "out", "--store", store)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    values = report["figures"]["ipc"]["machines"]["caps-gtx480"]["values"]
    assert all(value and value > 0 for row in values.values() for value in row)
