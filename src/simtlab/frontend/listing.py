"""The text of statements, as the PTX has them."""

from collections.abc import Iterable

from simtlab.frontend.ast import Position


def statement_texts(ptx: str, places: Iterable[Position]) -> list[str]:
    """The PTX from each of these places up to its semicolon, on one line."""
    lines = ptx.splitlines()
    return [_statement(lines, place) for place in places]


def _statement(lines: list[str], place: Position) -> str:
    parts = []
    start = place.column - 1
    for text in lines[place.line - 1 :]:
        part = text[start:].split("//")[0]
        parts.append(part.partition(";")[0])
        if ";" in part:
            break
        start = 0
    return " ".join(" ".join(parts).split()) + ";"
