"""The executor run uncompiled (NUMBA_DISABLE_JIT=1, for a debugger) gives the same bytes as compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import simtlab as sl
from simtlab.compiled import UNCOMPILED
from tests.properties.expressions import Leaf, Tree, alone, random_inputs
from tests.properties.flow import (
    FUEL,
    INDEX,
    THREAD,
    Branch,
    Call,
    Compute,
    Exchange,
    Function,
    Guard,
    Interpreter,
    Leave,
    Program,
    Store,
    Switch,
)
from tests.properties.flow_text import program_text
from tests.properties.operations import OPERATIONS
from tests.properties.test_control_flow import simulated as run_program
from tests.properties.test_expressions import check
from tests.properties.test_expressions import simulated as run_expressions

ROOT = Path(__file__).parents[2]
DESCENT = Function(
    (
        (Compute("setp.ge.s32", "p0", (FUEL, 1)), Compute("sub.s32", "r3", (FUEL, 1)), Branch(2, Guard("p0", negated=True))),
        (Call((0,), "r4", (THREAD, "r3", "d0", "h0")), Compute("add.s32", "r4", ("r4", FUEL)), Leave("r4")),
        (Compute("cvt.u32.u16", "r4", ("h0",)),),
    ),
    "r4",
)
PARITY = Function(((Compute("popc.b32", "r4", (THREAD,)), Compute("cvt.u32.u64", "r3", ("d0",))),), "r3")
START = (
    Compute("and.b32", FUEL, (THREAD, 3)), Compute("and.b32", INDEX, (THREAD, 1)),
    Compute("mad.lo.s32", "r3", (THREAD, 2654435761, 12345)), Compute("mul.wide.u32", "d0", ("r3", 77777)),
    Compute("cvt.u16.u32", "h0", ("r3",)), Compute("setp.lt.s32", "p0", ("r3", 0)),
)  # fmt: skip
LOOP = (
    (Compute("add.s32", "r3", ("r3", 7)), Switch(INDEX, (1, 2))),
    (Compute("xor.b32", "r3", ("r3", 99), Guard("p0")), Call((0, 1), "r4", ("r3", FUEL, "d0", "h0"), None, "p0"), Branch(3)),
    (Call((0,), "r4", ("r3", 2, "d0", "h0"), Guard("p0"), "", False), Compute("add.s64", "d0", ("d0", 5), Guard("p0"))),
    (Compute("sub.s32", FUEL, (FUEL, 1)), Compute("setp.ge.s32", "p1", (FUEL, 1)), Branch(0, Guard("p1"))),
)
LAST = ((Store(5, "r3"), Leave("", Guard("p0")), Compute("add.s32", "r3", ("r3", FUEL))),)
PROGRAM = Program(
    threads=64,
    functions=(DESCENT, PARITY),
    start=(*START, Compute("mov.b32", "r4", (0,))),
    graphs=(LOOP, LAST),
    exchanges=((Exchange("shared", "r3", "r3", 5), Exchange("barrier"), Exchange("shuffle", "r4", "r4", 3)),),
    kept=("r3", "r4", "d0", "h0", "p0"),
)


def some_expressions() -> list[Tree]:
    """A few operations of every kind, two deep."""
    some = OPERATIONS[::29]
    deeper = [op for op in some if len(op.operands) == 2 and op.operands[0] == op.operands[1] == op.result]
    return [alone(op) for op in some] + [Tree(op, (alone(op), Leaf(op.result, 2))) for op in deeper]


def mode_and_bytes(kind: str) -> bytes:
    return (b"uncompiled:" if UNCOMPILED else b"compiled:") + globals()[kind]()


def control_flow() -> bytes:
    return run_program(program_text(PROGRAM), PROGRAM.threads).tobytes()


def expressions() -> bytes:
    return b"".join(row.tobytes() for row in run_expressions(some_expressions(), random_inputs(1, 40)))


def uncompiled(kind: str) -> bytes:
    """The bytes another process gives, one that never compiles."""
    program = f"import sys, tests.properties.test_uncompiled as t; sys.stdout.buffer.write(t.mode_and_bytes({kind!r}))"
    path = os.pathsep.join([str(Path(sl.__file__).parents[1]), str(ROOT)])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    command = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_compiled_bytes_are_the_expected_ones():
    assert control_flow() == Interpreter(PROGRAM, 100_000).run()
    check(some_expressions(), random_inputs(1, 40))


@pytest.mark.parametrize("kind", ["control_flow", "expressions"])
def test_uncompiled_gives_the_same_bytes(kind):
    assert uncompiled(kind) == b"uncompiled:" + globals()[kind]()
