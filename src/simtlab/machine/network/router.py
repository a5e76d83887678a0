"""A mesh router: routing, switch allocation, and the way of a flit from a lane through an output into the next lane.

All routers' inputs and outputs are in the mesh's record; an output knows its router, and a router its inputs.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_BUFFER_FLITS, MAX_PACKET_FLITS, MAX_ROUTERS, MAX_VCS
from simtlab.machine.network.alarm import wake_at
from simtlab.machine.network.arbiter import lowest, next_bit
from simtlab.machine.network.checkerboard import next_channel
from simtlab.machine.network.contest import enter, open_contest, settle_contest
from simtlab.machine.network.ejection import announce, expect, room
from simtlab.machine.network.packet import FAR_FUTURE

MAX_LINKS = 4 * MAX_ROUTERS
MAX_SLOTS = 15  # inputs of one router: four links and eleven sources
LANE_FLITS = 128  # flits a lane can hold: a full buffer and the rest of a packet
NEVER = -1
assert LANE_FLITS >= MAX_BUFFER_FLITS - 1 + MAX_PACKET_FLITS


class Direction(IntEnum):
    EAST = 0
    WEST = 1
    SOUTH = 2
    NORTH = 3


EAST, WEST, SOUTH, NORTH = (int(direction) for direction in Direction)

flit_t = np.dtype(
    [
        ("number", "i4"),  # of the request
        ("destination", "i4"),
        ("flits", "i4"),  # of its packet
        ("is_last", "i2"),
        ("row", "i2"),  # in which it goes to its destination's column
        ("ready", "i8"),  # it may leave the router it is in, or on the way to, from this cycle on
        ("entered", "i8"),  # when its packet was sent
        ("unloaded", "i8"),  # when its packet would arrive if it were alone
    ],
    align=True,
)

lane_t = np.dtype(  # the buffer of a virtual channel
    [
        ("head", "i4"),
        ("count", "i4"),
        ("output", "i4"),  # of the flit at the front,
        ("next_vc", "i4"),  # and its virtual channel there
        ("flit", flit_t, (LANE_FLITS,)),
    ],
    align=True,
)

# An input is the far end of a link, and has the link's number; or it is MAX_LINKS + a source.
input_t = np.dtype(
    [
        ("router", "i4"),
        ("column", "i4"),  # of the router
        ("row", "i4"),
        ("slot", "i4"),  # its place among its router's inputs
        ("offers", "i4"),  # a bit for each virtual channel that an output has chosen in this cycle
        ("turn", "i4"),  # the virtual channel served last
        ("injecting_until", "i8"),  # a source's channel carries earlier packets before this cycle
        ("lane", lane_t, (MAX_VCS,)),
    ],
    align=True,
)

# An output is the near end of a link, and has the link's number; or it is MAX_LINKS + a destination.
output_t = np.dtype(
    [
        ("router", "i4"),
        ("turn", "i4"),  # the lane served last: slot * MAX_VCS + virtual channel
        ("wanted", "i8"),  # a bit for each lane of the router whose front flit goes this way
        ("owner", "i4", (MAX_VCS,)),  # the lane whose packet has begun to cross, or NOTHING
        ("credits", "i4", (MAX_VCS,)),  # places free at the far end
        ("blocked_since", "i8"),  # a flit is ready and the destination has no room, since then; or NEVER
        ("flits", "i8"),  # sent so far
    ],
    align=True,
)


@compiled
def front(lane):
    """The flit at the front of a lane."""
    return lane.flit[lane.head]


@compiled
def next_place(lane):
    """Where the next flit of a lane goes."""
    return lane.flit[(lane.head + lane.count) % LANE_FLITS]


@compiled
def route(network, port, flit):
    """The output that takes a flit at an input towards its destination: to its row, along it, then along the column."""
    entry = network.input[port]
    column = network.column_of_destination[flit.destination]
    row = network.row_of_destination[flit.destination]
    if column != entry.column and flit.row != entry.row:
        return 4 * entry.router + (SOUTH if flit.row > entry.row else NORTH)
    if column > entry.column:
        return 4 * entry.router + EAST
    if column < entry.column:
        return 4 * entry.router + WEST
    if row > entry.row:
        return 4 * entry.router + SOUTH
    if row < entry.row:
        return 4 * entry.router + NORTH
    return MAX_LINKS + flit.destination


@compiled
def links_between(network, port, destination):
    """How many links a flit at an input has before it."""
    entry = network.input[port]
    across = abs(network.column_of_destination[destination] - entry.column)
    return across + abs(network.row_of_destination[destination] - entry.row)


@compiled
def choose(network, port, cycle):
    """The lane a free output offers itself to: the next one, round robin, whose flit may cross; NOTHING if there is none."""
    output = network.output[port]
    contest = network.contest
    if contest.hook != 0:
        open_contest(contest, port, output.turn)
    waiting = output.wanted
    while waiting != 0:
        lane = next_bit(waiting, output.turn)
        if front_ready(network, output.router, lane) <= cycle and is_open(network, port, lane):
            if contest.hook == 0:
                return np.int64(lane)
            enter(contest, lane, front_flit(network, output.router, lane))
        waiting &= ~(1 << lane)
    return np.int64(NOTHING) if contest.hook == 0 else settle_contest(contest, cycle)


@compiled
def lane_of(network, router, lane):
    """A router's lane by its number there."""
    return network.input[network.input_in_slot[router, lane // MAX_VCS]].lane[lane % MAX_VCS]


@compiled
def front_flit(network, router, lane):
    """The flit at the front of a router's lane."""
    return front(lane_of(network, router, lane))


@compiled
def front_ready(network, router, lane):
    """When that flit may cross."""
    return front_flit(network, router, lane).ready


@compiled
def is_open(network, port, lane):
    """Whether an output's virtual channel has a place for a flit, and no other lane's packet is under way on it."""
    vc = lane_of(network, network.output[port].router, lane).next_vc
    owner = network.output[port].owner[vc]
    return (owner == lane or owner == NOTHING) and places(network, port, vc) > 0


@compiled
def places(network, port, vc):
    """How many flits the far end of an output can take."""
    if port >= MAX_LINKS:
        return room(network.ejection[port - MAX_LINKS])
    return network.output[port].credits[vc]


@compiled
def offer(network, port, cycle):
    """An output offers itself to a lane; the lane's input hears of it."""
    lane = choose(network, port, cycle)
    if lane == NOTHING:
        return
    chosen = network.input_in_slot[network.output[port].router, lane // MAX_VCS]
    entry = network.input[chosen]
    if entry.offers == 0:
        network.offered[network.offered_count] = chosen
        network.offered_count += 1
    entry.offers |= 1 << (lane % MAX_VCS)


@compiled
def accept(network, port, cycle):
    """An input accepts as many offers as it has switch ports, round robin over its virtual channels."""
    entry = network.input[port]
    left = network.input_speedup
    vc = entry.turn
    for _ in range(network.virtual_channels):
        vc = vc + 1 if vc + 1 < network.virtual_channels else 0
        if (entry.offers >> vc) & 1 and left > 0:
            left -= 1
            entry.turn = vc
            cross(network, port, vc, cycle)
    entry.offers = 0


@compiled
def cross(network, port, vc, cycle):
    """The flit at the front of a lane crosses its router to the link or to the destination."""
    entry = network.input[port]
    flit = front(entry.lane[vc])
    way, next_vc = entry.lane[vc].output, entry.lane[vc].next_vc
    output = network.output[way]
    lane = entry.slot * MAX_VCS + vc
    output.turn = lane
    output.owner[next_vc] = NOTHING if flit.is_last else lane
    output.flits += 1
    network.counters.flit_hops += 1
    if way >= MAX_LINKS:
        eject(network, flit, cycle)
    else:
        output.credits[next_vc] -= 1
        travel(network, flit, next_place(network.input[way].lane[next_vc]), cycle)
        join(network, way, next_vc)
    leave(network, port, vc, cycle)


@compiled
def travel(network, flit, place, cycle):
    """Put a flit on a link: it takes its place at the far end, where it is ready after link and routing."""
    place.number = flit.number
    place.destination = flit.destination
    place.flits = flit.flits
    place.is_last = flit.is_last
    place.row = flit.row
    place.ready = cycle + network.channel_latency_cycles + network.routing_delay_cycles
    place.entered = flit.entered
    place.unloaded = flit.unloaded


@compiled
def join(network, port, vc):
    """A flit was put at the end of a lane."""
    lane = network.input[port].lane[vc]
    lane.count += 1
    if lane.count == 1:
        ask(network, port, vc)


@compiled
def leave(network, port, vc, cycle):
    """A lane's front flit has gone: its place is free from the next cycle on, and the next flit asks for its output."""
    entry = network.input[port]
    lane = entry.lane[vc]
    network.output[lane.output].wanted &= ~(1 << (entry.slot * MAX_VCS + vc))
    lane.head = (lane.head + 1) % LANE_FLITS
    lane.count -= 1
    if lane.count > 0:
        ask(network, port, vc)
    if port < MAX_LINKS:
        network.output[port].credits[vc] += 1
        wake_at(network.alarm, port, cycle + 1)


@compiled
def ask(network, port, vc):
    """The flit at the front of a lane asks for the output it is routed to."""
    entry = network.input[port]
    lane = entry.lane[vc]
    lane.output = route(network, port, front(lane))
    lane.next_vc = next_channel(network, port, vc, front(lane).destination)
    network.output[lane.output].wanted |= 1 << (entry.slot * MAX_VCS + vc)
    wake_at(network.alarm, lane.output, max(front(lane).ready, network.alarm.now + 1))


@compiled
def eject(network, flit, cycle):
    """A flit leaves the network; the last one of a packet completes it after the channel's latency."""
    output = network.output[MAX_LINKS + flit.destination]
    network.ejection[flit.destination].held += 1
    if output.blocked_since != NEVER:
        network.counters.blocked_cycles += cycle - output.blocked_since
        output.blocked_since = NEVER
    if flit.is_last:
        arrives = cycle + network.channel_latency_cycles
        expect(network.ejection[flit.destination], flit.number, flit.flits, arrives)
        announce(network.arrivals, arrives)
        network.counters.delivered += 1
        network.counters.latency_cycles += arrives - flit.entered
        network.counters.queueing_cycles += arrives - flit.unloaded


@compiled
def next_wake(network, port, cycle):
    """The first cycle after this one at which an output may have a flit to send.

    A credit that comes back, and a destination that takes a packet, wake the output themselves.
    """
    output = network.output[port]
    wake = FAR_FUTURE
    waiting = output.wanted
    while waiting != 0:
        lane = lowest(waiting)
        waiting &= waiting - 1
        ready = front_ready(network, output.router, lane)
        if ready > cycle:
            wake = min(wake, ready)
        elif is_open(network, port, lane):
            return cycle + 1
        elif port >= MAX_LINKS and room(network.ejection[port - MAX_LINKS]) == 0 and output.blocked_since == NEVER:
            output.blocked_since = cycle
    return wake
