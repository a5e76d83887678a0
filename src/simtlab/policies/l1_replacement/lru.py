"""The line used longest ago is evicted; an empty one first."""

from simtlab.policies.hook import NO_WAY, hook, is_empty, may_go


@hook
def victim(lines, own, ways, cycle):
    best = NO_WAY
    for way in range(ways):
        if is_empty(lines[way]):
            return way
        if may_go(lines[way]) and (best == NO_WAY or lines[way].used < lines[best].used):
            best = way
    return best
