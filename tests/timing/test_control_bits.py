"""Machine code issued by the compiler's control bits, on one core of an H200: cycles from issue to issue of a warp's instructions.

From the preset: an instruction that issues in cycle 0 is in its unit, or in front of the L1, in cycle 1. A load that hits has
its data 31 cycles later, one from shared memory 22, so whoever waits for them issues in cycle 32 or 23.
"""

import pytest

from tests.timing.machine_code import machine, ran, took, written

WARM = "LDG.E R8, desc[UR4][R2.64] | stall=2 write=0\nNOP | stall=15 wait=0\n"  # the line is in the L1 from here on
LOAD, SHARED_LOAD = "LDG.E R8, desc[UR4][R2.64]", "LDS R12, [RZ]"
LOAD_CYCLES, SHARED_CYCLES, RELEASE_CYCLES = 32, 23, 8


@pytest.fixture(scope="module")
def device():
    return machine()


@pytest.mark.parametrize("stall", [1, 2, 3, 7, 15])
def test_a_stall_count_delays_the_next_instruction_by_just_as_many_cycles(device, stall):
    assert took(device, f"FADD R8, R9, R10 | stall={stall}\n") == stall


def test_nothing_but_the_stall_count_holds_a_dependent_instruction_back(device):
    """A chain of four additions whose results take four cycles each: a compiler that says 1 is obeyed."""
    assert took(device, 4 * "FADD R8, R8, R9 | stall=1\n") == 4
    assert took(device, 4 * "FADD R8, R8, R9 | stall=4\n") == 16


def test_a_write_barrier_holds_a_consumer_until_the_load_is_back_and_no_longer(device):
    assert took(device, f"{LOAD} | write=0\nFADD R9, R8, R11 | wait=0\n", WARM) == LOAD_CYCLES + 1
    assert took(device, f"{SHARED_LOAD} | write=0\nFADD R9, R12, R13 | wait=0\n") == SHARED_CYCLES + 1


def test_who_waits_for_no_barrier_or_for_another_goes_on(device):
    assert took(device, f"{LOAD} | write=0\nFADD R9, R10, R11\n", WARM) == 2
    assert took(device, f"{LOAD} | write=0\nFADD R9, R10, R11 | wait=12345\n", WARM) == 2


def test_the_longer_of_stall_count_and_barrier_counts(device):
    assert took(device, f"{SHARED_LOAD} | write=0 stall=15\nNOP | wait=0\n") == SHARED_CYCLES + 1
    assert took(device, f"{SHARED_LOAD} | write=0\nNOP | wait=0 stall=15\n") == SHARED_CYCLES + 15


def test_a_read_barrier_of_a_memory_instruction_falls_when_its_registers_are_read(device):
    """The L1 takes it in cycle 1; `register_file.release_cycles` later its registers may be written."""
    assert took(device, f"{LOAD} | write=0 read=1\nNOP | wait=1\n", WARM) == 1 + RELEASE_CYCLES + 1


def test_a_read_barrier_of_arithmetic_counts_from_its_issue(device):
    assert took(device, "MUFU.RCP R8, R9 | read=1\nNOP | wait=1\n") == RELEASE_CYCLES + 1


@pytest.mark.parametrize("cycles", [1, 20])
def test_the_release_of_registers_is_a_key(cycles):
    other = machine(register_file__release_cycles=cycles)
    assert took(other, f"{LOAD} | write=0 read=1\nNOP | wait=1\n", WARM) == 1 + cycles + 1


# The L1 takes the load in cycle 1 and is busy for two (`l1d.load_cycles`): the one from shared memory goes in cycle 3.
TWO = f"{LOAD} | write=0\n{SHARED_LOAD} | write=0\n"
FIRST_BACK, BOTH_BACK = 3 + 22, LOAD_CYCLES


def test_a_barrier_counts_and_falls_with_the_last_of_two_loads(device):
    assert took(device, TWO + "NOP | wait=0\n", WARM) == BOTH_BACK + 1


@pytest.mark.parametrize(("at_most", "cycle"), [(0, BOTH_BACK), (1, FIRST_BACK), (2, 2)])
def test_depbar_lets_go_when_at_most_so_many_are_left(device, at_most, cycle):
    assert took(device, TWO + f"DEPBAR.LE SB0, {at_most:#x}\n", WARM) == cycle + 1


def test_two_reads_that_end_at_once_lower_their_barrier_both(device):
    """The load's registers are read in cycle 1 + 8, those of the special function of cycle 1 too; they are told one a cycle."""
    body = f"{LOAD} | write=0 read=1\nMUFU.RCP R10, R11 | read=1\nNOP | wait=1\n"
    assert took(device, body, WARM) == 1 + RELEASE_CYCLES + 1 + 1


EXIT = "EXIT | stall=5\n"
CONSTANT = "LDC R8, c[0x0][0x210] | stall=2 write=0\n"  # of a line that was read before


def test_a_warp_that_ends_waits_for_a_load_but_not_for_a_constant(device):
    """A warp is gone when nothing of it is under way."""

    def cycles(last: str) -> int:
        return ran(device, 3 * "NOP | stall=15\n" + last, end=EXIT)[0].cycles

    nothing = cycles("NOP | stall=2\n")
    assert cycles(CONSTANT) == nothing
    assert cycles(f"{SHARED_LOAD} | stall=2 write=0\n") == nothing + SHARED_CYCLES - 2


def test_the_stall_count_of_a_warps_end_is_not_that_of_the_next_in_its_slot(device):
    """The run is over as soon as the warp is; the next launch must not wait for what the EXIT of this one said."""
    kernel, nothing = written(device, "", end=EXIT), device.zeros(64, "u4")
    first, second, third = (kernel(1, 32, [nothing, nothing]) for _ in range(3))
    assert first.cycles == second.cycles == third.cycles
    assert first.stalls == second.stalls == third.stalls


def test_one_scheduling_loop_obeys_no_control_bits():
    """It has one instruction of a warp at a time: a chain of additions that says it need not wait does wait."""
    alone = machine(core__detail=1)
    assert took(alone, 4 * "FADD R8, R8, R9 | stall=1\n") > 4 * 2
