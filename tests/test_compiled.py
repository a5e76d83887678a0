"""How functions are compiled."""

from typing import Any

import pytest

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
