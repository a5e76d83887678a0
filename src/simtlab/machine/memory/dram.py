"""A DRAM channel: requests wait in its scheduler, at most one command goes out a cycle, data comes back in bursts.

`offer` puts a request in, `tick` runs one cycle of the DRAM clock, `finished` takes completed requests out, `next_event`
says how far the clock may jump. A request must lie within one row; `address_map` sets its bank and row.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled
from simtlab.machine.fifo import NOTHING, front, pop, push
from simtlab.machine.memory.bank import (
    ACTIVATE,
    COLUMN_READ,
    PRECHARGE,
    READ,
    WRITE,
    activate,
    column_read,
    column_write,
    precharge,
)
from simtlab.machine.memory.dram_channel import (
    COUNTERS,
    FAR_FUTURE,
    Outcome,
    Scheduler,
    channel_t,
    configure,
    new_channels,
)
from simtlab.machine.memory.dram_scheduler import (
    append,
    choose,
    choose_beside,
    deadline,
    earliest_command,
    has_place,
    nominate,
    nominate_all,
    promote_overdue,
    ready_at,
    remove,
    see_whether_turn_is_due,
    turn,
)
from simtlab.machine.memory.refresh import catch_up
from simtlab.machine.request import Kind

__all__ = [
    "COUNTERS", "FAR_FUTURE", "channel_t", "choose", "configure", "finished", "new_channels",
    "next_event", "offer", "settle", "tick",
]  # fmt: skip

HIT, MISS, CONFLICT = int(Outcome.HIT), int(Outcome.MISS), int(Outcome.CONFLICT)
FCFS = int(Scheduler.FCFS)
KIND_WRITE, KIND_WRITE_BACK = int(Kind.WRITE), int(Kind.WRITE_BACK)


@compiled
def tick(channel, requests, cycle):
    """One DRAM cycle."""
    if cycle < channel.wake:
        return
    if catch_up(channel, cycle):
        nominate_all(channel, cycle)
    if channel.age_limit_cycles > 0:
        see_whether_turn_is_due(channel, cycle)  # a request may have become overdue
    if channel.turn_due:
        turn(channel, cycle)
    promote_overdue(channel, cycle)
    position = choose(channel, cycle)
    if position != NOTHING:
        moves_data = channel.nominees[channel.entries[position].bank].command >= COLUMN_READ
        send(channel, requests, position, cycle)
        if channel.command_buses > 1 and channel.choose_hook == 0:
            position = choose_beside(channel, moves_data, cycle)
            if position != NOTHING:
                send(channel, requests, position, cycle)
    channel.wake = earliest_command(channel, cycle + 1)


@compiled
def offer(channel, requests, number, cycle):
    """Put a request into the scheduler; False if it is full. It may get its first command in a tick of the same cycle."""
    if channel.queued >= channel.queue_entries:
        channel.refusals += 1
        return False
    settle(channel, cycle)
    if catch_up(channel, cycle):
        nominate_all(channel, cycle)
    position = channel.free
    entry = channel.entries[position]
    channel.free = entry.next
    fill(channel, entry, requests.entry[number], cycle)
    entry.number = number
    append(channel, position)
    nominee = channel.nominees[entry.bank]
    if channel.priority_hook != 0:
        entry.priority = call_hook(channel.priority_hook, channel.address, channel.own, np.uint64(position), cycle)
        nominate(channel, entry.bank, cycle)
    elif nominee.position == NOTHING or nominee.command == PRECHARGE:
        nominate(channel, entry.bank, cycle)
    expect(channel, nominee, position, cycle)
    return True


@compiled
def fill(channel, entry, request, cycle):
    """Write a request into a scheduler entry."""
    entry.bank = request.bank
    entry.row = request.row
    entry.order = channel.arrivals
    entry.offered = cycle
    entry.direction = READ
    if request.kind == KIND_WRITE or request.kind == KIND_WRITE_BACK:
        entry.direction = WRITE
    entry.sorter = entry.direction
    if channel.scheduler == FCFS:
        entry.sorter = READ  # in order of arrival: nothing is sorted
    begins = request.column & (channel.access_bytes - 1)  # within its first access
    entry.accesses = max(1, np.uint32(begins + request.dram_bytes + channel.access_bytes - 1) // np.uint32(channel.access_bytes))
    entry.outcome = HIT
    entry.core, entry.warp, entry.pc, entry.deterministic = request.core, request.warp, request.pc, request.deterministic
    channel.arrivals += 1


@compiled
def expect(channel, nominee, position, cycle):
    """Wake the channel when the new request could first matter."""
    earliest = FAR_FUTURE
    if nominee.position == position:
        earliest = ready_at(channel, nominee)
    see_whether_turn_is_due(channel, cycle)
    if channel.turn_due:
        earliest = cycle
    earliest = min(earliest, deadline(channel, position))
    channel.wake = min(channel.wake, max(earliest, cycle, channel.command_ready))


@compiled
def send(channel, requests, position, cycle):
    """Send the next command of a waiting request to the DRAM."""
    entry = channel.entries[position]
    number = entry.bank
    bank = channel.banks[number]
    command = channel.nominees[number].command
    if command == ACTIVATE:
        activate(channel, bank, entry.row, cycle)
        entry.outcome = max(entry.outcome, MISS)
    elif command == PRECHARGE:
        precharge(channel, bank, cycle)
        entry.outcome = CONFLICT
    else:
        access_column(channel, requests, position, cycle)
        if channel.scheduler == FCFS or not has_place(channel, entry.direction):
            nominate_all(channel, cycle)  # who may begin has changed for every bank
    nominate(channel, number, cycle)
    channel.command_ready = cycle + 1


@compiled
def access_column(channel, requests, position, cycle):
    """Send one column access; the last one of a request frees its entry."""
    entry = channel.entries[position]
    bank = channel.banks[entry.bank]
    if bank.begun == NOTHING:
        begin(channel, bank, position, cycle)
    if entry.direction == READ:
        done = column_read(channel, bank, cycle)
    else:
        done = column_write(channel, bank, cycle)
    entry.accesses -= 1
    if entry.accesses == 0:
        depart(channel, requests, position, done, cycle)


@compiled
def begin(channel, bank, position, cycle):
    """The first column access of a request: take its place on the way out, and count how it found its row."""
    entry = channel.entries[position]
    bank.begun = position
    channel.n_begun += 1
    channel.taken[entry.direction] += 1
    channel.wait_cycles += cycle - entry.offered
    if entry.outcome == HIT:
        channel.row_hits += 1
    elif entry.outcome == MISS:
        channel.row_misses += 1
    else:
        channel.row_conflicts += 1


@compiled
def depart(channel, requests, position, done, cycle):
    """All accesses of a request are sent: it leaves the scheduler, and is complete when its data has moved."""
    entry = channel.entries[position]
    requests.entry[entry.number].ready = done
    if channel.leaving.count == 0:
        channel.next_done = done
    push(channel.leaving, entry.number)
    channel.latency_cycles += done - entry.offered
    if entry.direction == READ:
        channel.reads += 1
    else:
        channel.writes += 1
    channel.banks[entry.bank].begun = NOTHING
    channel.n_begun -= 1
    channel.departures += 1
    settle(channel, cycle)
    remove(channel, position)


@compiled
def finished(channel, requests, cycle):
    """Take out the next request whose data has all moved, in order of completion, or NOTHING. This frees its place."""
    if cycle < channel.next_done:
        return NOTHING
    number = pop(channel.leaving)
    kind = requests.entry[number].kind
    direction = WRITE if kind == KIND_WRITE or kind == KIND_WRITE_BACK else READ
    was_full = not has_place(channel, direction)
    channel.taken[direction] -= 1
    channel.next_done = FAR_FUTURE
    if channel.leaving.count > 0:
        channel.next_done = requests.entry[front(channel.leaving)].ready
    if was_full:
        nominate_all(channel, cycle)
        see_whether_turn_is_due(channel, cycle)
        channel.wake = min(channel.wake, max(cycle, channel.command_ready))
    return number


@compiled
def next_event(channel, cycle):
    """The first cycle from `cycle` on at which `tick` or `finished` could do anything, or FAR_FUTURE."""
    soonest = min(channel.wake, channel.next_done)
    return max(soonest, cycle)


@compiled
def settle(channel, cycle):
    """Bring the counters that grow with time up to a cycle; call it before reading them in the middle of a run."""
    elapsed = cycle - channel.accounted
    channel.accounted = cycle
    channel.entry_cycles += elapsed * channel.queued
    if channel.queued > 0:
        channel.queued_cycles += elapsed
