"""Read around what is damaged in a store: a page of the SQLite file, or a text that is none."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCANS = (  # each walks another part of the file, from either end; results are numbered from 1 on
    "SELECT id FROM results INDEXED BY results_by_workload ORDER BY workload",
    "SELECT id FROM results INDEXED BY results_by_workload ORDER BY workload DESC",
    "SELECT id FROM results NOT INDEXED ORDER BY id",
    "SELECT id FROM results NOT INDEXED ORDER BY id DESC LIMIT 1",
)


def is_damage(error: sqlite3.Error) -> bool:
    """Whether an error says that the file itself is damaged."""
    return (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_CORRUPT")


def text_or_bytes(data: bytes) -> str | bytes:
    """A text of the store; one that is no text stays bytes, so that the rows after it can be read."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def last_id(connection: sqlite3.Connection) -> int:
    """The highest number of a result, as far as it can be found."""
    highest = 0
    for question in SCANS:
        try:
            for (number,) in connection.execute(question):
                highest = max(highest, number)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
    return highest


def key_of_id(connection: sqlite3.Connection, number: int) -> str:
    """The key of a result whose own page cannot be read, from the index of keys; empty if that cannot be either."""
    try:
        question = "SELECT key FROM results INDEXED BY sqlite_autoindex_results_1 WHERE id = ?"
        found = connection.execute(question, (number,)).fetchone()
    except sqlite3.DatabaseError:
        return ""
    return found[0] if found else ""


@contextmanager
def full_length(path: Path) -> Iterator[Path]:
    """The file, or if it was cut off, which SQLite refuses, a copy with empty pages for those that are lost."""
    with path.open("rb") as opened:
        header = opened.read(32)
    page_bytes = int.from_bytes(header[16:18], "big")  # 1 stands for 65,536
    length = int.from_bytes(header[28:32], "big") * (65536 if page_bytes == 1 else page_bytes)
    if not header.startswith(b"SQLite format 3") or path.stat().st_size >= length:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        with copy.open("r+b") as opened:
            opened.truncate(length)
        yield copy
