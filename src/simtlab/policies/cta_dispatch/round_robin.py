"""Cores in turn, each taking one CTA when it has room (the usual baseline; CAPS Fig 3)."""

import numpy as np

from simtlab.policies.hook import NO_CORE, hook

state = np.dtype([("turn", "i8")])


@hook
def choose(gpu, own, kernel, cycle):
    for k in range(gpu.cores):
        c = (own.turn + k) % gpu.cores
        if gpu.room[c]:
            own.turn = (c + 1) % gpu.cores
            return c
    return NO_CORE
