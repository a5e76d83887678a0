"""A core's cycle, in hardware order, and its sleep: a core that can do nothing is not ticked until something happens."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.cta_slots import leave_if_drained
from simtlab.machine.core.execution_units import dispatch, write_back
from simtlab.machine.core.fetch import fetch, instructions_came
from simtlab.machine.core.inflight import count_bits, next_planned
from simtlab.machine.core.issue import DISPATCH, ISSUED, MATH_PIPE_THROTTLE, MIO_THROTTLE, NOT_SELECTED, count_cause, issue
from simtlab.machine.core.ldst import answered, serve
from simtlab.machine.core.operand_collector import read_operands
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.fifo import pop
from simtlab.machine.memory.l1 import (
    BY_MSHR,
    NOBODY,
    NONE,
    fill_line,
    fill_read_only,
    release,
    take_waiter,
)
from simtlab.machine.request import Kind, end

INSTRUCTION, CONSTANT, TEXTURE = int(Kind.INSTRUCTION), int(Kind.CONSTANT), int(Kind.TEXTURE)
WRITE = int(Kind.WRITE)


@compiled
def tick(gpu, core, code, timing, requests):
    """One core cycle."""
    account_for_sleep(gpu, core)
    take_answers(gpu, core, timing, requests)
    write_back(gpu, core, timing)
    if core.detail == 3:
        dispatch(core, timing, gpu.cycle)
        read_operands(core, gpu.cycle)
    serve(gpu, core, requests)
    issue(gpu, core, code, timing)
    fetch(gpu, core, timing, requests)
    core.ticked = gpu.cycle
    core.occupied_warp_cycles += count_bits(core.occupied)
    fall_asleep(gpu, core)


@compiled
def account_for_sleep(gpu, core):
    """Cycles slept through had the causes of the cycle before."""
    slept = gpu.cycle - core.ticked - 1
    if slept <= 0:
        return
    for scheduler in range(core.schedulers):
        count_cause(gpu, core, scheduler, slept)
    if core.ldst_blocked != NONE:
        core.l1_fail[core.ldst_blocked] += slept
    core.occupied_warp_cycles += slept * count_bits(core.occupied)
    core.ticked = gpu.cycle - 1


@compiled
def close_account(gpu, core):
    """The launch is over: account for the last cycles, up to and including this one."""
    core.ticked -= 1
    account_for_sleep(gpu, core)
    core.ticked = gpu.cycle


@compiled
def fall_asleep(gpu, core):
    """A cycle in which nothing went on would repeat itself: sleep until a result is due or something comes from outside.

    Causes that end by themselves (a busy unit, a policy that holds back) keep the core awake.
    """
    gpu.wake[core.number] = gpu.cycle + 1
    if gpu.jump == 0 or core.moved == gpu.cycle or core.responses.count > 0:
        return
    for scheduler in range(core.schedulers):
        cause = core.cause[scheduler]
        if cause in (ISSUED, MATH_PIPE_THROTTLE, MIO_THROTTLE, DISPATCH, NOT_SELECTED):
            return
    gpu.wake[core.number] = next_planned(core, gpu.cycle + 1)


@compiled
def take_answers(gpu, core, timing, requests):
    """One answer from memory a cycle goes where it is waited for."""
    if core.responses.count == 0:
        return
    number = pop(core.responses)
    core.moved = gpu.cycle
    request = requests.entry[number]
    request.returned = gpu.cycle
    gpu.last_progress = gpu.cycle
    if request.kind == WRITE:
        acknowledge(core, request.warp)
    elif request.kind == INSTRUCTION:
        instructions_came(core, request.address)
    else:
        if request.kind == CONSTANT:
            fill_read_only(core.l1c, request.address)
        elif request.kind == TEXTURE:
            fill_read_only(core.l1t, request.address)
        if request.token == BY_MSHR:
            entry = fill_line(core, request.address)
            token = take_waiter(core.mshr, entry)
            while token != NOBODY:
                answered(gpu, core, token)
                token = take_waiter(core.mshr, entry)
            release(core.mshr, entry)
        else:
            answered(gpu, core, request.token)
        core.round_trips += 1
        core.round_trip_cycles += gpu.cycle - request.born
    end(requests, number)


@compiled
def acknowledge(core, w):
    """A write has reached memory."""
    slot = core.slots[w]
    slot.stores -= 1
    if slot.stores == 0:
        core.membar = np.uint64(core.membar & ~bit_of(w))
        leave_if_drained(core, w)
