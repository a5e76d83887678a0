"""An ideal network: every packet is at its destination a fixed time after it was sent, however many there are.

The time is that of an unloaded crossbar: routing delay, channel latency, and a cycle for each flit after the first.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.bit_set import those_due
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_PORTS
from simtlab.machine.network.packet import FAR_FUTURE, SETTINGS_FIELDS, apply_settings, counters_t

# Packets to one destination form a list in order of arrival, through the requests' own `next`.
ideal_t = np.dtype(
    [
        *SETTINGS_FIELDS,
        ("now", "i8"),
        ("counters", counters_t),
        ("first", "i8", (MAX_PORTS,)),
        ("last", "i8", (MAX_PORTS,)),
        ("arrives", "i8", (MAX_PORTS,)),  # when the first of each list is there
    ],
    align=True,
)


def configure(network: np.record, settings: dict) -> None:
    apply_settings(network, settings)
    network["now"] = -1
    network["first"], network["last"], network["arrives"] = NOTHING, NOTHING, FAR_FUTURE


@compiled
def send(network, requests, number, source, cycle):
    """Hand a packet to the network, which takes all."""
    request = requests.entry[number]
    there = cycle + network.routing_delay_cycles + network.channel_latency_cycles + request.flits - 1
    to = request.destination
    if network.first[to] == NOTHING:
        network.first[to], network.arrives[to] = number, there
    else:
        last = requests.entry[network.last[to]]
        last.next = number
        there = max(there, last.ready)
    network.last[to] = number
    request.ready, request.next = there, NOTHING
    network.counters.packets += 1
    network.counters.flits += request.flits
    network.counters.flit_hops += request.flits
    network.counters.latency_cycles += there - cycle
    return True


@compiled
def tick(network, cycle):
    network.now = cycle


@compiled
def receive(network, destination):
    """The packet that has come to a destination, or NOTHING; it stays there until taken."""
    return network.first[destination] if network.arrives[destination] <= network.now else NOTHING


@compiled
def receivers(network, first, end):
    """Of the 64 destinations from `first` on, below `end`, those that a packet has come to, as bits."""
    return those_due(network.arrives, first, end, network.now)


@compiled
def take(network, requests, destination):
    """Remove the packet that `receive` shows."""
    number = network.first[destination]
    following = requests.entry[number].next
    requests.entry[number].next = NOTHING
    network.first[destination] = following
    network.arrives[destination] = FAR_FUTURE if following == NOTHING else requests.entry[following].ready
    return number


@compiled
def next_event(network, cycle):
    """The first cycle, from this one on, at which a packet is there."""
    soonest = FAR_FUTURE
    for destination in range(network.destinations):
        soonest = min(soonest, network.arrives[destination])
    return max(soonest, cycle)
