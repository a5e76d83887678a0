"""The memory access scheduler of a DRAM channel: who waits, and whose command goes out next.

Reads and writes are sorted apart (Aamodt, Fung, Rogers 2018, section 4.3.3, after Keil et al.): each bank has a list of
its reads and one of its writes in order of arrival, and the open row picks from them. The channel reads until enough
writes have gathered (`write_high`) or no read can go, then writes until few are left (`write_low`) and a read waits.

FR-FCFS (Rixner et al., ISCA 2000): of the commands that can go out now, column accesses to open rows come first, then
activates and precharges; of each, the one for the oldest request. A row with requests waiting for it stays open. A request
of several column accesses, once begun, goes before all others, and the bus turns only between requests.
FCFS sends the column accesses in order of arrival; banks are opened ahead for the oldest request of each.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled, count_trailing_zeros
from simtlab.machine.fifo import NOTHING
from simtlab.machine.memory.bank import COLUMN_READ, READ, WRITE, needed
from simtlab.machine.memory.dram_channel import FAR_FUTURE, MOST_CYCLES, NEVER, NO_GROUP, NO_ROW, NO_TURN, Scheduler

FCFS = int(Scheduler.FCFS)
NO_BANK, HIGHEST = -1, 3
NOT_BEGUN = 1 << 40  # added to the order of arrival: requests that have begun go first, …
MOVES_NO_DATA = 1 << 41  # … activates and precharges last
LOWER_PRIORITY = 1 << 42  # … and, of a policy, those of each priority below the highest
RANK_BITS = 45
NO_COMMAND = (MOST_CYCLES << 2) << RANK_BITS  # later than three timings added: no command waits that long


@compiled
def append(channel, position):
    """Put a filled entry at the end of its bank's list."""
    entry = channel.entries[position]
    bank = channel.banks[entry.bank]
    tail = bank.last[entry.sorter]
    entry.previous = tail
    entry.next = NOTHING
    if tail == NOTHING:
        bank.first[entry.sorter] = position
    else:
        channel.entries[tail].next = position
    bank.last[entry.sorter] = position
    channel.waiting[entry.sorter] += 1
    channel.queued += 1


@compiled
def remove(channel, position):
    """Take an entry off its bank's list and free it."""
    entry = channel.entries[position]
    bank = channel.banks[entry.bank]
    if entry.previous == NOTHING:
        bank.first[entry.sorter] = entry.next
    else:
        channel.entries[entry.previous].next = entry.next
    if entry.next == NOTHING:
        bank.last[entry.sorter] = entry.previous
    else:
        channel.entries[entry.next].previous = entry.previous
    entry.next = channel.free
    channel.free = position
    channel.waiting[entry.sorter] -= 1
    channel.queued -= 1


@compiled
def nominate(channel, number, cycle):
    """Settle anew what a bank does next; needed after its row or its list changed."""
    bank = channel.banks[number]
    nominee = channel.nominees[number]
    channel.foreseen_at = NEVER
    position = next_of_bank(channel, bank, cycle)
    nominee.position = position
    bit = np.uint64(np.uint64(1) << np.uint64(number))
    channel.nominated = np.uint64(channel.nominated & ~bit)
    if position == NOTHING:
        nominee.ready = FAR_FUTURE
        nominee.rank = NO_TURN
        return
    entry = channel.entries[position]
    command = needed(bank, entry)
    nominee.command = command
    nominee.ready = bank.ready[command]
    nominee.group = NO_GROUP
    nominee.rank = entry.order
    if command < COLUMN_READ:
        nominee.rank += MOVES_NO_DATA
    else:
        nominee.group = bank.group
        if position != bank.begun:
            nominee.rank += NOT_BEGUN
            if not may_begin(channel, entry):
                nominee.ready = FAR_FUTURE
                return
    if channel.priority_hook != 0 and position != bank.begun:
        nominee.rank += (HIGHEST - entry.priority) * LOWER_PRIORITY
    channel.nominated = np.uint64(channel.nominated | bit)


@compiled
def nominate_all(channel, cycle):
    for number in range(channel.n_banks):
        nominate(channel, number, cycle)


@compiled
def may_begin(channel, entry):
    """Whether a request may start to move data: it needs a place on the way out, for data in flight cannot be stopped."""
    if channel.scheduler == FCFS and entry.order != channel.departures:
        return False
    return has_place(channel, entry.direction)


@compiled
def has_place(channel, direction):
    return channel.taken[direction] < channel.places[direction]


@compiled
def next_of_bank(channel, bank, cycle):
    """The request begun, else the oldest for the open row, else the oldest: which it also is once it waited too long."""
    if bank.begun != NOTHING:
        return bank.begun
    oldest = bank.first[channel.direction]
    if channel.priority_hook != 0 and oldest != NOTHING and deadline(channel, oldest) > cycle:
        return highest_of_bank(channel, bank)
    if oldest == NOTHING or bank.open_row == NO_ROW or channel.scheduler == FCFS:
        return oldest
    if deadline(channel, oldest) <= cycle:
        return oldest
    position = oldest
    while position != NOTHING:
        if channel.entries[position].row == bank.open_row:
            return position
        position = channel.entries[position].next
    return oldest


@compiled
def highest_of_bank(channel, bank):
    """By a policy's priorities: of the highest, the oldest for the open row, else the oldest."""
    position = bank.first[channel.direction]
    best, hits = position, False
    while position != NOTHING:
        entry, is_hit = channel.entries[position], channel.entries[position].row == bank.open_row
        if entry.priority > channel.entries[best].priority:
            best, hits = position, is_hit
        elif entry.priority == channel.entries[best].priority and is_hit and not hits:
            best, hits = position, True
        position = entry.next
    return best


@compiled
def ready_at(channel, nominee):
    """The first cycle at which a bank's next command could go out, as things are now."""
    return max(nominee.ready, channel.ready[nominee.command], channel.group_ready[nominee.group])


@compiled
def choose(channel, cycle):
    """The queue position of the request whose next command goes out in this cycle, or NOTHING."""
    if channel.choose_hook != 0:
        return choose_by_policy(channel, cycle)
    if channel.foreseen_at != cycle:
        look_ahead(channel, cycle)
    return np.int64(channel.foreseen if channel.foreseen_at == cycle else NOTHING)


@compiled
def look_ahead(channel, cycle):
    """Foresee which command goes out next, and when, from `cycle` on, unless a bank's nominee changes: the first that can, and
    of those that can at once the one of the lowest rank. Time and rank are one number, compared without a branch, for nothing
    could predict it."""
    best, chosen = NO_COMMAND, 0
    left = channel.nominated
    while left != 0:
        number = count_trailing_zeros(left)
        left = np.uint64(left & (left - np.uint64(1)))
        nominee = channel.nominees[number]
        turn = (max(ready_at(channel, nominee) - cycle, 0) << RANK_BITS) + nominee.rank
        chosen = number if turn < best else chosen
        best = min(best, turn)
    channel.foreseen = channel.nominees[chosen].position
    channel.foreseen_at = cycle + (best >> RANK_BITS) if best < NO_COMMAND else FAR_FUTURE


@compiled
def choose_beside(channel, moves_data, cycle):
    """Where rows and columns have command buses of their own: who, beside a command that does or does not move data, can have one
    of the other kind in the same cycle, or NOTHING."""
    best, chosen = np.int64(1 << 62), np.int64(NOTHING)
    left = channel.nominated
    while left != 0:
        number = count_trailing_zeros(left)
        left = np.uint64(left & (left - np.uint64(1)))
        nominee = channel.nominees[number]
        if (nominee.command >= COLUMN_READ) != moves_data and ready_at(channel, nominee) <= cycle and nominee.rank < best:
            best, chosen = nominee.rank, np.int64(nominee.position)
    return chosen


@compiled
def choose_by_policy(channel, cycle):
    """The policy picks among the banks whose next command can go out now; a request begun goes on first."""
    could = np.uint64(0)
    for number in range(channel.n_banks):
        nominee = channel.nominees[number]
        if nominee.position != NOTHING and ready_at(channel, nominee) <= cycle:
            if channel.banks[number].begun == nominee.position:
                return np.int64(nominee.position)
            could = np.uint64(could | np.uint64(np.uint64(1) << np.uint64(number)))
    if could == 0:
        return np.int64(NOTHING)
    number = call_hook(channel.choose_hook, channel.address, channel.own, could, cycle)
    return np.int64(NOTHING if number == NO_BANK else channel.nominees[number].position)


@compiled
def earliest_command(channel, cycle):
    """The first cycle from `cycle` on at which `choose` could find something, if nothing else happens."""
    see_whether_turn_is_due(channel, cycle)
    if channel.turn_due:
        return cycle
    look_ahead(channel, cycle)
    if channel.age_limit_cycles > 0:
        return min(channel.foreseen_at, next_deadline(channel, cycle))
    return channel.foreseen_at


@compiled
def reads_can_go(channel):
    return channel.waiting[READ] > 0 and has_place(channel, READ)


@compiled
def see_whether_turn_is_due(channel, cycle):
    """Needed after who waits, or what has begun, or the room on the way out, has changed."""
    channel.turn_due = turn_is_due(channel, cycle)


@compiled
def turn_is_due(channel, cycle):
    """Whether the channel should change between reading and writing; never within a request."""
    writes = channel.waiting[WRITE]
    if channel.direction == READ and writes == 0:
        return False
    if channel.n_begun > 0 or channel.scheduler == FCFS:
        return False
    if channel.direction == READ:
        return writes >= channel.write_high or not reads_can_go(channel) or a_write_is_overdue(channel, cycle)
    if channel.waiting[READ] == 0:
        return False
    if writes == 0:
        return True
    return writes <= channel.write_low and reads_can_go(channel) and not a_write_is_overdue(channel, cycle)


@compiled
def turn(channel, cycle):
    """Point the channel the other way and let every bank choose among the requests of that way."""
    channel.direction = WRITE if channel.direction == READ else READ
    channel.turnarounds += 1
    nominate_all(channel, cycle)


@compiled
def deadline(channel, position):
    """The cycle from which a waiting request goes before row hits."""
    if channel.age_limit_cycles == 0:
        return FAR_FUTURE
    return channel.entries[position].offered + channel.age_limit_cycles


@compiled
def a_write_is_overdue(channel, cycle):
    if channel.age_limit_cycles == 0:
        return False
    for number in range(channel.n_banks):
        oldest = channel.banks[number].first[WRITE]
        if oldest != NOTHING and deadline(channel, oldest) <= cycle:
            return True
    return False


@compiled
def promote_overdue(channel, cycle):
    """Where a bank's oldest request has waited too long, serve it before the row hits."""
    if channel.age_limit_cycles == 0:
        return
    for number in range(channel.n_banks):
        oldest = channel.banks[number].first[channel.direction]
        if oldest != NOTHING and deadline(channel, oldest) <= cycle:
            nominate(channel, number, cycle)


@compiled
def next_deadline(channel, cycle):
    """The first cycle from `cycle` on at which the oldest request of some list becomes overdue."""
    earliest = FAR_FUTURE
    for number in range(channel.n_banks):
        for sorter in range(2):
            oldest = channel.banks[number].first[sorter]
            if oldest != NOTHING and deadline(channel, oldest) >= cycle:
                earliest = min(earliest, deadline(channel, oldest))
    return earliest
