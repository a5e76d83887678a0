"""Lines of a cache by when they were used, for replacement policies."""

from simtlab.compiled import compiled
from simtlab.machine.memory.cache import NO_WAY, is_empty, may_go


@compiled
def least_recent(cache, first, end):
    """Of the lines from cache.line[first] to before `end` an empty one, else the least recently used that may go, or NO_WAY."""
    best = NO_WAY
    for way in range(first, end):
        if is_empty(cache.line[way]):
            return way
        if may_go(cache.line[way]) and (best == NO_WAY or cache.line[way].used < cache.line[best].used):
            best = way
    return best
