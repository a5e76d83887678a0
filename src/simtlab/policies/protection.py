"""Lines of the L1 that are protected for so many accesses to their set (Duong et al., MICRO 2012); a use protects a line anew.

A mechanism's state has the parameter `distance` and the field LEFT.
"""

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_L1_LINES
from simtlab.machine.memory.cache import set_of
from simtlab.machine.request import Kind
from simtlab.policies.hook import NO_WAY, is_empty, may_go
from simtlab.policies.looks import line_in_l1

READ = int(Kind.READ)
LEFT = ("left", "i2", (MAX_L1_LINES,))


@compiled
def note_access(core, own, op):
    """The next access of a load goes to its set: each line there has one access less left, and the one it uses has all again."""
    first = set_of(core.l1d, core.ops[op].lines[core.ops[op].served]) * core.l1d.ways
    for way in range(first, first + core.l1d.ways):
        own.left[way] = max(own.left[way] - 1, 0)
    used = line_in_l1(core, op)
    if used != NO_WAY:
        own.left[used] = own.distance


@compiled
def are_all_protected(core, own, op):
    """Whether all lines of the set that the next access of a load goes to are protected."""
    first = set_of(core.l1d, core.ops[op].lines[core.ops[op].served]) * core.l1d.ways
    for way in range(first, first + core.l1d.ways):
        if own.left[way] == 0:
            return False
    return True


@compiled
def least_recent_unprotected(cache, own, first):
    """Of a set's lines an empty one, else the least recently used that may go and is not protected, or NO_WAY."""
    best = NO_WAY
    for way in range(first, first + cache.ways):
        line = cache.line[way]
        if is_empty(line):
            return way
        is_protected = own.left[way] > 0 and cache.access.kind == READ  # a write has nowhere else to go
        if may_go(line) and not is_protected and (best == NO_WAY or line.used < cache.line[best].used):
            best = way
    return best
