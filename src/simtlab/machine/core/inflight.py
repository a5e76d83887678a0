"""Instructions in flight: the pool of their records, and the wheel of cycles on which results are planned."""

import numpy as np

from simtlab.compiled import compiled, count_ones, count_trailing_zeros
from simtlab.machine.core.kinds import OpState
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.core.state import MAX_OPS, NO_BARRIER
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import WHEEL

FREE = int(OpState.FREE)
FAR_FUTURE = np.int64(1 << 62)


@compiled
def reset(core):
    for k in range(MAX_OPS):
        core.ops[k].next = k + 1
        core.ops[k].state = FREE
    core.ops[MAX_OPS - 1].next = NOTHING
    core.free_op = 0
    for k in range(WHEEL):
        core.wheel[k] = NOTHING
        core.released[k] = np.uint64(0)
    for k in range(WHEEL // 64):
        core.wheel_used[k] = np.uint64(0)


@compiled
def new_op(core):
    """A free record's number; the caller has checked that there is one."""
    number = core.free_op
    core.free_op = core.ops[number].next
    op = core.ops[number]
    op.next = NOTHING
    op.accesses, op.served, op.outstanding, op.passes = 0, 0, 0, 0
    op.hits_ready, op.began, op.read_barrier = 0, 0, NO_BARRIER
    return number


@compiled
def free_op(core, number):
    core.ops[number].next = core.free_op
    core.ops[number].state = FREE
    core.free_op = number


@compiled
def plan(core, number, cycle):
    """The instruction's result will be ready for write-back in that cycle."""
    place = cycle & (WHEEL - 1)
    core.ops[number].next = core.wheel[place]
    core.wheel[place] = number
    use(core, place)


@compiled
def plan_release(core, w, cycle):
    """The warp can go on in that cycle: all that the one-loop core need know of an instruction under way."""
    place = cycle & (WHEEL - 1)
    core.released[place] |= bit_of(w)
    use(core, place)


@compiled
def use(core, place):
    core.wheel_used[place >> 6] = np.uint64(core.wheel_used[place >> 6] | bit_of(place & 63))


@compiled
def next_planned(core, cycle):
    """The first cycle from `cycle` on that has a result planned, or FAR_FUTURE."""
    place = cycle & (WHEEL - 1)
    word = place >> 6
    bits = np.uint64(core.wheel_used[word] >> np.uint64(place & 63))
    if bits != 0:
        return cycle + lowest_bit(bits)
    distance = 64 - (place & 63)
    for k in range(1, WHEEL // 64 + 1):
        bits = core.wheel_used[(word + k) & (WHEEL // 64 - 1)]
        if bits != 0:
            return cycle + distance + lowest_bit(bits)
        distance += 64
    return FAR_FUTURE


@compiled
def is_planned(core, cycle):
    """Whether a cycle has results planned."""
    place = cycle & (WHEEL - 1)
    return core.wheel_used[place >> 6] & bit_of(place & 63) != 0


@compiled
def take_released(core, cycle):
    """The warps that can go on in a cycle; the wheel forgets them."""
    warps = core.released[cycle & (WHEEL - 1)]
    core.released[cycle & (WHEEL - 1)] = np.uint64(0)
    return warps


@compiled
def take_planned(core, cycle):
    """The list of results planned for a cycle, first planned first; the wheel forgets it."""
    place = cycle & (WHEEL - 1)
    number, first = np.int64(core.wheel[place]), np.int64(NOTHING)
    while number != NOTHING:  # the list was built backwards
        following = core.ops[number].next
        core.ops[number].next = first
        first = number
        number = following
    core.wheel[place] = NOTHING
    core.wheel_used[place >> 6] = np.uint64(core.wheel_used[place >> 6] & ~bit_of(place & 63))
    return first


@compiled
def lowest_bit(word):
    """The number of the lowest set bit of a 64-bit word that is not zero."""
    return count_trailing_zeros(np.uint64(word))


@compiled
def count_bits(word):
    return count_ones(np.uint64(word))
