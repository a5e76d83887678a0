"""Telling mechanisms what happens in a unit (see `hooks.EVENTS`): each that listens is called with its state there."""

import numpy as np

from simtlab.compiled import call_hook, compiled, seldom
from simtlab.machine.hooks import EVENT_NUMBERS, MAX_LISTENERS

ALLOW = EVENT_NUMBERS["allow"]


@compiled
def is_heard(gpu, event):
    """Whether anybody listens to an event."""
    return is_among(gpu.hooks.listening, event)


@compiled
def is_among(events, event):
    """Whether a set of events, `gpu.hooks.listening` or False for none, has one."""
    return np.uint64(events) >> np.uint64(event) & np.uint64(1) != 0


@seldom
@compiled
def tell(gpu, unit, event, argument):
    """An event of a unit (a core, or a slice of the L2)."""
    for k in range(MAX_LISTENERS):
        listener = gpu.hooks.listeners[event, k]
        if listener.address == 0:
            return
        call_hook(listener.address, unit.address, unit.own[listener.place], np.uint64(argument), gpu.cycle)


@seldom
@compiled
def narrow(gpu, core, ready):
    """Those of a set of warps that every mechanism allows to issue."""
    for k in range(MAX_LISTENERS):
        listener = gpu.hooks.listeners[ALLOW, k]
        if listener.address == 0 or ready == 0:
            return ready
        ready = np.uint64(call_hook(listener.address, core.address, core.own[listener.place], ready, gpu.cycle))
    return ready
