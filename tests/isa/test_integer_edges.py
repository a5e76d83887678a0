"""Integer arithmetic where recorded vectors are thin: wide products, division by zero, carries through two words."""

import numpy as np
import pytest

from tests.isa.one_warp import Warp, lanes_where, random_lanes


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("type", ["u64", "s64"])
def test_the_high_half_of_a_64_bit_product(type):
    warp = Warp()
    warp["d1"], warp["d2"] = random_lanes(1, 64), random_lanes(4, 64)
    warp.issue(f"mul.hi.{type}", "d0", "d1", "d2")
    as_number = (lambda v: signed(v, 64)) if type == "s64" else int
    pairs = zip(warp["d1"].tolist(), warp["d2"].tolist(), strict=True)
    expected = [(as_number(x) * as_number(y) >> 64) % 2**64 for x, y in pairs]
    assert warp["d0"].tolist() == expected


@pytest.mark.parametrize("type", ["u16", "s16", "u32", "s32", "u64", "s64"])
@pytest.mark.parametrize("opcode", ["div", "rem"])
def test_division_by_zero_gives_all_ones_and_does_not_trap(opcode, type):
    warp, bits = Warp(), int(type[1:])
    kind = {16: "h", 32: "w", 64: "d"}[bits]
    warp[f"{kind}1"] = random_lanes(2, bits)
    warp.issue(f"{opcode}.{type}", f"{kind}0", f"{kind}1", 0)
    assert (warp[f"{kind}0"] == 2**bits - 1).all()


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_the_most_negative_number_by_minus_one(bits):
    warp, kind = Warp(), {16: "h", 32: "w", 64: "d"}[bits]
    warp[f"{kind}1"] = np.full(32, 1 << (bits - 1), np.uint64)
    warp.issue(f"div.s{bits}", f"{kind}0", f"{kind}1", -1)
    assert (warp[f"{kind}0"] == 1 << (bits - 1)).all()
    warp.issue(f"rem.s{bits}", f"{kind}0", f"{kind}1", -1)
    assert not warp[f"{kind}0"].any()


@pytest.mark.parametrize("type", ["u32", "s32"])
def test_32_bit_quotients_are_exact_at_the_edges_of_the_divisor(type):
    """The quotient comes from a double; it must not round up to the next integer."""
    warp = Warp()
    divisors = np.array([1, 2, 3, 7, 2**16 + 1, 2**31 - 1, 2**32 - 1, 2**32 - 2] * 4, np.uint64)
    warp["w1"] = divisors * (2**32 // divisors) - 1
    warp["w2"] = divisors
    warp.issue(f"div.{type}", "w0", "w1", "w2")
    for x, y, got in zip(warp["w1"].tolist(), warp["w2"].tolist(), warp["w0"].tolist(), strict=True):
        if type == "s32":
            x, y = signed(x, 32), signed(y, 32)
        expected = abs(x) // abs(y) * (1 if x * y >= 0 else -1)
        assert got == expected % 2**32


def test_an_addition_of_two_words_carries_between_them():
    warp = Warp()
    for k in range(4):
        warp[f"w{k}"] = random_lanes(k)
    warp.issue("add.cc.u32", "w4", "p0", "w0", "w2")
    warp.issue("addc.cc.u32", "w5", "p1", "w1", "w3", "p0")
    x = [int(low) + (int(high) << 32) for low, high in zip(warp["w0"], warp["w1"], strict=True)]
    y = [int(low) + (int(high) << 32) for low, high in zip(warp["w2"], warp["w3"], strict=True)]
    sums = np.array([(a + b) % 2**64 for a, b in zip(x, y, strict=True)], np.uint64)
    assert (warp["w4"] == sums.astype(np.uint32)).all()
    assert (warp["w5"] == (sums >> np.uint64(32)).astype(np.uint32)).all()
    assert warp["p1"][0] == lanes_where([a + b >= 2**64 for a, b in zip(x, y, strict=True)])


def test_a_subtraction_of_two_words_borrows_between_them_and_clears_the_carry():
    warp = Warp()
    for k in range(4):
        warp[f"w{k}"] = random_lanes(k)
    warp.issue("sub.cc.u32", "w4", "p0", "w0", "w2")
    warp.issue("subc.cc.u32", "w5", "p1", "w1", "w3", "p0")
    x = [int(low) + (int(high) << 32) for low, high in zip(warp["w0"], warp["w1"], strict=True)]
    y = [int(low) + (int(high) << 32) for low, high in zip(warp["w2"], warp["w3"], strict=True)]
    differences = np.array([(a - b) % 2**64 for a, b in zip(x, y, strict=True)], np.uint64)
    assert (warp["w4"] == differences.astype(np.uint32)).all()
    assert (warp["w5"] == (differences >> np.uint64(32)).astype(np.uint32)).all()
    assert warp["p1"][0] == lanes_where([a >= b for a, b in zip(x, y, strict=True)])


def test_a_product_and_sum_of_two_words():
    """mad.lo.cc and madc.hi make a 64-bit multiply-add out of 32-bit ones."""
    warp = Warp()
    for k in range(3):
        warp[f"w{k}"] = random_lanes(k + 1)
    warp.issue("mad.lo.cc.u32", "w4", "p0", "w0", "w1", "w2")
    warp.issue("madc.hi.cc.u32", "w5", "p0", "w0", "w1", 0, "p0")
    expected = warp["w0"].astype(np.uint64) * warp["w1"] + warp["w2"]
    assert (warp["w4"] == expected.astype(np.uint32)).all()
    assert (warp["w5"] == (expected >> np.uint64(32)).astype(np.uint32)).all()
    assert warp["p0"][0] == 0


@pytest.mark.parametrize("mask", [0, 1, 0x80000000, 0x12345678, 0xFFFFFFFF])
def test_lanes_outside_the_mask_keep_their_values(mask):
    warp = Warp()
    inside = np.array([mask >> lane & 1 for lane in range(32)], bool)
    for kind, type in (("h", "u16"), ("w", "u32"), ("d", "u64")):
        warp[f"{kind}0"] = old = np.arange(32) + 100
        warp[f"{kind}1"] = np.arange(32)
        warp.issue(f"add.{type}", f"{kind}0", f"{kind}1", 7, mask=mask)
        assert (warp[f"{kind}0"] == np.where(inside, np.arange(32) + 7, old)).all()
