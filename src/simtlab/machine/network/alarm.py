"""When each output of a network has something to do next: a network asks only the outputs whose time has come.

The cost of a tick follows the outputs with something to wait for, and a tick before the first alarm costs nothing. Sets of
outputs are words of bits, a word for every 64 of them.
"""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.machine.bit_set import WORD_BITS, bit_in_word
from simtlab.machine.network.packet import FAR_FUTURE


def alarm_t(outputs: int) -> np.dtype:
    words = -(-outputs // WORD_BITS)
    return np.dtype(
        [
            ("now", "i8"),  # the last cycle ticked
            ("first", "i8"),  # the earliest alarm: a tick before changes nothing
            ("words", "i8"),
            ("listed", "u8", (words,)),  # the outputs that have an alarm
            ("due", "u8", (words,)),  # the outputs to be served in this tick
            ("time", "i8", (outputs,)),  # of each output: nothing changes there before
        ],
        align=True,
    )


def quiet(alarm: np.record, outputs: int) -> None:
    """No alarm is set and no cycle has passed, for so many outputs."""
    alarm["now"] = -1
    alarm["first"] = FAR_FUTURE
    alarm["time"] = FAR_FUTURE
    alarm["words"] = -(-outputs // WORD_BITS)


@compiled
def wake_at(alarm, output, cycle):
    """Something may change at an output at a cycle: in the tick that is under way, or later."""
    if cycle >= alarm.time[output]:
        return
    if cycle <= alarm.now:
        alarm.time[output] = cycle
        alarm.due[output >> 6] |= bit_in_word(output)
        alarm.listed[output >> 6] &= ~bit_in_word(output)
    else:
        set_alarm(alarm, output, cycle)


@compiled
def set_alarm(alarm, output, cycle):
    """Serve an output at a cycle and not before; FAR_FUTURE: when somebody wakes it."""
    alarm.time[output] = cycle
    alarm.first = min(alarm.first, cycle)
    alarm.listed[output >> 6] |= bit_in_word(output) if cycle < FAR_FUTURE else np.uint64(0)


@compiled
def find_due(alarm, cycle):
    """Find the outputs whose time has come; the others sleep on. Without branches, for nothing could predict them."""
    first = FAR_FUTURE
    for word in range(alarm.words):
        left, due = alarm.listed[word], np.uint64(0)
        while left != 0:
            number = count_trailing_zeros(left)
            left = np.uint64(left & (left - np.uint64(1)))
            time = alarm.time[(word << 6) + number]
            due |= np.uint64(time <= cycle) << np.uint64(number)
            first = min(first, time if time > cycle else FAR_FUTURE)
        alarm.due[word] = due
        alarm.listed[word] &= ~due
    alarm.first = first
