"""Texture coordinates: from the bits of a register to a texel and a fraction, as an H200 does it.

A texel coordinate here is a whole number of 1/256 texels. Normalised coordinates are cut to a fixed number of binary
places before they are multiplied by the size; coordinates in texels are not cut. A linear filter rounds to the nearest
1/256 (half goes up) and looks half a texel back; the nearest texel is the floor.
"""

import numpy as np

from simtlab.compiled import compiled, load_i64
from simtlab.execute.image import HEIGHT, LINEAR, NORMALIZED, WIDTH, X_MODE, AddressMode

CLAMP, WRAP, MIRROR = int(AddressMode.CLAMP), int(AddressMode.WRAP), int(AddressMode.MIRROR)
OUTSIDE = -1  # an index with no texel behind it
FAR = np.int64(1) << 62  # what coordinates too large for a fixed-point number become
FARTHEST_TEXEL = np.int64(1) << 20  # beyond the largest image
Z_AXIS = 2
Z_PLACES = 21


@compiled
def texel_coordinate(image, axis, bits):
    """Where a coordinate lies on an axis of the image."""
    if load_i64(image + NORMALIZED):
        places = binary_places(image, axis)
        return scaled(image, axis, fixed_point(bits, places), places)
    if load_i64(image + LINEAR):
        return ((clip(fixed_point(bits, 9), FARTHEST_TEXEL << 9) + 1) >> 1) - 128
    return clip(fixed_point(bits, 0), FARTHEST_TEXEL) << 8


@compiled
def binary_places(image, axis):
    """How many places of a normalised coordinate count: 21, and more for images wider or higher than 8192."""
    largest = max(load_i64(image + WIDTH), load_i64(image + HEIGHT))
    if axis == Z_AXIS or largest <= 8192:
        return Z_PLACES
    return 22 if largest <= 65536 else 23


@compiled
def scaled(image, axis, coordinate, places):
    """A normalised coordinate, given as a fixed-point number, in texels."""
    size, mode = load_i64(image + WIDTH + 8 * axis), load_i64(image + X_MODE + 8 * axis)
    one = np.int64(1) << places
    if mode == WRAP:
        coordinate &= one - 1
    elif mode == MIRROR:
        coordinate &= 2 * one - 1
    else:
        coordinate = clip(coordinate, 2 * one)
    texels = coordinate * size
    if load_i64(image + LINEAR):
        return (((texels << 8) + (one >> 1)) >> places) - 128
    return (texels >> places) << 8


@compiled
def fixed_point(bits, places):
    """The floor of a float times 2**places; 0 for NaN, ±FAR for what is too large. Subnormals count as zero."""
    exponent, mantissa = bits >> 23 & 0xFF, bits & 0x7FFFFF | 0x800000
    if exponent == 0 or (exponent == 255 and mantissa != 0x800000):
        return np.int64(0)
    shift = exponent - 150 + places
    negative = bits >> 31 & 1
    if shift > 38:
        return -FAR if negative else FAR
    if shift >= 0:
        return -(mantissa << shift) if negative else mantissa << shift
    cut = min(-shift, 40)
    return -((mantissa + (np.int64(1) << cut) - 1) >> cut) if negative else mantissa >> cut


@compiled
def clip(value, limit):
    return min(max(value, -limit), limit)


@compiled
def clamp_to_edge(image, axis, coordinate):
    """Clamping comes before the fraction is taken: beyond the outermost texels' centres there is no fraction."""
    if load_i64(image + X_MODE + 8 * axis) != CLAMP:
        return coordinate
    return min(max(coordinate, 0), (load_i64(image + WIDTH + 8 * axis) - 1) << 8)


@compiled
def texel_index(image, axis, index):
    """The texel an index on an axis means, or OUTSIDE."""
    size, mode = load_i64(image + WIDTH + 8 * axis), load_i64(image + X_MODE + 8 * axis)
    if 0 <= index < size:
        return index
    if mode == CLAMP:
        return min(max(index, 0), size - 1)
    if mode == WRAP:
        return index % size
    if mode == MIRROR:
        index %= 2 * size
        return index if index < size else 2 * size - 1 - index
    return np.int64(OUTSIDE)
