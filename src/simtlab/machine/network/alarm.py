"""When each output of a network has something to do next: a network asks only the outputs whose time has come.

The cost of a tick follows the outputs with something to wait for, and a tick before the first alarm costs nothing.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.network.packet import FAR_FUTURE

DUE = -1  # instead of a time, while the tick that serves the output lasts


def alarm_t(outputs: int) -> np.dtype:
    return np.dtype(
        [
            ("now", "i8"),  # the last cycle ticked
            ("first", "i8"),  # the earliest alarm: a tick before changes nothing
            ("time", "i8", (outputs,)),  # of each output: nothing changes there before
            ("is_listed", "i1", (outputs,)),
            ("listed", "i4", (outputs,)),  # the outputs that have an alarm
            ("listed_count", "i4"),
            ("due", "i4", (outputs,)),  # the outputs to be served in this tick
            ("due_count", "i4"),
        ],
        align=True,
    )


def quiet(alarm: np.record) -> None:
    """No alarm is set and no cycle has passed."""
    alarm["now"] = -1
    alarm["first"] = FAR_FUTURE
    alarm["time"] = FAR_FUTURE


@compiled
def wake_at(alarm, output, cycle):
    """Something may change at an output at a cycle: in the tick that is under way, or later."""
    if cycle >= alarm.time[output]:
        return
    if cycle <= alarm.now:
        make_due(alarm, output)
    else:
        set_alarm(alarm, output, cycle)


@compiled
def make_due(alarm, output):
    alarm.time[output] = DUE
    alarm.due[alarm.due_count] = output
    alarm.due_count += 1


@compiled
def set_alarm(alarm, output, cycle):
    """Serve an output at a cycle and not before; FAR_FUTURE: when somebody wakes it."""
    alarm.time[output] = cycle
    if cycle == FAR_FUTURE:
        return
    alarm.first = min(alarm.first, cycle)
    if alarm.is_listed[output] == 0:
        alarm.is_listed[output] = 1
        alarm.listed[alarm.listed_count] = output
        alarm.listed_count += 1


@compiled
def find_due(alarm, cycle):
    """List the outputs whose time has come; the others sleep on."""
    alarm.due_count = 0
    first = FAR_FUTURE
    kept = 0
    for place in range(alarm.listed_count):
        output = alarm.listed[place]
        time = alarm.time[output]
        if cycle < time < FAR_FUTURE:
            alarm.listed[kept] = output
            kept += 1
            first = min(first, time)
            continue
        alarm.is_listed[output] = 0
        if time <= cycle:
            make_due(alarm, output)
    alarm.listed_count = kept
    alarm.first = first
