"""Half-routers for many-to-few traffic (Bakhoda, Kim, Aamodt, MICRO 2010; TACO 2013): every second router has no turns.

Cores talk to memory only, so few pairs of routers need a way. Full routers and half-routers alternate as on a checkerboard. A
half-router passes a flit straight on in its row or its column, takes flits from its sources and gives them to its destinations;
its switch has no connection between a row and a column. A packet turns at full routers only, and its way is a shortest one:

- XY, along its row and then its column, if the router at that corner is full, or if it need not turn;
- else YX, along its column first, if the router at the other corner is full;
- else both ends are half-routers, an even number of rows and of columns apart: it goes YX to a full router between them, in a
  row an odd number of rows away, and from there XY. That is a column, a row, and a column.

Each of these is a first part in the column, a row, and a last part in the column, any of them empty: the row says it all.
No way at all leads from a full router to one an odd number of rows and of columns away, so memory sits at half-routers.

XY and YX packets have virtual channels of their own; a packet that goes both ways changes from YX's to XY's where it turns for
the second time, and none changes back, so no cycle of waiting packets can close.

Chosen here: the router in the corner is a full one; of an odd number of virtual channels XY has one more; which row a two-phase
packet takes depends on its source and destination alone, so that packets between two ports stay in order; a half-router takes
a flit as many cycles as a full one.
"""

from typing import Any

import numpy as np

from simtlab.compiled import compiled
from simtlab.errors import SimtlabError


@compiled
def is_full(column, row):
    """Whether the router at a place of the checkerboard has turns."""
    return (column + row) % 2 == 0


@compiled
def row_along(network, port, destination):
    """The row in which a packet from an input goes to its destination's column."""
    entry = network.input[port]
    column = network.column_of_destination[destination]
    row = network.row_of_destination[destination]
    if network.half_routers == 0 or column == entry.column or row == entry.row or is_full(column, entry.row):
        return np.int64(entry.row)
    if is_full(entry.column, row):
        return np.int64(row)
    away = 1 + 2 * ((port + destination) % (abs(row - entry.row) // 2))
    return np.int64(entry.row + away if row > entry.row else entry.row - away)


@compiled
def xy_channel(network, destination):
    """The virtual channel of XY packets to a destination; all of them are XY's in a mesh of full routers."""
    return np.int64(destination % network.xy_channels)


@compiled
def first_channel(network, port, destination, row):
    """The virtual channel a packet starts on, if it goes to its destination's column in this row."""
    if row == network.input[port].row:
        return xy_channel(network, destination)
    return np.int64(network.xy_channels + destination % (network.virtual_channels - network.xy_channels))


@compiled
def next_channel(network, port, vc, destination):
    """The virtual channel on which a flit leaves a router: its own, until it is in its destination's column; there, XY's."""
    if network.column_of_destination[destination] == network.input[port].column:
        return xy_channel(network, destination)
    return np.int64(vc)


def half_routers(width: int, height: int) -> list[int]:
    """The routers of a mesh that have no turns, if every second one has none."""
    return [router for router in range(width * height) if not is_full(router % width, router // width)]


def divide_channels(network: Any, settings: dict) -> None:
    """Give XY packets their virtual channels: all, or half of them if there are half-routers."""
    halved = bool(settings.get("half_routers", False))
    channels = int(network["virtual_channels"])
    if halved and channels < 2:
        raise SimtlabError(f"network: virtual_channels = {channels}; with half_routers XY and YX packets need one each: at least 2")
    network["half_routers"] = halved
    network["xy_channels"] = channels - channels // 2 if halved else channels


def check_reachable(sources: list[int], destinations: list[int], width: int) -> None:
    """With half-routers, every source must have a way to every destination."""
    for source in set(sources):
        for destination in set(destinations):
            rows, columns = abs(source // width - destination // width), abs(source % width - destination % width)
            if rows % 2 and columns % 2 and is_full(source % width, source // width):
                raise SimtlabError(
                    f"network: with half_routers no way leads from router {source} to router {destination}: "
                    "both are full, an odd number of rows and of columns apart"
                )


def crosspoints(settings: dict) -> int:
    """Crosspoints of a mesh's switches, what their area grows with: the places where an input can drive an output.

    A link takes flits from each other link of its router, or from the opposite one only if that is a half-router, and from
    each source there; a destination takes them from every input.
    """
    width, height = settings["width"], settings["height"]
    halved = set(half_routers(width, height)) if settings.get("half_routers", False) else set()
    total = 0
    for router in range(width * height):
        across = (router % width > 0) + (router % width < width - 1)
        along = (router // width > 0) + (router // width < height - 1)
        links, sources = across + along, settings["node_of_source"].count(router)
        turning = (across == 2) * 2 + (along == 2) * 2 if router in halved else links * (links - 1)
        total += turning + links * sources + settings["node_of_destination"].count(router) * (links + sources)
    return total
