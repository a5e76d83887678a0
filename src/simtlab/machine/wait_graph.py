"""The wait graph of a machine that makes no progress: every warp, table, queue and bank that holds something up."""

from typing import Any

from simtlab.machine.build import Records
from simtlab.machine.network.network import NetworkKind

# Sets of warps of a core, and what their warps wait for.
WAITS = {
    "long": "for memory", "short": "for shared memory or the SFU", "constant": "for constants", "wait": "for a result",
    "barrier": "at a barrier", "membar": "at a fence", "resolving": "for a branch", "fetching": "for instructions",
    "refused": "to fetch instructions", "draining": "for their stores",
}  # fmt: skip
SHOWN = 4  # addresses


def wait_graph(records: Records) -> str:
    lines = [*_kernels(records.gpu[0])]
    for core in records.cores:
        lines += _core(core)
    for name, network in zip(("cores to memory", "memory to cores"), records.networks, strict=True):
        counters = network[NetworkKind(int(network.kind)).name.lower()].counters
        under_way = int(counters.packets) - int(counters.delivered)
        if under_way:
            lines.append(f"network, {name}: {under_way} packets in flight")
    for piece in records.slices:
        if piece.input.count or piece.mshr.used or piece.to_dram.count or piece.far_misses.count or piece.output.count:
            lines.append(f"L2 slice {piece.number}: {int(piece.input.count)} requests in, {int(piece.output.count)} answers out, "
                         f"{int(piece.to_dram.count + piece.far_misses.count)} for DRAM; {_missing(piece.mshr)}")  # fmt: skip
    for number, channel in enumerate(records.channels):
        if channel.queued:
            banks = [b for b in range(int(channel.n_banks)) if channel.nominees[b].position >= 0]
            lines.append(f"DRAM channel {number}: {int(channel.queued)} requests, for banks {_numbers(banks)}")
    return "\n".join(f"  {line}" for line in lines)


def _kernels(gpu: Any) -> list[str]:
    """CTAs that no core has yet."""
    lines = []
    for k in range(int(gpu.kernels)):
        launch = gpu.kernel[k].launch
        left = int(launch.n_ctas) - int(launch.next_cta)
        if left > 0:
            lines.append(f"launch {k}: {left} of {int(launch.n_ctas)} CTAs are in no core yet")
    return lines


def _core(core: Any) -> list[str]:
    occupied = int(core.occupied)
    if not occupied and not core.mshr.used:
        return []
    waiting = []
    for field, what in WAITS.items():
        warps = int(core[field]) & occupied
        occupied &= ~warps
        if warps:
            waiting.append(f"warps {_members(warps)} wait {what}")
    if occupied:
        waiting.append(f"warps {_members(occupied)} could issue, or wait for a unit")
    queues = f"{int(core.ldst_queue.count)} instructions in the load/store unit, {int(core.inject.count)} requests to send"
    return [f"core {core.number}: {'; '.join(waiting) or 'no warps'}; {queues}; {_missing(core.mshr)}"]


def _missing(mshr: Any) -> str:
    """The lines that pending misses are for."""
    used = int(mshr.used)
    free = {int(number) for number in mshr.free_entry[used : int(mshr.entries)]}
    taken = [number for number in range(int(mshr.entries)) if number not in free]
    addresses = [f"{int(mshr.entry[number].address):#x}" for number in taken[:SHOWN]]
    of = f": {', '.join(addresses)}{', …' if used > SHOWN else ''}" if addresses else ""
    return f"{used} of {int(mshr.entries)} MSHRs{of}"


def _members(mask: int) -> str:
    return _numbers([number for number in range(64) if mask >> number & 1])


def _numbers(numbers: list[int]) -> str:
    """Numbers in words: neighbours as a range."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(f"{part[0]}-{part[-1]}" if len(part) > 1 else str(part[0]) for part in parts)
