"""A crossbar: every source port has a wire to every destination port (one network for each direction).

A source has an input buffer for each virtual channel. A packet is accepted when the buffer has room for its head; the
flits that do not fit yet stay in the source's interface and follow as room appears. The channel from the source into its
buffers carries `injection_flits` a cycle, packet after packet. `routing_delay_cycles` after its head is in the buffer, the
packet at the front of a virtual channel asks its output for the switch.

The switch is allocated as in iSLIP (McKeown, ToN 1999), one iteration: each free output offers itself to one input, round
robin (`switch.choose`), and each input accepts as many offers as it has switch ports left (`input_speedup`), round robin
over its virtual channels. A grant lasts for as many flits as the packet has and the destination has credits for, one a
cycle; the output stays with the packet until its last flit, so packets are never interleaved, but an input whose packet
waits for credits has its switch port back. Since nothing can disturb a grant, the flits are not moved one by one: the
record holds when the grant began and how long it lasts, and `switch.settle` brings the buffer up to date when it matters.

An unloaded packet of F flits sent at cycle c is complete at its destination at
c + routing_delay_cycles + channel_latency_cycles + F - 1.

Defaults: DYNCTA (Kayıran et al., PACT 2013), Table I.
"""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.machine.bit_set import WORD_BITS, those_due
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_PORTS
from simtlab.machine.network.alarm import alarm_t, find_due, quiet, set_alarm, wake_at
from simtlab.machine.network.contest import contest_t
from simtlab.machine.network.ejection import arrivals_t, first_in, next_arrival, next_complete, release, room
from simtlab.machine.network.packet import FAR_FUTURE, SETTINGS_FIELDS, apply_settings, counters_t, injection_cycles
from simtlab.machine.network.switch import (
    NEVER,
    accept,
    ask,
    empty_buffer,
    expect_room,
    front,
    input_t,
    next_wake,
    offer,
    output_t,
    settle,
)
from simtlab.machine.record import new_records, record_t

crossbar_t = record_t(
    [
        *SETTINGS_FIELDS,
        ("asleep", "i4"),  # nothing can move in this cycle
        ("alarm", alarm_t(MAX_PORTS)),
        ("crossing", "u8", (-(-MAX_PORTS // WORD_BITS),)),  # outputs with a grant in progress, as words of bits
        ("offered", "i4", (MAX_PORTS,)),  # inputs with offers in this tick
        ("offered_count", "i4"),
        ("arrivals", arrivals_t),
        ("complete_at", "i8", (MAX_PORTS,)),  # when the oldest packet of each destination is complete, or FAR_FUTURE
        ("counters", counters_t),
        ("contest", contest_t),
        ("input", input_t, (MAX_PORTS,)),
        ("output", output_t, (MAX_PORTS,)),
    ]
)


def new_crossbar(settings: dict) -> np.recarray:
    """One crossbar's record, as an array of length one."""
    network = new_records(1, crossbar_t)
    configure(network[0], settings)
    return network


def configure(network: np.record, settings: dict) -> None:
    """Make an empty crossbar of a zeroed record."""
    apply_settings(network, settings)
    quiet(network["alarm"], int(network["destinations"]))
    network["input"]["turn"] = network["virtual_channels"] - 1
    network["complete_at"] = FAR_FUTURE
    output = network["output"]
    output["vc"] = np.arange(MAX_PORTS) % network["virtual_channels"]
    output["turn"] = network["sources"] - 1
    output["wanted"]["end"] = network["sources"]
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
    destination = requests.entry[number].destination
    flits = requests.entry[number].flits
    entry = network.input[source]
    channel = entry.channel[network.output[destination].vc]
    if channel.flits >= network.buffer_flits:
        network.counters.refused += 1
        return False
    if channel.count > 0:
        empty_buffer(network, source, front(channel).destination, cycle)
    start = max(cycle, entry.injecting_until)
    entry.injecting_until = start + injection_cycles(network, flits)
    place = channel.head + channel.count
    packet = channel.packet[place if place <= network.buffer_flits else place - network.buffer_flits - 1]
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
    """One network cycle."""
    arrive(network, cycle)
    cross(network, cycle)


@compiled
def arrive(network, cycle):
    """Buffers are brought up to date with the flits that crossed before; packets whose last one is at its port are complete."""
    network.alarm.now = cycle
    network.asleep = cycle < network.alarm.first
    if not network.asleep:
        find_due(network.alarm, cycle)
        settle_grants(network, cycle)


@compiled
def cross(network, cycle):
    """Outputs choose inputs, inputs accept, flits cross."""
    if not network.asleep:
        offer_outputs(network, cycle)
        accept_offers(network, cycle)
        sleep(network, cycle)


@compiled
def receive(network, destination):
    """The next packet that has completely arrived at a destination, or NOTHING; it stays there until taken."""
    if network.complete_at[destination] > network.alarm.now:
        return np.int32(NOTHING)
    return first_in(network.output[destination].ejection)


@compiled
def receivers(network, first, end):
    """Of the 64 destinations from `first` on, below `end`, those with a complete packet, as bits."""
    return those_due(network.complete_at, first, end, network.alarm.now)


@compiled
def take(network, destination):
    """Remove and give the packet that `receive` shows. Its room can be used from the next tick on.

    If the packet behind it is complete already, that is news: the next cycle is an event.
    """
    output = network.output[destination]
    number = release(output.ejection)
    network.complete_at[destination] = next_complete(output.ejection)
    if output.wanted_count > 0 and output.granted == 0:
        wake_at(network.alarm, destination, network.alarm.now + 1)
    if network.complete_at[destination] <= network.alarm.now:
        network.alarm.first = min(network.alarm.first, network.alarm.now + 1)
    return number


@compiled
def next_event(network, cycle):
    """The first cycle, from this one on, whose tick could move something or complete a packet; FAR_FUTURE if there is none.

    Room that appears in a full virtual channel is such an event too. A packet that lies untaken is not.
    """
    return max(network.alarm.first, cycle)


@compiled
def settle_grants(network, cycle):
    for word in range(network.alarm.words):
        due = np.uint64(network.alarm.due[word] & network.crossing[word])
        while due != 0:
            settle(network, (word << 6) + count_trailing_zeros(due), cycle)
            due = np.uint64(due & (due - np.uint64(1)))


@compiled
def offer_outputs(network, cycle):
    """Every output that is free and has room at its destination offers itself to one input."""
    network.offered_count = 0
    for word in range(network.alarm.words):
        due = np.uint64(network.alarm.due[word] & ~network.crossing[word])
        while due != 0:
            destination = (word << 6) + count_trailing_zeros(due)
            output = network.output[destination]
            if output.wanted_count > 0 and room(output.ejection) > 0:
                offer(network, destination, cycle)
            due = np.uint64(due & (due - np.uint64(1)))


@compiled
def accept_offers(network, cycle):
    for place in range(network.offered_count):
        accept(network, network.offered[place], cycle)


@compiled
def sleep(network, cycle):
    """Find when each output that was due has something to do again, and when the next packet is complete."""
    for word in range(network.alarm.words):
        due = network.alarm.due[word]
        while due != 0:
            output = (word << 6) + count_trailing_zeros(due)
            set_alarm(network.alarm, output, next_wake(network, output, cycle))
            due = np.uint64(due & (due - np.uint64(1)))
    network.alarm.first = min(network.alarm.first, next_arrival(network.arrivals, cycle))
