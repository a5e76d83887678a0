"""The load/store unit: instructions in order, one line a cycle to the L1; a line that cannot be taken is tried again. A load waits
until its sub-core can take the data of a hit (`l1d.return_cycles`), and instructions of other sub-cores overtake it.

Every cycle in which the L1 rejects an access (a reservation failure) is counted by its cause, as LOADS does: no way free in
the set (tag), no MSHR, no room towards the network.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled
from simtlab.machine.core.coalescer import go_on
from simtlab.machine.core.control_bits import reads_end
from simtlab.machine.core.inflight import plan
from simtlab.machine.core.kinds import OpState, Unit
from simtlab.machine.core.loads import accepted, count_global_load, is_counted
from simtlab.machine.core.state import MAX_OPS, NO_BARRIER
from simtlab.machine.core.timing import Memory, timing_at
from simtlab.machine.events import is_heard, tell
from simtlab.machine.fifo import NOTHING, bring_forward, front, is_full, item_at, pop, push
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.machine.memory.cache import line_of, lock
from simtlab.machine.memory.constant_cache import fetch_constant
from simtlab.machine.memory.l1 import Failure, load, mshr_full, why_rejected
from simtlab.machine.memory.l1_stores import send_atomic, store_line
from simtlab.machine.memory.prefetch import overtake, serve_prefetch

IN_LDST, WAITING = int(OpState.IN_LDST), int(OpState.WAITING)
GLOBAL, SHARED, CONSTANT, EXCHANGE = (int(m) for m in (Memory.GLOBAL, Memory.SHARED, Memory.CONSTANT, Memory.EXCHANGE))
NONE = int(Failure.NONE)
ON_LOAD, ON_LOAD_END = EVENT_NUMBERS["on_load"], EVENT_NUMBERS["on_load_end"]
LDST = int(Unit.LDST)


@compiled
def has_room(core, sub_core):
    """Whether the queue takes another instruction of a sub-core."""
    return not is_full(core.ldst_queue) and core.queued[sub_core] < core.queue_share


@compiled
def offer(core, number):
    """Take an instruction whose operands are read; False if the queue has no room for it."""
    op = core.ops[number]
    sub_core = core.sub_core_of[op.slot]
    if not has_room(core, sub_core) or not push(core.ldst_queue, number):
        return False
    core.queued[sub_core] += 1
    op.state = IN_LDST
    return True


@compiled
def serve(gpu, core, requests):
    """One cycle: a load whose line has come reads it, else the oldest instruction makes an access, else a prefetch does."""
    if core.rereads.count > 0:
        read_again(gpu, core)
        core.unit_busy[LDST] += 1
        return
    if gpu.hooks.ldst_queue_next != 0 and core.ldst_queue.count > 1 and core.ldst_free <= gpu.cycle:
        choose_next(gpu, core)
    number = front(core.ldst_queue)
    if number != NOTHING and core.ldst_free > gpu.cycle:
        core.moved = gpu.cycle
        return
    if number != NOTHING and core.return_cycles > 0 and is_held_up(gpu, core, core.ops[number]):
        number = overtake_held_up(gpu, core)
        if number == NOTHING:
            core.moved = gpu.cycle
            return
    if number != NOTHING:
        op = core.ops[number]
        if op.memory == SHARED or op.memory == EXCHANGE:
            core.moved = gpu.cycle
            core.unit_busy[LDST] += op.passes > 0
            serve_shared(gpu, core, op)
        elif op.served < op.accesses:
            before = op.served
            for _ in range(1 if op.memory == CONSTANT and core.one_constant > 0 else core.l1_ports):
                serve_line(gpu, core, requests, number)
                if core.ldst_blocked != NONE or op.served == op.accesses:
                    break
            if op.served > before:
                keep_busy(core, op, gpu.cycle)
            core.unit_busy[LDST] += op.served > before
            leave_if_served(gpu, core, number)
            if core.split > 0 and op.served > before and op.served < op.accesses:
                take_turns(core, op)
            return
        leave_if_served(gpu, core, number)
    if core.prefetches.count > 0:
        core.unit_busy[LDST] += serve_prefetch(gpu, core, requests)


@compiled
def choose_next(gpu, core):
    """The policy says which of the waiting instructions makes its accesses now; one that has begun may have to wait."""
    queue = core.ldst_queue
    place = call_hook(gpu.hooks.ldst_queue_next, core.address, core.own_ldst_queue, np.uint64(queue.count), gpu.cycle)
    if place > 0:
        bring_forward(queue, place)
        core.known_miss = 0
        core.ldst_blocked = NONE


@compiled
def keep_busy(core, op, cycle):
    """How long an access keeps the L1: a load for some cycles at least, each line of a store or an atomic, each constant, and none
    for less than its wavefronts."""
    if op.memory == CONSTANT:
        core.ldst_free = cycle + core.one_constant
    elif op.is_store or op.is_atomic:
        core.ldst_free = cycle + core.store_cycles
        if op.served == op.accesses:
            core.ldst_free = max(core.ldst_free, op.began + op.wavefronts)
    elif op.served == op.accesses:
        core.ldst_free = op.began + max(core.load_cycles, op.wavefronts)
        if op.hits_ready > 0:
            op.hits_ready = max(op.hits_ready, op.began + op.wavefronts - 1 + core.l1d.hit_latency)
            if core.return_cycles > 0:
                return_data(core, op)


@compiled
def is_held_up(gpu, core, op):
    """Whether the sub-core of the next load still takes the data of an earlier one when the first of this one's would come."""
    if op.began > 0 or op.is_store or op.is_atomic or op.memory == CONSTANT:
        return False
    return core.return_free[core.sub_core_of[op.slot]] > gpu.cycle + core.l1d.hit_latency


@compiled
def overtake_held_up(gpu, core):
    """The oldest instruction of another sub-core comes first, if there is one that is not held up."""
    queue, held = core.ldst_queue, 0
    for place in range(queue.count):
        op = core.ops[item_at(queue, place)]
        sub_core = core.sub_core_of[op.slot]
        if (held >> sub_core) & 1 == 0:
            if not is_held_up(gpu, core, op):
                bring_forward(queue, place)
                core.known_miss = 0
                core.ldst_blocked = NONE
                return front(queue)
            held |= 1 << sub_core
    return np.int64(NOTHING)


@compiled
def return_data(core, op):
    """The data of a load that hits go to its sub-core one wavefront after another."""
    sub_core = core.sub_core_of[op.slot]
    first = max(op.began + core.l1d.hit_latency, core.return_free[sub_core])
    op.hits_ready = max(op.hits_ready, first + core.return_cycles * (op.data_wavefronts - 1))
    core.return_free[sub_core] = first + core.return_cycles * op.data_wavefronts


@compiled
def leave_if_served(gpu, core, number):
    """An instruction with all its accesses in flight makes room for the next, or goes on with those that come behind them."""
    op = core.ops[number]
    if op.passes > 0 or op.served < op.accesses:
        return
    if op.behind > 0:
        go_on(gpu, core, op)
        return
    pop(core.ldst_queue)
    core.queued[core.sub_core_of[op.slot]] -= 1
    core.moved = core.changed = gpu.cycle
    core.quiet = 0
    op.state = WAITING
    if op.read_barrier != NO_BARRIER and core.slots[op.slot].age == op.owner:
        reads_end(core, op.slot, op.read_barrier, gpu.cycle + core.read_cycles)
        op.read_barrier = NO_BARRIER
    if op.outstanding == 0:
        finish(gpu, core, number)


@compiled
def take_turns(core, op):
    """A non-deterministic load in parts (LOADS section X-A): after so many requests the next instruction has its turn."""
    if op.deterministic == 0 and op.served % core.split == 0 and core.ldst_queue.count > 1:
        push(core.ldst_queue, pop(core.ldst_queue))


@compiled
def serve_shared(gpu, core, op):
    """A pass of shared memory; the last one's data are there a latency later."""
    if op.passes > 0:
        op.passes -= 1
        core.shared_passes += 1
        if op.passes > 0:
            replay(core, op)
    latency = gpu.shared_latency
    if op.memory == EXCHANGE:
        latency = timing_at(core.slots[op.slot].timing).row[op.pc].latency + gpu.match_value_cycles * (op.values - 1)
    elif op.is_atomic:
        latency += gpu.shared_atomic_latency
    op.hits_ready = gpu.cycle + latency


@compiled
def replay(core, op):
    """Where instructions are replayed (BOOK 3.3.2), each pass after the first takes an issue slot of its scheduler."""
    if core.replay:
        core.replays[op.slot % core.schedulers] += 1
        core.quiet = 0


@compiled
def serve_line(gpu, core, requests, number):
    """All sectors of one line, until one is rejected."""
    op = core.ops[number]
    if op.began == 0:
        begin(gpu, core, op, number)
    if op.memory == CONSTANT and core.one_constant > 0:
        serve_constant(gpu, core, requests, number)
        return
    first = op.served
    while op.served < op.accesses and go_together(gpu, core, op, first):
        failure = serve_access(gpu, core, requests, number)
        if was_rejected(core, op, failure):
            return
        accepted(op, gpu.cycle)
        if core.prefetches.count > 0:
            overtake(core, op.lines[op.served])
        op.served += 1
        core.accesses += 1
        core.moved = gpu.cycle
    if op.served < op.accesses:
        replay(core, op)


@compiled
def was_rejected(core, op, failure):
    """Note what became of an access; whether it has to be tried again."""
    core.ldst_blocked = failure
    if failure == NONE:
        return False
    core.l1_fail[failure] += 1
    op.failed[failure - 1] += 1
    return True


@compiled
def go_together(gpu, core, op, first):
    """Whether the next access is of the same line as the first one of this cycle; of an atomic, also of the same turn."""
    if line_of(core.l1d, op.lines[op.served]) != line_of(core.l1d, op.lines[first]):
        return False
    return not (op.is_atomic and gpu.atomics_by_lane) or op.turn[op.served] == op.turn[first]


@compiled
def serve_constant(gpu, core, requests, number):
    """One address of a load of constants."""
    op = core.ops[number]
    failure = fetch_constant(gpu, core, requests, number)
    if was_rejected(core, op, failure):
        return
    op.served += 1
    core.moved = gpu.cycle


@compiled
def is_stuck(gpu, core):
    """Whether the next access is sure to be rejected until an answer comes: a load that misses while all MSHRs are taken."""
    number = front(core.ldst_queue)
    if number == NOTHING or core.rereads.count > 0 or not mshr_full(core.mshr) or not core.looks_ahead:
        return False
    op = core.ops[number]
    if op.memory != GLOBAL or op.is_store or op.is_atomic or op.strong or op.began == 0 or op.served == op.accesses:
        return False
    core.ldst_blocked = why_rejected(core, op)
    return core.ldst_blocked != NONE


@compiled
def begin(gpu, core, op, number):
    """The first access of an instruction: a prefetcher may learn from a global load."""
    op.began = gpu.cycle
    if gpu.hooks.prefetcher_on_load != 0 and op.memory == GLOBAL and op.is_store == 0 and op.is_atomic == 0:
        call_hook(gpu.hooks.prefetcher_on_load, core.address, core.own_prefetcher, np.uint64(number), gpu.cycle)
    if is_heard(gpu, ON_LOAD) and op.memory == GLOBAL and op.is_store == 0 and op.is_atomic == 0:
        tell(gpu, core, ON_LOAD, number)


@compiled
def serve_access(gpu, core, requests, number):
    op = core.ops[number]
    if op.memory == CONSTANT:
        return fetch_constant(gpu, core, requests, number)
    if op.is_atomic:
        return send_atomic(gpu, core, requests, number)
    if op.is_store:
        return store_line(gpu, core, requests, number)
    return load(gpu, core, requests, number)


@compiled
def line_came(gpu, core, number, way):
    """Data that a load waits for are in the L1: it has them, or (`l1d.reread`) reads the line, locked until then."""
    if core.reread and way >= 0 and not is_full(core.rereads):
        lock(core.l1d, way, 1)
        push(core.rereads, number + MAX_OPS * way)
    else:
        answered(gpu, core, number)


@compiled
def read_again(gpu, core):
    """A load that missed reads its line, which nothing could evict meanwhile (BOOK 4.1.1)."""
    item = pop(core.rereads)
    lock(core.l1d, item // MAX_OPS, -1)
    core.l1_data_reads += 1
    core.moved = gpu.cycle
    answered(gpu, core, item % MAX_OPS)


@compiled
def answered(gpu, core, number):
    """One of the instruction's accesses has its data."""
    op = core.ops[number]
    op.outstanding -= 1
    if op.outstanding == 0 and op.state == WAITING:
        finish(gpu, core, number)


@compiled
def finish(gpu, core, number):
    """All accesses are done: the result is written back when the last of them has its data."""
    plan(core, number, max(core.ops[number].hits_ready, gpu.cycle + 1))


@compiled
def count_load(gpu, core, number, row):
    """Count what a finished memory instruction took."""
    op = core.ops[number]
    if is_counted(gpu, op):
        count_global_load(gpu, core, op, row.load)
    if op.memory == EXCHANGE:
        return
    if op.memory == SHARED:
        core.shared_loads += op.is_store == 0 and op.is_atomic == 0
    elif op.is_store == 0:
        if is_heard(gpu, ON_LOAD_END) and op.memory == GLOBAL and op.is_atomic == 0:
            tell(gpu, core, ON_LOAD_END, number)
        core.load_latency += gpu.cycle - op.issued
        core.load_wait += max(op.began, op.issued) - op.issued
        core.loads_finished += 1
