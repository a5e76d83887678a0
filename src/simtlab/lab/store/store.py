"""The store: one SQLite file, written by one process at a time, one transaction a result; readers never wait."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote

from simtlab.lab.errors import StoreError
from simtlab.lab.record import Failure, Record
from simtlab.lab.store import schema
from simtlab.lab.store.damage import is_damage, key_of_id, last_id, text_or_bytes
from simtlab.storage import data_directory

LOCK_SECONDS = 60.0  # how long to wait for another process to finish its transaction
PLAIN_COLUMNS = ("key", "workload", "size", "gpu", "cycles", "instructions", "ipc", "launches", "seconds", "host",
                 "finished", "version", "sources")  # fmt: skip
TEXT_COLUMNS = ("key", "workload", "size", "gpu", "host", "finished", "version", "sources")
JSON_COLUMNS = ("inputs", "changes", "policies", "counters", "occupancy")


def default_store() -> Path:
    """The user's store, where no other is named."""
    return data_directory() / "results.sqlite"


class Store:
    """An open store. `Store(path, write=False)` only reads, changes nothing, and works on a read-only disk."""

    def __init__(self, path: str | PathLike | None = None, write: bool = True, lock_seconds: float = LOCK_SECONDS):
        self.path = Path(path) if path is not None else default_store()
        self.lock_seconds = lock_seconds
        self.unreadable: dict[int, str] = {}  # results found to lie on damaged pages, each with its key if that can be read
        self.ends_at: int | None = None  # the last result before damage that has no end to be found
        with self._errors_explained():
            self.connection = self._open_to_write() if write else self._open_to_read()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.connection.close()

    # Open -------------------------------------------------------------------------------------------------------------

    def _open_to_write(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"cannot make the folder of the store {self.path}: {error.strerror}") from None
        connection = self._connect(f"file:{quote(str(self.path))}?mode=rwc")
        self._set_wal(connection)
        connection.execute("PRAGMA synchronous = FULL")  # a result that was reported as stored survives a power cut
        connection.execute("PRAGMA foreign_keys = ON")
        schema.migrate(connection)
        return connection

    def _set_wal(self, connection: sqlite3.Connection) -> None:
        """Once in a file's life. SQLite does not wait for a lock here: another process may be making the same store."""
        until = time.monotonic() + self.lock_seconds
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > until:
                    raise
                time.sleep(0.01)

    def _open_to_read(self) -> sqlite3.Connection:
        if not self.path.is_file():
            raise StoreError(f"there is no store {self.path}; `simtlab sweep` makes one")
        place = f"file:{quote(str(self.path))}?mode=ro"
        try:
            connection = self._connect(place)
            if schema.version_of(connection) == len(schema.MIGRATIONS):
                return connection
            connection.close()  # an older store, or one that is just being made
            self._open_to_write().close()
            return self._connect(place)
        except sqlite3.OperationalError:  # a read-only folder has no room for the shared index that WAL needs
            if self.path.with_name(self.path.name + "-wal").exists():
                raise
            return self._connect(place + "&immutable=1")

    def _connect(self, place: str) -> sqlite3.Connection:
        connection = sqlite3.connect(place, uri=True, timeout=self.lock_seconds, isolation_level=None)
        connection.text_factory = text_or_bytes
        try:
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN")  # all of it at one moment: another process may be making the tables
        try:
            is_store, found = schema.is_store(connection), schema.version_of(connection)
        finally:
            connection.execute("COMMIT")
        if not is_store:
            raise StoreError(f"{self.path} is no store of simtlab but some other SQLite file; name another with --store")
        known = len(schema.MIGRATIONS)
        if found > known:
            raise StoreError(f"the store {self.path} was written by a newer simtlab (its version is {found}, this simtlab "
                             f"knows up to {known}); update simtlab, or name another store with --store")  # fmt: skip

    @property
    def order(self) -> str:
        """Columns that order results by when they were asked for. A store of an older simtlab on a read-only disk lacks one."""
        with self._errors_explained():
            return "asked, id" if schema.version_of(self.connection) > 1 else "id"

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        """SQLite's errors in words that say what to do. What was committed is never touched by them."""
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"the store {self.path} {self._explanation(error)}") from error

    def _explanation(self, error: sqlite3.Error) -> str:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith("SQLITE_FULL") or name.startswith("SQLITE_IOERR"):
            return f"cannot be written: the disk is full or broken ({error}); every result stored before is safe"
        if name.startswith("SQLITE_READONLY"):
            return f"is read-only ({error}); make it writable, or name another with --store"
        if name.startswith("SQLITE_BUSY") or name.startswith("SQLITE_LOCKED"):
            return f"has been locked by another process for {self.lock_seconds:g} seconds; end that process, or wait for it"
        if name.startswith("SQLITE_NOTADB"):
            return "is no SQLite file; name another with --store"
        if name.startswith("SQLITE_CORRUPT"):
            return (f"is damaged ({error}); nothing was written to it. `simtlab results --store {self.path} --salvage new.sqlite` "
                    "copies what can be read to a new store, to go on with")  # fmt: skip
        if name.startswith("SQLITE_CANTOPEN"):
            return "cannot be opened: its folder or the file itself is not accessible"
        return f"cannot be used: {error}"

    # Write ------------------------------------------------------------------------------------------------------------

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors_explained():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def add(
        self, record: Record, meanings: Mapping[str, tuple[str, str]] | None = None, asked: float | None = None
    ) -> bool:
        """Store a result, all of it or nothing. False if somebody else has stored it already."""
        config = json.dumps(record.machine, sort_keys=True)
        digest = hashlib.sha256(config.encode()).hexdigest()[:16]
        row = {name: getattr(record, name) for name in PLAIN_COLUMNS}
        row |= {name: json.dumps(getattr(record, name)) for name in JSON_COLUMNS}
        row |= {"machine": digest, "asked": time.time() if asked is None else asked}
        columns = ", ".join(row)
        with self._transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO machines VALUES (?, ?, ?)", (digest, record.machine["name"], config))
            added = connection.execute(
                f"INSERT OR IGNORE INTO results ({columns}) VALUES ({', '.join(f':{name}' for name in row)})", row
            )
            if added.rowcount:
                rows = [(added.lastrowid, name, data) for name, data in record.tables.items()]
                connection.executemany("INSERT INTO tables VALUES (?, ?, ?)", rows)
            connection.execute("DELETE FROM failures WHERE key = ?", (record.key,))
            if meanings:
                explained = [(name, *meanings[name]) for name in record.counters if name in meanings]
                connection.executemany("INSERT OR REPLACE INTO counters VALUES (?, ?, ?)", explained)
        return bool(added.rowcount)

    def add_failure(self, failure: Failure) -> None:
        """Note an experiment that failed; the next sweep tries it again."""
        with self._transaction() as connection:
            connection.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?, ?)", tuple(vars(failure).values()))

    def ask(self, keys: Sequence[str]) -> None:
        """Note that a sweep has asked for results: of several under the same names, these are the latest from now on."""
        with self._transaction() as connection:
            connection.executemany("UPDATE results SET asked = ? WHERE key = ?", [(time.time(), key) for key in keys])

    def forget(self, keys: Sequence[str]) -> int:
        """Remove results by their keys; how many there were."""
        with self._transaction() as connection:
            return sum(connection.execute("DELETE FROM results WHERE key = ?", (key,)).rowcount for key in keys)

    # Read -------------------------------------------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        with self._errors_explained():
            return self.connection.execute("SELECT 1 FROM results WHERE key = ?", (key,)).fetchone() is not None

    def keys(self, begin: str) -> list[str]:
        """The keys that begin so, of damaged results too."""
        with self._errors_explained():
            found = self.connection.execute("SELECT key FROM results WHERE substr(key, 1, ?) = ?", (len(begin), begin))
            return [key for (key,) in found]

    def mean_seconds(self, workload: str, size: str) -> float | None:
        """How long a workload's runs at a size have taken on the host."""
        question = "SELECT avg(seconds) FROM results WHERE workload = ? AND size = ?"
        with self._errors_explained():
            return self.connection.execute(question, (workload, size)).fetchone()[0]

    def seconds_per_instruction(self) -> float | None:
        """Host seconds a simulated warp instruction has taken, all results together."""
        with self._errors_explained():
            return self.connection.execute("SELECT sum(seconds) / sum(instructions) FROM results").fetchone()[0]

    def failures(self) -> list[Failure]:
        with self._errors_explained():
            return [Failure(*row) for row in self.connection.execute("SELECT * FROM failures ORDER BY finished")]

    def meanings(self) -> dict[str, tuple[str, str]]:
        with self._errors_explained():
            return {name: (unit, meaning) for name, unit, meaning in self.connection.execute("SELECT * FROM counters")}

    def result_rows(self, columns: str, demands: str = "", values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Columns of the results that meet the demands, in the order they were stored; those on damaged pages are left out."""
        question, last = f"SELECT id, {columns} FROM results WHERE {demands or 'true'}", 0
        try:
            for row in self.connection.execute(f"{question} ORDER BY id", values):
                last = row[0]
                yield row
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                with self._errors_explained():
                    raise
            yield from self._rows_one_by_one(question, values, last + 1)

    def _rows_one_by_one(self, question: str, values: tuple[Any, ...], first: int) -> Iterator[tuple[Any, ...]]:
        """From a result on, each by its number; past the last number known, as far as there are results or damage begins."""
        last = last_id(self.connection)
        for number in count(first):
            try:
                there = self.connection.execute("SELECT 1 FROM results NOT INDEXED WHERE id = ?", (number,)).fetchone()
                yield from self.connection.execute(f"{question} AND id = ?", (*values, number))
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    with self._errors_explained():
                        raise
                if number > last:
                    self.ends_at = number - 1
                    return
                self.unreadable.setdefault(number, key_of_id(self.connection, number))
            else:
                if number > last and there is None:
                    return

    def rows(self, question: str, values: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        """Rows of a query, as they come."""
        with self._errors_explained():
            yield from self.connection.execute(question, values)
