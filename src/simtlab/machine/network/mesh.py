"""A two-dimensional mesh of routers with dimension-order routing: a packet goes along its row first, then along its column.

Router r stands at column r % width, row r // width. Sources and destinations are attached to routers, several to one if
need be. Each virtual channel of a link ends in a buffer of `buffer_flits` at the next router; a flit leaves only with a
credit for a place in it, and the credit comes back the cycle after the flit goes on. A packet keeps its virtual channel, and
a virtual channel of a link carries one packet at a time (wormhole); packets of different channels share a link flit by flit.
XY routing turns from a row to a column only, so no cycle of waiting packets can close. With `half_routers`, every second
router has no turns, and packets go XY or YX: see `checkerboard`.

In a router a flit takes `routing_delay_cycles`, then asks for its output. Allocation is the crossbar's, for each flit anew:
an output offers itself to one input's virtual channel, round robin (`choose`); an input accepts at most `input_speedup`
offers, round robin. Injection and ejection are as in the crossbar.

An unloaded packet of F flits over H links sent at cycle c is complete at its destination at
c + (H + 1) * (routing_delay_cycles + channel_latency_cycles) + F - 1.
A virtual channel alone fills a link only if its buffer covers the credit loop of routing delay + channel latency + 1 cycles.

The topology is that of the larger systems in DYNCTA (Kayıran et al., PACT 2013), section V: 8 x 8 and 11 x 11.
"""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.errors import SimtlabError
from simtlab.machine.bit_set import WORD_BITS
from simtlab.machine.fifo import NOTHING
from simtlab.machine.limits import MAX_PORTS, MAX_ROUTERS, MAX_VCS
from simtlab.machine.network.alarm import alarm_t, find_due, quiet, set_alarm, wake_at
from simtlab.machine.network.checkerboard import check_reachable, divide_channels, first_channel, row_along
from simtlab.machine.network.contest import contest_t
from simtlab.machine.network.ejection import arrivals_t, complete, ejection_t, next_arrival, release
from simtlab.machine.network.packet import (
    SETTINGS_FIELDS,
    apply_settings,
    counters_t,
    injection_cycles,
)
from simtlab.machine.network.router import (
    MAX_LINKS,
    MAX_SLOTS,
    NEVER,
    Direction,
    accept,
    input_t,
    join,
    links_between,
    next_place,
    next_wake,
    offer,
    output_t,
)

STEPS = {Direction.EAST: (1, 0), Direction.WEST: (-1, 0), Direction.SOUTH: (0, 1), Direction.NORTH: (0, -1)}

mesh_t = np.dtype(
    [
        *SETTINGS_FIELDS,
        ("width", "i4"),
        ("height", "i4"),
        ("half_routers", "i4"),  # 0 or 1
        ("xy_channels", "i4"),  # virtual channels of XY packets: the first so many
        ("column_of_destination", "i4", (MAX_PORTS,)),
        ("row_of_destination", "i4", (MAX_PORTS,)),
        ("alarm", alarm_t(MAX_LINKS + MAX_PORTS)),
        ("arrivals", arrivals_t),
        ("counters", counters_t),
        ("contest", contest_t),
        ("offered", "i4", (MAX_LINKS + MAX_PORTS,)),  # inputs with offers in this tick
        ("offered_count", "i4"),
        ("input_in_slot", "i4", (MAX_ROUTERS, MAX_SLOTS)),
        ("ejection", ejection_t, (MAX_PORTS,)),
        ("output", output_t, (MAX_LINKS + MAX_PORTS,)),
        ("input", input_t, (MAX_LINKS + MAX_PORTS,)),
    ],
    align=True,
)


def new_mesh(settings: dict) -> np.recarray:
    """One mesh's record, as an array of length one."""
    network = np.zeros(1, mesh_t).view(np.recarray)
    configure(network[0], settings)
    return network


def configure(network: np.record, settings: dict) -> None:
    """Make an empty mesh of a zeroed record."""
    apply_settings(network, settings)
    divide_channels(network, settings)
    for key in ("width", "height"):
        network[key] = settings[key]
    if not 0 < int(network["width"]) * int(network["height"]) <= MAX_ROUTERS:
        raise SimtlabError(f"network: width x height = {settings['width']} x {settings['height']}; allowed: 1 to {MAX_ROUTERS}")
    quiet(network["alarm"], MAX_LINKS + int(network["destinations"]))
    network["input"]["turn"] = network["virtual_channels"] - 1
    network["output"]["turn"] = MAX_SLOTS * MAX_VCS - 1
    network["output"]["owner"] = NOTHING
    network["output"]["blocked_since"] = NEVER
    network["output"]["credits"] = network["buffer_flits"]
    network["ejection"]["limit"] = network["ejection_flits"]
    connect(network, settings)


def nodes_of(settings: dict, end: str, routers: int) -> list[int]:
    """The routers that the sources, or the destinations, are attached to."""
    nodes = [int(node) for node in settings[f"node_of_{end}"]]
    if len(nodes) != settings[f"{end}s"] or not all(0 <= node < routers for node in nodes):
        raise SimtlabError(
            f"network: node_of_{end} = {nodes}; allowed: a router from 0 to {routers - 1} for each of {settings[f'{end}s']}"
        )
    return nodes


def connect(network: np.record, settings: dict) -> None:
    """Attach links, sources and destinations to their routers."""
    width, height = settings["width"], settings["height"]
    for router in range(width * height):
        for direction, (right, down) in STEPS.items():
            link = 4 * router + direction
            network["output"]["router"][link] = router
            column, row = router % width + right, router // width + down
            if 0 <= column < width and 0 <= row < height:
                fill_slot(network, link, row * width + column, int(direction))
    sources, destinations = (nodes_of(settings, end, width * height) for end in ("source", "destination"))
    if network["half_routers"]:
        check_reachable(sources, destinations, width)
    used = [len(STEPS)] * (width * height)
    for source, router in enumerate(sources):
        if used[router] == MAX_SLOTS:
            raise SimtlabError(f"network: node_of_source puts more than {MAX_SLOTS - len(STEPS)} sources at router {router}")
        fill_slot(network, MAX_LINKS + source, router, used[router])
        used[router] += 1
    for destination, router in enumerate(destinations):
        network["output"]["router"][MAX_LINKS + destination] = router
        network["column_of_destination"][destination] = router % width
        network["row_of_destination"][destination] = router // width


def fill_slot(network: np.record, port: int, router: int, slot: int) -> None:
    """An input of a router takes a place among its inputs."""
    entry = network["input"][port]
    entry["router"], entry["slot"] = router, slot
    entry["row"], entry["column"] = divmod(router, int(network["width"]))
    network["input_in_slot"][router, slot] = port


@compiled
def can_send(network, source, destination):
    """Whether a source's packet to a destination would be accepted: its virtual channel has room for a head."""
    port = MAX_LINKS + source
    vc = first_channel(network, port, destination, row_along(network, port, destination))
    return network.input[port].lane[vc].count < network.buffer_flits


@compiled
def send(network, requests, number, source, cycle):
    """Hand a packet to the network; False if its virtual channel has no room. The request holds destination and flits."""
    destination = requests.entry[number].destination
    flits = requests.entry[number].flits
    port = MAX_LINKS + source
    entry = network.input[port]
    row = row_along(network, port, destination)
    vc = first_channel(network, port, destination, row)
    if entry.lane[vc].count >= network.buffer_flits:
        network.counters.refused += 1
        return False
    start = max(cycle, entry.injecting_until)
    entry.injecting_until = start + injection_cycles(network, flits)
    hop_cycles = network.routing_delay_cycles + network.channel_latency_cycles
    unloaded = cycle + (links_between(network, port, destination) + 1) * hop_cycles + flits - 1
    for position in range(flits):
        flit = next_place(entry.lane[vc])
        flit.number = number
        flit.destination = destination
        flit.row = row
        flit.flits = flits
        flit.is_last = 1 if position == flits - 1 else 0
        flit.ready = start + position // network.injection_flits + network.routing_delay_cycles
        flit.entered = cycle
        flit.unloaded = unloaded
        join(network, port, vc)
    network.counters.packets += 1
    network.counters.flits += flits
    return True


@compiled
def tick(network, cycle):
    """One network cycle."""
    arrive(network, cycle)
    cross(network, cycle)


@compiled
def arrive(network, cycle):
    """Packets whose last flit is at its port by now are complete."""
    network.alarm.now = cycle


@compiled
def cross(network, cycle):
    """Outputs choose lanes, inputs accept, a flit crosses each output that was accepted."""
    if cycle < network.alarm.first:
        return
    find_due(network.alarm, cycle)
    offer_outputs(network, cycle)
    accept_offers(network, cycle)
    sleep(network, cycle)


@compiled
def receive(network, destination):
    """The next packet that has completely arrived at a destination, or NOTHING; it stays there until taken."""
    return complete(network.ejection[destination], network.alarm.now)


@compiled
def receivers(network, first, end):
    """Of the 64 destinations from `first` on, below `end`, those with a complete packet, as bits."""
    found = np.uint64(0)
    for destination in range(first, min(end, first + WORD_BITS)):
        found |= np.uint64(receive(network, destination) != NOTHING) << np.uint64(destination - first)
    return found


@compiled
def take(network, destination):
    """Remove and give the packet that `receive` shows. Its room can be used from the next tick on.

    If the packet behind it is complete already, that is news: the next cycle is an event.
    """
    number = release(network.ejection[destination])
    if network.output[MAX_LINKS + destination].wanted != 0:
        wake_at(network.alarm, MAX_LINKS + destination, network.alarm.now + 1)
    if complete(network.ejection[destination], network.alarm.now) != NOTHING:
        network.alarm.first = min(network.alarm.first, network.alarm.now + 1)
    return number


@compiled
def next_event(network, cycle):
    """The first cycle, from this one on, whose tick could move something or complete a packet; FAR_FUTURE if there is none.

    A packet that lies untaken is no event.
    """
    return max(network.alarm.first, cycle)


@compiled
def offer_outputs(network, cycle):
    network.offered_count = 0
    for word in range(network.alarm.words):
        due = network.alarm.due[word]
        while due != 0:
            offer(network, (word << 6) + count_trailing_zeros(due), cycle)
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
