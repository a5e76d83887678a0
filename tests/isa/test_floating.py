"""Floating-point semantics beyond the recorded vectors: masks, immediates, single rounding, NaNs, halfway cases."""

from fractions import Fraction

import numpy as np
import pytest

from tests.isa.native import run

HALF_PAST = 0x0000FFFF


def f32(*values):
    return np.array(values, np.float32).view(np.uint32)


def test_directed_rounding_leaves_masked_lanes_and_the_host_rounding_mode_alone():
    x, y = f32(*[1.0] * 32), f32(*[2.0**-30] * 32)
    result = run("add.rp.f32", [x, y], np.uint32, mask=HALF_PAST, before=7)
    assert set(result[:16]) == {0x3F800001}
    assert set(result[16:]) == {7}
    assert set(run("add.rn.f32", [x, y], np.uint32)) == {0x3F800000}


def test_immediates_are_operands():
    x = f32(*range(32))
    doubled_and_one = run("fma.rn.f32", [x, 0x40000000, 0x3F800000], np.uint32).view(np.float32)
    assert list(doubled_and_one) == [2 * k + 1 for k in range(32)]
    assert set(run("cvt.rzi.s32.f32", [f32(*[-2.5] * 32)], np.uint32)) == {0xFFFFFFFE}


def nearest_f16(value: Fraction) -> int:
    """The bits of the f16 nearest to a rational, ties to even, by search over all of them."""
    magnitude = abs(value)
    low, high = 0, 0x7C00
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if magnitude_of(middle) <= magnitude else (low, middle)
    below, above = magnitude - magnitude_of(low), magnitude_of(high) - magnitude
    rounded = low if below < above or (below == above and low % 2 == 0) else high
    return rounded | (0x8000 if value < 0 else 0)


def magnitude_of(bits: int) -> Fraction:
    exponent, fraction = bits >> 10, bits & 0x3FF
    if exponent == 0:
        return Fraction(fraction, 1 << 24)
    return Fraction(1024 + fraction) * Fraction(2) ** (exponent - 25)  # 0x7c00 is 65536: overflow rounds like a number


def test_f16_fma_equals_exact_rational_arithmetic():
    random = np.random.default_rng(1)
    x, y, z = (random.integers(0, 1 << 16, 512).astype(np.uint16) for _ in range(3))
    z[:128] = run("mul.f16", [x[:128], y[:128]], np.uint16) ^ 0x8000  # cancellation
    finite = [all((int(v) & 0x7C00) != 0x7C00 for v in triple) for triple in zip(x, y, z, strict=True)]
    result = run("fma.rn.f16", [x, y, z], np.uint16)
    for k in np.flatnonzero(finite):
        exact = [magnitude_of(int(c[k]) & 0x7FFF) * (-1 if c[k] >> 15 else 1) for c in (x, y, z)]
        total = exact[0] * exact[1] + exact[2]
        if total:
            assert result[k] == nearest_f16(total), (hex(x[k]), hex(y[k]), hex(z[k]))


def test_bf16_fma_sees_an_addend_far_below_the_midpoint():
    """The product is halfway between two bf16 and the addend 2^-90 of it; both results were seen on an H200."""
    x, y, z = (np.array(column, np.uint16) for column in ([0x428F, 0x3E10], [0x4040, 0xDB54], [0x1094, 0xBCC4]))
    assert [hex(v) for v in run("fma.rn.bf16", [x, y, z], np.uint16)] == ["0x4357", "0xd9ef"]


@pytest.mark.parametrize(
    ("direction", "expected"),
    [("rn", [0, 2, 2, 4, -2]), ("rz", [0, 1, 2, 3, -2]), ("rm", [0, 1, 2, 3, -3]), ("rp", [1, 2, 3, 4, -2])],
)
def test_cvt_rounds_halfway_cases_by_its_direction(direction, expected):
    halves = [0.5, 1.5, 2.5, 3.5, -2.5]
    as_int = run(f"cvt.{direction}i.s32.f32", [f32(*halves)], np.uint32).view(np.int32)
    assert list(as_int) == expected
    above_one = f32(*(1 + v / 1024 for v in halves[:4]))
    to_f16 = run(f"cvt.{direction}.f16.f32", [above_one], np.uint16)
    assert [int(v) - 0x3C00 for v in to_f16] == expected[:4]


def test_integers_round_to_f32_once():
    value = np.array([(1 << 53) + (1 << 29) + 1] * 2, np.uint64)  # to f64 first, this would be a tie
    assert set(run("cvt.rn.f32.u64", [value], np.uint32)) == {0x5A000001}
    assert set(run("cvt.rz.f32.u64", [value], np.uint32)) == {0x5A000000}
    assert set(run("cvt.rp.f32.u64", [value], np.uint32)) == {0x5A000001}


def test_f64_keeps_the_nan_of_the_second_factor_then_the_addend_then_the_first_factor():
    first, second, third, one = (0x7FF8000000000001, 0x7FF4000000000002, 0xFFF8000000000003, 0x3FF0000000000000)
    x, y, z = (np.array(c, np.uint64) for c in ([first, first, first], [second, one, one], [third, third, one]))
    assert list(run("fma.rn.f64", [x, y, z], np.uint64)) == [second | 1 << 51, third, first]
    assert list(run("div.rn.f64", [x, y], np.uint64)) == [first] * 3


def test_minus_zero_is_below_plus_zero():
    zeros = [f32(0.0, -0.0), f32(-0.0, 0.0)]
    assert set(run("min.f32", zeros, np.uint32)) == {0x80000000}
    assert set(run("max.f32", zeros, np.uint32)) == {0}


def test_two_f32_pack_into_one_register_the_first_on_top():
    assert set(run("cvt.rn.f16x2.f32", [f32(1.0), f32(2.0)], np.uint32)) == {0x3C004000}
    assert set(run("cvt.rn.bf16x2.f32", [f32(1.0), f32(2.0)], np.uint32)) == {0x3F804000}


def test_tf32_ties_go_away_from_zero_or_to_even():
    tie = np.array([0x3F801000, 0x3F803000], np.uint32)
    assert [hex(v) for v in run("cvt.rna.tf32.f32", [tie], np.uint32)] == ["0x3f802000", "0x3f804000"]
    assert [hex(v) for v in run("cvt.rn.tf32.f32", [tie], np.uint32)] == ["0x3f800000", "0x3f804000"]
