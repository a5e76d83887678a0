"""What a branch costs its warp, by how its target is known, and a change of splits: machine code with its cycles noted."""

import pytest

import simtlab as sl
from tests.timing.machine_code import FIRST_STAMP, STAMPS, took, written
from tests.timing.machine_code import machine as core

DIRECT, INDIRECT, COLLECTIVE = 15, 24, 60  # issue.branch_resolve_cycles, …
STEPS = 2  # of a collective that wait
AHEAD = "BRA {there}\nNOP\nthere:\n"
RETURN = "MOV R20, {there} | stall=4\nMOV R21, 0x0 | stall=4\nRET.REL.NODEC R20, 0x0\nNOP\nthere:\n"
REGISTERS = "MOV R20, 0x0 | stall=4\nMOV R21, 0x0 | stall=4\n"


@pytest.fixture(scope="module")
def device() -> sl.Gpu:
    return core(issue__branch_resolve_cycles=DIRECT, issue__indirect_branch_cycles=INDIRECT, issue__collective_cycles=COLLECTIVE)


def beyond(device: sl.Gpu, body: str, same: str) -> int:
    """How many cycles a body takes longer than one that falls through."""
    return took(device, body) - took(device, same)


def test_a_branch_that_is_taken_waits_until_it_is_resolved(device):
    """A NOP in its place takes the cycle that it takes to issue."""
    assert beyond(device, AHEAD, "NOP\n") == DIRECT


def test_a_branch_to_the_next_instruction_costs_nothing(device):
    assert beyond(device, "BRA {there}\nthere:\n", "NOP\n") == 0


def test_a_branch_by_a_register_takes_longer(device):
    """An H200 takes 18 cycles more for a call and its return than for two branches."""
    assert beyond(device, RETURN, REGISTERS + "NOP\n") == DIRECT + INDIRECT


# Lanes 0 to 15 and 16 to 31 go different ways and meet.
WAYS = """
LOP3.LUT P0, RZ, R0, 0x10, RZ, 0xc0, !PT | stall=13
BSSY B0, {together} | stall=4
@P0 BRA {other}
NOP
BRA {meet}
other:
NOP
meet:
BSYNC B0 | stall=5
together:
"""


def test_a_split_that_goes_on_elsewhere_waits_as_after_a_branch(device):
    """Beside the branch to BSYNC, which there is without divergence too: from one split's BSYNC to the other split's NOP, which a
    stall count of 1 follows and that split's own BSYNC."""
    straight = WAYS.replace("0x10", "0x40")  # no lane has that bit: all go the first way
    assert beyond(device, WAYS, straight) == DIRECT + 2


# Both halves come to a WARPSYNC.COLLECTIVE of all lanes, each to its own.
COMING = """BSSY B1, {{behind{0}}} | stall=4
WARPSYNC.COLLECTIVE R31, {{back{0}}} | stall=5
VIADD R30, R30, 0x1 | stall=4
ENDCOLLECTIVE
back{0}:
BSYNC B1 | stall=5
behind{0}:
"""
MEETING = f"""
LOP3.LUT P0, RZ, R0, 0x10, RZ, 0xc0, !PT | stall=13
MOV R30, 0x0 | stall=4
MOV R31, 0xffffffff | stall=4
BSSY B0, {{together}} | stall=4
@P0 BRA {{other}}
{COMING.format(1)}BRA {{meet}}
other:
{COMING.format(2)}NOP
meet:
BSYNC B0 | stall=5
together:
"""


def test_a_collective_costs_its_steps(device):
    """Two WARPSYNC.COLLECTIVE, of which the second goes on at once, and one ENDCOLLECTIVE."""
    cheap = core(issue__branch_resolve_cycles=DIRECT, issue__indirect_branch_cycles=INDIRECT, issue__collective_cycles=0)
    assert took(device, MEETING) - took(cheap, MEETING) == STEPS * COLLECTIVE


def test_a_collective_is_executed_once_for_all(device):
    out = device.zeros((32, STAMPS), "u4")
    written(device, MEETING + f"IADD3 R{FIRST_STAMP}, R30, RZ, RZ | stall=5\n")(1, 32, [out, device.zeros(1 << 10, "u4")])
    assert (out.numpy()[:, 0] == 1).all()
