"""Running ahead: a core that nothing outside can reach goes on by itself for some cycles, with its state in the host's cache.

What the others see stays in order. The core stops when a request leaves it, when a CTA ends, and within a cycle before a warp
issues a memory instruction, for that reads or writes what other cores share: when its time has come it issues, and the cycle
goes on from there. Constants of machine code, and what lanes exchange, are no such thing, whatever unit they go to. It also
stops before an answer can come, which takes as long as the L2 does, at least, from when the core asked for it, or another one
whose answer it shares (`network/request_coalescer.py`). Until the clock has caught up, the network leaves its requests where they
are and no CTA moves in.
"""

from typing import Any

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.state import Outcome
from simtlab.machine.core.core import tick
from simtlab.machine.core.cta_slots import has_room
from simtlab.machine.core.stall import NO_WARP
from simtlab.program.action import Action

SPENT = int(Outcome.SPENT)
MOST_CYCLES = 64  # and to a multiple of them, so that cores meet again and host threads can tick them together
CALLS_HOST = [int(Action.SERVICE), int(Action.TRAP), int(Action.LIBRARY_CALL)]


def is_allowed(gpu: Any, dual_issue: bool) -> bool:
    """Whether cores may, with one program that does not call the host: nothing but its memory instructions and the end of a CTA
    may concern anybody else."""
    return not dual_issue and gpu.shares_state == 0 and gpu.hooks.divergence_first == 0 and gpu.hooks.divergence_turn == 0


def note_least_trips(gpu: Any) -> None:
    """How soon an answer can come: not before the L2 has had a request for its latency, of which the first cycle may be about to
    come. Where clocks change, and of reads that a policy may send around the L2, nobody knows."""
    cycles = max(gpu.l2_latency - 1, 0) if gpu.hooks.clocks_choose == 0 else 0
    gpu.least_trip = cycles * gpu.core_khz // max(int(gpu.l2.khz), 1)
    gpu.least_read_trip = gpu.least_trip if gpu.hooks.l2_allocation_bypass == 0 else 0


def calls_host(program: Any) -> bool:
    return bool(np.isin(program.code["action"], CALLS_HOST).any())


@compiled
def run_ahead(gpu, core, requests):
    """Go on with a core as far as it concerns nobody else."""
    now = gpu.cycle
    last = min(now // MOST_CYCLES * MOST_CYCLES + MOST_CYCLES, gpu.until, core.next_sample - 1)
    gpu.runs_ahead = 1
    while gpu.wake[core.number] <= last and is_alone(gpu, core):
        gpu.cycle = gpu.wake[core.number]
        tick(gpu, core, requests)
        if core.chosen != NO_WARP:
            break
    gpu.runs_ahead = 0
    gpu.ahead = max(gpu.ahead, gpu.cycle)
    gpu.cycle = now


@compiled
def is_alone(gpu, core):
    """Whether a core's next cycle cannot depend on, or matter to, anything outside, unless a warp issues a memory instruction. One
    without warps has nothing to go on with; to one that has room CTAs may come."""
    if core.occupied == 0 or gpu.injecting[core.number] > 0 or gpu.outcome != SPENT or core.deferred != 0:
        return False
    if core.outstanding > 0 and gpu.wake[core.number] >= core.first_answer:
        return False
    return not ((gpu.dispatching or gpu.places_ctas) and has_room(gpu, core, gpu.kernel[0]))


@compiled
def is_ahead(gpu, core):
    """Whether a core has had this cycle already, before it comes."""
    return core.ticked >= gpu.cycle
