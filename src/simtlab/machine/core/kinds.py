"""The words of a core: its units, what an instruction in flight is doing, why a scheduler issues nothing."""

from enum import IntEnum


class Unit(IntEnum):
    """Physical units an instruction can go to."""

    CONTROL = 0  # branches, barriers, fences: dealt with at issue
    SP = 1
    INT = 2
    DP = 3
    SFU = 4
    TENSOR = 5
    LDST = 6
    TEX = 7
    HEAVY = 8  # a float pipe that multiplies integers too
    UNIFORM = 9  # what a warp computes once for all its lanes


class Stall(IntEnum):
    """Why a scheduler issued nothing in a cycle, in Nsight Compute's words; ISSUED if it did."""

    ISSUED = 0
    EMPTY = 1  # no warp to schedule
    NO_INSTRUCTION = 2
    BRANCH_RESOLVING = 3
    WAIT = 4  # a fixed-latency result is not there yet
    SHORT_SCOREBOARD = 5  # a result from shared memory or the special function unit
    LONG_SCOREBOARD = 6  # a result from global, local or texture memory
    BARRIER = 7
    MEMBAR = 8
    MATH_PIPE_THROTTLE = 9
    LG_THROTTLE = 10  # the load/store unit takes no more, for global or local memory
    MIO_THROTTLE = 11  # … for shared memory, or the special function unit takes no more
    DISPATCH = 12  # the scheduler still sends an earlier warp into a narrow SIMD, or all operand collectors are reading
    IMC_MISS = 13  # a constant that is not in its cache
    DRAIN = 14  # the warp ended, its stores are under way
    HELD_BACK = 15  # by the scheduling policy or the throttle (Nsight's "not selected" are warps that another went before)
    TEX_THROTTLE = 16  # the texture unit takes no more
    REPLAY = 17  # the slot went to another pass of an instruction issued before (issue.replay)


class Activity(IntEnum):
    """What a core as a whole did in a cycle, as DYNCTA (section IV) looks at it."""

    ACTIVE = 0  # a warp issued
    MEMORY = 1  # no warp can issue, and some wait for data, or for the load/store unit to take their access: C_mem
    IDLE = 2  # no warp can issue, no pipeline is stalled, and none waits for data: C_idle
    STALLED = 3  # a warp is ready, and its pipeline, other than that to memory, takes nothing


class Pending(IntEnum):
    """What a register waits for."""

    NOTHING = 0
    FIXED = 1
    SHORT = 2
    LONG = 3
    CONSTANT = 4


class WarProtection(IntEnum):
    """How a write is kept from overtaking an earlier read of the same warp (BOOK 3.3.1)."""

    IN_ORDER = 0  # instructions of a warp leave the operand collector in program order
    RELEASE_ON_COMMIT = 1  # one instruction of a warp in flight
    RELEASE_ON_READ = 2  # one instruction of a warp collecting operands
    BLOOMBOARD = 3  # a hashed set of registers still to be read


class OpState(IntEnum):
    FREE = 0
    COLLECTING = 1
    EXECUTING = 2
    IN_LDST = 3
    WAITING = 4  # for memory
