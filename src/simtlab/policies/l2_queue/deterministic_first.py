"""Deterministic loads (LOADS) go before all other requests at an L2 slice: there are few of each, and their warp waits for all."""

from simtlab.policies.hook import hook


@hook
def priority(slice, own, request, cycle):
    return 1 if slice.cache.access.deterministic == 1 else 0
