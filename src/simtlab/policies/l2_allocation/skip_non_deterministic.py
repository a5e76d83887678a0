"""Non-deterministic loads (LOADS: their addresses were loaded themselves) go around the L2, and leave it to the others."""

from simtlab.policies.hook import hook


@hook
def bypass(slice, own, request, cycle):
    return slice.cache.access.deterministic == 0
