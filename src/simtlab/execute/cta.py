"""Run a CTA: its warps take turns, a quantum each, so that every one of them makes progress."""

import numpy as np

from simtlab.compiled import compiled, load_i64
from simtlab.execute.barrier import release_complete
from simtlab.execute.state import QUANTUM, Outcome, WarpStatus
from simtlab.execute.warp import run_warp

RUNNING, DONE = int(WarpStatus.RUNNING), int(WarpStatus.DONE)
OUT_DONE, OUT_FAULT, OUT_SERVICE = int(Outcome.DONE), int(Outcome.FAULT), int(Outcome.SERVICE)
OUT_SPENT, OUT_STALLED, OUT_STUCK = int(Outcome.SPENT), int(Outcome.STALLED), int(Outcome.STUCK)
OUT_STOPPED = int(Outcome.STOPPED)


@compiled
def run_cta(launch, code, worker, cta):
    """Run until the CTA is done, faults, asks the host for something, or a whole pass over its warps changes nothing."""
    while cta.n_done < cta.n_warps:
        changes, events, ran = worker.changes, cta.events, 0
        while cta.next_warp < cta.n_warps:
            warp = cta.warps[cta.next_warp]
            if warp.status == RUNNING:
                ran += 1
                outcome = run_warp(launch, code, worker, cta, warp, QUANTUM)
                if outcome == OUT_FAULT or outcome == OUT_SERVICE:
                    return outcome
                if outcome == OUT_DONE:
                    cta.n_done += 1
                    cta.events += 1
                if outcome != OUT_SPENT:
                    release_complete(cta, code)
                if launch.stop != 0:
                    return OUT_STOPPED
            cta.next_warp += 1
        cta.next_warp = 0
        if ran == 0:
            return OUT_STUCK
        if worker.changes == changes and cta.events == events:
            return OUT_STALLED
    return OUT_DONE


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
    state = mix(state, np.uint64(warp.depth))
    for d in range(warp.depth):
        state = mix(state, np.uint64(warp.stack[d].pc))
        state = mix(state, np.uint64(warp.stack[d].mask))
    for address in range(warp.call[0].window, warp.registers_end, 8):
        state = mix(state, np.uint64(load_i64(address)))
    return state


@compiled
def mix(state, word):
    state = np.uint64((state ^ word) * np.uint64(0x9E3779B97F4A7C15))
    return np.uint64(state ^ (state >> np.uint64(29)))
