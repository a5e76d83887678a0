"""The coalescer: the lanes' addresses become as few memory accesses as they touch lines (or 32-byte sectors)."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.memory import is_local, is_shared, lane_address
from simtlab.execute.simt_stack import lowest_lane
from simtlab.isa.spaces import LOCAL_BASE
from simtlab.machine.core.shared_memory import conflict_passes
from simtlab.machine.core.timing import Memory

GLOBAL, LOCAL, SHARED, CONSTANT = (int(m) for m in (Memory.GLOBAL, Memory.LOCAL, Memory.SHARED, Memory.CONSTANT))
TEXTURE, GENERIC = int(Memory.TEXTURE), int(Memory.GENERIC)
LOCAL_MEMORY_BASE = 0x6000_0000_0000  # where threads' local memory lies for the caches, words of 32 lanes side by side
WORD_BYTES = 4


@compiled
def coalesce(gpu, core, op, warp, ins, mask):
    """Fill in the accesses of an instruction about to issue: its way, the lines it touches, its passes."""
    op.accesses = 0
    if mask == 0:
        return
    if op.memory == GENERIC:
        address = lane_address(warp, ins, lowest_lane(mask))
        op.memory = SHARED if is_shared(address) else LOCAL if is_local(address) else GLOBAL
    if op.memory == SHARED:
        op.passes = conflict_passes(gpu, warp, ins, mask, op.is_store == 0 and op.is_atomic == 1)
        return
    if op.memory == TEXTURE:  # no traffic yet: every texel is there a hit latency from now
        op.hits_ready = gpu.cycle + core.l1t.hit_latency
        return
    granule = gpu.constant_line_bytes if op.memory == CONSTANT else gpu.sector_bytes
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            address = lane_address(warp, ins, lane)
            if op.memory == LOCAL:
                add_local(gpu, core, op, lane, address, ins.access_bytes, granule)
            else:
                add(op, address, ins.access_bytes, granule)


@compiled
def add_local(gpu, core, op, lane, offset, size, granule):
    """A lane's local variable: its words lie apart, 32 lanes of each side by side."""
    for word in range(max(1, size // WORD_BYTES)):
        address = local_address(gpu, core, op.slot, lane, offset + word * WORD_BYTES)
        add(op, address, min(size, WORD_BYTES), granule)


@compiled
def local_address(gpu, core, w, lane, offset):
    """Local memory as the caches see it: the same word of 32 lanes lies side by side."""
    if offset >= LOCAL_BASE:
        offset -= LOCAL_BASE
    warp_bytes = 32 * max(gpu.local_bytes, WORD_BYTES)
    first = LOCAL_MEMORY_BASE + (core.number * 64 + w) * warp_bytes
    return first + offset // WORD_BYTES * 32 * WORD_BYTES + lane * WORD_BYTES + offset % WORD_BYTES


@compiled
def add(op, address, size, granule):
    """Add a lane's bytes to the access of its line."""
    line = address // granule * granule
    for k in range(op.accesses - 1, -1, -1):
        if op.lines[k] == line:
            op.bytes[k] = min(op.bytes[k] + size, granule)
            op.first[k] = min(op.first[k], address)
            return
    op.lines[op.accesses] = line
    op.first[op.accesses] = address
    op.bytes[op.accesses] = min(size, granule)
    op.accesses += 1


