"""How a study is declared: what it asks, the runs of each figure, what each figure shows, what the paper says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from simtlab.lab.errors import StudyError
from simtlab.lab.experiment import Experiment, key_of
from simtlab.lab.ingredients import Look
from simtlab.lab.paper.charts import Chart
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep
from simtlab.outside import told, words
from simtlab.storage import import_file

STUDIES = Path(__file__).parent.parent / "papers"


@dataclass(frozen=True)
class Setting:
    """On what a study is run."""

    gpu: str
    size: str


@dataclass(frozen=True)
class Expected:
    """A number of the paper's: which value of the figure it stands for, and where the paper has it."""

    label: str
    series: str
    group: str
    paper: float
    source: str  # section, figure or table


@dataclass(frozen=True)
class Figure:
    """One figure: the runs it needs, and what it shows of their results, all on one machine."""

    name: str  # fig10
    title: str
    sweeps: Callable[[Setting], Sequence[Sweep]]
    chart: Callable[[Sequence[Result]], Chart]
    expected: Sequence[Expected] = ()
    text: str = ""  # what to see in it
    words: Callable[[Chart], Sequence[str]] | None = None  # paragraphs that say what its numbers are

    def runs(self, setting: Setting) -> list[Sweep]:
        """The sweeps it needs; an error if its function gives anything else."""
        found = self.sweeps(setting)
        if not isinstance(found, list | tuple) or not all(isinstance(one, Sweep) for one in found):
            raise StudyError(f"figure {self.name}: its runs must be a list of Sweep, and are {found!r}")
        return list(found)

    def drawn(self, found: Sequence[Result]) -> Chart:
        """What it shows of results; an error if its function gives no chart, or one whose parts do not fit together."""
        chart = self.chart(found)
        if not isinstance(chart, Chart):
            raise StudyError(f"figure {self.name}: its chart must be a Chart, and is {chart!r}")
        problem = chart.problem()
        if problem:
            raise StudyError(f"figure {self.name}: {problem}")
        return chart


@dataclass(frozen=True)
class Study:
    """A paper's experiments."""

    name: str
    title: str
    source: str  # the paper, or whose study it is
    question: str
    figures: Sequence[Figure]
    gpu: str = "caps-gtx480"
    size: str = "small"
    remarks: Mapping[str, str] = field(default_factory=dict)  # title and text of sections for the end of the page

    def chosen(self, name: str) -> list[Figure]:
        """The figures that a name stands for: one, or the parts fig12a, fig12b, … of fig12."""
        part = re.compile(re.escape(name) + "[a-z]")
        parts = [figure for figure in self.figures if name[-1:].isdigit() and part.fullmatch(figure.name)]
        return parts or [self.figure(name)]

    def figure(self, name: str) -> Figure:
        for figure in self.figures:
            if figure.name == name:
                return figure
        known = [figure.name for figure in self.figures]
        near = get_close_matches(name, known, 1, 0.4)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise StudyError(f"the study {self.name} has no figure '{name}'; {hint}it has {', '.join(known)}")


class Runs:
    """The experiments of several sweeps, each only once."""

    def __init__(self, sweeps: Sequence[Sweep]):
        self.sweeps = sweeps

    def experiments(self) -> Iterator[Experiment]:
        yield from self._by_key().values()

    def keys(self) -> frozenset[str]:
        return frozenset(self._by_key())

    def _by_key(self) -> dict[str, Experiment]:
        look = Look()
        found: dict[str, Experiment] = {}
        for sweep in self.sweeps:
            for experiment in sweep.experiments():
                found.setdefault(key_of(experiment.ingredients(look)), experiment)
        return found


def studies() -> list[str]:
    """Names of the studies there are."""
    return sorted(path.stem.replace("_", "-") for path in STUDIES.glob("*.py") if path.stem != "__init__")


def load_study(name: str) -> Study:
    """A study by its name, or by the path of its file."""
    if name.endswith(".py"):
        return _study_in(Path(name))
    known = studies()
    if name.lower() not in known:
        near = get_close_matches(name.lower(), known, 1, 0.5)
        hint = f"did you mean '{near[0]}'? " if near else ""
        raise StudyError(f"there is no study '{name}'; {hint}there are: {', '.join(known)}; a file's name ends in .py")
    return import_module(f"simtlab.lab.papers.{name.lower().replace('-', '_')}").STUDY


def _study_in(path: Path) -> Study:
    """The `STUDY` of a file outside the package."""
    if not path.is_file():
        raise StudyError(f"there is no study in {path}: it must be a Python file with a STUDY")
    try:
        module = import_file(path, f"simtlab_study_{path.stem}")
    except (Exception, SystemExit) as error:
        raise StudyError(told(error) or f"{path}: {words(error)}") from error
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise StudyError(f"{path} has no STUDY, a simtlab.lab.paper.study.Study")
    strangers = [figure for figure in study.figures if not isinstance(figure, Figure)]
    if strangers:
        raise StudyError(f"{path}: STUDY's figures must be simtlab.lab.paper.study.Figure, and one is {strangers[0]!r}")
    return study
