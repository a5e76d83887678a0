"""Linear filtering, bit for bit as an H200 filters.

Weights are whole 1/256ths that add up to 256: along z first, then x, then y, each part rounded (half up) and the other
part what remains. Floats are added as a dot-product unit does it: the four texels of a z plane are cut to four bits
below the last place of the largest, their weighted sum is exact, the planes' sums are cut to a common place whose
exponent is a multiple of four, and the result is rounded half away from zero. Normalised integers are filtered as
16-bit numbers.
"""

import numpy as np

from simtlab.compiled import compiled, load_i64, store_i64
from simtlab.execute.image import NO_TEXEL, Format, component, signed

U8, S8, U16, S16 = int(Format.U8), int(Format.S8), int(Format.U16), int(Format.S16)
F16, F32 = int(Format.F16), int(Format.F32)
UNUSED = -1  # the weight of a corner outside the filter's footprint; a weight of 0 may still be inside
CORNERS = 8
GUARD_BITS, WEIGHT_BITS = 4, 8
NAN, NAN_OF_HALF, INFINITY = 0x7FFFFFFF, 0x7FFFE000, 0x7F800000
SIGN = 0x80000000


@compiled
def weigh(weights, fx, fy, fz):
    """The weights of the corners x + 2 y + 4 z of a cell, for fractions in 1/256."""
    weigh_plane(weights, 0, 256 - fz, fx, fy)
    if fz:
        weigh_plane(weights, 4, fz, fx, fy)
    else:
        for k in range(4, CORNERS):
            store_i64(weights + 8 * k, UNUSED)


@compiled
def weigh_plane(weights, first, weight, fx, fy):
    right = (weight * fx + 128) >> 8
    left = weight - right
    lower_right = (right * fy + 128) >> 8
    lower_left = (left * fy + 127) >> 8
    plane = weights + 8 * first
    store_i64(plane, left - lower_left)
    store_i64(plane + 8, right - lower_right if fx else UNUSED)
    store_i64(plane + 16, lower_left if fy else UNUSED)
    store_i64(plane + 24, lower_right if fx and fy else UNUSED)


@compiled
def blend(places, weights, offset, format):
    """The bits of the filtered float; `offset` is where the component stands in a texel."""
    if format == F16 or format == F32:
        return blend_floats(places, weights, offset, format)
    size = 1 if format == U8 or format == S8 else 2
    total = np.int64(0)
    for k in range(CORNERS):
        if load_i64(weights + 8 * k) > 0 and load_i64(places + 8 * k) != NO_TEXEL:
            bits = component(load_i64(places + 8 * k) + offset, size)
            total += load_i64(weights + 8 * k) * (bits if format == U8 or format == U16 else signed(bits, size))
    if format == U8:
        return ratio((total * 257 + 128) >> 8, 65535)
    if format == U16:
        return ratio((total + 128) >> 8, 65535)
    if format == S8:
        total = ((total << 3) + ((total << 3) >> 7) + ((total << 3) >> 15) + 4) >> 3
        return ratio(max(total, -32767), 32767)
    return ratio(max((total + 128) >> 8, -32767), 32767)


@compiled
def ratio(numerator, denominator):
    """The bits of a quotient of whole numbers, rounded to nearest."""
    quotient = np.float32(np.float32(numerator) / np.float32(denominator))
    return np.int64(quotient.view(np.uint32))


@compiled
def blend_floats(places, weights, offset, format):
    top_0, top_1 = largest_exponent(places, weights, 0, offset, format), largest_exponent(places, weights, 4, offset, format)
    special = 31 if format == F16 else 255
    if top_0 == special or top_1 == special:
        return blend_special(places, weights, offset, format)
    base = max(top_0, top_1) >> 2 << 2
    total = move(plane_sum(places, weights, 0, offset, format, top_0), top_0 - base)
    total += move(plane_sum(places, weights, 4, offset, format, top_1), top_1 - base)
    if total == 0:
        return np.int64(SIGN if all_negative(places, weights, offset, format) else 0)
    sign = np.int64(SIGN) if total < 0 else np.int64(0)
    return sign | (round_half(abs(total), base) if format == F16 else round_single(abs(total), base))


@compiled
def texel_bits(places, k, offset, format):
    """A texel's bits; border texels are zero."""
    if load_i64(places + 8 * k) == NO_TEXEL:
        return np.int64(0)
    return component(load_i64(places + 8 * k) + offset, 2 if format == F16 else 4)


@compiled
def exponent_of(bits, format):
    """The biased exponent; subnormals have 1."""
    return max(bits >> 10 & 31, 1) if format == F16 else max(bits >> 23 & 255, 1)


@compiled
def mantissa_of(bits, format):
    """With the hidden bit. Subnormal singles count as zero, subnormal halves do not."""
    if format == F16:
        return bits & 0x3FF | (0x400 if bits & 0x7C00 else 0)
    return bits & 0x7FFFFF | 0x800000 if bits & INFINITY else np.int64(0)


@compiled
def largest_exponent(places, weights, first, offset, format):
    largest, special = np.int64(1), 31 if format == F16 else 255
    for k in range(first, first + 4):
        if load_i64(weights + 8 * k) != UNUSED:
            exponent = exponent_of(texel_bits(places, k, offset, format), format)
            if load_i64(weights + 8 * k) > 0 or exponent == special:
                largest = max(largest, exponent)
    return largest


@compiled
def plane_sum(places, weights, first, offset, format, top):
    """The weighted sum of a plane's texels, in units of 2**-12 of the last place of the largest exponent."""
    total = np.int64(0)
    for k in range(first, first + 4):
        if load_i64(weights + 8 * k) > 0:
            bits = texel_bits(places, k, offset, format)
            cut = min(top - exponent_of(bits, format), 40)
            term = ((mantissa_of(bits, format) << GUARD_BITS) >> cut) * load_i64(weights + 8 * k)
            total += -term if bits >> (15 if format == F16 else 31) & 1 else term
    return total


@compiled
def move(value, places):
    return value << places if places >= 0 else value >> min(-places, 62)


@compiled
def all_negative(places, weights, offset, format):
    for k in range(CORNERS):
        if (
            load_i64(weights + 8 * k) != UNUSED
            and not texel_bits(places, k, offset, format) >> (15 if format == F16 else 31) & 1
        ):
            return False
    return True


@compiled
def blend_special(places, weights, offset, format):
    """Infinities and NaNs in the footprint."""
    positive = negative = False
    for k in range(CORNERS):
        if load_i64(weights + 8 * k) != UNUSED:
            bits = texel_bits(places, k, offset, format)
            if exponent_of(bits, format) == (31 if format == F16 else 255):
                if bits & (0x3FF if format == F16 else 0x7FFFFF):
                    positive = negative = True
                elif bits >> (15 if format == F16 else 31) & 1:
                    negative = True
                else:
                    positive = True
    if positive and negative:
        return np.int64(NAN_OF_HALF if format == F16 else NAN)
    return np.int64(INFINITY | SIGN if negative else INFINITY)


@compiled
def bit_length(value):
    """Of a positive number below 2**53, read off the exponent it has as a double."""
    return (np.float64(value).view(np.int64) >> 52) - 1022


@compiled
def round_to(value, cut):
    """Drop `cut` bits, half away from zero."""
    return (value + (np.int64(1) << (cut - 1))) >> cut if cut > 0 else value << -cut


@compiled
def round_single(total, base):
    """Single-precision bits of total · 2**(base - 162); what is below the normal numbers becomes zero."""
    length = bit_length(total)
    mantissa = round_to(total, length - 24)
    exponent = length + base - 36
    if mantissa >> 24:
        mantissa >>= 1
        exponent += 1
    return (exponent << 23) + (mantissa & 0x7FFFFF) if exponent > 0 else np.int64(0)


@compiled
def round_half(total, base):
    """The half-precision value of total · 2**(base - 37), as single-precision bits."""
    length = bit_length(total)
    cut = max(length - 11, 13 - base)
    mantissa = round_to(total, cut)
    return half_value(mantissa, cut + base - 37)


@compiled
def half_value(mantissa, exponent):
    """Single-precision bits of mantissa · 2**exponent, which is exact."""
    if mantissa == 0:
        return np.int64(0)
    length = bit_length(mantissa)
    return ((exponent + length + 126) << 23) + (mantissa << (24 - length) & 0x7FFFFF)


@compiled
def widen_half(bits):
    """A half as a single, bit for bit: NaNs keep their payload."""
    sign = (bits & 0x8000) << 16
    if bits & 0x7C00 == 0x7C00:
        return sign | INFINITY | (bits & 0x3FF) << 13
    return sign | half_value(mantissa_of(bits, F16), exponent_of(bits, F16) - 25)
