"""Read text files line by line, so that a message about one can say where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from simtlab.workloads.errors import InputFileError


def read_bytes(path: Path) -> bytes:
    """A file's contents."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputFileError(path, None, f"cannot be read: {error.strerror or error}") from None


def read_text(path: Path) -> bytes:
    """A text as its bytes, in whatever encoding; the programs that take one end their words with zeros, so it has none."""
    data = read_bytes(path)
    if not data:
        raise InputFileError(path, None, "text is expected, and the file is empty")
    if 0 in data:
        raise InputFileError(path, data.count(b"\n", 0, data.index(0)) + 1, "text is expected, and there is a zero byte")
    return data


class Lines:
    """The words of each line that has some, and the number of the line they are on."""

    def __init__(self, path: Path):
        self.path, self.number = path, 0
        data = read_bytes(path)
        try:
            self.lines = data.decode().splitlines()
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputFileError(path, line, "text is expected, and this is none") from None

    def __iter__(self) -> Iterator[list[str]]:
        for line in self.lines[self.number :]:
            self.number += 1
            words = line.split()
            if words:
                yield words

    def wrong(self, problem: str) -> InputFileError:
        """An error about the current line."""
        return InputFileError(self.path, self.number or None, problem)

    def whole(self, word: str, what: str, low: int, high: int | None = None) -> int:
        """A whole number within limits."""
        try:
            value = int(word)
        except ValueError:
            raise self.wrong(f"{what} is expected, a whole number, not '{word}'") from None
        if value < low or (high is not None and value > high):
            limits = f"at least {low}" if high is None else f"from {low} to {high}"
            raise self.wrong(f"{what} is {value}; it must be {limits}")
        return value

    def real(self, word: str, what: str) -> float:
        """A number."""
        try:
            return float(word)
        except ValueError:
            raise self.wrong(f"{what} is expected, a number, not '{word}'") from None
