"""Texture fetches: find the image, place the coordinates, read one texel or filter the ones around."""

import numpy as np

from simtlab.compiled import compiled, load_i64, load_u32, store_i64, store_u32
from simtlab.execute.coordinates import OUTSIDE, clamp_to_edge, scaled, texel_coordinate, texel_index
from simtlab.execute.cube import as_float, face_coordinate, face_of
from simtlab.execute.filtering import CORNERS, UNUSED, blend, ratio, weigh, widen_half
from simtlab.execute.image import (
    CHANNELS,
    COMPONENT_BYTES,
    DEPTH,
    FORMAT,
    GEOMETRY,
    HEIGHT,
    LINEAR,
    NO_IMAGE,
    NO_TEXEL,
    READ_AS_FLOAT,
    WIDTH,
    X_MODE,
    AddressMode,
    Format,
    Role,
    component,
    find_image,
    handle_of,
    signed,
    texel_at,
)
from simtlab.execute.memory import report
from simtlab.execute.state import FaultCode
from simtlab.execute.surface import surface
from simtlab.program.forms import GEOMETRIES

BAD_TEXTURE = int(FaultCode.BAD_TEXTURE)
TEXTURE, INDEX = int(Role.TEXTURE), int(AddressMode.INDEX)
F16, S8, S16 = int(Format.F16), int(Format.S8), int(Format.S16)
ONE_D, TWO_D, THREE_D, LAYERED_1D, LAYERED_2D, CUBE = range(len(GEOMETRIES))
NUMBERS_AT, COORDINATES_AT = 5, 6  # see encode_texture
INTEGER, MACHINE_CODE = 1 << 6, 1 << 7  # of the detail: coordinates are integers; it comes from machine code
FACE_PLACES = 21

__all__ = ["surface", "texture"]


@compiled
def texture(launch, worker, warp, ins, pc, mask):
    """Fetch for the lanes of `mask`. False if a handle was bad; the worker then knows why."""
    room = np.empty(2 * CORNERS, np.int64)  # compiled code counts references to arrays, so its address goes round instead
    places, weights = room.ctypes.data, room.ctypes.data + 8 * CORNERS
    for lane in range(32):
        if np.int64(mask) >> lane & 1:
            handle = handle_of(warp, ins, lane)
            image = find_texture(launch, handle, ins)
            if image == NO_IMAGE:
                return report(worker, warp, ins, pc, lane, handle, BAD_TEXTURE)
            filtered = place_texels(image, warp, ins, lane, places, weights)
            for channel in range(4):
                if ins.operands[channel] >= 0:
                    bits = fetch(image, channel, filtered, places, weights)
                    store_u32(warp.window + ins.operands[channel] + 4 * lane, np.uint32(bits))
    room[0] = NO_TEXEL  # the room lives until here
    return True


@compiled
def find_texture(launch, handle, ins):
    """The image of a fetch, or NO_IMAGE. Linear memory has whole indices only. Machine code has two coordinates for one axis."""
    geometry = ins.detail & 15
    image = find_image(launch, handle, TEXTURE, geometry)
    if image == NO_IMAGE and geometry == TWO_D and ins.detail & MACHINE_CODE:
        image = find_image(launch, handle, TEXTURE, ONE_D)
    if image != NO_IMAGE and not ins.detail & INTEGER and load_i64(image + X_MODE) == INDEX:
        return NO_IMAGE
    return image


@compiled
def coordinate_bits(warp, ins, lane, k):
    """The 32 bits of the k-th coordinate operand."""
    value = ins.operands[COORDINATES_AT + k]
    if ins.operands[NUMBERS_AT] >> k & 1:
        return value & 0xFFFFFFFF
    return np.int64(load_u32(warp.window + value + 4 * lane))


@compiled
def place_texels(image, warp, ins, lane, places, weights):
    """Fill in which texels a lane's fetch takes, with their weights. True if they are to be filtered."""
    geometry = ins.detail & 15
    if geometry == CUBE:
        place_on_cube(image, warp, ins, lane, places, weights)
        return load_i64(image + LINEAR) != 0
    first = 1 if geometry == LAYERED_1D or geometry == LAYERED_2D else 0
    flat = geometry == ONE_D or geometry == LAYERED_1D
    x, y, z = coordinate_bits(warp, ins, lane, first), np.int64(0), np.int64(0)
    if not flat:
        y = coordinate_bits(warp, ins, lane, first + 1)
    if first or geometry == THREE_D:
        z = coordinate_bits(warp, ins, lane, 0 if first else 2)
    if ins.detail & INTEGER:
        store_i64(places, indexed(image, x, y, z))
        return False
    x = texel_coordinate(image, 0, x)
    is_so = load_i64(image + GEOMETRY)
    if is_so != ONE_D and is_so != LAYERED_1D:  # a fetch along one axis of two: the other coordinate is 0
        y = texel_coordinate(image, 1, y)
    if first:
        z = min(z, load_i64(image + DEPTH) - 1) << 8
    elif geometry == THREE_D:
        z = texel_coordinate(image, 2, z)
    surround(image, x, y, z, places, weights)
    return load_i64(image + LINEAR) != 0


@compiled
def indexed(image, x, y, z):
    """The place of the texel with these whole numbers; there is none outside the image, however it is addressed."""
    if x >= load_i64(image + WIDTH) or y >= load_i64(image + HEIGHT) or z >= load_i64(image + DEPTH):
        return np.int64(NO_TEXEL)
    return texel_at(image, x, y, z)


@compiled
def place_on_cube(image, warp, ins, lane, places, weights):
    x = as_float(coordinate_bits(warp, ins, lane, 0))
    y = as_float(coordinate_bits(warp, ins, lane, 1))
    z = as_float(coordinate_bits(warp, ins, lane, 2))
    face, divided = face_of(x, y, z), ins.detail & MACHINE_CODE
    across = scaled(image, 0, face_coordinate(face, 0, x, y, z, divided), FACE_PLACES)
    down = scaled(image, 1, face_coordinate(face, 1, x, y, z, divided), FACE_PLACES)
    surround(image, across, down, np.int64(face) << 8, places, weights)


@compiled
def surround(image, x, y, z, places, weights):
    """The cell of texels around a point: corner x + 2 y + 4 z has its place and its weight."""
    x, y, z = clamp_to_edge(image, 0, x), clamp_to_edge(image, 1, y), clamp_to_edge(image, 2, z)
    weigh(weights, x & 255, y & 255, z & 255)
    for k in range(CORNERS):
        if load_i64(weights + 8 * k) != UNUSED:
            column = texel_index(image, 0, (x >> 8) + (k & 1))
            row = texel_index(image, 1, (y >> 8) + (k >> 1 & 1))
            deep = texel_index(image, 2, (z >> 8) + (k >> 2))
            if column == OUTSIDE or row == OUTSIDE or deep == OUTSIDE:
                store_i64(places + 8 * k, NO_TEXEL)
            else:
                store_i64(places + 8 * k, texel_at(image, column, row, deep))


@compiled
def fetch(image, channel, filtered, places, weights):
    """The bits of one channel of the result; channels the image has not read as zero."""
    if channel >= load_i64(image + CHANNELS):
        return np.int64(0)
    size, format = load_i64(image + COMPONENT_BYTES), load_i64(image + FORMAT)
    if filtered:
        return blend(places, weights, channel * size, format)
    place = load_i64(places)
    if place == NO_TEXEL:
        return np.int64(0)
    bits = component(place + channel * size, size)
    if format == F16:
        return widen_half(bits)
    is_signed = format == S8 or format == S16
    if load_i64(image + READ_AS_FLOAT):
        top = (np.int64(1) << (8 * size - is_signed)) - 1
        return ratio(max(signed(bits, size), -top), top) if is_signed else ratio(bits, top)
    return signed(bits, size) & 0xFFFFFFFF if is_signed else bits
