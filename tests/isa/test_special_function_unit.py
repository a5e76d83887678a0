"""The special function unit gives every bit that an H200's gives: sums over all operands, a few binades of them every day."""

import numba
import numpy as np
import pytest

from simtlab.compiled import call_operation
from simtlab.isa import special_function_unit as sfu
from simtlab.isa.build import provide
from simtlab.isa.shape import LANES, Shape
from tests.isa.native import run
from tests.isa.recorded_special_functions import BLOCK, BLOCKS, DOUBLE, FACTORS, FLUSHED, HALF, SINGLE, TURNS, recorded

EVERY_LANE = np.uint32(0xFFFFFFFF)
FIRST, SECOND = (np.uint64(factor) for factor in FACTORS)
HALF_WORD = np.uint64(32)
OF_32_BITS = [*SINGLE, *DOUBLE, *TURNS]
ONE, MINUS = 127, 256  # the block of [1, 2), and the first one of negative operands
EVERYDAY = (0, ONE - 1, ONE, ONE + 1, 253, 255, MINUS, MINUS + ONE + 6)


@numba.njit
def sum_of(function, registers, operands, words, first, count, doubles):
    """The sum over `count` operands; those of doubles are pairs of words, the lower one not zero."""
    total, step = np.uint64(0), 2 if doubles else 1
    given = LANES * 2
    for start in range(first, first + count, LANES):
        for lane in range(LANES):
            word = np.uint32(start + lane)
            if doubles:
                words[given + 2 * lane] = np.uint32(word * (FIRST >> HALF_WORD))
            words[given + step * lane + step - 1] = word
        call_operation(function, registers, EVERY_LANE, operands, 0)
        for lane in range(LANES):
            result = words[step * lane + step - 1]
            if doubles:
                result |= words[2 * lane]
            z = (np.uint64(start + lane) << HALF_WORD | np.uint64(result)) * FIRST
            z = (z ^ z >> HALF_WORD) * SECOND
            total += z ^ z >> HALF_WORD
    return total


def sums(spelling: str, blocks) -> list[int]:
    doubles = spelling in DOUBLE
    shape = Shape(spelling, "dd" if doubles else "ww")
    function = provide([shape])[shape]
    room = np.zeros(4 * LANES * 4 + 64, np.uint8)
    room = room[-room.ctypes.data % 64 :][: 4 * LANES * 4]
    operands = np.array([0, 2 * LANES * 4], np.int64)
    given = function, room.ctypes.data, operands.ctypes.data, room.view(np.uint32)
    return [int(sum_of(*given, block * BLOCK, BLOCK, doubles)) for block in blocks]


def assert_sums(spelling: str, blocks) -> None:
    expected, got = recorded()[spelling][list(blocks)].tolist(), sums(spelling, blocks)
    wrong = [block for block, right, ours in zip(blocks, expected, got, strict=True) if right != ours]
    assert not wrong, f"{spelling}: other results than an H200's where the sign and exponent field are {wrong}"


@pytest.mark.parametrize("spelling", OF_32_BITS)
def test_binades_of_every_kind_give_the_hardware_bits(spelling):
    assert_sums(spelling, EVERYDAY)


@pytest.mark.slow
@pytest.mark.parametrize("spelling", OF_32_BITS)
def test_every_operand_gives_the_hardware_bits(spelling):
    assert_sums(spelling, range(BLOCKS))


@pytest.mark.parametrize("spelling", HALF)
def test_every_half_gives_the_hardware_bits(spelling):
    every = np.arange(1 << 16, dtype=np.uint64)
    z = (every << HALF_WORD | run(spelling, [every.astype(np.uint16)], np.uint16)) * FIRST
    z = (z ^ z >> HALF_WORD) * SECOND
    assert int((z ^ z >> HALF_WORD).sum()) == recorded()[spelling][0]


@pytest.mark.parametrize("spelling", DOUBLE)
def test_machine_code_has_the_upper_word_alone(spelling):
    function = {"rcp": "MUFU.RCP64H", "rsqrt": "MUFU.RSQ64H"}[spelling.partition(".")[0]]
    upper = np.random.default_rng(1).integers(0, 1 << 32, 4096, np.uint32)
    doubles = run(spelling, [upper.astype(np.uint64) << HALF_WORD], np.uint64)
    assert np.array_equal(run(function, [upper], np.uint32), (doubles >> HALF_WORD).astype(np.uint32))


def f32(spelling: str, *operands: float) -> list[str]:
    return [hex(bits) for bits in run(spelling, [np.array(operands, np.float32).view(np.uint32)], np.uint32)]


def test_results_are_the_hardwares_where_a_rounded_one_differs():
    """Rounded, the first of each would end in f3, f3, f3, 1a and 0c."""
    assert f32("rsqrt.approx.f32", 2.0, 4.0) == ["0x3f3504f2", "0x3f000000"]
    assert f32("sqrt.approx.ftz.f32", 2.0, 4.0) == ["0x3fb504f3", "0x40000000"]
    assert f32("ex2.approx.f32", -1.5, 1.5) == ["0x3eb504f2", "0x403504f3"]
    assert f32("lg2.approx.f32", 1.5, 1.0) == ["0x3f15c01b", "0x0"]
    assert f32("tanh.approx.f32", 4.0, 0.001, 9.0) == ["0x3f7fd430", "0x3a83126f", "0x3f800000"]


@pytest.mark.parametrize("spelling", ["div.approx.ftz.f32", "div.full.ftz.f32"])
def test_a_quotient_that_is_nearly_normal_is_flushed(spelling):
    """Seen among 2^18 pairs on an H200."""
    columns = [np.array(words, np.uint32) for words in ((0x143FFFFF, 0xABC00000, 0x8A7FFFFF), (0x53400000, 0x6AC00001, 0xC9800000))]
    assert run(spelling, columns, np.uint32).tolist() == [0, 0x80000000, 0]


def test_a_huge_angle_is_reduced_as_the_hardware_does():
    """1e10 radians: the product with 1/(2 pi) has no bits left below a turn, so the sine is that of whole turns."""
    assert f32("sin.approx.f32", 1e10, -1e10, 3e38, 0.0) == ["0x0", "0x80000000", "0x0", "0x0"]
    assert set(f32("cos.approx.f32", 1e10, -1e10, 3e38, 0.0)) == {"0x3f800000"}


def test_coefficients_fit_into_the_words_that_are_looked_up():
    limits = sfu.C0_BITS, sfu.C1_BITS, sfu.C2_BITS
    for function in (sfu.RECIPROCAL, sfu.RECIPROCAL_ROOT, sfu.ROOT, sfu.POWER, sfu.LOGARITHM, sfu.SINE, sfu.TANGENT):
        for c0, c1, c2 in function.segments:
            assert c0 >> limits[0] == abs(c1) >> limits[1] == abs(c2) * function.curve >> limits[2] == 0
            assert (c1 < 0, c2 < 0) == function.signs


@pytest.mark.parametrize("spelling", FLUSHED)
def test_a_result_is_flushed_that_is_below_the_least_normal_number_when_rounded_to_all_bits(spelling):
    """Not where rounding it to a subnormal number, which has a bit less, makes it normal."""
    columns = [recorded()[f"{spelling[-3:]}/{k}"] for k in range(FLUSHED[spelling])]
    got, expected = run(spelling, columns, columns[0].dtype), recorded()[spelling]
    wrong = np.flatnonzero(got != expected)
    assert not len(wrong), [[hex(column[k]) for column in (*columns, expected, got)] for k in wrong[:3]]
