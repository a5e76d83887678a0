"""The clocks are set once: `core` and `memory` are 0 for low, 1 for usual, 2 for high, as far as clocks.step_percent says."""

import numpy as np

from simtlab.policies.hook import clocks, hook

state = np.dtype([("core", "i8"), ("memory", "i8"), ("period", "i8")])
parameters = {"core": 1, "memory": 1, "period": 1_048_576}
limits = {"core": (0, 2), "memory": (0, 2), "period": (1, None)}


@hook
def choose(gpu, own, level, cycle):
    return clocks(own.core, own.memory)
