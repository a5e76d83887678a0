"""The bank timings of BOOK Figs 3.14 and 3.17, cycle by cycle."""

import numpy as np
import pytest

from simtlab.machine.build import build
from simtlab.machine.core.execution_units import dispatch, write_back
from simtlab.machine.core.inflight import new_op
from simtlab.machine.core.kinds import OpState, Unit
from simtlab.machine.core.operand_collector import enter, free_collector, read_operands
from simtlab.machine.core.scoreboard import reserve
from simtlab.machine.core.timing import timing_table_t
from tests.timing.machines import one_core

ADD, MAD = 0, 1  # i1: add r1, r2, r5        i2: mad r4, r3, r7, r1


@pytest.fixture
def machine():
    config = one_core().replace(
        {"register_file.banks": 4, "register_file.layout": "swizzled", "register_file.collectors_generic": 4}
    )
    return build(config)


@pytest.fixture
def timing():
    table = np.zeros(1, timing_table_t).view(np.recarray)
    rows = table["row"][0]
    for row, (destination, sources) in zip(rows, ((1, (2, 5)), (4, (3, 7, 1))), strict=False):
        row["unit"], row["latency"], row["initiation"] = Unit.SP, 1, 1
        row["destinations"], row["sources"] = 1, len(sources)
        row["destination"][0] = destination
        row["source"][: len(sources)] = sources
    return table


def issue(core, timing, warp: int, instruction: int) -> None:
    number = new_op(core)
    op = core.ops[number]
    op.slot, op.pc, op.unit, op.state = warp, instruction, Unit.SP, OpState.COLLECTING
    row = timing[0].row[instruction]
    core.slots[warp].timing = timing.ctypes.data
    reserve(core, row, warp)
    core.slots[warp].in_flight += 1
    core.slots[warp].collecting += 1
    enter(core, number, 0, row, free_collector(core, 0, Unit.SP))


def banks_by_cycle(gpu, core, timing, issued: dict[int, tuple[int, int]], cycles: int) -> tuple[dict, dict]:
    """Which banks are read and written in each cycle, when warps issue instructions in the cycles given."""
    read, written = {}, {}
    for cycle in range(cycles):
        gpu.cycle = cycle
        write_back(gpu, core)
        dispatch(core, cycle)
        read_operands(core, cycle)
        read[cycle] = set(np.flatnonzero(core.bank_read[0, :4] == cycle).tolist())
        written[cycle] = set(np.flatnonzero(core.bank_written[0, :4] == cycle).tolist())
        if cycle in issued:
            issue(core, timing, *issued[cycle])
    return read, written


def test_banks_are_read_and_written_in_the_cycles_of_figure_3_17(machine, timing):
    gpu, core = machine.gpu[0], machine.cores[0]
    issued = {0: (1, ADD), 1: (2, ADD), 2: (3, ADD), 3: (0, MAD)}
    read, written = banks_by_cycle(gpu, core, timing, issued, 7)
    assert read == {0: set(), 1: {3}, 2: {0, 2}, 3: {1, 3}, 4: {0, 3}, 5: set(), 6: {3}}
    assert written == {0: set(), 1: set(), 2: set(), 3: set(), 4: {2}, 5: {3}, 6: {0}}


def test_banks_are_read_and_written_in_the_cycles_of_figure_3_14():
    """The naive file: all banks at once into staging registers, registers in the same bank for every warp.

    i1: mad r2, r5, r4, r6 of warp 3, then i2: add r5, r5, r1 of warps 0 and 1. Warp 1 issues in cycle 3 here: an
    instruction reads from the cycle after its issue, as the figure's first two do; its text has cycle 4 for the third, which
    reads in cycle 4 as well.
    """
    changes = {"register_file.banks": 4, "register_file.layout": "naive", "register_file.collector_ports": 4}
    machine = build(one_core().replace(changes | {"register_file.collectors_generic": 2}))
    gpu, core = machine.gpu[0], machine.cores[0]
    table = np.zeros(1, timing_table_t).view(np.recarray)
    for row, (destination, sources) in zip(table["row"][0], ((2, (5, 4, 6)), (5, (5, 1))), strict=False):
        row["unit"], row["latency"], row["initiation"] = Unit.SP, 1, 1
        row["destinations"], row["sources"] = 1, len(sources)
        row["destination"][0] = destination
        row["source"][: len(sources)] = sources
    issued = {0: (3, 0), 1: (0, 1), 3: (1, 1)}
    read, written = banks_by_cycle(gpu, core, table, issued, 9)
    assert read == {0: set(), 1: {0, 1, 2}, 2: {1}, 3: {1}, 4: {1}, 5: set(), 6: {1}, 7: set(), 8: set()}
    assert written == {0: set(), 1: set(), 2: set(), 3: {2}, 4: set(), 5: {1}, 6: set(), 7: set(), 8: {1}}
