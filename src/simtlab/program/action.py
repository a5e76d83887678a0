"""What the executor does with an instruction, and the state spaces it can touch."""

from enum import IntEnum


class Action(IntEnum):
    COMPUTE = 0  # call the native function on the registers
    BRANCH = 1
    LOAD = 2
    STORE = 3
    ATOMIC = 4
    EXIT = 5  # the active lanes end
    BARRIER = 6
    CALL = 7
    RETURN = 8
    INDIRECT_BRANCH = 9
    INDIRECT_CALL = 10
    NOTHING = 11
    FENCE = 12
    TIME = 13  # as COMPUTE, after bringing the context's clocks up to date
    TEXTURE = 14
    SURFACE = 15
    TRAP = 16
    SERVICE = 17  # a call of something the host provides: vprintf, malloc, free, __assertfail
    WARP_BARRIER = 18  # call the native function, which names the lanes that may not take part


class Space(IntEnum):
    GLOBAL = 0
    SHARED = 1
    LOCAL = 2
    CONST = 3
    GENERIC = 4


class Service(IntEnum):
    """Functions that device code expects to be there."""

    VPRINTF = 0
    ASSERT_FAIL = 1
    MALLOC = 2
    FREE = 3


SERVICES = {
    "vprintf": Service.VPRINTF,
    "__assertfail": Service.ASSERT_FAIL,
    "malloc": Service.MALLOC,
    "free": Service.FREE,
}


class BarrierKind(IntEnum):
    SYNC = 0
    ARRIVE = 1
    COUNT = 2  # bar.red.popc
    AND = 3
    OR = 4
