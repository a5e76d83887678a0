"""Sets of warp slots or CTA slots, 64 bits each, and the whole numbers of a policy's state."""

from collections.abc import Iterable

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import lowest_bit
from simtlab.machine.core.scoreboard import bit_of


@compiled
def each(members):
    """The members of a set, the lowest first: `for w in each(ready)`."""
    while members != 0:
        w = lowest_bit(members)
        members = np.uint64(members & ~bit_of(w))
        yield w


@compiled
def added(members, w):
    return np.uint64(members | bit_of(w))


@compiled
def removed(members, w):
    return np.uint64(members & ~bit_of(w))


def whole_numbers(*names: Iterable[str]) -> list[tuple[str, str]]:
    """Fields of a state, one whole number each: `np.dtype([*whole_numbers(parameters, counters, ["last"]), …])`."""
    return [(name, "i8") for some in names for name in some]
