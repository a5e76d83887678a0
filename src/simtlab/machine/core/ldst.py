"""The load/store unit: instructions in order, one line a cycle to the L1; a line that cannot be taken is tried again.

Every cycle in which the L1 refuses is counted by its cause, as LOADS does: no way free in the set (tag), no MSHR, no room
towards the network.
"""

from simtlab.compiled import compiled
from simtlab.machine.core.inflight import plan
from simtlab.machine.core.state import OpState
from simtlab.machine.core.timing import Memory
from simtlab.machine.fifo import NOTHING, front, pop, push
from simtlab.machine.memory.l1 import Failure, fetch_constant, fetch_texture, load, send_atomic, store_line

IN_LDST, WAITING = int(OpState.IN_LDST), int(OpState.WAITING)
SHARED, CONSTANT, TEXTURE = int(Memory.SHARED), int(Memory.CONSTANT), int(Memory.TEXTURE)
NONE = int(Failure.NONE)


@compiled
def offer(core, number):
    """Take an instruction whose operands are read; False if the queue is full."""
    if not push(core.ldst_queue, number):
        return False
    core.ops[number].state = IN_LDST
    return True


@compiled
def serve(gpu, core, requests):
    """One cycle: the oldest instruction makes an access."""
    number = front(core.ldst_queue)
    if number == NOTHING:
        return
    op = core.ops[number]
    if op.memory == SHARED:
        core.moved = gpu.cycle
        serve_shared(gpu, core, op)
    elif op.served < op.accesses:
        serve_line(gpu, core, requests, number)
    if op.passes == 0 and op.served == op.accesses:
        pop(core.ldst_queue)
        core.moved = gpu.cycle
        op.state = WAITING
        if op.outstanding == 0:
            finish(gpu, core, number)


@compiled
def serve_shared(gpu, core, op):
    """A pass of shared memory; the last one's data are there a latency later."""
    if op.passes > 0:
        op.passes -= 1
        core.shared_passes += 1
    op.hits_ready = gpu.cycle + gpu.shared_latency


@compiled
def serve_line(gpu, core, requests, number):
    """All sectors of one line, until one is refused."""
    op = core.ops[number]
    line = op.lines[op.served] // gpu.line_bytes
    while op.served < op.accesses and op.lines[op.served] // gpu.line_bytes == line:
        failure = serve_access(gpu, core, requests, number)
        core.ldst_blocked = failure
        if failure != NONE:
            core.l1_fail[failure] += 1
            return
        op.served += 1
        core.accesses += 1
        core.moved = gpu.cycle


@compiled
def serve_access(gpu, core, requests, number):
    op = core.ops[number]
    if op.memory == CONSTANT:
        return fetch_constant(gpu, core, requests, number)
    if op.memory == TEXTURE:
        return fetch_texture(gpu, core, requests, number)
    if op.is_atomic:
        return send_atomic(gpu, core, requests, number)
    if op.is_store:
        return store_line(gpu, core, requests, number)
    return load(gpu, core, requests, number)


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
def count_load(core, number, cycle):
    """Count what a finished memory instruction took."""
    op = core.ops[number]
    if op.is_store == 0 and op.memory != SHARED:
        core.load_latency += cycle - op.issued
        core.loads_finished += 1
