"""One direction of the network between cores and L2 slices: a crossbar, a mesh, or an ideal one.

In a cycle packets are sent, then `arrive` completes those whose last flit is there, which are received, then `cross` moves flits. A
packet received keeps its place in the ejection buffer until that is done. So nobody but the network waits for `cross`, and a host
thread may move the flits of a cycle while others tick cores and L2 (threads.py), which have received, each for its own ports.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_PORTS
from simtlab.machine.network import crossbar, ideal, mesh
from simtlab.machine.record import record_t


class NetworkKind(IntEnum):
    CROSSBAR = 0
    MESH = 1
    IDEAL = 2


network_t = record_t(
    [
        ("kind", "i8"),
        ("destinations", "i8"),
        ("received", "u1", (MAX_PORTS,)),  # of each destination, whether its packet was taken in this cycle
        ("crossbar", crossbar.crossbar_t),
        ("ideal", ideal.ideal_t),
        ("mesh", mesh.mesh_t),
    ]
)
CROSSBAR, MESH, IDEAL = (int(kind) for kind in NetworkKind)
send_crossbar, receive_crossbar = crossbar.send, crossbar.receive
arrive_crossbar, cross_crossbar, arrive_mesh, cross_mesh = crossbar.arrive, crossbar.cross, mesh.arrive, mesh.cross
take_crossbar, next_in_crossbar, receivers_crossbar = crossbar.take, crossbar.next_event, crossbar.receivers
send_mesh, receive_mesh, take_mesh, next_in_mesh = mesh.send, mesh.receive, mesh.take, mesh.next_event
receivers_mesh, receivers_ideal = mesh.receivers, ideal.receivers
send_ideal, tick_ideal, receive_ideal, take_ideal = ideal.send, ideal.tick, ideal.receive, ideal.take
next_in_ideal = ideal.next_event


def configure(network: np.record, kind: str, settings: dict) -> None:
    """Make an empty network of a zeroed record."""
    network["kind"], network["destinations"] = NetworkKind[kind.upper()], settings["destinations"]
    {"crossbar": crossbar, "mesh": mesh, "ideal": ideal}[kind].configure(network[kind], settings)


@compiled
def send(network, requests, number, source, cycle):
    """Hand a packet to the network; False if there is no room. The request holds destination and flits."""
    if network.kind == CROSSBAR:
        return send_crossbar(network.crossbar, requests, number, source, cycle)
    if network.kind == MESH:
        return send_mesh(network.mesh, requests, number, source, cycle)
    return send_ideal(network.ideal, requests, number, source, cycle)


@compiled
def arrive(network, cycle):
    """A cycle begins: packets whose last flit is there are complete."""
    if network.kind == CROSSBAR:
        arrive_crossbar(network.crossbar, cycle)
    elif network.kind == MESH:
        arrive_mesh(network.mesh, cycle)
    else:
        tick_ideal(network.ideal, cycle)


@compiled
def cross(network, cycle):
    """Flits move, then the packets that were taken make room."""
    if network.kind == CROSSBAR:
        cross_crossbar(network.crossbar, cycle)
    elif network.kind == MESH:
        cross_mesh(network.mesh, cycle)
    for destination in range(network.destinations):
        if network.received[destination]:
            network.received[destination] = 0
            if network.kind == CROSSBAR:
                take_crossbar(network.crossbar, destination)
            elif network.kind == MESH:
                take_mesh(network.mesh, destination)
            else:
                network.ideal.counters.delivered += 1


@compiled
def receivers(network, first, end):
    """Of the 64 destinations from `first` on, below `end`, those with a packet that has completely arrived, as bits."""
    if network.kind == CROSSBAR:
        return receivers_crossbar(network.crossbar, first, end)
    if network.kind == MESH:
        return receivers_mesh(network.mesh, first, end)
    return receivers_ideal(network.ideal, first, end)


@compiled
def receive(network, destination):
    """The next packet that has completely arrived at a destination, or NOTHING; it stays there until taken."""
    if network.kind == CROSSBAR:
        return np.int64(receive_crossbar(network.crossbar, destination))
    if network.kind == MESH:
        return np.int64(receive_mesh(network.mesh, destination))
    return receive_ideal(network.ideal, destination)


@compiled
def take(network, requests, destination):
    """Remove the packet that `receive` shows, once in a cycle."""
    network.received[destination] = 1
    if network.kind == IDEAL:
        take_ideal(network.ideal, requests, destination)


@compiled
def next_event(network, cycle):
    """The first cycle, from this one on, whose tick could move something or complete a packet."""
    if network.kind == CROSSBAR:
        return next_in_crossbar(network.crossbar, cycle)
    if network.kind == MESH:
        return next_in_mesh(network.mesh, cycle)
    return next_in_ideal(network.ideal, cycle)
