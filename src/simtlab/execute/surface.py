"""Surface accesses: unformatted reads and writes of an image, x counted in bytes."""

import numpy as np

from simtlab.compiled import compiled, load_i64, load_u8, load_u32, store_i64, store_u8, store_u16, store_u32
from simtlab.execute.image import (
    CHANNELS,
    COMPONENT_BYTES,
    DEPTH,
    HEIGHT,
    HOST,
    NO_IMAGE,
    PITCH,
    SLICE,
    WIDTH,
    Role,
    find_image,
    handle_of,
)
from simtlab.execute.memory import MISALIGNED, OUTSIDE, report
from simtlab.execute.state import FaultCode
from simtlab.program.forms import GEOMETRIES

BAD_TEXTURE = int(FaultCode.BAD_TEXTURE)
SURFACE = int(Role.SURFACE)
ONE_D, TWO_D, THREE_D, LAYERED_1D, LAYERED_2D = range(len(GEOMETRIES) - 1)
TRAP, CLAMP, ZERO = 0, 1, 2  # what an access outside does
NUMBERS_AT, COORDINATES_AT = 5, 6  # see encode_surface
NOWHERE, FAULTED = 0, -1
HALF_REGISTER, WORD_REGISTER, DOUBLE_REGISTER = 0, 1, 2


@compiled
def surface(launch, worker, warp, ins, pc, mask):
    """Read or write for the lanes of `mask`. False if it faulted; the worker then knows why."""
    stores, count, width = ins.detail >> 8 & 1, (ins.detail >> 9 & 3) + 1, 1 << (ins.detail >> 4 & 3)
    for lane in range(32):
        if np.int64(mask) >> lane & 1:
            handle = handle_of(warp, ins, lane)
            image = find_image(launch, handle, SURFACE, ins.detail & 15)
            if image == NO_IMAGE:
                return report(worker, warp, ins, pc, lane, handle, BAD_TEXTURE)
            place = locate(image, worker, warp, ins, pc, lane, count * width)
            if place == FAULTED:
                return False
            for k in range(count):
                if stores:
                    if place != NOWHERE:
                        write(place + k * width, width, data_bits(warp, ins, lane, k))
                elif ins.operands[k] >= 0:
                    bits = read(place + k * width, width) if place != NOWHERE else np.int64(0)
                    set_register(warp, ins, lane, k, bits)
    if stores:
        worker.changes += 1
    return True


@compiled
def coordinate(warp, ins, lane, k):
    value = ins.operands[COORDINATES_AT + k]
    if ins.operands[NUMBERS_AT] >> (4 + k) & 1:
        value &= 0xFFFFFFFF
    else:
        value = np.int64(load_u32(warp.window + value + 4 * lane))
    return (value ^ 0x80000000) - 0x80000000


@compiled
def locate(image, worker, warp, ins, pc, lane, size):
    """The host address an access touches; NOWHERE if it is dropped, FAULTED if it is none. Layers are unsigned."""
    geometry, mode = ins.detail & 15, ins.detail >> 6 & 3
    first = 1 if geometry == LAYERED_1D or geometry == LAYERED_2D else 0
    x, y, z = coordinate(warp, ins, lane, first), np.int64(0), np.int64(0)
    if geometry != ONE_D and geometry != LAYERED_1D:
        y = coordinate(warp, ins, lane, first + 1)
    if first:
        z = coordinate(warp, ins, lane, 0) & 0xFFFFFFFF
    elif geometry == THREE_D:
        z = coordinate(warp, ins, lane, 2)
    row_bytes = load_i64(image + WIDTH) * load_i64(image + CHANNELS) * load_i64(image + COMPONENT_BYTES)
    height, depth = load_i64(image + HEIGHT), load_i64(image + DEPTH)
    inside = 0 <= x <= row_bytes - size and 0 <= y < height and 0 <= z < depth
    if x & (size - 1):
        report(worker, warp, ins, pc, lane, x, MISALIGNED)
        return np.int64(FAULTED)
    if not inside:
        if mode == ZERO:
            return np.int64(NOWHERE)
        if mode == TRAP or row_bytes < size:
            report(worker, warp, ins, pc, lane, x, OUTSIDE)
            return np.int64(FAULTED)
        x = min(max(x, 0), (row_bytes - size) // size * size)
        y, z = min(max(y, np.int64(0)), height - 1), min(max(z, np.int64(0)), depth - 1)
    return load_i64(image + HOST) + z * load_i64(image + SLICE) + y * load_i64(image + PITCH) + x


@compiled
def data_bits(warp, ins, lane, k):
    """What a store writes: an operand's number or its register."""
    value = ins.operands[k]
    if ins.operands[NUMBERS_AT] >> k & 1:
        return value
    kind = ins.detail >> 11 & 3
    if kind == DOUBLE_REGISTER:
        return load_i64(warp.window + value + 8 * lane)
    if kind == WORD_REGISTER:
        return np.int64(load_u32(warp.window + value + 4 * lane))
    return read(warp.window + value + 2 * lane, 2)


@compiled
def set_register(warp, ins, lane, k, bits):
    """A load's result, with zeros above it."""
    register, kind = ins.operands[k], ins.detail >> 11 & 3
    if kind == DOUBLE_REGISTER:
        store_i64(warp.window + register + 8 * lane, bits)
    elif kind == WORD_REGISTER:
        store_u32(warp.window + register + 4 * lane, np.uint32(bits & 0xFFFFFFFF))
    else:
        store_u16(warp.window + register + 2 * lane, np.uint16(bits & 0xFFFF))


@compiled
def read(place, width):
    if width == 8:
        return load_i64(place)
    if width == 4:
        return np.int64(load_u32(place))
    low = np.int64(load_u8(place))
    return low | np.int64(load_u8(place + 1)) << 8 if width == 2 else low


@compiled
def write(place, width, bits):
    if width == 8:
        store_i64(place, bits)
    elif width == 4:
        store_u32(place, np.uint32(bits & 0xFFFFFFFF))
    elif width == 2:
        store_u16(place, np.uint16(bits & 0xFFFF))
    else:
        store_u8(place, np.uint8(bits & 0xFF))
