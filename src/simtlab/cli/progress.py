"""Status lines on a terminal's stderr, for what takes long; elsewhere there are none."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

CYCLES_AFTER_SECONDS = 0.5
ENOUGH_CTAS = 0.01  # share that has ended before the time left is told


def status_line(text: str) -> tuple[Live, Spinner] | None:
    """A line not yet shown, or None where nobody would see it. It leaves stdout alone, which may go elsewhere."""
    from rich.console import Console
    from rich.live import Live
    from rich.spinner import Spinner

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        return None
    spinner = Spinner("dots", text)
    return Live(spinner, console=console, transient=True, redirect_stdout=False, redirect_stderr=False), spinner


@contextmanager
def show_cycles(kernel: str) -> Iterator[Callable[[int, float], None] | None]:
    """Show the cycles of a timed launch as they go by; a short launch shows none."""
    from simtlab.host.module import plain_name

    name, begin = plain_name(kernel), time.monotonic()
    made = status_line(name)
    if made is None:
        yield None
        return
    line, spinner = made

    def report(cycles: int, share: float) -> None:
        seconds = time.monotonic() - begin
        if seconds >= CYCLES_AFTER_SECONDS:
            spinner.update(text=f"{name}: {cycles:,} cycles{time_left(seconds, share)}")
            line.start()

    try:
        yield report
    finally:
        line.stop()


def time_left(seconds: float, share: float) -> str:
    """How much longer a launch may take, if its other CTAs take as long as those that have ended; nothing before enough have."""
    if share < ENOUGH_CTAS:
        return ""
    left = seconds * (1 - share) / share
    words = f"{left / 3600:.1f} h" if left >= 5400 else f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
    return f", {share:.0%} of CTAs, about {words} left"


class LaunchLine:
    """Shows which launch of an application is under way, if it is for long. One thread looks; a launch only leaves its name."""

    def __init__(self) -> None:
        self._launches, self._now, self._since = 0, "", 0.0
        self._line = status_line("")
        if self._line is not None:
            Thread(target=self._look, daemon=True).start()

    @contextmanager
    def shows(self, kernel: str) -> Iterator[None]:
        """While a launch goes on."""
        self._launches += 1
        self._since, self._now = time.monotonic(), f"launch {self._launches:,}: {kernel}"
        try:
            yield
        finally:
            self._now = ""

    def _look(self) -> None:
        assert self._line is not None
        line, spinner = self._line
        while True:
            time.sleep(CYCLES_AFTER_SECONDS / 2)
            text, seconds = self._now, time.monotonic() - self._since
            if text and seconds >= CYCLES_AFTER_SECONDS:
                spinner.update(text=f"{text}, {seconds:.0f} s")
                line.start()
            elif line.is_started:
                line.stop()


@cache
def make_executor_ready() -> None:
    """Load the compiled executor (the first time after an update it is compiled), so that launches are timed without it."""
    from simtlab.lab.ready import load_executor

    load_executor()


@cache
def make_machine_ready() -> None:
    """The same for the machine: one core of a small one is enough, for all machines share their compiled code."""
    from simtlab.lab.ready import load_machine

    load_machine()


def make_ready(timed: bool) -> None:
    if timed:
        make_machine_ready()
    else:
        make_executor_ready()
