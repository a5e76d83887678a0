"""How a study is declared: what it asks, the runs of each figure, what each figure shows, what the paper says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path

from simtlab.lab.errors import StudyError
from simtlab.lab.experiment import Experiment
from simtlab.lab.paper.charts import Chart
from simtlab.lab.store.results import Result
from simtlab.lab.sweep.sweep import Sweep
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
        seen = set()
        for sweep in self.sweeps:
            for experiment in sweep.experiments():
                key = experiment.key
                if key not in seen:
                    seen.add(key)
                    yield experiment

    def keys(self) -> frozenset[str]:
        return frozenset(experiment.key for experiment in self.experiments())


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
    except Exception as error:
        raise StudyError(f"{path}: {type(error).__name__}: {error}") from error
    study = getattr(module, "STUDY", None)
    if not isinstance(study, Study):
        raise StudyError(f"{path} has no STUDY, a simtlab.lab.paper.study.Study")
    return study
