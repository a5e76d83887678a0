"""What the executor does with an instruction, and the state spaces it can touch."""

from enum import IntEnum

N_CONVERGENCE = 16  # convergence barriers of a warp: B0 to B15
YIELD_AFTER = 16  # backward branches of a split of PTX that are as good as a YIELD, which PTX has not


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
    # Machine code, and PTX with convergence barriers: lanes have a program counter each (`execute/splits.py`).
    SPLIT = 19  # BRA: lanes that disagree part
    JUMP = 20  # BRX, RET, CALL: to where a register says
    MEET = 21  # BSSY: the active lanes will meet at a convergence barrier
    CONVERGE = 22  # BSYNC: wait for them
    LEAVE = 23  # BREAK: lanes that will not come to the barrier
    YIELD = 24
    WARP_SYNC = 25
    SAVE_BARRIER = 26  # BMOV: a convergence barrier's lanes to a register
    RESTORE_BARRIER = 27
    END = 28  # EXIT
    CTA_BARRIER = 29  # BAR: lanes that have parted arrive one after the other
    LIBRARY_CALL = 30  # CALL.ABS: what the host provides, or a function by its address
    COLLECTIVE = 31  # WARPSYNC.COLLECTIVE: lanes execute what follows together, wherever each has come from
    END_COLLECTIVE = 32  # … and each goes where its WARPSYNC said
    EXCLUSIVE = 33  # WARPSYNC.EXCLUSIVE: lanes that name the same lanes go on without the others


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


SERVICE_BASE, SERVICE_STEP = 0x0400_0000_0000, 16  # their addresses in machine code: the base plus the step times the number


class Condition(IntEnum):
    """What decides, beside the guard, which lanes take a branch of machine code."""

    NONE = 0
    PREDICATE = 1
    NOT_PREDICATE = 2
    DIVERGED = 3  # BRA.DIV: all active lanes, unless the guard holds in just those of a uniform register
    CONVERGED = 4
    NEVER = 5
    ANY = 6  # BRA.U.ANY: all active lanes, if the guard holds for one of them


class Members(IntEnum):
    """Where a WARPSYNC finds the lanes that it waits for, and a jump where it goes."""

    ALL = 0
    REGISTER = 1
    UNIFORM = 2
    NUMBER = 3
    INDEX = 4  # brx.idx of PTX: a register has the place in a list of targets


class BarrierKind(IntEnum):
    SYNC = 0
    ARRIVE = 1
    COUNT = 2  # bar.red.popc
    AND = 3
    OR = 4
