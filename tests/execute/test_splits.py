"""Control flow of machine code: lanes part, wait for each other at convergence barriers, and let each other go on.

Every way of BOOK Figs 3.5 to 3.11, on an architecture of each layout of machine code that simtlab knows.
"""

import numpy as np
import pytest

import simtlab as sl
from tests.kernels.library import source

ARCHITECTURES = ["sm_75", "sm_90", "sm_120"]
LANES = np.arange(32)
DATA = (LANES * 7 + 3) % 11
PATTERNS = list("abcde")
BLOCK = np.arange(96)


class Machine:
    """A GPU and the kernels of tests/kernels/splits.cu on it."""

    def __init__(self, isa: str, **how: str):
        self.gpu = sl.Gpu(isa=isa, memory_bytes=16 << 20, **how)
        self.module = self.gpu.compile(source("splits"))

    def run(self, name: str, threads: int, out: int, *inputs, blocks: int = 1, last=()) -> np.ndarray:
        """A kernel's result: arrays given come first in its arguments, then the result, then numbers."""
        result = self.gpu.zeros(out, "i4")
        self.module[name](blocks, threads, [*(self.gpu.array(one, "i4") for one in inputs), result, *last])
        return result.numpy()

    def opcodes(self, name: str) -> set[str]:
        return {one.origin.opcode for one in self.module[name].program.lowered}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def machine(request) -> Machine:
    return Machine(request.param)


# The spin lock of Fig 3.5 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (1, 96), (3, 64), (2, 45)])
def test_every_lane_of_a_warp_gets_the_lock(machine, blocks, threads):
    lock, count = machine.gpu.zeros(1, "i4"), machine.gpu.zeros(1, "i4")
    machine.module["spin_lock"](blocks, threads, [lock, count])
    assert (lock[0], count[0]) == (0, blocks * threads)


def test_the_same_kernel_deadlocks_on_a_simt_stack():
    gpu = sl.Gpu(memory_bytes=1 << 20)
    lock, count = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
    with pytest.raises(sl.Deadlock):
        gpu.compile(source("splits"))["spin_lock"](1, 32, [lock, count])
    assert (lock[0], count[0]) == (1, 0)


# Convergence barriers: Figs 3.7 and 3.8 -------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [DATA % 3, DATA % 2, LANES * 0, LANES * 0 + 2, LANES % 4 // 3 * 2], ids=PATTERNS)
def test_nested_divergence_meets_at_both_barriers(machine, data):
    inner = np.where(data > 1, 1 + 10 * np.roll(data, -1), 1 + 20 * np.roll(data, -2)) + 100 * (data != 0).sum()
    out = machine.run("nested", 32, 35, data)
    assert list(out[:32]) == list(np.where(data != 0, inner, 3) + 10000 * 32)
    assert list(out[32:]) == [(data > 1).sum(), (data == 1).sum(), (data == 0).sum()]


def test_lanes_that_jump_back_before_a_barrier_are_waited_for(machine):
    """Recorded on an H200: one ballot, of all lanes, though ptxas puts no WARPSYNC before it."""
    module = machine.gpu.load(source("back_before_barrier", "ptx"))
    out = machine.gpu.zeros(64, "u4")
    module["k"](1, 32, [out])
    opcodes = [one.origin.opcode for one in module["k"].program.lowered]
    assert opcodes.index("BSSY") < opcodes.index("BRX") < opcodes.index("BSYNC") < opcodes.index("VOTE")
    assert "WARPSYNC" not in opcodes
    assert set(out.numpy()[::2]) == {0xFFFF}


def test_nested_divergence_takes_two_barriers(machine):
    barriers = {one.operands[0].value for one in machine.module["nested"].program.lowered if one.origin.opcode == "BSSY"}
    assert len(barriers) >= 2


# YIELD: Fig 3.10 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_both_sides_of_a_branch_go_on_in_turn(machine, rounds):
    out = machine.run("ping_pong", 32, 32, last=[rounds])
    assert list(out) == [rounds * (1 if t < 16 else 100) + 2 * rounds * 100000 for t in LANES]


@pytest.mark.parametrize("consumer", [0, 31, 7])
def test_a_lane_that_waits_for_another_of_its_warp_sees_it_come(machine, consumer):
    assert machine.run("hand_over", 32, 1, last=[consumer])[0] == 42


@pytest.mark.parametrize("name", ["spin_lock", "ping_pong", "hand_over"])
def test_the_compiler_puts_a_yield_where_lanes_wait(machine, name):
    assert "YIELD" in machine.opcodes(name)


# Lanes that leave -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [DATA, LANES, LANES * 0 + 3, LANES * 0 + 2, 3 - 2 * (LANES == 9)], ids=PATTERNS)
def test_lanes_that_end_inside_a_region_are_not_waited_for(machine, data):
    out = machine.run("some_end", 32, 65, data)
    ended = (data & 3) == 3
    assert list(out[:32]) == list(np.where(ended, -1, np.where(data & 1, 10 * data, data + 5)))
    assert out[64] == (data & 1 == 0).sum()
    assert all((out[32:64] > 0) == ~ended)


def test_lanes_that_break_out_of_a_loop_meet_behind_it(machine):
    data = np.arange(100) * 5 % 13

    def lane(t: int) -> int:
        total = 0
        for i, x in enumerate(data):
            total += int(x)
            if total > 10 * t:
                break
            total = total + t if x == 7 else total ^ i
        return total * 64 + 32

    assert list(machine.run("breaks", 32, 32, data)) == [lane(t) for t in range(32)]


def test_lanes_that_return_out_of_nested_loops_meet_behind_the_call(machine):
    data = np.arange(100) * 37 % 101

    def find(wanted: int) -> int:
        for i in range(10):
            for j in range(10):
                if data[10 * i + j] == wanted:
                    return 100 * i + j
                if data[10 * i + j] > 95:
                    break
        return -1

    out = machine.run("returns", 32, 32, data)
    assert list(out) == [find(3 * t) * 64 + 32 for t in range(32)]
    assert {find(3 * t) for t in range(32)} > {-1, 0}


# Jumps and calls ------------------------------------------------------------------------------------------------------


def chosen(case: int, x: int) -> int:
    reversed_bits = int(f"{x:032b}"[::-1], 2)
    signed = reversed_bits - (1 << 32) if reversed_bits >> 31 else reversed_bits
    answers = [x.bit_count(), x * x + 1, 32 - x.bit_length(), 3, x // 3, signed, x % 5 + 1000, x + 1000, -x, (x & -x).bit_length()]
    return answers[case] if case < 10 else 0x7777


@pytest.mark.parametrize("which", [LANES % 11, LANES * 0 + 5, (LANES * 5 + 2) % 12, LANES % 2 * 9], ids=list("abcd"))
def test_lanes_go_to_all_cases_of_a_switch_and_meet_behind_it(machine, which):
    out = machine.run("cases", 32, 34, which)
    assert list(out[:32]) == [chosen(int(case), t) for t, case in enumerate(which)]
    assert out[32] == 32
    assert out[33] == LANES[which == 3].sum()


def test_a_switch_jumps_through_a_register(machine):
    assert machine.opcodes("cases") & {"BRX", "BRXU"}


def test_every_lane_recurses_as_deep_as_it_wants(machine):
    fibonacci = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    assert list(machine.run("recursion", 45, 45)) == [fibonacci[t % 12] for t in range(45)]
    assert {"CALL", "RET", "BMOV"} <= machine.opcodes("recursion")


def test_lanes_call_different_functions_and_meet_behind_the_call(machine):
    functions = [lambda x: 2 * x, lambda x: x * x, lambda x: int(np.prod(np.arange(1, x + 1)))]
    expected = [-1 if t % 4 == 3 else functions[t % 3](t % 10) for t in range(32)]
    assert list(machine.run("pointers", 32, 32)) == [x * 64 + 32 for x in expected]


# Lanes that exchange something ----------------------------------------------------------------------------------------


def test_a_reduction_in_steps_of_one_warp(machine):
    data = np.arange(64) ** 2 % 97
    assert list(machine.run("warp_reduction", 64, 64, data)) == [data[:32].sum()] * 32 + [data[32:].sum()] * 32


@pytest.mark.parametrize("data", [DATA, LANES, LANES * 2, LANES // 16, 1 - LANES // 31], ids=PATTERNS)
def test_lanes_shuffle_with_each_other_from_both_sides_of_a_branch(machine, data):
    given = np.where(data & 1, 3 * data, data + 500)
    side = np.roll(given, -1) + np.where(data & 1, 1000, -1000)
    out = machine.run("shuffles_from_two_sides", 32, 64, data)
    assert list(out[:32]) == list(side)
    assert list(out[32:]) == list(side[LANES ^ 16])


def test_lanes_shuffle_and_vote_within_one_side(machine):
    out = machine.run("shuffles_within_a_side", 32, 32, DATA)
    assert list(out) == [DATA[:12].max()] * 12 + [(DATA[12:] & 1).sum()] * 20


def test_splits_of_one_warp_come_to_the_barrier_of_the_block_by_different_ways(machine):
    out, t = machine.run("barrier_of_splits", 64, 66), np.arange(64)
    assert list(out[:64]) == list(np.where(t & 1, 5 * (t ^ 1), 3 * (t ^ 1) + 1000))
    assert list(out[64:]) == [32, 32]


@pytest.mark.parametrize("threads", [45, 33, 63, 1, 31])
def test_warps_with_fewer_than_32_lanes(machine, threads):
    data, t = np.arange(threads) * 3 + 1, np.arange(threads)
    out = machine.run("partial", threads, threads, data)
    lanes = np.where(t < 32, min(threads, 32), threads - 32)
    assert list(out) == list((data[::-1] + 7 * (t % 3 == 0)) * 64 + lanes)


@pytest.mark.parametrize("data", [BLOCK, BLOCK * 2, BLOCK * 0 + 999, BLOCK * 11], ids=["all", "even", "999", "large"])
def test_barriers_that_count_and_combine(machine, data):
    expected = (data & 1).sum() * 4 + (data < 1000).all() * 2 + (data == 999).any()
    assert list(machine.run("counting_barriers", 96, 96, data)) == [expected] * 96


# The host's functions, and atomics that loop --------------------------------------------------------------------------


def test_machine_code_prints(machine, capsys):
    run = machine.module["prints"](1, 45, [45])
    assert sorted(run.printed.splitlines()) == [f"thread {t} of 45: half {t / 2:.2f}" for t in (19, 3, 35)]
    assert capsys.readouterr().out == run.printed


def test_an_assertion_names_what_failed(machine):
    machine.module["asserts"](2, 32, [32])
    with pytest.raises(sl.SimtlabError, match=r"threadIdx\.x < limit"):
        machine.module["asserts"](2, 32, [31])


def test_lanes_allocate_and_free(machine):
    assert list(machine.run("heap", 45, 45)) == [sum(k * k for k in range(t + 1)) for t in range(45)]


def test_atomics_in_shared_memory_that_machine_code_has_as_loops(machine):
    single, whole, counts = machine.gpu.zeros(2, "f4"), machine.gpu.zeros(1, "f8"), machine.gpu.zeros(1, "i4")
    machine.module["shared_atomics"](1, 64, [single, whole, counts])
    assert list(single) == [0.5 * sum(range(0, 64, 2)), 0.5 * sum(range(1, 64, 2))]
    assert (whole[0], counts[0]) == (0.25 * sum(range(64)), 63)
    assert any(".CAST.SPIN" in one for one in machine.module["shared_atomics"].program.module.text.splitlines())


def test_collectives_that_meet_have_the_same_registers():
    """Lanes that come to different WARPSYNC.COLLECTIVEs execute one of them: it must be the same instruction."""
    text = Machine("sm_90").module["shuffles_from_two_sides"].program.module.text.splitlines()
    behind = [text[k + 1] for k, line in enumerate(text) if line.startswith("WARPSYNC.COLLECTIVE")]
    assert len(behind) == 2
    assert len(set(behind)) == 1
