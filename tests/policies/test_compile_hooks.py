"""A compiled hook is whole in itself: what it calls is its own code, whatever else of that name is in the process."""

import ctypes
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from simtlab.compiled import HOOK_C, UNCOMPILED
from simtlab.machine.core.state import core_t
from simtlab.machine.hooks import POINTS
from simtlab.machine.record import new_records
from simtlab.policies.compile_hooks import Entry, address_of
from simtlab.policies.load import state_of
from simtlab.storage import import_file

ON_ISSUE = next(number for number, (slot, hook, _, _) in enumerate(POINTS) if (slot, hook) == ("warp_scheduler", "on_issue"))
STEPS = "\n".join(f"        x = (x ^ (x >> {k % 7 + 1})) * {2 * k + 3} + z" for k in range(40))  # more than is written into callers
PROGRAM = f"""
import numpy as np
from simtlab.compiled import compiled

state = np.dtype([("sum", "i8")])

@compiled
def mixed(x, y, z):
    for _ in range(y):
{STEPS}
    return x

@compiled
def sum_of_two(x):
    zero = 0 * x
    return mixed(x, zero + 1, zero) + mixed(x + 1, zero + 1, zero)

def on_issue(core, own, slot, cycle):
    own.sum = mixed(cycle, cycle - 7, cycle) + mixed(cycle + 1, cycle - 6, cycle)
"""


def expected(program: ModuleType, *calls: tuple[int, int, int]) -> int:
    return ctypes.c_int64(sum(program.mixed.py_func(*(np.int64(n) for n in call)) for call in calls)).value


@pytest.mark.skipif(UNCOMPILED, reason="nothing is compiled")
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_hook_calls_its_own_copy_of_a_part_that_another_program_has(tmp_path):
    """Where the machine always passes the same, its copy of a part has fewer arguments; hooks once ran that copy."""
    (tmp_path / "program.py").write_text(PROGRAM)
    program: Any = import_file(tmp_path / "program.py", "program_of_a_hook")
    assert program.sum_of_two(5) == expected(program, (5, 1, 0), (6, 1, 0))
    state = state_of("test", program)
    entry = Entry("test", "on_issue", ON_ISSUE, program.on_issue, state, checked=False).made(tmp_path / "kept")
    core, own = new_records(1, core_t), np.zeros(1, state)
    HOOK_C(address_of(entry))(core.ctypes.data, own.ctypes.data, 0, 9)
    assert own["sum"][0] == expected(program, (9, 2, 9), (10, 3, 9))
