"""The operations random expressions are made of: how CUDA C++ writes each, and what it means over NumPy arrays.

Signed overflow, division by zero and shifts too far are undefined in C++, so the text of an operation rules them out:
sums are formed unsigned, a divisor has bit 2 set and bit 3 clear (neither 0 nor -1), an amount is masked.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tests.properties import reference as ref
from tests.properties.reference import FLOATS, INTEGERS, MODES, TYPES, bits_of, by_lane

C_NAMES = {"i4": "int", "u4": "unsigned", "i8": "long long", "u8": "unsigned long long", "f4": "float", "f8": "double"}
SHORT = {"i4": "int", "u4": "uint", "i8": "ll", "u8": "ull", "f4": "float", "f8": "double"}  # in intrinsics' names
LETTER = {"f4": "f", "f8": "d"}
COMPARISONS = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


@dataclass(frozen=True)
class Operation:
    """`text` has {0}, {1}, … for the operands; `meaning` takes arrays of the operand types and gives one of `result`."""

    result: str
    operands: tuple[str, ...]
    text: str
    meaning: Callable[..., np.ndarray]
    canonical_nan: bool = False  # a NaN it gives has the one pattern of hardware arithmetic


OPERATIONS: list[Operation] = []


def define(result: str, operands: str, text: str, meaning: Callable, canonical_nan: bool = False) -> None:
    OPERATIONS.append(Operation(result, tuple(operands.split()), text, meaning, canonical_nan))


def unsigned(type: str) -> str:
    return C_NAMES["u" + type[1]]


def define_integers(t: str) -> None:
    c, u, size = C_NAMES[t], unsigned(t), bits_of(t)
    two = f"{t} {t}"
    for sign, meaning in (("+", np.add), ("-", np.subtract), ("*", np.multiply)):
        define(t, two, f"({c})(({u}){{0}} {sign} ({u}){{1}})", meaning)
    for sign, meaning in (("&", np.bitwise_and), ("|", np.bitwise_or), ("^", np.bitwise_xor)):
        define(t, two, f"({{0}} {sign} {{1}})", meaning)
    for sign, meaning in (("/", ref.quotient), ("%", ref.remainder)):
        guarded = by_lane(lambda a, b, meaning=meaning: meaning(a, (b | 4) & ~8), t)
        define(t, two, f"({{0}} {sign} (({{1}} | 4) & ~({c})8))", guarded)
    define(t, f"{t} u4", f"({c})(({u}){{0}} << ({{1}} & {size - 1}))", by_lane(lambda a, n: a << n % size, t))
    define(t, f"{t} u4", f"({{0}} >> ({{1}} & {size - 1}))", by_lane(lambda a, n: a >> n % size, t))
    define(t, t, "(~{0})", np.invert)
    define(t, t, f"({c})(-({u}){{0}})", np.negative)
    define("i4", t, "(int)(!{0})", lambda a: (a == 0).astype("i4"))
    define(t, two, "min({0}, {1})", np.minimum)
    define(t, two, "max({0}, {1})", np.maximum)
    name = {"i4": "__mulhi", "u4": "__umulhi", "i8": "__mul64hi", "u8": "__umul64hi"}[t]
    define(t, two, f"{name}({{0}}, {{1}})", by_lane(lambda a, b: a * b >> size, t))


def define_common(t: str) -> None:
    """What integers and floats both have."""
    for sign, meaning in COMPARISONS.items():
        define("i4", f"{t} {t}", f"(int)({{0}} {sign} {{1}})", lambda a, b, meaning=meaning: meaning(a, b).astype("i4"))
    define(t, f"i4 {t} {t}", "({0} ? {1} : {2})", lambda c, a, b: np.where(c != 0, a, b))


def define_bits() -> None:
    for size, s, u, end in ((32, "i4", "u4", ""), (64, "i8", "u8", "ll")):
        define(s, s, f"{'llabs' if end else 'abs'}({{0}} | 1)", lambda a: np.abs(a | 1))
        define("i4", u, f"__popc{end}({{0}})", by_lane(int.bit_count, "i4"))
        define("i4", s, f"__clz{end}({{0}})", by_lane(partial(ref.leading_zeros, size=size), "i4"))
        define("i4", s, f"__ffs{end}({{0}})", by_lane(ref.first_set, "i4"))
        define(u, u, f"__brev{end}({{0}})", by_lane(partial(ref.reversed_bits, size=size), u))
    define("u4", "u4 u4 u4", "__byte_perm({0}, {1}, {2})", by_lane(ref.permuted_bytes, "u4"))
    for end, amount in (("", lambda n: n & 31), ("c", lambda n: min(n, 32))):
        left = by_lane(lambda low, high, n, amount=amount: (high << 32 | low) << amount(n) >> 32, "u4")
        right = by_lane(lambda low, high, n, amount=amount: (high << 32 | low) >> amount(n), "u4")
        define("u4", "u4 u4 u4", f"__funnelshift_l{end}({{0}}, {{1}}, {{2}})", left)
        define("u4", "u4 u4 u4", f"__funnelshift_r{end}({{0}}, {{1}}, {{2}})", right)
    define("u4", "i4 i4 u4", "__sad({0}, {1}, {2})", by_lane(lambda a, b, c: abs(a - b) + c, "u4"))
    define("u4", "u4 u4 u4", "__usad({0}, {1}, {2})", by_lane(lambda a, b, c: abs(a - b) + c, "u4"))
    define("i4", "i4 i4", "__hadd({0}, {1})", by_lane(lambda a, b: a + b >> 1, "i4"))
    define("i4", "i4 i4", "__rhadd({0}, {1})", by_lane(lambda a, b: a + b + 1 >> 1, "i4"))
    define("u4", "u4 u4", "__umul24({0}, {1})", by_lane(lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF), "u4"))


def define_floats(t: str) -> None:
    end = "f" if t == "f4" else ""
    for sign, meaning in (("+", np.add), ("-", np.subtract), ("*", np.multiply), ("/", np.divide)):
        define(t, f"{t} {t}", f"({{0}} {sign} {{1}})", meaning)
    define(t, t, "(-{0})", np.negative)
    define(t, t, f"fabs{end}({{0}})", np.abs)
    define(t, t, f"sqrt{end}({{0}})", np.sqrt)
    for name in ("rint", "floor", "ceil", "trunc"):
        define(t, t, f"{name}{end}({{0}})", getattr(np, name))
    define(t, f"{t} {t}", f"fmin{end}({{0}}, {{1}})", by_lane(ref.least, t))
    define(t, f"{t} {t}", f"fmax{end}({{0}}, {{1}})", by_lane(ref.greatest, t))
    define(t, f"{t} {t} {t}", f"fma{end}({{0}}, {{1}}, {{2}})", by_lane(partial(ref.fused, type=t, mode="rn"), t))
    for mode in MODES:
        letter, options = LETTER[t], {"type": t, "mode": mode}
        fused = "__fmaf" if t == "f4" else "__fma"
        directed = (
            (f"__{letter}add", 2, ref.add), (f"__{letter}mul", 2, ref.multiply), (f"__{letter}div", 2, ref.divide),
            (f"__{letter}sqrt", 1, ref.square_root), (fused, 3, ref.fused),
        )  # fmt: skip
        for name, count, meaning in directed:
            arguments = ", ".join(f"{{{k}}}" for k in range(count))
            define(t, " ".join([t] * count), f"{name}_{mode}({arguments})", by_lane(partial(meaning, **options), t), t == "f4")


def define_conversions() -> None:
    for source in TYPES:
        for target in TYPES:
            if source == target:
                continue
            if target in FLOATS or source in INTEGERS:
                define(target, source, f"({C_NAMES[target]}){{0}}", lambda a, target=target: a.astype(target))
            directed = source in FLOATS or (target in FLOATS and (source, target) not in (("i4", "f8"), ("u4", "f8")))
            if not directed or (source, target) == ("f4", "f8"):
                continue
            for mode in MODES:
                if target in INTEGERS:
                    meaning = partial(ref.to_integer, source=source, type=target, mode=mode)
                else:
                    meaning = partial(ref.to_float, type=target, mode=mode)
                define(target, source, f"__{SHORT[source]}2{SHORT[target]}_{mode}({{0}})", by_lane(meaning, target))


def define_patterns() -> None:
    """Floats as bits and back, and half precision. The pattern of a NaN is left out of the question."""
    for f, u, name in (("f4", "u4", "__uint_as_float"), ("f8", "u8", "__longlong_as_double")):
        define(f, u, f"{name}({{0}})", lambda a, f=f: a.view(f))
        define(u, f, "number_bits({0})", lambda a, u=u: np.where(np.isnan(a), 0, a.view(u)).astype(u))
    for mode in MODES:
        meaning = partial(ref.to_float, type="f2", mode=mode)
        define("f4", "f4", f"__half2float(__float2half_{mode}({{0}}))", by_lane(meaning, "f4"))
    half = "__half2float({}(__float2half({{0}}), __float2half({{1}})))"
    for name, meaning in (("__hadd", np.add), ("__hsub", np.subtract), ("__hmul", np.multiply)):
        define("f4", "f4 f4", half.format(name), partial(in_half, meaning))


def in_half(meaning: Callable, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return meaning(a.astype("f2"), b.astype("f2")).astype("f4")


for each in INTEGERS:
    define_integers(each)
for each in TYPES:
    define_common(each)
for each in FLOATS:
    define_floats(each)
define_bits()
define_conversions()
define_patterns()

PRELUDE = """#include <cuda_fp16.h>
__device__ unsigned number_bits(float x) { return x == x ? __float_as_uint(x) : 0u; }
__device__ unsigned long long number_bits(double x) { return x == x ? __double_as_longlong(x) : 0ull; }
"""
