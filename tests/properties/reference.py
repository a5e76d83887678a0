"""What arithmetic should give, worked out without the package: wrapped integers and correctly rounded floating point.

Integers of a lane are Python's. A floating-point result is the exact fraction rounded once, in any of the four modes.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

TYPES = ("i4", "u4", "i8", "u8", "f4", "f8")
INTEGERS, FLOATS = TYPES[:4], TYPES[4:]
PRECISION = {"f2": 11, "f4": 24, "f8": 53}  # bits of the significand
LEAST = {"f2": -24, "f4": -149, "f8": -1074}  # exponent of the smallest subnormal
LIMIT = {"f2": 16, "f4": 128, "f8": 1024}  # exponent of the first power of two out of range
MODES = ("rn", "rz", "ru", "rd")
ROOT_BITS = 140  # of a square root that are worked out; one more says whether anything is left


def bits_of(type: str) -> int:
    return 8 * int(type[1])


def wrap(value: int, type: str) -> int:
    """An integer as a register of this type holds it."""
    size = bits_of(type)
    value &= (1 << size) - 1
    return value - (1 << size) if type[0] == "i" and value >> (size - 1) else value


def by_lane(function: Callable, type: str) -> Callable[..., np.ndarray]:
    """A function of Python numbers, over arrays. Integer results wrap."""

    def over_arrays(*columns: np.ndarray) -> np.ndarray:
        rows = zip(*(column.tolist() for column in columns), strict=True)
        results = [function(*row) for row in rows]
        return np.array([wrap(r, type) for r in results] if type in INTEGERS else results, type)

    return over_arrays


# Rounding -------------------------------------------------------------------------------------------------------------


def pick_integer(exact: Fraction, mode: str) -> int:
    """The integer a number is rounded to."""
    if mode == "rn":
        return round(exact)  # Python rounds halves to even
    return {"rz": math.trunc, "ru": math.ceil, "rd": math.floor}[mode](exact)


def rounded(exact: Fraction, type: str, mode: str) -> float:
    """The floating-point number of this type next to an exact one that is not zero."""
    size = abs(exact)
    top = size.numerator.bit_length() - size.denominator.bit_length()
    top -= size < Fraction(2) ** top
    step = Fraction(2) ** max(top - PRECISION[type] + 1, LEAST[type])
    result = pick_integer(exact / step, mode) * step
    sign = -1.0 if exact < 0 else 1.0
    if abs(result) < Fraction(2) ** LIMIT[type]:
        return math.copysign(float(result), sign)
    largest = float((Fraction(2) - Fraction(2) ** (1 - PRECISION[type])) * Fraction(2) ** (LIMIT[type] - 1))
    to_infinity = mode == "rn" or (mode == "ru" and sign > 0) or (mode == "rd" and sign < 0)
    return sign * (math.inf if to_infinity else largest)


def fused(a: float, b: float, c: float, type: str, mode: str) -> float:
    """a·b + c, rounded once."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact:
        return rounded(exact, type, mode)
    product_sign = math.copysign(1, a) * math.copysign(1, b)
    if c == 0 and product_sign == math.copysign(1, c):
        return math.copysign(0.0, c)
    return -0.0 if mode == "rd" else 0.0


def add(a: float, b: float, type: str, mode: str) -> float:
    return fused(a, 1.0, b, type, mode)


def multiply(a: float, b: float, type: str, mode: str) -> float:
    sign = math.copysign(1, a) * math.copysign(1, b)
    return fused(a, b, math.copysign(0.0, sign), type, mode)


def divide(a: float, b: float, type: str, mode: str) -> float:
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isnan(a) or math.isnan(b) or (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    if math.isinf(a) or b == 0:
        return sign * math.inf
    if math.isinf(b) or a == 0:
        return sign * 0.0
    return rounded(Fraction(a) / Fraction(b), type, mode)


def square_root(a: float, type: str, mode: str) -> float:
    if not a > 0 or math.isinf(a):
        return math.nan if a < 0 else a
    top, bottom = a.as_integer_ratio()
    square = top * bottom << 2 * ROOT_BITS
    root = math.isqrt(square)
    exact = Fraction(2 * root + (root * root != square), bottom << ROOT_BITS + 1)
    return rounded(exact, type, mode)


def to_float(a: int | float, type: str, mode: str) -> float:
    """A number of any type as a floating-point one of a given type."""
    if a == 0 or not math.isfinite(a):
        return float(a)
    return rounded(Fraction(a), type, mode)


def to_integer(a: float, source: str, type: str, mode: str) -> int:
    """Out of range gives the nearest integer in range; a NaN gives what an H200 gives."""
    size = bits_of(type)
    if math.isnan(a):
        return 0 if source == "f4" and size == 32 else 1 << (size - 1)
    low = -(1 << (size - 1)) if type[0] == "i" else 0
    high = low + (1 << size) - 1
    if math.isinf(a):
        return low if a < 0 else high
    return min(max(pick_integer(Fraction(a), mode), low), high)


def least(a: float, b: float) -> float:
    """fmin: a NaN gives way to a number, and -0 is less than +0."""
    if math.isnan(a) or math.isnan(b):
        return b if math.isnan(a) else a
    return min(a, b, key=lambda x: (x, math.copysign(1, x)))


def greatest(a: float, b: float) -> float:
    return -least(-a, -b)


# Integers -------------------------------------------------------------------------------------------------------------


def quotient(a: int, b: int) -> int:
    """C++ division, towards zero."""
    return abs(a) // abs(b) * (-1 if (a < 0) != (b < 0) else 1)


def remainder(a: int, b: int) -> int:
    return a - b * quotient(a, b)


def leading_zeros(a: int, size: int) -> int:
    return size - (a & ((1 << size) - 1)).bit_length()


def reversed_bits(a: int, size: int) -> int:
    return int(f"{a:0{size}b}"[::-1], 2)


def first_set(a: int) -> int:
    """The position of the lowest set bit counted from one, 0 for none."""
    return (a & -a).bit_length()


def permuted_bytes(a: int, b: int, selector: int) -> int:
    """__byte_perm: each result byte is the one of eight that three bits of its selector digit name."""
    source = (a | b << 32).to_bytes(8, "little")
    return int.from_bytes((source[selector >> 4 * k & 7] for k in range(4)), "little")
