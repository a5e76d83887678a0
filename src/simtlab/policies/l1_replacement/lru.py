"""The line used longest ago is evicted; an empty one first."""

from simtlab.policies.hook import hook
from simtlab.policies.recency import least_recent


@hook
def victim(cache, own, first, cycle):
    return least_recent(cache, first, first + cache.ways)
