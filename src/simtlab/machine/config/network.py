"""Between the cores and the L2, and from the grid to the cores."""

from dataclasses import dataclass

from simtlab.machine.config.keys import choice, count, flag, text
from simtlab.machine.limits import MAX_BUFFER_FLITS, MAX_CHANNEL_CYCLES, MAX_EJECTION_FLITS, MAX_VCS


@dataclass(frozen=True, kw_only=True)
class Network:
    """Two networks of this kind, one for requests and one for replies."""

    kind: str = choice("topology; ideal delivers after channel_latency_cycles and never blocks", "crossbar", "mesh", "ideal")
    flit_bytes: int = count("bytes", "a flit: what a channel moves in one cycle", low=8, high=256)
    virtual_channels: int = count("channels", "virtual channels of an input port", high=MAX_VCS)
    buffer_flits: int = count("flits", "buffer of a virtual channel", high=MAX_BUFFER_FLITS)
    ejection_flits: int = count("flits", "buffer where a packet leaves the network", high=MAX_EJECTION_FLITS)
    routing_delay_cycles: int = count("network cycles", "route computation of a packet's head at each router", low=1, high=64)
    channel_latency_cycles: int = count("network cycles", "a flit's way along one channel", high=MAX_CHANNEL_CYCLES)
    input_speedup: int = count("flits", "flits an input port may send into the switch in one cycle", high=MAX_VCS)
    header_bytes: int = count("bytes", "what a packet carries besides data", low=0, high=64)
    mask_cycles: int = count(
        "network cycles", "that a line of which a core writes a sector in part, or that its atomics change, keeps its port longer",
        low=0, high=4, default=0,
    )  # fmt: skip
    coalescing_cores: int = count(
        "cores", "the most cores of a GPC, which share a read under way, of data, instructions or constants; cores are dealt"
        " evenly, those side by side together; 0: none share", low=0, high=128, default=0,
    )  # fmt: skip
    coalescing_requests: int = count(
        "reads", "of data, that share one answer; 0: any number", low=0, high=128, default=0
    )
    coalescing_hit_cycles: int = count(
        "core cycles", "for which a read of data that the L2 has may be shared; 0: all are until the answer has come", low=0,
        high=4096, default=0,
    )  # fmt: skip
    coalescing_miss_cycles: int = count(
        "core cycles", "the same of one that the L2 has not (with coalescing_hit_cycles)", low=0, high=4096, default=0
    )
    coalesces_data: bool = flag("they share reads of data too, not only of instructions and constants", default=True)
    packet_sectors: int = count("sectors", "of one line, that a core reads with one packet", high=8, default=1)
    mesh_width: int = count("nodes", "columns (kind = mesh)", low=0, high=32, default=0)
    mesh_height: int = count("nodes", "rows (kind = mesh)", low=0, high=32, default=0)
    slice_placement: str = choice(
        "L2 slices are spread evenly over all routers, or over every second one as on a checkerboard (kind = mesh)",
        "even", "checkerboard", default="even",
    )  # fmt: skip
    half_routers: bool = flag("routers that a checkerboard has for L2 slices have no turns (kind = mesh)", default=False)


@dataclass(frozen=True, kw_only=True)
class Policies:
    """The policies a machine has unless others are named: a name, or a name and parameters as in `two-level,active_warps=8`."""

    warp_scheduler: str = text("which ready warp issues next", default="lrr")
    cta_dispatch: str = text("which core takes the next CTA", default="round-robin")
