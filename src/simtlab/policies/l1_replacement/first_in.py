"""The line filled longest ago is evicted, whatever was used since; an empty one first."""

from simtlab.policies.hook import NO_WAY, hook, is_empty, may_go


@hook
def victim(cache, own, first, cycle):
    best = NO_WAY
    for way in range(first, first + cache.ways):
        if is_empty(cache.line[way]):
            return way
        if may_go(cache.line[way]) and (best == NO_WAY or cache.line[way].filled < cache.line[best].filled):
            best = way
    return best
