"""Registers read through two banks of one port a sub-core and a reuse cache, as an H200 does."""

import numpy as np
import pytest

from simtlab.machine.build import build, choose_dependences
from simtlab.machine.config import load
from simtlab.machine.core.register_ports import read_cycles
from simtlab.machine.core.timing import timing_t
from tests.timing.machine_code import machine, ran, stamp, took

ONE_EACH, BOTH_EVEN = "FADD R16, R8, R9\n", "FADD R16, R8, R10\n"
COUNT = 8


@pytest.fixture(scope="module")
def device():
    return machine()


@pytest.mark.parametrize(
    ("instruction", "cycles"),
    [
        (ONE_EACH, 1),
        (BOTH_EVEN, 2),
        ("FADD R16, R9, R11\n", 2),
        ("FFMA R16, R8, R9, R10\n", 2),
        ("FFMA R16, R8, R10, R12\n", 3),
        ("FADD R16, R8, 1\n", 1),
        ("FADD R16, R8, R8\n", 1),  # one register, read once
        ("FFMA R16, R8, R8, R10\n", 2),
        ("FFMA R16, R8, R10, R8\n", 2),
        ("DADD R16, R8, R10\n", 2),  # pairs: two even registers and two odd ones
    ],
)
def test_sources_of_one_bank_are_read_one_a_cycle(device, instruction, cycles):
    assert took(device, COUNT * instruction) == COUNT * cycles


def test_the_ports_are_those_of_a_sub_core_whichever_warp_reads(device):
    """16 warps, four of them in each sub-core: every instruction that reads two of a bank takes a cycle of all of them."""
    conflicting, apart = (ran(device, stamp(0) + COUNT * one + stamp(1), warps=16)[1] for one in (BOTH_EVEN, ONE_EACH))
    for sub_core in range(4):
        longer, shorter = (found[sub_core::4, 1].max() - found[sub_core::4, 0].min() for found in (conflicting, apart))
        assert shorter >= 4 * COUNT
        assert longer - shorter == 4 * COUNT


@pytest.mark.parametrize(("reuse", "cycles"), [("", 4), ("reuse=1", 3), ("reuse=2", 4)])
def test_a_source_that_was_kept_takes_no_port(device, reuse, cycles):
    """R8 in slot 0 of both; what is kept of slot 1 is another register than the second one wants."""
    assert took(device, f"FADD R16, R8, R10 | {reuse}\nFADD R17, R8, R12\n") == cycles


def test_the_counters_tell_what_came_from_where(device):
    run, _ = ran(device, "FADD R16, R8, R10 | reuse=1\nFADD R17, R8, R12\n")
    plain, _ = ran(device, "FADD R16, R8, R10\nFADD R17, R8, R12\n")
    assert (run.counters["register_reuses"], plain.counters["register_reuses"]) == (1, 0)
    assert run.counters["register_reads"] == plain.counters["register_reads"] - 1


# The reuse cache by hand ---------------------------------------------------------------------------------------------


@pytest.fixture
def core():
    return build(load("h200").replace({"core.cores": 1})).cores[0]


def row(*registers: int, reuse: int = 0, count: int = 1) -> np.record:
    """What the core knows of an instruction with these registers in its slots, -1 for none."""
    made = np.zeros(1, timing_t).view(np.recarray)[0]
    made.slot_register, made.slot_count, made.reuse = -1, 0, reuse
    made.slot_register[: len(registers)] = registers
    made.slot_count[: len(registers)] = count
    return made


def test_an_instruction_without_registers_takes_a_cycle(core):
    assert read_cycles(core, 0, 0, row()) == 1
    assert core.operands_read == 0


def test_a_pair_is_a_register_of_each_bank(core):
    assert read_cycles(core, 0, 0, row(8, count=2)) == 1
    assert read_cycles(core, 0, 0, row(8, 10, 12, count=2)) == 3
    assert core.operands_read == 8


def test_the_next_instruction_of_the_warp_finds_what_was_kept_in_the_same_slot(core):
    assert read_cycles(core, 0, 0, row(8, 10, reuse=1)) == 2
    assert read_cycles(core, 0, 0, row(8, 12)) == 1
    assert core.operands_reused == 1
    assert read_cycles(core, 0, 0, row(8, 12)) == 2  # it was kept for one reader


def test_what_was_kept_in_one_slot_is_not_in_another(core):
    read_cycles(core, 0, 0, row(8, reuse=1))
    assert read_cycles(core, 0, 0, row(10, 8)) == 2


def test_what_was_kept_is_gone_when_another_warp_has_read_the_slot(core):
    read_cycles(core, 0, 0, row(8, reuse=1))
    assert read_cycles(core, 0, 4, row(8, 10)) == 2  # the same number in another warp is another register
    assert read_cycles(core, 0, 0, row(8, 10)) == 2
    assert core.operands_reused == 0


def test_another_warp_that_does_not_use_the_slot_leaves_it(core):
    read_cycles(core, 0, 0, row(8, reuse=1))
    read_cycles(core, 0, 4, row(-1, 10))
    assert read_cycles(core, 0, 0, row(8, 10)) == 1


def test_each_sub_core_has_a_reuse_cache_of_its_own(core):
    read_cycles(core, 0, 0, row(8, reuse=1))
    read_cycles(core, 1, 1, row(9))
    assert read_cycles(core, 0, 0, row(8, 10)) == 1


def test_ptx_after_machine_code_waits_for_no_register_port():
    """What the last instruction of machine code took to read its registers is forgotten."""
    config = load("h200").replace({"core.cores": 1})
    cores = build(config).cores
    cores["reading"] = 2
    choose_dependences(cores, config, is_machine_code=False)
    assert (cores["reading"] == 0).all()
    assert not cores["control_bits"].any()
    assert (cores["detail"] == 3).all()
