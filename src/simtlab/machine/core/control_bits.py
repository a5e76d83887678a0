"""Dependences as the compiler tells them (Volta and later): a stall count after each instruction, and six barriers a warp.

A result that takes a known time is waited for by the stall count of what comes before its use. One that does not, from memory or
a special function, raises a dependence barrier when its instruction issues and lowers it when it is written; instructions that
need it wait until the barrier is down. Another kind of barrier is lowered when the registers of an instruction have been read.
A barrier counts: it is down when all that raised it have lowered it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import lowest_bit, plan_release, use
from simtlab.machine.core.scoreboard import CONSTANT, FIXED, LONG, NOTHING, SHORT, bit_of
from simtlab.machine.core.state import N_BARRIERS, NO_BARRIER, READ_WHEEL
from simtlab.machine.limits import WHEEL


@compiled
def stall(core, w, row, cycle):
    """The warp's next instruction waits for the stall count of this one."""
    bit = bit_of(w)
    core.yielded = np.uint64(core.yielded | bit) if row.yields else np.uint64(core.yielded & ~bit)
    if row.stall > 1:
        core.stalled = np.uint64(core.stalled | bit)
        core.slots[w].stall_end = cycle + row.stall
        plan_release(core, w, cycle + row.stall)


@compiled
def raise_barriers(slot, row):
    """An instruction issues: what it writes, and perhaps what it reads, is spoken for."""
    if row.write_barrier != NO_BARRIER:
        raise_one(slot, row.write_barrier, row.waits_for)
    if row.read_barrier != NO_BARRIER:
        raise_one(slot, row.read_barrier, SHORT)


@compiled
def raise_one(slot, barrier, reason):
    bit = np.int64(1) << barrier
    slot.barriers[barrier] += 1
    slot.raised |= bit
    slot.raised_short = slot.raised_short & ~bit | (bit if reason == SHORT else 0)
    slot.raised_long = slot.raised_long & ~bit | (bit if reason == LONG else 0)
    slot.raised_constant = slot.raised_constant & ~bit | (bit if reason == CONSTANT else 0)


@compiled
def lower(slot, barrier):
    """One of those that hold a barrier up is through."""
    if barrier == NO_BARRIER or slot.barriers[barrier] == 0:
        return
    slot.barriers[barrier] -= 1
    if slot.barriers[barrier] == 0:
        slot.raised &= ~(np.int64(1) << barrier)


@compiled
def what_is_up(slot, row):
    """What an instruction waits for, the slowest thing first."""
    waited = row.wait & slot.raised
    if row.counter != NO_BARRIER and slot.barriers[row.counter] > row.at_most:
        waited |= np.int64(1) << row.counter
    if waited == 0:
        return NOTHING
    if waited & slot.raised_constant:
        return CONSTANT
    return LONG if waited & slot.raised_long else SHORT if waited & slot.raised_short else FIXED


@compiled
def reads_end(core, w, barrier, cycle):
    """The registers of an instruction are read in a cycle to come: those who want to write them may go on."""
    if barrier != NO_BARRIER:
        place = cycle & (READ_WHEEL - 1)
        while core.read_done[place, barrier] & bit_of(w):  # one a cycle
            cycle += 1
            place = cycle & (READ_WHEEL - 1)
        core.read_done[place, barrier] |= bit_of(w)
        use(core, cycle & (WHEEL - 1))


@compiled
def take_reads(core, cycle):
    """Lower the barriers of registers that are read in this cycle; gives the warps."""
    place = cycle & (READ_WHEEL - 1)
    found = np.uint64(0)
    for barrier in range(N_BARRIERS):
        warps = core.read_done[place, barrier]
        if warps != 0:
            core.read_done[place, barrier] = np.uint64(0)
            found = np.uint64(found | warps)
            while warps != 0:
                w = lowest_bit(warps)
                warps = np.uint64(warps & ~bit_of(w))
                lower(core.slots[w], barrier)
    return found
