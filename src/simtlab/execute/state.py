"""The state of a launch as records: warps with their SIMT stacks, CTAs with their barriers, a worker for each host thread.

Tables have a fixed capacity and a run-time size, so that no launch compiles anything anew.
"""

from enum import IntEnum

import numpy as np

from simtlab.program.action import N_CONVERGENCE
from simtlab.program.context import context_t

MAX_WARPS = 32  # of a CTA: 1024 threads
MAX_STACK = 256  # SIMT stack entries
MAX_CALLS = 128  # nested calls
N_BARRIERS = 16
SHORT_QUANTUM = 240  # a multiple of most short loops' lengths: a warp that spins is in the same place a quantum later
QUANTUM = 32 * SHORT_QUANTUM  # instructions a warp runs before the next one of its CTA has a turn


class WarpStatus(IntEnum):
    RUNNING = 0
    AT_BARRIER = 1
    DONE = 2


class PushOrder(IntEnum):
    """Which side of a branch that parts a warp's lanes goes on the SIMT stack first, and so runs last (BOOK 3.1.1)."""

    MOST_LANES = 0  # as the book has it best, and in Fig 3.4d: the stack's depth stays logarithmic in the lanes
    FEWEST_LANES = 1  # the opposite, as in Fig 3.4c
    TAKEN = 2  # the lanes that fall through always run first: the order of the blocks in Fig 3.4b


class Outcome(IntEnum):
    """Why a warp or a CTA stopped running."""

    SPENT = 0  # its quantum is used up, or a CTA's patience: others may have a turn
    DONE = 1
    BARRIER = 2
    FAULT = 3
    SERVICE = 4  # the host is asked to do something, then the CTA goes on
    STALLED = 5  # a whole pass over its warps changed nothing in memory; of run_ctas: and it never will
    STUCK = 6  # warps wait at barriers that nobody can complete
    STOPPED = 7  # the host asked to stop
    MISLED = 8  # a policy did what it may not


class FaultCode(IntEnum):
    NONE = 0
    OUTSIDE = 1  # an address in no allocation, or outside shared or local memory
    MISALIGNED = 2
    READ_ONLY = 3
    STACK_OVERFLOW = 4
    TRAP = 5
    BAD_CALL = 6
    BAD_BRANCH = 7
    BAD_TEXTURE = 8
    BAD_BARRIER = 9
    NOT_A_MEMBER = 10  # a lane that the membermask of its .sync operation does not name
    NEVER_MET = 11  # lanes wait for others of their warp that wait, too, or have gone elsewhere


window_t = np.dtype(
    [
        ("first", "i8"),
        ("length", "i8"),
        ("host", "i8"),
        ("lane_stride", "i8"),
        ("frame", "i8"),
        ("changes", "i8"),  # atomics that changed memory
        ("flushes", "i8"),  # atomic sums of f32 know no subnormals here: the unit at the L2 cache flushes them
    ]
)

stack_entry_t = np.dtype([("pc", "i4"), ("reconverge", "i4"), ("mask", "u4"), ("calls", "i4")])
call_t = np.dtype([("window", "i8"), ("frame", "i8")])

warp_t = np.dtype(
    [
        ("pc", "i4"),
        ("reconverge", "i4"),
        ("mask", "u4"),  # lanes that execute now
        ("live", "u4"),  # lanes that have not ended
        ("status", "i4"),
        ("depth", "i4"),  # SIMT stack entries below the current one
        ("calls", "i4"),  # nested calls
        ("index", "i4"),
        ("window", "i8"),  # host address of the current register window
        ("registers_end", "i8"),
        ("context_address", "i8"),
        ("local_window_address", "i8"),
        ("flow_address", "i8"),
        ("executed", "i8"),
        ("seen_changes", "i8"),  # the three fields of the search for a cycle in the warp's states
        ("seen_state", "u8"),
        ("seen_power", "i4"),
        ("seen_steps", "i4"),
        ("cycling", "i4"),
        ("turns", "i4"),  # YIELDs, in PTX backward branches, since a split of the warp waited for something, or began
        ("met", "i4"),  # it has used convergence barriers
        ("local_window", window_t),
    ],
    align=True,
)

# Where a warp's lanes go (warp_parts.py says how it is reached).
flow_t = np.dtype(
    [
        ("stack", stack_entry_t, (MAX_STACK,)),
        ("call", call_t, (MAX_CALLS,)),  # of each nested call, what the caller had
        ("convergence", "u4", (N_CONVERGENCE, 32)),  # for each convergence barrier and lane, the lanes that it meets there
        ("comes_back", "i4", (32,)),  # where each lane goes at ENDCOLLECTIVE; 0 of those that have come to no COLLECTIVE
        ("leads", "u4"),  # the lanes of the split whose COLLECTIVE all execute; they go on by themselves behind it
    ],
    align=True,
)

barrier_t = np.dtype(
    [("arrived", "i4"), ("expected", "i4"), ("waiting", "u4"), ("count", "i4"), ("all", "i4"), ("any", "i4")]
)

cta_t = np.dtype(
    [
        ("number", "i8"),  # linear index in the grid
        ("n_warps", "i4"),
        ("n_done", "i4"),
        ("active", "i4"),
        ("quantum", "i4"),
        ("next_warp", "i4"),
        ("events", "i4"),  # barriers released and warps ended
        ("registers", "i8"),  # host addresses of the slot's memory
        ("local", "i8"),
        ("shared_window", window_t),
        ("shared_window_address", "i8"),
        ("barriers", barrier_t, (N_BARRIERS,)),
        ("warps", warp_t, (MAX_WARPS,)),
        ("context", context_t, (MAX_WARPS,)),  # of each
        ("flow", flow_t, (MAX_WARPS,)),
    ],
    align=True,
)

launch_t = np.dtype(
    [
        ("code_address", "i8"),
        ("targets", "i8"),
        ("entries", "i8"),
        ("n_entries", "i8"),
        ("n_instructions", "i8"),
        ("allocations", "i8"),
        ("n_allocations", "i8"),
        ("arena", "i8"),  # host address of device address HEAP_BASE
        ("textures", "i8"),
        ("n_textures", "i8"),
        ("stop", "i8"),  # the host wants everybody to stop
        ("next_cta", "i8"),
        ("next_cta_address", "i8"),  # of the field above: host threads share it
        ("n_ctas", "i8"),
        ("one_by_one", "i8"),  # CTAs talk to each other: one host thread runs them all in a fixed order
        ("grid", "i8", (3,)),
        ("block", "i8", (3,)),
        ("threads", "i8"),
        ("n_cores", "i8"),  # for %smid
        ("strays", "i8"),  # host address of a count and a first address for each instruction; 0: accesses that stray are faults
        ("workspace", "i8"),  # of a cooperative launch, where its CTAs meet; 0 of others
        ("clock_khz", "i8"),  # of %clock64, for %globaltimer, which counts nanoseconds
        ("push_order", "i8"),  # a PushOrder
        ("divergence_hook", "i8"),  # address of a policy's hook that decides instead, or 0; and of its state
        ("turn_hook", "i8"),  # … of its hook that chooses among splits, or 0
        ("divergence_own", "i8"),
        ("register_bytes", "i8"),  # of a warp
        ("shared_bytes", "i8"),
        ("local_bytes", "i8"),  # of a thread
        ("parameters", "i8"),
        ("parameter_address", "i8"),
        ("dynamic_shared", "i8"),
    ]
)

worker_t = np.dtype(
    [
        ("windows", "i8"),  # one cached memory window per instruction
        ("changes", "i8"),  # stores, and atomics that changed memory
        ("executed", "i8"),
        ("counts", "i8"),  # host address of a row for each instruction (counting.py), or 0: nobody asks
        ("seen", "i8"),  # … and of the table of lines that it has touched
        ("fault", "i4"),
        ("fault_pc", "i4"),
        ("fault_warp", "i4"),
        ("fault_lane", "i4"),
        ("fault_address", "i8"),
        ("service_warp", "i4"),
        ("service_mask", "u4"),
    ],
    align=True,
)

allocation_t = np.dtype([("start", "i8"), ("end", "i8"), ("writable", "i8")])


def field_offset(dtype: np.dtype, field: str) -> int:
    """Where a field stands in a record, in bytes."""
    assert dtype.fields is not None
    return dtype.fields[field][1]
