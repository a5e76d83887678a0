"""Run a CTA: its warps take turns, a quantum each, so that every one of them makes progress."""

import numpy as np

from simtlab.compiled import compiled, fetch_add, load_i64, reader_of, store_i64
from simtlab.execute.barrier import release_complete
from simtlab.execute.races import LOAD, STORE, watch_access, watch_at
from simtlab.execute.state import (
    N_BARRIERS,
    N_CONVERGENCE,
    QUANTUM,
    SHORT_QUANTUM,
    Outcome,
    WarpStatus,
    cta_t,
    launch_t,
    worker_t,
)
from simtlab.execute.turns import forget
from simtlab.execute.warp import lanes_of, run_warp
from simtlab.execute.warp_parts import context_of, entry_at, flow_of
from simtlab.program.encode import NO_RECONVERGENCE, code_at

RUNNING, DONE = int(WarpStatus.RUNNING), int(WarpStatus.DONE)
OUT_DONE, OUT_FAULT, OUT_SERVICE = int(Outcome.DONE), int(Outcome.FAULT), int(Outcome.SERVICE)
OUT_SPENT, OUT_STALLED, OUT_STUCK = int(Outcome.SPENT), int(Outcome.STALLED), int(Outcome.STUCK)
OUT_STOPPED = int(Outcome.STOPPED)
launch_at, worker_at, cta_at = map(reader_of, (launch_t, worker_t, cta_t))


@compiled
def run_cta(launch, code, worker, cta):
    """Run until the CTA is done, faults, asks the host for something, or a whole pass over its warps changes nothing.

    Where CTAs communicate, a pass that changes nothing is probably a spin: passes are short then, and grow while it lasts.
    """
    while cta.n_done < cta.n_warps:
        changes, events, ran = worker.changes, cta.events, 0
        while cta.next_warp < cta.n_warps:
            warp = cta.warps[cta.next_warp]
            if warp.status == RUNNING:
                ran += 1
                outcome = run_warp(launch, code, worker, cta, warp, cta.quantum)
                if outcome == OUT_FAULT or outcome == OUT_SERVICE:
                    return outcome
                settle(code, cta, outcome)
                if launch.stop != 0:
                    return OUT_STOPPED
            cta.next_warp += 1
        cta.next_warp = 0
        outcome = after_a_pass(launch, worker, cta, changes, events, ran)
        if outcome != OUT_SPENT:
            return outcome
    return OUT_DONE


@compiled
def run_cta_on(launch, code, worker, cta, instructions):
    """Go on with a CTA by about so many instructions of its warps together, or to its end."""
    end = worker.executed + instructions
    while worker.executed < end and cta.n_done < cta.n_warps:
        before = worker.executed
        quantum = min(max((end - before) // (cta.n_warps - cta.n_done), 1), SHORT_QUANTUM)
        for w in range(cta.n_warps):
            warp = cta.warps[w]
            if warp.status == RUNNING:
                outcome = run_warp(launch, code, worker, cta, warp, quantum)
                if outcome == OUT_FAULT or outcome == OUT_SERVICE:
                    return outcome
                settle(code, cta, outcome)
        if worker.executed == before:
            return OUT_STUCK
    return OUT_SPENT


@compiled
def run_cta_in_step(launch, code, worker, cta, watch):
    """As run_cta does, but its warps go on together, an instruction each at a time, as they nearly do on a GPU."""
    while cta.n_done < cta.n_warps:
        changes, events, ran = worker.changes, cta.events, 0
        for _ in range(cta.quantum):
            ran = 0
            while cta.next_warp < cta.n_warps:
                warp = cta.warps[cta.next_warp]
                if warp.status == RUNNING:
                    ran += 1
                    outcome = take_a_step(launch, code, worker, cta, warp, watch)
                    if outcome == OUT_FAULT or outcome == OUT_SERVICE:
                        return outcome
                    settle(code, cta, outcome)
                cta.next_warp += 1
            cta.next_warp = 0
            if launch.stop != 0:
                return OUT_STOPPED
            if ran == 0:  # all are done, or wait for ever
                break
        if cta.n_done < cta.n_warps:
            outcome = after_a_pass(launch, worker, cta, changes, events, ran)
            if outcome != OUT_SPENT:
                return outcome
    return OUT_DONE


@compiled
def settle(code, cta, outcome):
    """What it means for a CTA that one of its warps has stopped."""
    if outcome == OUT_DONE:
        cta.n_done += 1
        cta.events += 1
    if outcome != OUT_SPENT:
        release_complete(cta, code)


@compiled
def after_a_pass(launch, worker, cta, changes, events, ran):
    """SPENT: the CTA goes on. STUCK: no warp could run. STALLED: the pass has changed nothing; the next one is longer."""
    if ran == 0:
        return OUT_STUCK
    if worker.changes == changes and cta.events == events:
        cta.quantum = min(2 * cta.quantum, QUANTUM)
        return OUT_STALLED
    cta.quantum = SHORT_QUANTUM if launch.one_by_one != 0 else QUANTUM
    return OUT_SPENT


@compiled
def take_a_step(launch, code, worker, cta, warp, watch):
    """One instruction of a warp, whose accesses are watched if that is wanted."""
    if watch.wanted != 0 and warp.pc != warp.reconverge:
        ins = code.row[warp.pc]
        if ins.action == LOAD or ins.action == STORE:
            watch_access(watch, cta, warp, ins, warp.pc, lanes_of(warp, ins))
    return run_warp(launch, code, worker, cta, warp, 1)


@compiled
def run_ctas(launch, code, worker, cta):
    """Take CTAs of the grid one after another, in order, until there are none left or something stops one.

    STALLED means that the CTA repeats itself until another one changes memory, SPENT that it may yet do something.
    """
    while True:
        if cta.active == 0 and not next_cta(launch, cta):
            return OUT_DONE
        outcome = after_a_turn(launch, worker, cta, run_cta(launch, code, worker, cta))
        if outcome != OUT_DONE:
            return outcome


@compiled
def run_ctas_in_step(launch, code, worker, cta, watch):
    """As run_ctas does, with the warps of a CTA in step."""
    while True:
        if cta.active == 0 and not next_cta(launch, cta):
            return OUT_DONE
        outcome = after_a_turn(launch, worker, cta, run_cta_in_step(launch, code, worker, cta, watch))
        if outcome != OUT_DONE:
            return outcome


@compiled
def run_ctas_at(launch, code, worker, cta):
    """The same for records given by their addresses: to hand a record to compiled code takes longer than many a launch."""
    return run_ctas(launch_at(launch), code_at(code), worker_at(worker), cta_at(cta))


@compiled
def run_ctas_in_step_at(launch, code, worker, cta, watch):
    return run_ctas_in_step(launch_at(launch), code_at(code), worker_at(worker), cta_at(cta), watch_at(watch))


@compiled
def next_cta(launch, cta):
    """Start the grid's next CTA. False if there is none."""
    number = fetch_add(launch.next_cta_address, 1)
    if number >= launch.n_ctas:
        return False
    start(launch, cta, number)
    return True


@compiled
def after_a_turn(launch, worker, cta, outcome):
    """DONE: the slot goes on, with this CTA or the next one. Anything else is why it cannot."""
    if outcome == OUT_DONE:
        cta.active = 0
    elif outcome != OUT_STALLED:
        return outcome
    elif look_for_cycles(cta, worker.changes):
        cta.quantum = SHORT_QUANTUM if launch.one_by_one != 0 else QUANTUM
        return OUT_STALLED
    elif launch.one_by_one != 0 and cta.quantum == QUANTUM:
        return OUT_SPENT
    return OUT_DONE


@compiled
def start(launch, cta, number):
    """Give the slot a fresh CTA: zeroed registers, shared and local memory, warps at the kernel's first instruction."""
    cta.number = number
    cta.active = 1
    cta.n_warps = (launch.threads + 31) // 32
    cta.n_done, cta.next_warp, cta.events = 0, 0, 0
    cta.quantum = SHORT_QUANTUM if launch.one_by_one != 0 else QUANTUM
    for b in range(N_BARRIERS):
        barrier = cta.barriers[b]
        barrier.arrived, barrier.expected, barrier.count, barrier.all, barrier.any = 0, 0, 0, 0, 0
        barrier.waiting = np.uint32(0)
    clear(cta.registers, cta.n_warps * launch.register_bytes)
    clear(cta.shared_window.host, launch.shared_bytes)
    clear(cta.local, 32 * cta.n_warps * launch.local_bytes)
    for w in range(cta.n_warps):
        start_warp(launch, cta, cta.warps[w], w)


@compiled
def start_warp(launch, cta, warp, w):
    lanes = min(launch.threads - 32 * w, 32)
    everybody = np.uint32(0xFFFFFFFF) if lanes == 32 else np.uint32((1 << lanes) - 1)
    warp.pc, warp.reconverge, warp.depth, warp.calls = 0, NO_RECONVERGENCE, 0, 0
    warp.mask, warp.live = everybody, everybody
    warp.status, warp.index, warp.executed = RUNNING, w, 0
    warp.seen_power, warp.cycling, warp.turns = 0, 0, 0
    if warp.met:
        for b in range(N_CONVERGENCE):
            forget(warp, b, np.uint32(0xFFFFFFFF))
        warp.met = 0
    warp.window = cta.registers + w * launch.register_bytes
    warp.registers_end = warp.window + launch.register_bytes
    window = warp.local_window
    window.first, window.length, window.lane_stride = 0, launch.local_bytes, launch.local_bytes
    window.host, window.frame, window.changes = cta.local + 32 * w * launch.local_bytes, 0, 0
    context = context_of(warp)
    context.frame, context.clock64, context.globaltimer = 0, 0, 0
    context.parameters, context.parameter_address = launch.parameters, launch.parameter_address
    context.warpid, context.nwarpid = w, cta.n_warps
    context.smid, context.nsmid = cta.number % launch.n_cores, launch.n_cores
    context.dynamic_smem_size, context.total_smem_size = launch.dynamic_shared, launch.shared_bytes
    context.envreg1, context.envreg2 = launch.workspace >> 32, launch.workspace & 0xFFFFFFFF
    number, grid, block = cta.number, launch.grid, launch.block
    context.ctaid_x = number % grid[0]
    context.ctaid_y = number // grid[0] % grid[1]
    context.ctaid_z = number // (grid[0] * grid[1])
    context.nctaid_x, context.nctaid_y, context.nctaid_z = grid[0], grid[1], grid[2]
    if context.ntid_x != block[0] or context.ntid_y != block[1]:
        number_threads(context, launch, w)
    context.ntid_x, context.ntid_y, context.ntid_z = block[0], block[1], block[2]


@compiled
def number_threads(context, launch, w):
    """Where each lane of a warp is in its CTA: for all CTAs of this width and height the same."""
    block = launch.block
    for lane in range(32):
        thread = 32 * w + lane
        context.tid_x[lane] = thread % block[0]
        context.tid_y[lane] = thread // block[0] % block[1]
        context.tid_z[lane] = thread // (block[0] * block[1])


@compiled
def clear(address, size):
    for place in range(address, address + size, 8):
        store_i64(place, 0)


@compiled
def look_for_cycles(cta, changes):
    """Whether every running warp of a stalled CTA is proven to repeat itself forever, as long as memory stays as it is.

    A warp's next steps depend on its own state and on memory alone. So if it comes back to an earlier state while memory
    has not changed in between, it will do so for ever. States are compared by a hash, at growing distances (Brent).
    """
    stuck = True
    for w in range(cta.n_warps):
        warp = cta.warps[w]
        if warp.status != RUNNING:
            continue
        state = fingerprint(warp)
        if warp.seen_power == 0 or warp.seen_changes != changes:
            warp.seen_changes, warp.seen_state = changes, state
            warp.seen_power, warp.seen_steps, warp.cycling = 1, 0, 0
        elif state == warp.seen_state:
            warp.cycling = 1
        else:
            warp.seen_steps += 1
            if warp.seen_steps == warp.seen_power:
                warp.seen_state, warp.seen_steps = state, 0
                warp.seen_power *= 2
        if warp.cycling == 0:
            stuck = False
    return stuck


@compiled
def fingerprint(warp):
    """A hash of all that decides what the warp does next."""
    state = mix(np.uint64(warp.pc), np.uint64(warp.mask))
    state = mix(state, np.uint64(warp.live))
    state = mix(mix(state, np.uint64(warp.depth)), np.uint64(warp.turns))
    for d in range(warp.depth):
        state = mix(state, np.uint64(entry_at(warp, d).pc))
        state = mix(state, np.uint64(entry_at(warp, d).mask))
        state = mix(state, np.uint64(entry_at(warp, d).reconverge + 1024))
    for b in range(N_CONVERGENCE):
        for lane in range(32):
            state = mix(state, np.uint64(flow_of(warp).convergence[b, lane]))
    for lane in range(32):
        state = mix(state, np.uint64(flow_of(warp).comes_back[lane]))
    first = flow_of(warp).call[0].window if warp.calls else warp.window
    for address in range(first, warp.registers_end, 8):
        state = mix(state, np.uint64(load_i64(address)))
    return state


@compiled
def mix(state, word):
    state = np.uint64((state ^ word) * np.uint64(0x9E3779B97F4A7C15))
    return np.uint64(state ^ (state >> np.uint64(29)))
