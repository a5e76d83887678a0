"""Oldest first: always the ready warp that has been in the core longest."""

from simtlab.policies.hook import hook
from simtlab.policies.hook import oldest as oldest_of


@hook
def pick(core, own, ready, cycle):
    return oldest_of(core, ready)
