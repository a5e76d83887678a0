"""What timed runs are looked at with: `run.explain()` in words, `run.profile("page.html")` as a page."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simtlab.report.profile import LaunchProfile


class Explained:
    """A launch, or what launched several."""

    def figures(self) -> list[LaunchProfile]:
        """What was measured, launch by launch; of a program with many launches, kernel by kernel."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """How it looks in a notebook."""
        from simtlab.host.notebook import of_launch

        return "<hr>".join(map(of_launch, self.figures()))

    def explain(self) -> str:
        """Where the cycles went, in a few sentences."""
        from simtlab.report.advice import explain

        return "\n\n".join(map(explain, self.figures()))

    def profile(self, path: str | PathLike, baseline: Explained | None = None) -> Path:
        """Write a page to look at in a browser, beside the figures of another run if that is given."""
        from simtlab.report.advice import advice
        from simtlab.report.page import write_page

        figures = self.figures()
        before: Sequence[LaunchProfile] = baseline.figures() if baseline is not None else ()
        write_page(Path(path), figures, figures[0].kernel, before, advice)
        return Path(path)
