"""The store loses nothing: whole transactions, versions that migrate, and a clear sentence for every broken file."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from zlib import crc32

import pytest

from simtlab.lab.errors import StoreError
from simtlab.lab.record import Failure, Record, pack
from simtlab.lab.store import schema
from simtlab.lab.store.results import results
from simtlab.lab.store.store import Store
from tests.lab.conftest import ENVIRONMENT


def record(key: str, **changed) -> Record:
    """A result with choices of its own: its seed comes from its key."""
    values = {
        "key": key, "workload": "BFS", "size": "tiny", "gpu": "caps-gtx480",
        "inputs": {"parameters": {"nodes": 4}, "seed": crc32(key.encode()), "files": {}}, "changes": {"l1d.ways": 8},
        "policies": {"warp_scheduler": {"name": "gto", "label": "gto", "parameters": {}}},
        "machine": {"name": "caps-gtx480", "l1d.ways": 8}, "counters": {"cycles": 100, "instructions": 250},
        "occupancy": [{"kernel": "k", "ctas": 2, "limited_by": "warps"}], "launches": 1,
        "tables": {"launches": pack({"kernel": ["k"], "cycles": [100]})}, "sources": "s", "version": "v", "seconds": 0.5,
        "host": "h", "finished": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip
    return Record(**{**values, **changed})


def failure(key: str) -> Failure:
    return Failure(key, "BFS", "tiny", "caps-gtx480", "it broke", 3, "h", "2026-01-01T00:00:00+00:00")


def test_a_record_comes_back_as_it_went_in(store):
    with Store(store) as opened:
        assert opened.add(record("a1"), {"cycles": ("core cycles", "How long.")})
        assert opened.has("a1")
        assert not opened.has("a")
    found = results(store)
    assert found.record("a1") == record("a1")
    assert found.record("a1").table("launches") == {"kernel": ["k"], "cycles": [100]}
    assert found.meanings() == {"cycles": ("core cycles", "How long.")}


def test_a_result_reads_its_tables_when_asked(store):
    with Store(store) as opened:
        opened.add(record("a1"))
        opened.add(record("a2", tables={"launches": pack({"kernel": ["other"]})}))
    first, second = results(store)
    assert (first.table("launches")["kernel"], second.table("launches")["kernel"]) == (["k"], ["other"])
    with pytest.raises(StoreError, match="the result a1 has no table 'launch'"):
        first.table("launch")


def test_a_result_that_is_there_already_is_no_error_and_stays(store):
    with Store(store) as opened:
        assert opened.add(record("a1", seconds=1.0))
        assert not opened.add(record("a1", seconds=2.0))
    assert [result.plain["seconds"] for result in results(store)] == [1.0]


def test_a_success_wipes_out_the_failure_before_it(store):
    with Store(store) as opened:
        opened.add_failure(failure("a1"))
        assert [found.error for found in opened.failures()] == ["it broke"]
        opened.add(record("a1"))
        assert opened.failures() == []


def test_a_result_is_stored_whole_or_not_at_all(store):
    with Store(store) as opened:
        with pytest.raises(StoreError):
            opened.add(record("a1", tables={"launches": pack({}), "broken": None}))  # what cannot be stored comes last
        assert not opened.has("a1")
        opened.add(record("a2"))
    assert len(results(store)) == 1


def test_counters_of_later_versions_need_no_new_store(store):
    with Store(store) as opened:
        opened.add(record("a1"))
        opened.add(record("a2", counters={"cycles": 1, "instructions": 2, "energy_joules": 0.25}))
    table = results(store).to_pandas()
    assert table["energy_joules"].tolist()[1] == 0.25
    assert table["energy_joules"].isna().tolist() == [True, False]


# Versions -------------------------------------------------------------------------------------------------------------


def test_an_older_store_is_brought_up_to_date_and_keeps_its_results(store, monkeypatch):
    with Store(store) as opened:
        opened.add(record("a1"))
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, "ALTER TABLE results ADD COLUMN note TEXT DEFAULT 'none'"])
    with Store(store) as opened:
        assert list(opened.rows("SELECT key, note FROM results")) == [("a1", "none")]
        assert list(opened.rows("PRAGMA user_version")) == [(len(schema.MIGRATIONS),)]


def test_an_older_store_is_brought_up_to_date_by_a_reader_too(store, monkeypatch):
    with Store(store) as opened:
        opened.add(record("a1"))
    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, "ALTER TABLE results ADD COLUMN note TEXT DEFAULT 'none'"])
    with Store(store, write=False) as opened:
        assert list(opened.rows("SELECT key, note FROM results")) == [("a1", "none")]


def test_a_store_that_is_just_being_made_has_no_results(store):
    store.touch()
    assert list(results(store)) == []


def test_results_of_the_first_version_are_all_the_latest_until_a_sweep_asks_again(store, monkeypatch):
    """They do not say which code of a policy made them: the one stored last counts."""
    monkeypatch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:1])
    with Store(store) as opened:
        columns = [row[1] for row in opened.rows("PRAGMA table_info(results)") if row[1] != "id"]
        opened.connection.execute("INSERT INTO machines VALUES ('m', 'gpu', '{}')")
        values = {**dict.fromkeys(columns, "{}"), "occupancy": "[]", "machine": "m"}
        values["inputs"] = '{"parameters": {}, "seed": 0, "files": {}}'
        insert = f"INSERT INTO results ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"
        for key in ("a1", "a2"):
            opened.connection.execute(insert, [*{**values, "key": key}.values()])
    monkeypatch.undo()
    assert [result.key for result in results(store)] == ["a2"]
    with Store(store) as opened:
        opened.ask(["a1"])
    assert [result.key for result in results(store)] == ["a1"]


def test_a_migration_that_fails_leaves_the_old_store(store, monkeypatch):
    with Store(store) as opened:
        opened.add(record("a1"))
    released = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", [*released, "ALTER TABLE results ADD COLUMN note TEXT; DROP TABLE nothing"])
    with pytest.raises(StoreError):
        Store(store)
    monkeypatch.setattr(schema, "MIGRATIONS", released)
    assert results(store).record("a1") == record("a1")


def test_a_store_of_a_newer_simtlab_is_refused_and_left_alone(store):
    with Store(store) as opened:
        opened.add(record("a1"))
    with sqlite3.connect(store) as connection:
        connection.execute("PRAGMA user_version = 99")
    for write in (True, False):
        with pytest.raises(StoreError, match=r"written by a newer simtlab .its version is 99, this simtlab knows up to 2"):
            Store(store, write=write)
    with sqlite3.connect(store) as connection:
        assert connection.execute("SELECT count(*) FROM results").fetchone() == (1,)


# Broken files ---------------------------------------------------------------------------------------------------------


def test_another_sqlite_file_is_refused(store):
    with sqlite3.connect(store) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(StoreError, match="is no store of simtlab but some other SQLite file"):
        Store(store)


def test_a_file_that_is_no_database_is_refused_and_left_alone(store):
    store.write_text("cycles,ipc\n" * 1000)
    with pytest.raises(StoreError, match="is no SQLite file"):
        Store(store)
    assert store.read_text().startswith("cycles,ipc")


def test_there_is_no_store_to_read(store):
    with pytest.raises(StoreError, match=r"there is no store .*results\.sqlite; `simtlab sweep` makes one"):
        list(results(store))
    assert not store.exists()


def filled(store: Path, count: int) -> None:
    with Store(store) as opened:
        opened.connection.execute("PRAGMA synchronous = OFF")  # nothing here is about power cuts
        for k in range(count):
            opened.add(record(f"{k:04}", tables={"launches": os.urandom(500)}))
        opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_all(store: Path) -> None:
    with Store(store, write=False) as opened:
        list(opened.rows("SELECT * FROM tables"))


def test_a_truncated_store_is_told_and_not_written_to(store):
    filled(store, 200)
    os.truncate(store, store.stat().st_size // 2)
    before = store.read_bytes()
    with pytest.raises(StoreError, match=r"is damaged .*nothing was written to it.*--salvage new\.sqlite"):
        read_all(store)
    with pytest.raises(StoreError, match="is damaged"):
        filled(store, 1200)
    assert store.read_bytes()[: len(before)] == before


def test_a_locked_store_is_waited_for_and_then_told(store):
    with Store(store) as opened:
        opened.add(record("a1"))
    other = sqlite3.connect(store, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    with Store(store, lock_seconds=0.2) as opened, pytest.raises(StoreError, match=r"locked by another process for 0\.2 seconds"):
        opened.add(record("a2"))
    threading.Timer(0.5, lambda: other.execute("COMMIT")).start()
    with Store(store, lock_seconds=20) as opened:
        assert opened.add(record("a2"))
    other.close()


UNPRIVILEGED = """
import os, sys
from simtlab.lab.store.store import Store
from simtlab.lab.store.results import results
from simtlab.lab.errors import StoreError
if os.geteuid() == 0:
    os.setuid(65534)  # nothing is read-only for root
store = sys.argv[1]
print(len(results(store)))
try:
    with Store(store) as opened:
        opened.add(results(store).record("0001"))
except StoreError as error:
    print(error)
"""


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_read_only_store_can_be_read_and_says_so_when_written(store, folder_too):
    filled(store, 3)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "results.sqlite"
        shutil.copy(store, copy)
        copy.chmod(0o444)
        Path(folder).chmod(0o555 if folder_too else 0o777)
        done = subprocess.run([sys.executable, "-c", UNPRIVILEGED, copy], env=ENVIRONMENT, capture_output=True, text=True)
        Path(folder).chmod(0o755)
    assert done.stdout.splitlines()[:1] == ["3"], done.stderr
    assert "is read-only" in done.stdout


FULL = """
import json, resource, signal, sys
from simtlab.lab.store.store import Store
from simtlab.lab.errors import StoreError
from tests.lab.test_store import record
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
import os
stored = []
with Store(sys.argv[1]) as opened:
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))  # no file may grow beyond this
    try:
        for k in range(10_000):
            opened.add(record(f"{k:04}", tables={"launches": os.urandom(4000)}))
            stored.append(f"{k:04}")
    except StoreError as error:
        print(json.dumps([stored, str(error)]))
"""


def test_on_a_full_disk_every_result_reported_as_stored_is_there(store):
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}{os.pathsep}{Path(__file__).parents[2]}"}
    done = subprocess.run([sys.executable, "-c", FULL, store], env=environment, capture_output=True, text=True)
    stored, message = json.loads(done.stdout or "[[], '']")
    assert "cannot be written: the disk is full or broken" in message, done.stderr
    assert "every result stored before is safe" in message
    assert len(stored) > 10
    assert [result.key for result in results(store)] == stored
    with Store(store) as opened:  # with room again, it goes on
        assert opened.add(record("later"))
    with sqlite3.connect(store) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_two_processes_make_and_write_the_same_stores_at_once(store):
    writer = (
        "import sys\nfrom simtlab.lab.store.store import Store\nfrom tests.lab.test_store import record\n"
        "for n in range(30):\n    with Store(f'{sys.argv[1]}{n}') as opened:\n"
        "        for k in range(10): opened.add(record(f'{k:04}'))\n"
    )
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}{os.pathsep}{Path(__file__).parents[2]}"}
    running = [subprocess.Popen([sys.executable, "-c", writer, store], env=environment) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert [len(results(f"{store}{n}")) for n in range(30)] == [10] * 30


def test_a_writer_killed_in_mid_transaction_leaves_what_was_committed(store):
    writer = (
        "import os, signal, sys\nfrom simtlab.lab.store.store import Store\nfrom tests.lab.test_store import record\n"
        "with Store(sys.argv[1]) as opened:\n    opened.add(record('a1'))\n    with opened._transaction() as connection:\n"
        "        connection.execute(\"UPDATE results SET cycles = 0\")\n        os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}{os.pathsep}{Path(__file__).parents[2]}"}
    assert subprocess.run([sys.executable, "-c", writer, store], env=environment).returncode == -signal.SIGKILL
    assert results(store).record("a1") == record("a1")
    with Store(store) as opened:
        assert opened.add(record("a2"))


def test_the_users_store_is_in_the_data_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("SIMTLAB_DATA", str(tmp_path / "data"))
    with Store() as opened:
        opened.add(record("a1"))
    assert len(results()) == 1
    assert (tmp_path / "data" / "results.sqlite").is_file()
