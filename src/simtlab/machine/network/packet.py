"""Packets: a request or a reply cut into flits, the settings every network has, and what every network counts.

A request says where it goes (`destination`, a port number) and how long it is (`flits`) before it is sent. Its virtual
channel is its destination modulo the number of channels, all the way: packets to one destination never overtake each other.
(A mesh with half-routers has two sets of channels: see `checkerboard`.)
"""

from typing import Any

import numpy as np

from simtlab.compiled import compiled
from simtlab.errors import SimtlabError
from simtlab.machine.limits import (
    MAX_BUFFER_FLITS,
    MAX_CHANNEL_CYCLES,
    MAX_DATA_BYTES,
    MAX_EJECTION_FLITS,
    MAX_PACKET_FLITS,
    MAX_PORTS,
    MAX_VCS,
)

FAR_FUTURE = 1 << 62

# name, unit, sentence
COUNTERS = [
    ("packets", "packets", "Packets the sources handed to the network."),
    ("flits", "flits", "Flits of those packets."),
    ("delivered", "packets", "Packets whose last flit has crossed to its destination port."),
    ("latency_cycles", "network cycles", "Sum over delivered packets of the time from being sent to being complete there."),
    ("queueing_cycles", "network cycles", "The part of that time which an empty network would not have taken."),
    ("refused", "attempts", "Packets a source offered while their virtual channel had no room: one for every try."),
    ("blocked_cycles", "port cycles", "Time that destination ports had a packet waiting for room in their ejection buffer."),
    ("flit_hops", "flits", "Flits that crossed a switch: one for each flit in a crossbar, one for each router in a mesh."),
]

counters_t = np.dtype([(name, "i8") for name, _, _ in COUNTERS], align=True)

# key: the least and the greatest value allowed, and the default (None: it must be given)
LIMITS: dict[str, tuple[int, int, int | None]] = {
    "sources": (1, MAX_PORTS, None),
    "destinations": (1, MAX_PORTS, None),
    "flit_bytes": (8, 256, 16),  # DYNCTA Table I: 16 B channels
    "virtual_channels": (1, MAX_VCS, 4),  # DYNCTA Table I
    "buffer_flits": (1, MAX_BUFFER_FLITS, 4),  # of one virtual channel; DYNCTA Table I
    "ejection_flits": (1, MAX_EJECTION_FLITS, 32),  # three replies with a line each; chosen so that the credit loop never limits
    "routing_delay_cycles": (1, 64, 2),  # DYNCTA Table I
    "channel_latency_cycles": (1, MAX_CHANNEL_CYCLES, 2),  # DYNCTA Table I
    "input_speedup": (1, MAX_VCS, 2),  # DYNCTA Table I
    "injection_flits": (1, 8, 1),  # a source's channel carries into its buffers each cycle
    "header_bytes": (0, 64, 8),
    "largest_data_bytes": (0, MAX_DATA_BYTES, 128),  # a whole line
}

SETTINGS_FIELDS = [(key, "i4") for key in LIMITS]


def apply_settings(network: Any, settings: dict) -> None:
    """Write the settings every network has into its record; a wrong one is an error that names it."""
    for key, (least, greatest, default) in LIMITS.items():
        value = settings.get(key, default)
        if value is None or not least <= int(value) <= greatest:
            raise SimtlabError(f"network: {key} = {value}; allowed: {least} to {greatest}")
        network[key] = int(value)
    largest = flits_for(int(network["largest_data_bytes"]), int(network["header_bytes"]), int(network["flit_bytes"]))
    if largest > MAX_PACKET_FLITS:
        raise SimtlabError(
            f"network: flit_bytes = {network['flit_bytes']} cuts a packet of {network['largest_data_bytes']} data bytes "
            f"into {largest} flits; allowed: {MAX_PACKET_FLITS}"
        )
    if network["ejection_flits"] < largest:
        raise SimtlabError(
            f"network: ejection_flits = {network['ejection_flits']}; the largest packet has {largest} flits, "
            f"and a destination must hold it whole: allowed: {largest} to {MAX_EJECTION_FLITS}"
        )


def flits_for(data_bytes: Any, header_bytes: int, flit_bytes: int) -> Any:
    """How many flits a packet with so many bytes of data has: its header comes first, and the last flit may be part empty."""
    return np.maximum(1, -(-(header_bytes + data_bytes) // flit_bytes))


@compiled
def injection_cycles(network, flits):
    """How long a source's channel carries a packet into the buffers."""
    if network.injection_flits == 1:
        return np.int64(flits)
    return np.int64((flits + network.injection_flits - 1) // network.injection_flits)


@compiled
def channel_of(network, destination):
    """The virtual channel of all packets to a destination."""
    return destination % network.virtual_channels
