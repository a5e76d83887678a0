"""The tables of a store, version by version. A store of an older version is brought up to date when it is written to."""

import sqlite3

APPLICATION = 0x53494D54  # "SIMT" in the file's header: what tells a store from any other SQLite file

VERSION_1 = """
CREATE TABLE machines (
    digest TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    config TEXT NOT NULL            -- JSON: every key with its value
);
CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,       -- digest of all the result depends on
    workload TEXT NOT NULL,
    size TEXT NOT NULL,
    gpu TEXT NOT NULL,
    cycles INTEGER NOT NULL,
    instructions INTEGER NOT NULL,
    ipc REAL NOT NULL,
    launches INTEGER NOT NULL,
    seconds REAL NOT NULL,          -- on the host
    host TEXT NOT NULL,
    finished TEXT NOT NULL,         -- UTC
    version TEXT NOT NULL,          -- of simtlab
    sources TEXT NOT NULL,          -- digest of simtlab's sources
    inputs TEXT NOT NULL,           -- JSON: parameters, seed, files
    changes TEXT NOT NULL,          -- JSON: keys of the machine that were changed
    policies TEXT NOT NULL,         -- JSON: by slot, name and parameters
    machine TEXT NOT NULL REFERENCES machines,
    counters TEXT NOT NULL,         -- JSON: name, total over all launches
    occupancy TEXT NOT NULL         -- JSON
);
CREATE INDEX results_by_workload ON results (workload, size, gpu);
CREATE TABLE tables (
    result INTEGER NOT NULL REFERENCES results ON DELETE CASCADE,
    name TEXT NOT NULL,
    data BLOB NOT NULL,             -- zlib over JSON: columns by name
    PRIMARY KEY (result, name)
) WITHOUT ROWID;
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    unit TEXT NOT NULL,
    meaning TEXT NOT NULL
);
CREATE TABLE failures (
    key TEXT PRIMARY KEY,
    workload TEXT NOT NULL,
    size TEXT NOT NULL,
    machine TEXT NOT NULL,
    error TEXT NOT NULL,
    tries INTEGER NOT NULL,
    host TEXT NOT NULL,
    finished TEXT NOT NULL
);
"""

VERSION_2 = "ALTER TABLE results ADD COLUMN asked REAL NOT NULL DEFAULT 0"  # when a sweep last asked for it, in Unix time

MIGRATIONS = [VERSION_1, VERSION_2]  # the script that leads from version k to k + 1; never edit one that was released, add the next


def version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def is_store(connection: sqlite3.Connection) -> bool:
    """Whether the file is a store, or empty and about to become one."""
    empty = not connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    return empty or connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, all in one transaction: another process sees the old version or the new one."""
    if version_of(connection) == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for script in MIGRATIONS[version_of(connection) :]:  # read again: somebody may have been faster
            for statement in script.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
