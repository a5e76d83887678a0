"""A crossbar: every source port has a wire to every destination port (one network for each direction).

A source has an input buffer for each virtual channel. A packet is accepted when the buffer has room for its head; the
flits that do not fit yet stay in the source's interface and follow as room appears. The channel from the source into its
buffers carries `injection_flits` a cycle, packet after packet. `routing_delay_cycles` after its head is in the buffer, the
packet at the front of a virtual channel asks its output for the switch.

The switch is allocated as in iSLIP (McKeown, ToN 1999), one iteration: each free output offers itself to one input, round
robin (`choose`), and each input accepts as many offers as it has switch ports left (`input_speedup`), round robin over its
virtual channels. A grant lasts for as many flits as the packet has and the destination has credits for, one a cycle; the
output stays with the packet until its last flit, so packets are never interleaved, but an input whose packet waits for
credits has its switch port back. Since nothing can disturb a grant, the flits are not moved one by one: the record holds
when the grant began and how long it lasts, and `settle` brings the buffer up to date when that can matter to somebody.

An unloaded packet of F flits sent at cycle c is complete at its destination at
c + routing_delay_cycles + channel_latency_cycles + F - 1.

Defaults: DYNCTA (Kayıran et al., PACT 2013), Table I.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING
from simtlab.machine.network.alarm import alarm_t, find_due, quiet, set_alarm, wake_at
from simtlab.machine.network.arbiter import add_port, next_port, port_set_t, remove_port
from simtlab.machine.network.ejection import announce, arrivals_t, complete, ejection_t, expect, next_arrival, release, room
from simtlab.machine.network.packet import (
    FAR_FUTURE,
    MAX_BUFFER_FLITS,
    MAX_PORTS,
    MAX_VCS,
    SETTINGS_FIELDS,
    apply_settings,
    counters_t,
)

NEVER = -1

packet_t = np.dtype(
    [
        ("number", "i4"),  # of the request
        ("destination", "i4"),
        ("flits", "i4"),
        ("ready", "i8"),  # routed: it may cross from this cycle on
        ("entered", "i8"),  # when it was sent
    ],
    align=True,
)

# Each packet has a flit at least, and none is accepted by a full buffer: there are never more packets than buffer flits.
channel_t = np.dtype(
    [
        ("flits", "i4"),  # accepted and not gone; as of the last `settle`
        ("head", "i4"),
        ("count", "i4"),
        ("packet", packet_t, (MAX_BUFFER_FLITS,)),
    ],
    align=True,
)

input_t = np.dtype(
    [
        ("injecting_until", "i8"),  # the source's channel carries earlier packets before this cycle
        ("switching", "i4"),  # switch ports in use
        ("turn", "i4"),  # the virtual channel served last
        ("offers", "i4"),  # a bit for each virtual channel that an output has chosen in this cycle
        ("channel", channel_t, (MAX_VCS,)),
    ],
    align=True,
)

output_t = np.dtype(
    [
        ("vc", "i4"),  # the virtual channel of all packets to it
        ("wanted", port_set_t(MAX_PORTS)),  # the inputs with a packet to this output at the front of its channel
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
    ],
    align=True,
)

crossbar_t = np.dtype(
    [
        *SETTINGS_FIELDS,
        ("alarm", alarm_t(MAX_PORTS)),
        ("offered", "i4", (MAX_PORTS,)),  # inputs with offers in this tick
        ("offered_count", "i4"),
        ("arrivals", arrivals_t),
        ("counters", counters_t),
        ("input", input_t, (MAX_PORTS,)),
        ("output", output_t, (MAX_PORTS,)),
    ],
    align=True,
)


def new_crossbar(settings: dict) -> np.recarray:
    """One crossbar's record, as an array of length one."""
    network = np.zeros(1, crossbar_t).view(np.recarray)
    configure(network[0], settings)
    return network


def configure(network: np.record, settings: dict) -> None:
    """Make an empty crossbar of a zeroed record."""
    apply_settings(network, settings)
    quiet(network["alarm"])
    network["input"]["turn"] = network["virtual_channels"] - 1
    output = network["output"]
    output["vc"] = np.arange(MAX_PORTS) % network["virtual_channels"]
    output["turn"] = MAX_PORTS - 1
    output["owner"] = NOTHING
    output["blocked_since"] = NEVER
    output["ejection"]["limit"] = network["ejection_flits"]


@compiled
def can_send(network, source, destination):
    """Whether a source's packet to a destination would be accepted: its virtual channel has room for a head."""
    return network.input[source].channel[network.output[destination].vc].flits < network.buffer_flits


@compiled
def send(network, requests, number, source, cycle):
    """Hand a packet to the network; False if its virtual channel has no room. The request holds destination and flits."""
    destination = requests[number].destination
    flits = requests[number].flits
    entry = network.input[source]
    channel = entry.channel[network.output[destination].vc]
    if channel.flits >= network.buffer_flits:
        network.counters.refused += 1
        return False
    if channel.count > 0:
        empty_buffer(network, source, front(channel).destination, cycle)
    start = max(cycle, entry.injecting_until)
    entry.injecting_until = start + (flits + network.injection_flits - 1) // network.injection_flits
    packet = channel.packet[(channel.head + channel.count) % MAX_BUFFER_FLITS]
    packet.number = number
    packet.destination = destination
    packet.flits = flits
    packet.ready = start + network.routing_delay_cycles
    packet.entered = cycle
    channel.flits += flits
    channel.count += 1
    network.counters.packets += 1
    network.counters.flits += flits
    if channel.count == 1:
        ask(network, source, destination, packet.ready)
    elif network.output[front(channel).destination].owner == source:
        expect_room(network, front(channel).destination)
    return True


@compiled
def tick(network, cycle):
    """One network cycle: buffers are brought up to date, outputs choose inputs, inputs accept, flits cross."""
    network.alarm.now = cycle
    if cycle < network.alarm.first:
        return
    find_due(network.alarm, cycle)
    settle_grants(network, cycle)
    offer_outputs(network, cycle)
    accept_offers(network, cycle)
    sleep(network, cycle)


@compiled
def receive(network, destination):
    """The next packet that has completely arrived at a destination, or NOTHING; it stays there until taken."""
    return complete(network.output[destination].ejection, network.alarm.now)


@compiled
def take(network, destination):
    """Remove and give the packet that `receive` shows. Its room can be used from the next tick on."""
    output = network.output[destination]
    number = release(output.ejection)
    if output.wanted_count > 0 and output.granted == 0:
        wake_at(network.alarm, destination, network.alarm.now + 1)
    return number


@compiled
def next_event(network, cycle):
    """The first cycle, from this one on, whose tick could move something or complete a packet; FAR_FUTURE if there is none.

    Room that appears in a full virtual channel is such an event too. What has arrived and was not taken is not.
    """
    return max(network.alarm.first, cycle)


@compiled
def choose(network, destination, cycle):
    """The input a free output offers itself to: the next one, round robin, whose packet is ready and which has a switch
    port left; NOTHING if there is none. This is the arbitration policy."""
    output = network.output[destination]
    source = output.turn
    for _ in range(output.wanted_count):
        source = next_port(output.wanted, source)
        if may_cross(network, source, destination, cycle):
            return source
    return NOTHING


@compiled
def may_cross(network, source, destination, cycle):
    """Whether the packet an input has for an output is routed, and a switch port is left for it."""
    entry = network.input[source]
    return front(entry.channel[network.output[destination].vc]).ready <= cycle and entry.switching < network.input_speedup


@compiled
def front(channel):
    """The packet at the front of a virtual channel."""
    return channel.packet[channel.head]


@compiled
def ask(network, source, destination, ready):
    """A packet has come to the front of its virtual channel: it asks its output for the switch, from when it is routed."""
    output = network.output[destination]
    add_port(output.wanted, source)
    output.wanted_count += 1
    wake_at(network.alarm, destination, max(ready, network.alarm.now))


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
def settle_grants(network, cycle):
    for place in range(network.alarm.due_count):
        destination = network.alarm.due[place]
        if network.output[destination].granted > 0:
            settle(network, destination, cycle)


@compiled
def settle(network, destination, cycle):
    """Bring the input's buffer up to date, and end the grant after its last flit."""
    output = network.output[destination]
    entry = network.input[output.owner]
    empty_buffer(network, output.owner, destination, cycle)
    if output.settled < output.granted:
        return
    output.granted = 0
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
    remove_port(output.wanted, source)
    output.wanted_count -= 1
    deliver(network, front(channel), cycle - 1 + network.channel_latency_cycles)
    channel.head = (channel.head + 1) % MAX_BUFFER_FLITS
    channel.count -= 1
    if channel.count > 0:
        ask(network, source, front(channel).destination, front(channel).ready)


@compiled
def wake_outputs_of(network, source, cycle):
    """An input has a switch port back: the outputs its packets wait for may choose it now."""
    for vc in range(network.virtual_channels):
        channel = network.input[source].channel[vc]
        if channel.count > 0 and network.output[front(channel).destination].granted == 0:
            wake_at(network.alarm, front(channel).destination, max(front(channel).ready, cycle))


@compiled
def offer_outputs(network, cycle):
    """Every output that is free and has room at its destination offers itself to one input."""
    network.offered_count = 0
    for place in range(network.alarm.due_count):
        output = network.output[network.alarm.due[place]]
        if output.granted == 0 and output.wanted_count > 0 and room(output.ejection) > 0:
            offer(network, network.alarm.due[place], cycle)


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
def accept_offers(network, cycle):
    for place in range(network.offered_count):
        accept(network, network.offered[place], cycle)


@compiled
def accept(network, source, cycle):
    """An input accepts offers, round robin over its virtual channels, while it has switch ports."""
    entry = network.input[source]
    vc = entry.turn
    for _ in range(network.virtual_channels):
        vc = vc + 1 if vc + 1 < network.virtual_channels else 0
        if (entry.offers >> vc) & 1 and entry.switching < network.input_speedup:
            entry.turn = vc
            grant(network, source, vc, cycle)
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
def deliver(network, packet, arrives):
    """The last flit of a packet is on the channel to its destination port."""
    expect(network.output[packet.destination].ejection, packet.number, packet.flits, arrives)
    announce(network.arrivals, arrives)
    unloaded = network.routing_delay_cycles + network.channel_latency_cycles + packet.flits - 1
    network.counters.delivered += 1
    network.counters.latency_cycles += arrives - packet.entered
    network.counters.queueing_cycles += arrives - packet.entered - unloaded


@compiled
def sleep(network, cycle):
    """Find when each output that was due has something to do again, and when the next packet is complete."""
    for place in range(network.alarm.due_count):
        output = network.alarm.due[place]
        set_alarm(network.alarm, output, next_wake(network, output, cycle))
    network.alarm.first = min(network.alarm.first, next_arrival(network.arrivals, cycle))


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
        source = next_port(output.wanted, source)
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
