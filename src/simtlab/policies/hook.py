"""How a policy is written: one file, with a docstring that says what it is and from which paper, and

    state = np.dtype([...])       its hardware, one record for each unit it sits in
    parameters = {...}            fields of the state with their defaults; `limits` says what a parameter may be
    counters = {...}              fields of the state to be seen in every run, each with a unit and a sentence (policies.counters)
    energy_pj = {...}             what each count of a field of the state costs; `static_watts`: what its hardware always draws
    outlives_launch = True        its state stays from one launch to the next, as a table in hardware does
    patient = True                (a warp scheduler) where `pick` holds back, it would again until something in the core changes,
                                  so that the core may sleep
    @hook                         its hooks, by the names of its slot (simtlab.machine.hooks has them all)
    def pick(core, own, ready, cycle): ...

A mechanism fills several slots with one state: its hooks have the slot's name before theirs (`warp_scheduler_pick`), and it may
listen to events (`on_l1_evict`). It also says

    scope = "chip"                its state is one for the whole chip; else each core has its own
    parameters = {"period": 512}  … how often, in cycles, its `on_tick` is called

A hook reads the unit's record and writes only its own state; what it may do to the machine it does through the functions here.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.turns import NO_SPLIT
from simtlab.execute.warp_parts import entry_at
from simtlab.machine.clock_levels import clocks
from simtlab.machine.core.cta_slots import NEXT_CTA, waits
from simtlab.machine.core.inflight import count_bits, lowest_bit
from simtlab.machine.core.preemption import DRAIN, FLUSH, NOTHING, SWITCH, can_flush, stop, switch_cycles
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.core.stall import candidates
from simtlab.machine.dispatch import NO_CORE
from simtlab.machine.memory.cache import NO_WAY, is_empty, may_go
from simtlab.machine.memory.prefetch import prefetch
from simtlab.machine.state import HIGH, LOW, USUAL
from simtlab.policies.looks import (
    NO_LOOP,
    active_lanes,
    compared,
    fact_of,
    is_in_l1,
    is_in_loop,
    memory_warps,
    next_pc,
    waiting,
)

__all__ = [
    "DRAIN", "FLUSH", "HIGH", "LOW", "NEXT_CTA", "NOTHING", "NO_BANK", "NO_CORE", "NO_LOOP", "NO_SPLIT", "NO_WARP", "NO_WAY",
    "SWITCH", "USUAL", "active_lanes", "bit_of", "can_flush", "candidates", "clocks", "compared", "count_bits", "entry_at",
    "fact_of", "hook", "is_empty", "is_in_l1", "is_in_loop", "lowest_bit", "may_go", "memory_warps", "next_after", "next_pc",
    "oldest", "prefetch", "stop", "switch_cycles", "waiting", "waits", "youngest",
]  # fmt: skip

NO_WARP = -1
NO_BANK = -1


@dataclass(frozen=True)
class Hook:
    """A function marked as a hook; it is compiled when its policy is used."""

    function: Callable


def hook(function: Callable) -> Hook:
    return Hook(function)


@compiled
def first_by_age(core, ready, direction):
    """The warp of a set that came to the core first (1) or last (-1)."""
    best = lowest_bit(ready)
    rest = np.uint64(ready & ~bit_of(best))
    while rest != 0:
        w = lowest_bit(rest)
        rest = np.uint64(rest & ~bit_of(w))
        if direction * core.slots[w].age < direction * core.slots[best].age:
            best = w
    return best


@compiled
def oldest(core, ready):
    """The warp of a set that came to the core first."""
    return first_by_age(core, ready, 1)


@compiled
def youngest(core, ready):
    """The warp of a set that came to the core last."""
    return first_by_age(core, ready, -1)


@compiled
def next_after(ready, w):
    """The next warp slot of a set after w, going round."""
    later = np.uint64(ready & ~np.uint64(bit_of(w) | np.uint64(bit_of(w) - np.uint64(1))))
    return lowest_bit(later if later != 0 else ready)
