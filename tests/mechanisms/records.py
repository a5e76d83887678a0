"""Records of a core and of a mechanism's state, to call single hooks with: for worked examples."""

from types import ModuleType

import numpy as np

from simtlab.machine.core.state import core_t


def core_with(warps: int) -> np.record:
    """A core with that many warps, the first the oldest, and an L1 of four sets of two lines."""
    core = np.zeros(1, core_t).view(np.recarray)[0]
    core.warp_slots, core.occupied = warps, (1 << warps) - 1
    core.slots["age"] = np.arange(len(core.slots))
    core.l1d.sets, core.l1d.ways, core.l1d.line_bytes, core.l1d.line_shift = 4, 2, 128, 7
    core.mshr.entries, core.inject.limit = 32, 8
    return core


def state_of(mechanism: ModuleType, **parameters: int) -> np.record:
    """A mechanism's state as a launch begins."""
    own = np.zeros(1, mechanism.state).view(np.recarray)[0]
    for name, value in (mechanism.parameters | parameters).items():
        own[name] = value
    return own
