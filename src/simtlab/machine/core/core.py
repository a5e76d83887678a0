"""A core's cycle, in hardware order, and its sleep: a core that can do nothing is not ticked until something happens.

While only the load/store unit has something to do, the rest of the core sleeps alone (`core.quiet`).
"""

import numpy as np

from simtlab.compiled import call_hook, compiled, dissolved
from simtlab.machine.core.cta_slots import acknowledge, pause_beyond_limit
from simtlab.machine.core.execution_units import dispatch, look_again, write_back
from simtlab.machine.core.fetch import fetch, instructions_came
from simtlab.machine.core.inflight import count_bits, next_planned
from simtlab.machine.core.issue import issue
from simtlab.machine.core.ldst import answered, is_stuck, line_came, serve
from simtlab.machine.core.loads import answer_came
from simtlab.machine.core.operand_collector import read_operands
from simtlab.machine.core.preemption import go_on
from simtlab.machine.core.stall import (
    DISPATCH,
    HELD_BACK,
    ISSUED,
    MATH_PIPE_THROTTLE,
    MIO_THROTTLE,
    NO_WARP,
    REPLAY,
    count_cause,
    repeat_activity,
)
from simtlab.machine.core.texture_unit import serve_textures, texels_came
from simtlab.machine.fifo import front, pop
from simtlab.machine.hooks import EVENT_NUMBERS, MAX_LISTENERS
from simtlab.machine.memory.cache import install
from simtlab.machine.memory.constant_cache import FIRST_WARP, TOKENS, ask_for_operands, fill_constant
from simtlab.machine.memory.l1 import NOBODY, NONE, fill_line, release, take_waiter, token_of
from simtlab.machine.request import Kind, end
from simtlab.machine.watch_log import note_end

ON_TICK = EVENT_NUMBERS["on_tick"]
INSTRUCTION, CONSTANT, TEXTURE = int(Kind.INSTRUCTION), int(Kind.CONSTANT), int(Kind.TEXTURE)
READ, WRITE, ATOMIC, PREFETCH = int(Kind.READ), int(Kind.WRITE), int(Kind.ATOMIC), int(Kind.PREFETCH)


@compiled
def tick(gpu, core, requests):
    """One core cycle. One that began when the core ran ahead goes on where it was left."""
    if core.chosen == NO_WARP:
        begin_cycle(gpu, core, requests)
    if not core.quiet:
        issue(gpu, core)
        if core.chosen != NO_WARP:
            gpu.wake[core.number], core.ticked = gpu.cycle, gpu.cycle
            return
        core.judged = gpu.cycle
        fetch(gpu, core, requests)
        if core.wants_constant & ~core.asked_constant:
            ask_for_operands(gpu, core, requests)
    core.ticked = gpu.cycle
    count_residents(core, 1)
    fall_asleep(gpu, core)


@dissolved
@compiled
def begin_cycle(gpu, core, requests):
    """All of a cycle that comes before issue."""
    account_for_sleep(core, gpu.cycle)
    if core.starved:
        core.starved, core.refused = 0, np.uint64(0)
    if core.next_sample <= gpu.cycle:
        sample(gpu, core)
    if core.responses.count > 0:
        take_answers(gpu, core, requests)
    write_back(gpu, core)
    if core.detail == 3 and not core.quiet:
        dispatch(core, gpu.cycle)
        read_operands(core, gpu.cycle)
    serve(gpu, core, requests)
    if core.fragments.count > 0:
        serve_textures(gpu, core, requests)
    if not core.quiet:
        repeat_last(core, gpu.cycle - 1)


@compiled
def account_for_sleep(core, cycle):
    """Cycles slept through were as the cycle before."""
    slept = cycle - core.ticked - 1
    if slept <= 0:
        return
    if core.ldst_blocked != NONE:
        core.l1_fail[core.ldst_blocked] += slept
        core.ops[front(core.ldst_queue)].failed[core.ldst_blocked - 1] += slept
    count_residents(core, slept)
    core.ticked = cycle - 1


@compiled
def count_residents(core, cycles):
    """The CTAs and warps that a core had for some cycles."""
    core.occupied_warp_cycles += cycles * count_bits(core.occupied)
    core.resident_cta_cycles += cycles * core.resident
    core.running_cta_cycles += cycles * min(core.resident, core.cta_limit)
    core.used_cycles += cycles * (core.resident > 0)


@compiled
def repeat_last(core, cycle):
    """Nothing has changed for the schedulers up to this cycle: in all since their last the core did the same."""
    cycles = cycle - core.judged
    if cycles > 0:
        repeat_activity(core, core.judged + 1, cycles)
        core.judged = cycle


@compiled
def close_accounts(cores, cycle):
    """Account for the last cycles of all cores, up to and including this one."""
    for c in range(len(cores)):
        core = cores[c]
        core.ticked -= 1
        account_for_sleep(core, cycle)
        repeat_last(core, cycle)
        for scheduler in range(core.schedulers):
            count_cause(core, scheduler, cycle + 1)
        core.ticked = cycle


@compiled
def fall_asleep(gpu, core):
    """A cycle in which nothing went on would repeat itself: sleep until a result is due or something comes from outside.

    Causes that end by themselves (a busy unit, a policy that holds back) keep the core awake.
    """
    gpu.wake[core.number] = gpu.cycle + 1
    if gpu.jump == 0:
        return
    if core.starved:
        core.quiet = 0
        return
    settled = core.quiet or is_settled(gpu, core)
    core.quiet = settled and core.fragments.count == 0
    if core.responses.count > 0 or (gpu.hooks.ldst_queue_next != 0 and core.ldst_queue.count > 1):
        return  # in the next cycle an answer is taken, or another instruction may go on
    if core.moved == gpu.cycle and not (core.quiet and is_stuck(gpu, core)):
        return
    if settled:
        gpu.wake[core.number] = min(next_planned(core, gpu.cycle + 1), core.next_sample)


@compiled
def is_settled(gpu, core):
    """Whether issue, fetch and the collectors would find nothing to do in the next cycle either, whatever the load/store unit does
    short of finishing something. Whom a policy holds back may depend on anything."""
    if core.changed == gpu.cycle:
        return False
    for scheduler in range(core.schedulers):
        cause = core.cause[scheduler]
        if cause in (ISSUED, MATH_PIPE_THROTTLE, MIO_THROTTLE, DISPATCH, REPLAY):
            return False
        if cause == HELD_BACK and (not gpu.patient or core.moved == gpu.cycle):
            return False
    return True


@compiled
def sample(gpu, core):
    """It is time for the CTA throttle, for a mechanism that is told the time, or for a CTA that is being stopped."""
    repeat_last(core, gpu.cycle - 1)
    if core.next_throttle <= gpu.cycle:
        core.next_throttle = gpu.cycle + core.sample_period
        throttle(gpu, core)
    if core.stop_event <= gpu.cycle:
        go_on(gpu, core)
    core.next_sample = min(core.next_throttle, core.stop_event)
    for k in range(MAX_LISTENERS):
        listener = gpu.hooks.listeners[ON_TICK, k]
        if listener.address != 0:
            place = listener.place
            if core.next_tick[place] <= gpu.cycle:
                core.next_tick[place] = gpu.cycle + core.tick_period[place]
                call_hook(listener.address, core.address, core.own[place], np.uint64(core.ticks[place]), gpu.cycle)
                core.ticks[place] += 1
                core.quiet = 0
            core.next_sample = min(core.next_sample, core.next_tick[place])


@compiled
def throttle(gpu, core):
    """The CTA throttle looks at the core and says how many of its CTAs may run."""
    allowed = call_hook(
        gpu.hooks.cta_throttle_sample, core.address, core.own_cta_throttle, np.uint64(core.most_ctas), gpu.cycle
    )
    core.samples += 1
    if allowed != core.cta_limit:
        core.cta_limit = allowed
        core.moved = gpu.cycle
        core.quiet = 0
        gpu.dispatching = gpu.room_changed[core.number] = gpu.any_room_changed = 1
        pause_beyond_limit(core)


@compiled
def take_answers(gpu, core, requests):
    """The oldest answer from memory, and of data those of its line behind it that come in the same cycle."""
    line = take_answer(gpu, core, requests)
    for _ in range(1, gpu.l2_sectors):
        if line < 0 or core.responses.count == 0:
            return
        following = requests.entry[front(core.responses)]
        if following.kind != READ or following.address >> gpu.packet_shift != line:
            return
        line = take_answer(gpu, core, requests)


@compiled
def take_answer(gpu, core, requests):
    """The oldest answer from memory goes where it is waited for. Gives the line that data are of, else -1."""
    number = pop(core.responses)
    core.moved = gpu.cycle
    request = requests.entry[number]
    core.outstanding -= 1
    gpu.last_progress = gpu.cycle
    if request.kind not in (READ, WRITE, ATOMIC):  # of those, what becomes of them says whether anybody need look
        core.quiet = 0
    if request.kind == WRITE:
        acknowledge(gpu, core, request.warp, request.born)
    elif request.kind == INSTRUCTION:
        instructions_came(core, request.address, gpu.cycle)
    else:
        if request.kind == CONSTANT:
            constants_came(gpu, core, request.address)
        elif request.kind == TEXTURE:
            texels_came(core, request.token)
        elif request.token < 0:
            data_came(gpu, core, requests, request)
        else:
            if request.kind == READ:
                answer_came(core, core.ops[request.token], request, True, gpu.cycle)
            answered(gpu, core, request.token)
            if request.kind == ATOMIC:
                acknowledge(gpu, core, request.warp, request.born)
        count_trip(core, request, gpu.cycle)
    if gpu.watch != 0:
        note_end(gpu, request)
    line = request.address >> gpu.packet_shift if request.kind == READ else -1
    end(requests, gpu.thread, number)
    return line


@compiled
def data_came(gpu, core, requests, request):
    """A sector for the L1D: those who wait for it have it."""
    entry = token_of(request.token)
    fill_line(gpu, core, requests, entry, request.address)
    way = core.mshr.entry[entry].way
    token, is_own = take_waiter(core.mshr, entry), request.kind == READ
    while token != NOBODY:
        answer_came(core, core.ops[token], request, is_own, gpu.cycle)
        is_own = False
        line_came(gpu, core, token, way)
        token = take_waiter(core.mshr, entry)
    if request.kind == PREFETCH:
        prefetch_came(gpu, core, core.mshr.entry[entry].warp, request.address)
    release(core.mshr, entry)


@compiled
def constants_came(gpu, core, address):
    """A line for the constant cache: those who wait for it have it."""
    entry = fill_constant(core, address, gpu.cycle)
    waiting = take_waiter(core.mshr_constant, entry)
    while waiting != NOBODY:
        token = waiting % TOKENS
        if core.l15.enabled:
            install(core.l1c, address + waiting // TOKENS * core.l1c.line_bytes, gpu.cycle)
        if token < FIRST_WARP:
            answered(gpu, core, token)
        else:
            slot = core.slots[token - FIRST_WARP]
            slot.granted, slot.grant_at = address + waiting // TOKENS * core.l1c.line_bytes, gpu.cycle
            look_again(core, token - FIRST_WARP, gpu.cycle)
        waiting = take_waiter(core.mshr_constant, entry)
    release(core.mshr_constant, entry)


@compiled
def prefetch_came(gpu, core, warp, address):
    """Data of a prefetch: the prefetcher, and the scheduler of the warp they are for, may want to know."""
    core.prefetch_filled += 1
    if gpu.hooks.prefetcher_on_fill != 0:
        call_hook(gpu.hooks.prefetcher_on_fill, core.address, core.own_prefetcher, np.uint64(address), gpu.cycle)
    if gpu.hooks.warp_scheduler_on_data != 0 and warp >= 0:
        own = core.own_warp_scheduler[warp % core.schedulers]
        call_hook(gpu.hooks.warp_scheduler_on_data, core.address, own, np.uint64(warp), gpu.cycle)


@compiled
def count_trip(core, request, cycle):
    """A request's way, part by part: waiting to leave the core, the network, the L2, DRAM, the network back."""
    core.round_trips += 1
    core.round_trip_cycles += cycle - request.born
    core.trip_inject += request.sent
    core.trip_request += request.arrived - request.sent
    in_dram = request.from_dram - request.to_dram
    core.trip_l2 += request.answered - request.arrived - in_dram
    core.trip_dram += in_dram
    core.trip_reply += cycle - request.born - request.answered
