"""DYNCTA (Kayiran, Jog, Kandemir, Das, PACT 2013): as many CTAs as a core can use, found while it runs.

Every 2,048 cycles a core looks at how long it had nothing to issue (C_idle) and how long all its warps waited for data (C_mem).
Idle for long, or hardly waiting: one CTA more. Waiting for long: one less, and the youngest pauses (Algorithm 1, section IV).
"""

import numpy as np

from simtlab.machine.core.kinds import Activity
from simtlab.policies.hook import hook

source = "Kayiran, Jog, Kandemir, Das, PACT 2013; BOOK 5.1.1"
bytes_a_core = 1 + 2 * 2  # the limit; cycles idle and waiting for memory
MEMORY, IDLE = int(Activity.MEMORY), int(Activity.IDLE)
parameters = {"idle": 16, "memory_low": 128, "memory_high": 384, "start": 0, "period": 2048}  # start: 0 is half of what fits
limits = {"idle": (0, 1_000_000), "memory_low": (0, 1_000_000), "memory_high": (0, 1_000_000), "start": (0, 32)}
state = np.dtype([
    *((name, "i8") for name in parameters),
    ("n", "i8"), ("seen_idle", "i8"), ("seen_memory", "i8"),
    ("samples", "i8"), ("limits", "i8"), ("raised", "i8"), ("lowered", "i8"),
])  # fmt: skip
counters = {
    "samples": ("samples", "Times that a core with CTAs looked at its counts."),
    "limits": ("CTAs", "The limit that it had after each of them, summed: over `samples`, its mean."),
    "raised": ("samples", "Times that the limit went up by one."),
    "lowered": ("samples", "Times that the limit went down by one."),
}


@hook
def sample(core, own, most, cycle):
    idle, memory = core.n_activity[IDLE] - own.seen_idle, core.n_activity[MEMORY] - own.seen_memory
    own.seen_idle, own.seen_memory = core.n_activity[IDLE], core.n_activity[MEMORY]
    if core.samples == 0:  # a launch begins
        own.n = min(own.start, np.int64(most)) if own.start > 0 else max(1, np.int64(most) // 2)
    elif idle >= own.idle or memory < own.memory_low:
        if own.n < np.int64(most):
            own.n += 1
            own.raised += 1
    elif memory >= own.memory_high and own.n > 1:
        own.n -= 1
        own.lowered += 1
    if core.resident > 0:
        own.samples += 1
        own.limits += own.n
    return own.n
