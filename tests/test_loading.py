"""Compiled code that was on disk."""

import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from simtlab.compiled import UNCOMPILED, as_a_whole, cache_in
from simtlab.storage import import_file

pytestmark = pytest.mark.skipif(UNCOMPILED, reason="nothing is compiled")

PROGRAM = """
from numba import njit
from simtlab.compiled import compiled

@compiled
def triple(x):
    return 3 * x

@njit(cache=True)
def add_one(x):
    return x + 1

@njit
def both(x):
    return 2 * add_one(x)
"""


def imported(folder: Path) -> Any:
    """The program as a process imports it that has compiled nothing yet."""
    path = folder / "kept_program.py"
    if not path.exists():  # what was compiled of a file that was written since is not taken
        path.write_text(PROGRAM)
    sys.modules.pop("kept_program", None)
    return import_file(path, "kept_program")


def test_a_function_from_disk_does_the_same_and_its_bitcode_is_not_parsed(tmp_path):
    first, second = imported(tmp_path), imported(tmp_path)
    assert first.triple(7) == second.triple(7) == 21
    found = []
    for program, hits in ((first, 0), (second, 1)):
        assert sum(program.triple.stats.cache_hits.values()) == hits
        found += [compiled.library for compiled in program.triple.overloads.values()]
    assert found[1]._shared_module is None
    named = [{function.name for function in one._get_module_for_linking().functions} for one in found]
    assert named[0] == named[1]


def test_a_function_from_disk_becomes_a_part_of_another(tmp_path):
    with cache_in(tmp_path / "kept"), as_a_whole():
        programs = [imported(tmp_path) for _ in range(2)]
        assert [program.both(4) for program in programs] == [10, 10]
    assert [sum(program.add_one.stats.cache_hits.values()) for program in programs] == [0, 1]


def test_outside_numba_loads_as_it_always_does(tmp_path):
    with cache_in(tmp_path / "kept"):
        with as_a_whole():
            assert imported(tmp_path).add_one(4) == 5
        program = imported(tmp_path)
        assert program.add_one(4) == 5
    assert sum(program.add_one.stats.cache_hits.values()) == 1
    (compiled,) = program.add_one.overloads.values()
    assert type(compiled.library).__module__.startswith("numba.")


def test_a_record_has_the_alignment_of_its_own_dtype():
    fields = [("a", "i4"), ("b", "i4")]
    packed, aligned = np.dtype(fields), np.dtype(fields, align=True)
    assert packed == aligned
    for _ in range(2):
        assert [numba.from_dtype(dtype).aligned for dtype in (packed, aligned)] == [False, True]
    nested = np.dtype([("inner", packed), ("other", aligned)])
    assert [part.aligned for _, part in numba.from_dtype(nested).members] == [False, True]
