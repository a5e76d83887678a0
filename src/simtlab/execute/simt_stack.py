"""The SIMT stack (BOOK 3.1.1): lanes that part at a branch meet again at its immediate post-dominator.

The current entry is held in the warp itself (pc, mask, reconverge); the stack keeps the ones below it. An entry whose
lanes have all ended vanishes when its turn comes. A call is an entry that is never reached by running: the callee's
return takes the next entry off the stack, which is either another part of the callee or the caller's continuation.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled
from simtlab.execute.state import MAX_CALLS, MAX_STACK, PushOrder, WarpStatus
from simtlab.execute.warp_parts import address_of, context_of, entry_at, flow_of
from simtlab.program.encode import NO_RECONVERGENCE

DONE = int(WarpStatus.DONE)
MOST_LANES, FEWEST_LANES = int(PushOrder.MOST_LANES), int(PushOrder.FEWEST_LANES)
ROOM_FOR_ONE_BRANCH = 34  # the most entries one instruction can push


@compiled
def push(warp, pc, reconverge, mask):
    entry = entry_at(warp, warp.depth)
    entry.pc = pc
    entry.reconverge = reconverge
    entry.mask = mask
    entry.calls = warp.calls
    warp.depth += 1


@compiled
def pop(warp):
    """Take up the next entry that still has live lanes; a warp without one is done."""
    while warp.depth > 0:
        warp.depth -= 1
        entry = entry_at(warp, warp.depth)
        mask = np.uint32(entry.mask & warp.live)
        if mask != 0:
            warp.pc = entry.pc
            warp.reconverge = entry.reconverge
            warp.mask = mask
            if warp.calls != entry.calls:
                return_to(warp, entry.calls)
            return
    warp.mask = np.uint32(0)
    warp.status = DONE


@compiled
def return_to(warp, calls):
    """Move the register window and the local frame back to an outer call."""
    caller = flow_of(warp).call[calls]
    warp.calls, warp.window = calls, caller.window
    context_of(warp).frame = warp.local_window.frame = caller.frame


@compiled
def diverge(launch, warp, ins, pc, taken):
    """Some lanes of the current mask take a branch, the others fall through; what is pushed first runs last."""
    target, following, reconverge = ins.target, pc + 1, ins.reconverge
    other = np.uint32(warp.mask & ~taken)
    wait_for_all(warp, reconverge)
    warp.reconverge = reconverge
    if target == reconverge:
        warp.pc, warp.mask = following, other
    elif following == reconverge:
        warp.pc, warp.mask = target, taken
    elif falls_through_last(launch, warp, taken, other):
        push(warp, following, reconverge, other)
        warp.pc, warp.mask = target, taken
    else:
        push(warp, target, reconverge, taken)
        warp.pc, warp.mask = following, other


@compiled
def falls_through_last(launch, warp, taken, other):
    """Whether the lanes that fall through are pushed first; of equal halves they never are."""
    if launch.divergence_hook != 0:
        address = address_of(warp)
        return call_hook(launch.divergence_hook, address, launch.divergence_own, np.uint64(taken), warp.executed) != 0
    if launch.push_order == MOST_LANES:
        return count_lanes(other) > count_lanes(taken)
    return launch.push_order == FEWEST_LANES and count_lanes(other) < count_lanes(taken)


@compiled
def wait_for_all(warp, reconverge):
    """Leave an entry for all current lanes at the reconvergence point, unless the one below waits there already."""
    if reconverge != NO_RECONVERGENCE and reconverge != warp.reconverge:
        push(warp, reconverge, warp.reconverge, warp.mask)


@compiled
def end_lanes(warp, mask):
    """Lanes exit the kernel."""
    warp.live = np.uint32(warp.live & ~mask)
    warp.mask = np.uint32(warp.mask & ~mask)
    if warp.mask == 0:
        pop(warp)


@compiled
def enter(warp, mask, target, frame_bytes, window_bytes):
    """Call: the lanes of `mask` run the callee in a register window and frame of its own; all go on after it."""
    push(warp, warp.pc + 1, warp.reconverge, warp.mask)
    caller = flow_of(warp).call[warp.calls]
    caller.window, caller.frame = warp.window, context_of(warp).frame
    warp.calls += 1
    warp.window += window_bytes
    context_of(warp).frame += frame_bytes
    warp.local_window.frame = context_of(warp).frame
    warp.pc = target
    warp.reconverge = NO_RECONVERGENCE
    warp.mask = mask


@compiled
def has_room(warp):
    return warp.depth + ROOM_FOR_ONE_BRANCH < MAX_STACK and warp.calls + 1 < MAX_CALLS


@compiled
def count_lanes(mask):
    """Set bits of a 32-bit mask."""
    m = np.int64(mask)
    m = m - ((m >> 1) & 0x55555555)
    m = (m & 0x33333333) + ((m >> 2) & 0x33333333)
    m = (m + (m >> 4)) & 0x0F0F0F0F
    return ((m * 0x01010101) & 0xFFFFFFFF) >> 24


@compiled
def lowest_lane(mask):
    """The number of the lowest set bit, 32 for none."""
    m = np.int64(mask)
    return count_lanes((m & -m) - 1) if m != 0 else 32
