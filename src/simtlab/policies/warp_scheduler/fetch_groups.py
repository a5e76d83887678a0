"""Two-level scheduling with fetch groups (Narasiman et al., MICRO 2011).

Warps belong to groups of `group_size`. Round robin within the current group; when all its warps wait, the next group that
has a ready warp takes over, so that groups reach long-latency operations at different times.
"""

import numpy as np

from simtlab.policies.hook import bit_of, hook, next_after

source = "Narasiman et al., MICRO 2011; BOOK 5.1.2"
bytes_a_core = 2 * 2  # of two schedulers: the group, the last warp
state = np.dtype([("group", "i8"), ("last", "i8"), ("group_size", "i8")])
parameters = {"group_size": 8}
limits = {"group_size": (1, 64)}


@hook
def pick(core, own, ready, cycle):
    groups = (core.warp_slots + own.group_size - 1) // own.group_size
    for k in range(groups):
        group = (own.group + k) % groups
        members = np.uint64(np.uint64(bit_of(own.group_size) - np.uint64(1)) << np.uint64(group * own.group_size))
        choice = np.uint64(ready & members)
        if choice != 0:
            own.group = group
            return next_after(choice, own.last)
    return -1


@hook
def on_issue(core, own, warp, cycle):
    own.last = warp
