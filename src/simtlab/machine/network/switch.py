"""The crossbar's switch: who crosses when. Grants are allocated as `crossbar` describes, and settled when it can matter."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.bit_set import add, bit_in_word, bit_set_t, next_around, remove
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_BUFFER_FLITS, MAX_PORTS, MAX_VCS
from simtlab.machine.network.alarm import wake_at
from simtlab.machine.network.arbiter import next_bit
from simtlab.machine.network.contest import enter, open_contest, settle_contest
from simtlab.machine.network.ejection import announce, ejection_t, expect, room
from simtlab.machine.network.packet import FAR_FUTURE
from simtlab.machine.record import record_t

NEVER = -1

packet_t = np.dtype(
    [
        ("number", "i4"),  # of the request
        ("destination", "i2"),
        ("flits", "i2"),
        ("ready", "i8"),  # routed: it may cross from this cycle on
        ("entered", "i8"),  # when it was sent
    ],
    align=True,
)

# Each packet has a flit at least, and none is accepted by a full buffer: there are never more packets than buffer flits and
# one whose last flit has just crossed. One place more makes it whole cache lines of the host.
channel_t = np.dtype(
    [
        ("flits", "i4"),  # accepted and not gone; as of the last `settle`
        ("head", "i4"),
        ("count", "i4"),
        ("packet", packet_t, (MAX_BUFFER_FLITS + 2,)),
    ],
    align=True,
)

input_t = record_t(
    [
        ("injecting_until", "i8"),  # the source's channel carries earlier packets before this cycle
        ("switching", "i4"),  # switch ports in use
        ("turn", "i4"),  # the virtual channel served last
        ("offers", "i4"),  # a bit for each virtual channel that an output has chosen in this cycle
        ("channel", channel_t, (MAX_VCS,)),
    ]
)

output_t = record_t(
    [
        ("vc", "i4"),  # the virtual channel of all packets to it
        ("wanted", bit_set_t(MAX_PORTS)),  # the inputs with a packet to this output at the front of its channel
        ("wanted_count", "i4"),
        ("turn", "i4"),  # the input served last
        ("owner", "i4"),  # the input whose packet has begun to cross, or NOTHING
        ("left", "i4"),  # flits of that packet which no grant covers yet
        ("started", "i8"),  # the grant: its first cycle,
        ("granted", "i4"),  # its flits (0: none in progress),
        ("settled", "i4"),  # and those already taken off the input's buffer
        ("blocked_since", "i8"),  # a packet is ready and the destination has no room, since then; or NEVER
        ("flits", "i8"),  # granted so far
        ("ejection", ejection_t),
    ]
)


@compiled
def front(channel):
    """The packet at the front of a virtual channel."""
    return channel.packet[channel.head]


@compiled
def ask(network, source, destination, ready):
    """A packet has come to the front of its virtual channel: it asks its output for the switch, from when it is routed."""
    output = network.output[destination]
    add(output.wanted, source)
    output.wanted_count += 1
    wake_at(network.alarm, destination, max(ready, network.alarm.now))


@compiled
def choose(network, destination, cycle):
    """The input a free output offers itself to: the next one, round robin, whose packet is ready and which has a switch
    port left; NOTHING if there is none."""
    output = network.output[destination]
    if network.contest.hook != 0:
        return choose_by_policy(network, destination, cycle)
    source = np.int64(output.turn)
    for _ in range(output.wanted_count):
        source = next_around(output.wanted, source)
        if may_cross(network, source, destination, cycle):
            return source
    return np.int64(NOTHING)


@compiled
def choose_by_policy(network, destination, cycle):
    """The input whose packet the arbitration policy prefers."""
    output = network.output[destination]
    open_contest(network.contest, destination, output.turn)
    source = np.int64(output.turn)
    for _ in range(output.wanted_count):
        source = next_around(output.wanted, source)
        if may_cross(network, source, destination, cycle):
            enter(network.contest, source, front(network.input[source].channel[output.vc]))
    return settle_contest(network.contest, cycle)


@compiled
def may_cross(network, source, destination, cycle):
    """Whether the packet an input has for an output is routed, and a switch port is left for it."""
    entry = network.input[source]
    return front(entry.channel[network.output[destination].vc]).ready <= cycle and entry.switching < network.input_speedup


@compiled
def offer(network, destination, cycle):
    """An output whose packet is not finished goes on with it; any other one chooses."""
    source = network.output[destination].owner
    if source == NOTHING:
        source = choose(network, destination, cycle)
        if source == NOTHING:
            return
    elif not may_cross(network, source, destination, cycle):
        return
    entry = network.input[source]
    if entry.offers == 0:
        network.offered[network.offered_count] = source
        network.offered_count += 1
    entry.offers |= 1 << network.output[destination].vc


@compiled
def accept(network, source, cycle):
    """An input accepts offers, round robin over its virtual channels, while it has switch ports."""
    entry = network.input[source]
    while entry.offers != 0 and entry.switching < network.input_speedup:
        entry.turn = next_bit(entry.offers, entry.turn)
        entry.offers &= ~(1 << entry.turn)
        grant(network, source, entry.turn, cycle)
    entry.offers = 0


@compiled
def grant(network, source, vc, cycle):
    """The packet at the front of a virtual channel crosses from this cycle on, as far as there is room for it."""
    packet = front(network.input[source].channel[vc])
    output = network.output[packet.destination]
    if output.owner == NOTHING:
        output.owner = source
        output.turn = source
        output.left = packet.flits
    output.started = cycle
    output.granted = min(output.left, room(output.ejection))
    network.crossing[packet.destination >> 6] |= bit_in_word(packet.destination)
    output.settled = 0
    output.left -= output.granted
    output.ejection.held += output.granted
    output.flits += output.granted
    network.counters.flit_hops += output.granted
    network.input[source].switching += 1
    if output.blocked_since != NEVER:
        network.counters.blocked_cycles += cycle - output.blocked_since
        output.blocked_since = NEVER


@compiled
def settle(network, destination, cycle):
    """Bring the input's buffer up to date, and end the grant after its last flit."""
    output = network.output[destination]
    entry = network.input[output.owner]
    empty_buffer(network, output.owner, destination, cycle)
    if output.settled < output.granted:
        return
    output.granted = 0
    network.crossing[destination >> 6] &= ~bit_in_word(destination)
    if entry.switching == network.input_speedup:
        wake_outputs_of(network, output.owner, cycle)
    entry.switching -= 1
    if output.left == 0:
        end_packet(network, destination, cycle)


@compiled
def empty_buffer(network, source, destination, cycle):
    """Take the flits of a grant that crossed before this cycle off the buffer of the input they came from."""
    output = network.output[destination]
    if output.owner == source and output.granted > 0:
        crossed = min(cycle - output.started, output.granted)
        network.input[source].channel[output.vc].flits -= crossed - output.settled
        output.settled = crossed


@compiled
def end_packet(network, destination, cycle):
    """A packet's last flit crossed in the cycle before: the output is free, and the next packet comes to the front."""
    output = network.output[destination]
    source = output.owner
    channel = network.input[source].channel[output.vc]
    output.owner = NOTHING
    remove(output.wanted, source)
    output.wanted_count -= 1
    deliver(network, front(channel), cycle - 1 + network.channel_latency_cycles)
    channel.count -= 1
    channel.head = channel.head + 1 if channel.head < network.buffer_flits and channel.count > 0 else 0
    if channel.count > 0:
        ask(network, source, front(channel).destination, front(channel).ready)


@compiled
def deliver(network, packet, arrives):
    """The last flit of a packet is on the channel to its destination port."""
    expect(network.output[packet.destination].ejection, packet.number, packet.flits, arrives)
    network.complete_at[packet.destination] = min(network.complete_at[packet.destination], arrives)
    announce(network.arrivals, arrives)
    unloaded = network.routing_delay_cycles + network.channel_latency_cycles + packet.flits - 1
    network.counters.delivered += 1
    network.counters.latency_cycles += arrives - packet.entered
    network.counters.queueing_cycles += arrives - packet.entered - unloaded


@compiled
def wake_outputs_of(network, source, cycle):
    """An input has a switch port back: the outputs its packets wait for may choose it now."""
    for vc in range(network.virtual_channels):
        channel = network.input[source].channel[vc]
        if channel.count > 0 and network.output[front(channel).destination].granted == 0:
            wake_at(network.alarm, front(channel).destination, max(front(channel).ready, cycle))


@compiled
def expect_room(network, destination):
    """A virtual channel may have become full while its front packet crosses: somebody may wait for room in it."""
    if network.output[destination].granted > 0:
        wake_at(network.alarm, destination, next_settlement(network, destination))


@compiled
def next_settlement(network, destination):
    """When a grant ends, or the buffer it empties gets room for a packet, whichever is first."""
    output = network.output[destination]
    channel = network.input[output.owner].channel[network.output[destination].vc]
    until_room = channel.flits - network.buffer_flits + 1
    pending = output.granted - output.settled
    if 0 < until_room < pending:
        pending = until_room
    return output.started + output.settled + pending


@compiled
def next_wake(network, destination, cycle):
    """The first cycle after this one at which something can change at an output.

    An input without a free switch port, and a destination without room, wake the output themselves.
    """
    output = network.output[destination]
    if output.granted > 0:
        return next_settlement(network, destination)
    wake = FAR_FUTURE
    source = output.turn
    for _ in range(output.wanted_count):
        source = next_around(output.wanted, source)
        if output.owner != NOTHING and output.owner != source:
            continue
        ready = front(network.input[source].channel[output.vc]).ready
        if ready > cycle:
            wake = min(wake, ready)
        elif room(output.ejection) == 0:
            if output.blocked_since == NEVER:
                output.blocked_since = cycle
        elif network.input[source].switching < network.input_speedup:
            wake = min(wake, cycle + 1)
    return wake
