"""The L0 instruction caches: a small one in each sub-core, in front of the core's L1 instruction cache.

A line that a sub-core has not got is read from the L1 and is there some cycles later; each L0 takes one line after another. A
stream prefetcher beside it reads the lines behind one that missed, and goes on as long as the sub-core follows it (Huerta et al.,
MICRO 2025, who suspect such a stream buffer). A line that comes for a warp is the warp's even if others evict it.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import plan_release
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.limits import MAX_LATENCY
from simtlab.machine.memory.cache import NO_WAY, install, line_of, probe, touch

NOT_THERE = -1


@compiled
def when_there(core, w, address):
    """When the line of an address is there for a warp, or NOT_THERE if it has to be read from the L1."""
    l0 = core.l0
    if l0.line[w] == line_of(core.l1i, address):
        return l0.line_at[w]
    cache = l0.cache[core.sub_core_of[w]]
    way = probe(cache, address)
    if way == NO_WAY:
        return np.int64(NOT_THERE)
    touch(cache, way)
    return cache.asked[way]


@compiled
def read_line(core, sub_core, address, cycle):
    """Read a line that the L1 has. Gives the cycle in which it is there."""
    l0 = core.l0
    given = max(l0.next_line[sub_core], cycle)
    l0.next_line[sub_core] = given + l0.line_cycles
    core.l1i_hits += 1
    touch(core.l1i, probe(core.l1i, address))
    install(l0.cache[sub_core], address, given + l0.latency)
    return given + l0.latency


@compiled
def wait_for_line(core, w, address, there, cycle):
    """A line comes for the warp."""
    core.l0.line[w] = line_of(core.l1i, address)
    fetch_again(core, w, there, cycle)


@compiled
def fetch_again(core, w, there, cycle):
    """The warp is fetched for again in a later cycle."""
    core.l0.line_at[w] = there
    core.fetching = np.uint64(core.fetching | bit_of(w))
    core.moved = core.changed = cycle
    plan_release(core, w, min(there, cycle + MAX_LATENCY))


@compiled
def is_followed(core, sub_core, address):
    """Whether an address is in the stream of lines that the sub-core prefetches."""
    return core.l0.stream_first[sub_core] <= line_of(core.l1i, address) < core.l0.stream_end[sub_core]


@compiled
def stream(core, sub_core, address, end, cycle):
    """Read the lines behind one, as far as the L1 has them and can give them soon. Gives the last line of the stream."""
    l0, line_bytes = core.l0, core.l1i.line_bytes
    line = line_of(core.l1i, address)
    last = min(line + l0.prefetch_lines * line_bytes, end - 1)
    following = line + line_bytes
    if is_followed(core, sub_core, address):
        following = max(following, l0.stream_end[sub_core])
    l0.stream_first[sub_core] = line
    while following <= last and l0.next_line[sub_core] <= cycle + l0.latency:
        if probe(l0.cache[sub_core], following) == NO_WAY:
            way = probe(core.l1i, following)
            if way == NO_WAY or core.l1i.line[way].pending != 0 or core.l1i.asked[way] > cycle:
                break
            read_line(core, sub_core, following, cycle)
        following += line_bytes
    l0.stream_end[sub_core] = following
    return following - line_bytes
