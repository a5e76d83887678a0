"""Whose turn it is: the splits of a warp that wait, and which of them goes on next (BOOK 3.1.2).

The warp's table has a split in each entry: its pc, its lanes, and what it waits for: its turn only, a convergence barrier Bn, the
CTA's barrier, or lanes of the warp. When a split waits or ends, the one of the others that has waited longest goes on, or the one
that a policy of the `divergence` slot chooses. Lanes that have given way often enough, while nobody else could go on, are in the
yielded state of the book: nobody waits for them at a convergence barrier any more. So lanes that spin for a lock do not keep the
one that holds it from going on.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled
from simtlab.execute.simt_stack import lowest_lane
from simtlab.execute.state import N_CONVERGENCE, FaultCode, Outcome, WarpStatus
from simtlab.execute.warp_parts import address_of, entry_at, flow_of

DONE = int(WarpStatus.DONE)
OUT_SPENT, OUT_DONE, OUT_FAULT, OUT_BARRIER = (int(o) for o in (Outcome.SPENT, Outcome.DONE, Outcome.FAULT, Outcome.BARRIER))
NEVER_MET = int(FaultCode.NEVER_MET)
READY, AT_CTA_BARRIER, AT_WARP_SYNC, YIELDED, AT_COLLECTIVE, AT_EXCLUSIVE = range(-2, -8, -1)  # what it waits for, if not Bn
PATIENCE = 32  # YIELDs of a split before nobody waits for it
NO_SPLIT = -1


@compiled
def park(warp, pc, mask, why, members):
    """Let lanes wait for their turn, or for something."""
    entry = entry_at(warp, warp.depth)
    entry.pc, entry.mask, entry.reconverge, entry.calls = pc, mask, why, np.int32(members)
    warp.depth += 1


@compiled
def unpark(warp, k):
    """Take a split out of the table; those behind it move up."""
    warp.depth -= 1
    for d in range(k, warp.depth):
        entry, following = entry_at(warp, d), entry_at(warp, d + 1)
        entry.pc, entry.mask, entry.reconverge, entry.calls = following.pc, following.mask, following.reconverge, following.calls


@compiled
def waiting_for(warp, why, members):
    """The lanes of all splits that wait for the same."""
    found = np.uint32(0)
    for d in range(warp.depth):
        if entry_at(warp, d).reconverge == why and entry_at(warp, d).calls == members:
            found = np.uint32(found | entry_at(warp, d).mask)
    return found


@compiled
def may_go_on(warp, k):
    """Whether a split in the table is ready, or what it waits for has come."""
    entry = entry_at(warp, k)
    why = entry.reconverge
    if why == READY:
        return True
    if why == AT_CTA_BARRIER or why == YIELDED:
        return False
    here = waiting_for(warp, why, entry.calls)
    if why == AT_WARP_SYNC or why == AT_COLLECTIVE or why == AT_EXCLUSIVE:
        return (np.uint32(entry.calls) & warp.live & ~here) == 0
    return (met_by(warp, why, entry.mask) & warp.live & ~here & ~waiting_for(warp, YIELDED, 0)) == 0


@compiled
def met_by(warp, number, mask):
    """The lanes that some lanes meet at a convergence barrier."""
    found = np.uint32(0)
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            found = np.uint32(found | flow_of(warp).convergence[number, lane])
    return found


@compiled
def forget(warp, number, lanes):
    """Some lanes are waited for at a convergence barrier no longer."""
    for lane in range(32):
        flow_of(warp).convergence[number, lane] = np.uint32(flow_of(warp).convergence[number, lane] & ~lanes)


@compiled
def take_turn(warp, k):
    """A split of the table becomes the current one, together with those that waited for the same at the same place."""
    entry = entry_at(warp, k)
    pc, why, members, mask = entry.pc, entry.reconverge, entry.calls, entry.mask
    together = met_by(warp, why, mask) if why >= 0 else np.uint32(0xFFFFFFFF)
    unpark(warp, k)
    leads = mask
    if why != READY and why != YIELDED:
        d = 0  # others at a convergence barrier may have come to it elsewhere; the CTA's keeps them until it opens
        while d < warp.depth:
            other = entry_at(warp, d)
            if other.reconverge == why and other.calls == members and other.mask & together:
                if other.pc == pc or why == AT_COLLECTIVE:
                    mask = np.uint32(mask | other.mask)
                    unpark(warp, d)
                    continue
                if why != AT_CTA_BARRIER:
                    other.reconverge = READY
                    if why >= 0:
                        forget(warp, why, other.mask)
            d += 1
    if why >= 0:
        forget(warp, why, mask)
    if why == AT_COLLECTIVE:
        lead(warp, leads, mask)
    warp.pc, warp.mask, warp.turns = pc, mask, 0
    if why == AT_WARP_SYNC:
        take_along(warp)


@compiled
def lead(warp, leads, lanes):
    """Lanes execute together what follows a COLLECTIVE, a split's of them. Each had noted at a BSSY whom it will meet behind that:
    now they will all meet."""
    flow = flow_of(warp)
    flow.leads = leads
    for number in range(N_CONVERGENCE):
        members = met_by(warp, number, lanes)
        for lane in range(32):
            if (lanes >> np.uint32(lane)) & np.uint32(1) and flow.convergence[number, lane] != 0:
                flow.convergence[number, lane] = members


@compiled
def take_along(warp):
    """Splits at the same place that waited for other lanes of the warp, which have come too, go on with the current one."""
    could = np.uint64(0)
    for k in range(warp.depth):
        if entry_at(warp, k).reconverge == AT_WARP_SYNC and entry_at(warp, k).pc == warp.pc and may_go_on(warp, k):
            could = np.uint64(could | np.uint64(np.uint64(1) << np.uint64(k)))
    for k in range(warp.depth - 1, -1, -1):
        if (could >> np.uint64(k)) & np.uint64(1):
            members = entry_at(warp, k).calls
            warp.mask = np.uint32(warp.mask | entry_at(warp, k).mask)
            unpark(warp, k)
            for d in range(warp.depth):
                other = entry_at(warp, d)
                if other.reconverge == AT_WARP_SYNC and other.calls == members and other.pc != warp.pc:
                    other.reconverge = READY


@compiled
def longest_waiting(warp, count):
    """The first split of the table that can go on."""
    for k in range(count):
        if may_go_on(warp, k):
            return k
    return NO_SPLIT


@compiled
def chosen_by_policy(launch, warp):
    """A policy's choice among the splits that can go on, if there are several; else the first."""
    could = np.uint64(0)
    for k in range(warp.depth):
        if may_go_on(warp, k):
            could = np.uint64(could | np.uint64(np.uint64(1) << np.uint64(k)))
    if could != 0 and could & np.uint64(could - np.uint64(1)):
        chosen = call_hook(launch.turn_hook, address_of(warp), launch.divergence_own, could, warp.executed)
        if chosen != NO_SPLIT:
            return chosen
    return longest_waiting(warp, warp.depth)


@compiled
def yielded_split(warp, count):
    """The first of the yielded splits among those of the table."""
    for k in range(count):
        if entry_at(warp, k).reconverge == YIELDED:
            return k
    return NO_SPLIT


@compiled
def switch(launch, warp):
    """Give the turn to a split that can go on, yielded ones last. False if there is none."""
    k = longest_waiting(warp, warp.depth) if launch.turn_hook == 0 else chosen_by_policy(launch, warp)
    if k == NO_SPLIT:
        k = yielded_split(warp, warp.depth)
    if k == NO_SPLIT:
        return False
    take_turn(warp, k)
    return True


@compiled
def tire(warp, steps, every):
    """A split spins, perhaps. What it is in after so many steps, of which `every` make a YIELD: ready, or yielded."""
    warp.turns = min(warp.turns + steps, PATIENCE * every)
    return YIELDED if warp.turns == PATIENCE * every else READY


@compiled
def give_way(warp, state):
    """Let another split have a turn, if one can go on: the one that has waited longest, so that each comes to it, whatever a policy
    would choose. A split in the yielded state is waited for by nobody."""
    last, turns = warp.depth, warp.turns
    park(warp, warp.pc, warp.mask, state, 0)
    k = longest_waiting(warp, last)
    if k == NO_SPLIT and state == YIELDED:
        k = yielded_split(warp, last)
    if k == NO_SPLIT:
        take_turn(warp, last)
        warp.turns = turns
        return
    spins_too = state == READY and entry_at(warp, k).reconverge == READY
    take_turn(warp, k)
    if spins_too:  # splits that only give way to each other tire together
        warp.turns = turns


@compiled
def part(warp, pc, mask):
    """Only some of the lanes do what comes next; the others go on behind it, when their turn comes."""
    other = np.uint32(warp.mask & ~mask)
    if other != 0:
        park(warp, pc + 1, other, READY, 0)
        warp.mask = mask


@compiled
def next_split(launch, worker, warp, pc):
    """The current split is gone or waits: the next one's turn. BARRIER: all that are left have come to the CTA's barrier, and the
    warp is to arrive there now."""
    if switch(launch, warp):
        return OUT_SPENT
    for k in range(warp.depth):
        if entry_at(warp, k).reconverge >= 0:  # it waits for lanes that wait elsewhere: to converge is no must
            take_turn(warp, k)
            return OUT_SPENT
    for k in range(warp.depth):
        if entry_at(warp, k).reconverge == AT_CTA_BARRIER:
            take_turn(warp, k)
            return OUT_BARRIER
    if warp.live == 0:
        warp.mask, warp.status = np.uint32(0), DONE
        return OUT_DONE
    return fault(worker, warp, pc, lowest_lane(warp.live), 0, NEVER_MET)


@compiled
def fault(worker, warp, pc, lane, address, code):
    worker.fault, worker.fault_pc, worker.fault_warp = code, pc, warp.index
    worker.fault_lane, worker.fault_address = lane, address
    return OUT_FAULT


@compiled
def free_splits(warp):
    """The CTA's barrier is open: splits that waited at it go on behind it."""
    for d in range(warp.depth):
        entry = entry_at(warp, d)
        if entry.reconverge == AT_CTA_BARRIER:
            entry.pc += 1
            entry.reconverge = READY
