"""The record of a core's L0 instruction caches; `l0_instruction_cache` says what they do."""

from simtlab.machine.limits import MAX_L0_LINES, MAX_SUB_CORES, MAX_WARPS
from simtlab.machine.memory.cache import cache_t
from simtlab.machine.record import record_t

l0_t = record_t(
    [
        ("enabled", "i8"),
        ("latency", "i8"),  # of a line from the L1,
        ("line_cycles", "i8"),  # … which keeps the next for the same L0 so long,
        ("next_line", "i8", (MAX_SUB_CORES,)),  # … and when that can
        ("prefetch_lines", "i8"),
        ("stream_first", "i8", (MAX_SUB_CORES,)),  # lines that were prefetched one after the other, by sub-core: the first,
        ("stream_end", "i8", (MAX_SUB_CORES,)),  # … and the first that was not
        ("line", "i8", (MAX_WARPS,)),  # that comes for a warp, or -1,
        ("line_at", "i8", (MAX_WARPS,)),  # … and when it is there
        ("hits", "i8"),
        ("misses", "i8"),
        ("cache", cache_t(MAX_L0_LINES), (MAX_SUB_CORES,)),
    ]
)
