"""The buffer at a destination port: it has a credit for each flit it holds or is promised, and gives whole packets."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_CHANNEL_CYCLES, MAX_EJECTION_FLITS
from simtlab.machine.network.packet import FAR_FUTURE

arrival_t = np.dtype([("arrives", "i8"), ("number", "i4"), ("flits", "i4")], align=True)

# Each packet has a flit at least, so there are never more packets than flits.
ejection_t = np.dtype(
    [
        ("limit", "i4"),  # flits
        ("held", "i4"),  # flits in the buffer, or on the channel to it
        ("head", "i4"),
        ("count", "i4"),  # packets whose last flit is in the buffer or on the channel
        ("packet", arrival_t, (MAX_EJECTION_FLITS,)),
    ],
    align=True,
)

# The cycles at which packets become complete at any port. All channels have the same latency, so that many at most lie ahead.
arrivals_t = np.dtype([("head", "i4"), ("count", "i4"), ("cycle", "i8", (MAX_CHANNEL_CYCLES,))], align=True)


@compiled
def room(ejection):
    """How many flits may still be sent to the port."""
    return ejection.limit - ejection.held


@compiled
def expect(ejection, number, flits, arrives):
    """The last flit of a packet is in flight and will be there at a cycle."""
    place = ejection.head + ejection.count
    if place >= ejection.limit:
        place -= ejection.limit
    packet = ejection.packet[place]
    packet.number, packet.flits, packet.arrives = number, flits, arrives
    ejection.count += 1


@compiled
def complete(ejection, cycle):
    """The oldest packet if it is complete at a cycle, or NOTHING."""
    if ejection.count == 0 or ejection.packet[ejection.head].arrives > cycle:
        return NOTHING
    return ejection.packet[ejection.head].number


@compiled
def first_in(ejection):
    """The oldest packet; there must be one."""
    return ejection.packet[ejection.head].number


@compiled
def next_complete(ejection):
    """The cycle at which the oldest packet is complete, or FAR_FUTURE."""
    return ejection.packet[ejection.head].arrives if ejection.count > 0 else FAR_FUTURE


@compiled
def release(ejection):
    """Take the oldest packet off; its flits' places are free again."""
    packet = ejection.packet[ejection.head]
    ejection.held -= packet.flits
    ejection.count -= 1
    ejection.head = ejection.head + 1 if ejection.head + 1 < ejection.limit and ejection.count > 0 else 0
    return packet.number


@compiled
def announce(arrivals, cycle):
    """A packet will be complete somewhere at a cycle; cycles are announced in order."""
    if arrivals.count > 0 and arrivals.cycle[(arrivals.head + arrivals.count - 1) & (MAX_CHANNEL_CYCLES - 1)] == cycle:
        return
    arrivals.cycle[(arrivals.head + arrivals.count) & (MAX_CHANNEL_CYCLES - 1)] = cycle
    arrivals.count += 1


@compiled
def next_arrival(arrivals, cycle):
    """The first cycle after this one at which a packet becomes complete, or FAR_FUTURE."""
    while arrivals.count > 0:
        first = arrivals.cycle[arrivals.head]
        if first > cycle:
            return first
        arrivals.head = (arrivals.head + 1) & (MAX_CHANNEL_CYCLES - 1)
        arrivals.count -= 1
    return FAR_FUTURE
