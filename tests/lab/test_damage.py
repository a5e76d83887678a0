"""A store that is damaged in places: everything else is read, and what is lost is told."""

import json
import os
import sqlite3
import warnings
from pathlib import Path

import pytest

from simtlab.lab.errors import StoreError, StoreWarning
from simtlab.lab.store.results import results
from simtlab.lab.store.salvage import salvage
from simtlab.lab.store.store import Store
from tests.cli.conftest import invoke, refused
from tests.lab.test_store import failure, filled, record


def damage(store: Path, change: str, *values: object) -> None:
    with sqlite3.connect(store) as connection:
        connection.execute(change, values)
    connection.close()


def keys_and_warnings(store: Path) -> tuple[list[str], list[str]]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        keys = [result.key for result in results(store)]
    assert all(issubclass(one.category, StoreWarning) for one in told)
    return keys, [str(one.message) for one in told]


@pytest.mark.parametrize("column", ["inputs", "policies", "counters", "occupancy", "changes"])
@pytest.mark.parametrize("text", ["{", "[]", b"\xff\xfe\x00", ""])
def test_one_damaged_row_is_told_and_the_others_are_read(store, column, text):
    if column == "occupancy" and text == "[]":
        text = "nonsense"
    filled(store, 5)
    damage(store, f"UPDATE results SET {column} = CAST(? AS TEXT) WHERE key = '0002'", text)
    keys, (told,) = keys_and_warnings(store)
    assert keys == ["0000", "0001", "0003", "0004"]
    assert told.startswith(f"the store {store} has 1 result damaged and left out: 0002. ")
    assert "`simtlab results KEY --delete` removes one" in told


def test_the_command_line_lists_the_others_and_warns_in_a_line(store):
    filled(store, 3)
    damage(store, "UPDATE results SET counters = 'x' WHERE key = '0001'")
    listed = invoke("results", "--store", store)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == ["0000", "0002"]
    assert listed.stderr.startswith(f"warning: the store {store} has 1 result damaged")
    assert listed.stderr.count("\n") == 1
    assert [row["key"] for row in json.loads(invoke("results", "--store", store, "--json").stdout)["results"]] == ["0000", "0002"]


def test_a_damaged_row_is_removed_by_its_key_and_can_be_stored_again(store):
    filled(store, 3)
    damage(store, "UPDATE results SET policies = '{' WHERE key = '0001'")
    assert invoke("results", "0001", "--delete", "--store", store).stdout == "1 result deleted\n"
    assert keys_and_warnings(store) == (["0000", "0002"], [])
    with Store(store) as opened:
        assert not opened.has("0001")
        assert opened.add(record("0001"))
    assert keys_and_warnings(store) == (["0000", "0002", "0001"], [])


def test_results_on_a_machine_whose_values_are_lost_keep_their_own(store):
    filled(store, 2)
    damage(store, "UPDATE machines SET config = '{'")
    keys, (told,) = keys_and_warnings(store)
    assert keys == ["0000", "0001"]
    assert "has lost the values of 1 machine" in told
    with pytest.warns(StoreWarning):
        assert [result.value("l1d.ways") for result in results(store)] == [8, 8]  # a changed key
    damage(store, "DELETE FROM machines")
    assert keys_and_warnings(store)[0] == ["0000", "0001"]


def test_a_damaged_table_of_a_result_is_told_when_it_is_asked_for(store):
    filled(store, 2)
    damage(store, "UPDATE tables SET data = x'00' WHERE result = 1")
    first, _ = results(store)
    with pytest.raises(StoreError, match="a table of this result is damaged"):
        first.table("launches")


# Damaged pages --------------------------------------------------------------------------------------------------------

def leaves(store: Path, table: str) -> list[int]:
    """Pages of a table that hold rows, by their place in the file: leaves of its tree, which begin with 13 (a WITHOUT ROWID
    table's and an index's with 10), found from the root down."""
    data, size = store.read_bytes(), 4096
    with sqlite3.connect(store) as connection:
        assert connection.execute("PRAGMA page_size").fetchone() == (size,)
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    connection.close()
    found, waiting = [], [root]
    while waiting:
        page = waiting.pop()
        at = (page - 1) * size
        if data[at] in (10, 13):
            found.append(page)
            continue
        count = int.from_bytes(data[at + 3 : at + 5], "big")
        cells = [int.from_bytes(data[at + 12 + 2 * k : at + 14 + 2 * k], "big") for k in range(count)]
        waiting += [int.from_bytes(data[at + cell : at + cell + 4], "big") for cell in cells]
        waiting.append(int.from_bytes(data[at + 8 : at + 12], "big"))
    return sorted(found)


def overwrite(store: Path, page: int) -> None:
    with store.open("r+b") as opened:
        opened.seek((page - 1) * 4096)
        opened.write(b"\xa5" * 4096)


def test_a_damaged_page_costs_its_own_rows_and_they_are_named(store):
    filled(store, 200)
    overwrite(store, leaves(store, "results")[7])
    keys, (told,) = keys_and_warnings(store)
    lost = sorted({f"{k:04}" for k in range(200)} - set(keys))
    assert 0 < len(lost) < 20
    assert keys == sorted(keys)
    assert f"has damaged pages, {len(lost)} results lost and left out: {', '.join(lost[:5])}" in told
    assert f"--store {store} --salvage new.sqlite" in told


def test_what_is_left_of_a_damaged_store_is_copied_to_a_new_one(store, tmp_path):
    filled(store, 200)
    with Store(store) as opened:
        opened.add_failure(failure("gone"))
        opened.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = {result.key: results(store).record(result.key) for result in list(results(store))[::20]}
    overwrite(store, leaves(store, "results")[3])
    overwrite(store, leaves(store, "tables")[2])
    damaged = store.read_bytes()
    done = invoke("results", "--store", store, "--salvage", tmp_path / "new.sqlite")
    kept, told = keys_and_warnings(tmp_path / "new.sqlite")
    assert told == []
    assert f"{len(kept)} results copied to {tmp_path / 'new.sqlite'}" in done.stdout
    assert "of them without their tables: " in done.stdout
    assert "has damaged pages, " in done.stdout
    assert 150 < len(kept) < 200
    found = results(tmp_path / "new.sqlite")
    whole = [key for key in before if key in kept and found.record(key).tables]
    assert len(whole) >= 5
    assert all(found.record(key) == before[key] for key in whole)
    with Store(tmp_path / "new.sqlite") as opened:
        assert [one.key for one in opened.failures()] == ["gone"]
        assert opened.add(record("more"))
    assert store.read_bytes() == damaged


def test_half_a_store_is_salvaged_as_far_as_it_goes(store, tmp_path):
    filled(store, 200)
    os.truncate(store, store.stat().st_size // 2)
    done = salvage(store, tmp_path / "new.sqlite")
    kept, _ = keys_and_warnings(tmp_path / "new.sqlite")
    assert 20 < done.copied == len(kept) < 200
    told = f"has damaged pages, results lost and left out: all after number {len(kept)}, however many"
    assert done.lost == [f"the store {store} {told}"]


def test_a_store_is_salvaged_to_a_new_file_only(store, tmp_path):
    filled(store, 3)
    assert "it is there already, and must be a new file" in refused(2, "results", "--store", store, "--salvage", store)
    assert "nothing is lost" in invoke("results", "--store", store, "--salvage", tmp_path / "new.sqlite").stdout
