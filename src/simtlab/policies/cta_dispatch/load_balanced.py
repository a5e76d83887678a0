"""The core with the fewest CTAs takes the next one (DYNCTA Table I)."""

from simtlab.policies.hook import NO_CORE, hook


@hook
def choose(gpu, own, kernel, cycle):
    best = NO_CORE
    for c in range(gpu.cores):
        if gpu.room[c] and (best == NO_CORE or gpu.resident[c] < gpu.resident[best]):
            best = c
    return best
