"""How functions are compiled."""

from typing import Any

import numpy as np
import pytest
from numba import types

from simtlab.compiled import UNCOMPILED
from simtlab.storage import import_file

PROGRAM = """
from simtlab.compiled import compiled, seldom

@compiled
def often(x):
    return 3 * x + 1

@seldom
@compiled
def rarely(x):
    return 5 * x + 2

@compiled
def both(x):
    return rarely(x) if x > 7 else often(x)
"""


@pytest.mark.skipif(UNCOMPILED, reason="nothing is compiled")
def test_what_is_called_seldom_stays_out_of_the_code_of_its_callers(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    program: Any = import_file(tmp_path / "program.py", "program_called_seldom")
    assert [program.both(x) for x in (1, 8)] == [4, 42]
    (code,) = program.both.inspect_llvm().values()
    defined = [line for line in code.splitlines() if line.startswith("define")]
    assert [any(f"{len(name)}{name}B" in line for line in defined) for name in ("rarely", "often")] == [True, False]


TYPES = """
import numpy as np
from simtlab.compiled import compiled, seldom

@seldom
@compiled
def rarely(x):
    return 5 * x + 2

@compiled
def part(flags, x):
    return rarely(x) if np.uint64(flags) & np.uint64(6) else x

@compiled
def both(flags, x):
    return part(flags, x), part(False, x)

@compiled
def program(flags, x):
    return both(flags, x)
"""


@pytest.mark.skipif(UNCOMPILED, reason="nothing is compiled")
def test_a_part_that_one_of_its_callers_can_do_without_is_there_for_the_other(tmp_path):
    """For flags that are always False the call in `part` goes as soon as that is compiled. What it calls was left out then."""
    (tmp_path / "program.py").write_text(TYPES)
    program: Any = import_file(tmp_path / "program.py", "program_of_types").program
    program.compile((types.uint64, types.int64))
    (code,) = program.inspect_llvm().values()
    missing = [line for line in code.splitlines() if line.startswith("declare") and "rarely" in line]
    assert missing == []  # calling it would end the process
    assert program(np.uint64(2), 8) == (42, 8)
