"""What the machine takes for an answer, by kind: which answers are allowed, in words and as a check, and what it does instead.

The check is compiled together with the hook that answers. A policy that answers anything else is stopped there, and the run with
it (see `policies.trouble`), so that no other part of the machine ever meets an impossible warp, way or bank.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.cta_slots import waits
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.limits import MAX_CTAS, MAX_DRAM_BANKS, MAX_WARPS
from simtlab.machine.memory.cache import may_go
from simtlab.machine.state import AS_USUAL, N_LEVELS

NOBODY = -1  # NO_WARP, NO_CORE, NEXT_CTA, NO_WAY, NO_BANK, NO_SPLIT
WARP_SIZE = 32
HIGHEST = 3  # priority of a request


@dataclass(frozen=True)
class Answer:
    """`legal(unit, argument, answer)` says whether an answer is allowed; `instead` is the one that is always harmless."""

    allowed: str
    legal: Callable
    instead: int


@compiled
def is_warp_of_set(core, ready, answer):
    return answer == NOBODY or (0 <= answer < MAX_WARPS and np.uint64(ready) & bit_of(answer) != 0)


@compiled
def is_core_with_room(gpu, kernel, answer):
    return answer == NOBODY or (0 <= answer < gpu.cores and gpu.room[answer] != 0)


@compiled
def is_waiting_cta(gpu, core, answer):
    return answer == NOBODY or waits(gpu, answer)


@compiled
def is_number_of_ctas(core, most, answer):
    return 0 <= answer <= MAX_CTAS


@compiled
def is_yes_or_no(unit, argument, answer):
    return 0 <= answer <= 1


@compiled
def is_way_that_may_go(cache, first, answer):
    return answer == NOBODY or (np.int64(first) <= answer < np.int64(first) + cache.ways and may_go(cache.line[answer]))


@compiled
def is_position(cache, way, answer):
    return 0 <= answer < cache.ways


@compiled
def is_place_in_queue(core, count, answer):
    return 0 <= answer < np.int64(count)


@compiled
def is_priority(unit, argument, answer):
    return 0 <= answer <= HIGHEST


@compiled
def is_level(gpu, level, answer):
    return 0 <= answer < N_LEVELS


@compiled
def is_subset(core, ready, answer):
    return np.uint64(answer) & ~np.uint64(ready) == 0


@compiled
def is_contestant(contest, count, answer):
    return 0 <= answer < np.int64(count)


@compiled
def is_bank_of_set(channel, could, answer):
    return answer == NOBODY or (0 <= answer < MAX_DRAM_BANKS and np.uint64(could) & bit_of(answer) != 0)


@compiled
def is_split_of_set(warp, could, answer):
    return answer == NOBODY or (0 <= answer < WARP_SIZE and np.uint64(could) & bit_of(answer) != 0)


@compiled
def is_anything(unit, argument, answer):
    return True


ANSWERS = {
    "nothing": Answer("nothing", is_anything, 0),
    "warp": Answer("a warp slot of the set `ready`, or NO_WARP (-1)", is_warp_of_set, NOBODY),
    "core": Answer("a core c with gpu.room[c], or NO_CORE (-1)", is_core_with_room, NOBODY),
    "cta": Answer("a CTA that `waits`, or NEXT_CTA (-1)", is_waiting_cta, NOBODY),
    "ctas": Answer(f"a number of CTAs from 0 to {MAX_CTAS}", is_number_of_ctas, 1),
    "yes or no": Answer("0 or 1", is_yes_or_no, 0),
    "way": Answer("a line from `first` to `first + cache.ways - 1` that `may_go`, or NO_WAY (-1)", is_way_that_may_go, NOBODY),
    "position": Answer("a place from 0 to `cache.ways - 1`", is_position, 0),
    "place": Answer("a place from 0 to `count` - 1", is_place_in_queue, 0),
    "priority": Answer(f"a priority from 0 to {HIGHEST}", is_priority, 0),
    "level": Answer("`clocks(core, memory)`, each LOW, USUAL or HIGH", is_level, AS_USUAL),
    "subset": Answer("warps of the set `ready`", is_subset, 0),
    "contestant": Answer("a place from 0 to `count` - 1", is_contestant, 0),
    "split": Answer("a place of the set `could`, or NO_SPLIT (-1)", is_split_of_set, NOBODY),
    "bank": Answer("a bank of the set `could`, or NO_BANK (-1)", is_bank_of_set, NOBODY),
}
