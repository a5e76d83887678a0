"""A line for those who wait while simtlab's functions are compiled: the first time after an update, for a minute or so."""

from __future__ import annotations

import sys
import time

FIRST_AFTER_SECONDS = 1.0  # what is quicker needs no line
EVERY_SECONDS = 0.2


class CompilationLine:
    """Entered while something is compiled; told of each function. Shows nothing where nobody watches: not in files and pipes."""

    def __init__(self) -> None:
        self._depth, self._functions, self._width = 0, 0, 0
        self._begun = self._shown = 0.0

    def __enter__(self) -> None:
        self._depth += 1
        if self._depth == 1:
            self._begun, self._functions = time.monotonic(), 0

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0 and self._width:
            self._write("")

    def function_done(self) -> None:
        if self._depth == 0:
            return  # for a policy, which is quick
        self._functions += 1
        now = time.monotonic()
        if now - self._begun >= FIRST_AFTER_SECONDS and now - self._shown >= EVERY_SECONDS and is_watched():
            self._shown = now
            self._write(
                f"simtlab compiles itself, once; it takes about a minute: {self._functions} functions, {now - self._begun:.0f} s"
            )

    def _write(self, text: str) -> None:
        print(f"\r{text:{self._width}}" if text else f"\r{'':{self._width}}\r", end="", file=sys.stderr, flush=True)
        self._width = len(text)


def is_watched() -> bool:
    """Whether stderr is a terminal, or a notebook's."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", lambda: False)())
