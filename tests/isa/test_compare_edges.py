"""Comparisons into two predicates, combined with a third, under a mask; predicates as operands."""

import numpy as np
import pytest

from tests.isa.one_warp import ALL, Warp, lanes_where, random_lanes

COMBINE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@pytest.mark.parametrize("third", ["p2", "!p2"])
@pytest.mark.parametrize("combine", COMBINE)
def test_setp_combines_the_comparison_and_its_opposite_with_a_third_predicate(combine, third):
    warp = Warp()
    warp["w0"], warp["w1"], warp["p2"] = random_lanes(1), random_lanes(2), 0x3C5A_0FF0
    warp.issue(f"setp.lt.{combine}.s32", "p0", "p1", "w0", "w1", third)
    holds = lanes_where(warp["w0"].view(np.int32) < warp["w1"].view(np.int32))
    other = 0x3C5A_0FF0 if third == "p2" else 0x3C5A_0FF0 ^ ALL
    assert warp["p0"][0] == COMBINE[combine](holds, other)
    assert warp["p1"][0] == COMBINE[combine](holds ^ ALL, other)


def test_setp_may_overwrite_the_predicate_it_combines_with():
    warp = Warp()
    warp["w0"], warp["p0"] = np.arange(32), 0xFF00FF00
    warp.issue("setp.ge.and.u32", "p0", "p1", "w0", 16, "p0")
    assert (warp["p0"][0], warp["p1"][0]) == (0xFF000000, 0x0000FF00)


@pytest.mark.parametrize("mask", [0, 0x0000FFFF, 0x80000001])
def test_setp_keeps_the_predicates_of_lanes_outside_the_mask(mask):
    warp = Warp()
    warp["w0"], warp["p0"], warp["p1"] = np.arange(32), 0xAAAAAAAA, 0x55555555
    warp.issue("setp.lt.u32", "p0", "p1", "w0", 8, mask=mask)
    assert warp["p0"][0] == (0xAAAAAAAA & ~mask) | (0x000000FF & mask)
    assert warp["p1"][0] == (0x55555555 & ~mask) | (0xFFFFFF00 & mask)


def test_either_destination_of_setp_may_be_dropped():
    warp = Warp()
    warp["w0"] = np.arange(32)
    warp.issue("setp.eq.b32", "_", "p1", "w0", 3)
    warp.issue("setp.eq.b32", "p0", "_", "w0", 3)
    assert (warp["p0"][0], warp["p1"][0]) == (8, 8 ^ ALL)


def test_an_unordered_comparison_holds_for_nan_and_an_ordered_one_does_not():
    warp = Warp()
    warp["w0"] = np.array([np.nan, 1.0] * 16, np.float32).view(np.uint32)
    warp["w1"] = np.array([1.0, np.nan, 1.0, 1.0] * 8, np.float32).view(np.uint32)
    unordered = lanes_where(np.array([1, 1, 1, 0] * 8))
    for name, expected in {
        "eq": unordered ^ ALL, "ne": 0, "lt": 0, "ge": unordered ^ ALL, "num": unordered ^ ALL,
        "equ": ALL, "neu": unordered, "ltu": unordered, "geu": ALL, "nan": unordered,
    }.items():  # fmt: skip
        warp.issue(f"setp.{name}.f32", "p0", "_", "w0", "w1")
        assert warp["p0"][0] == expected, name


def test_flushing_makes_a_subnormal_equal_to_zero():
    warp = Warp()
    warp["w0"] = np.array([1, 0x80000001, 0x007FFFFF, 0x00800000] * 8)
    warp.issue("setp.eq.f32", "p0", "_", "w0", 0)
    warp.issue("setp.eq.ftz.f32", "p1", "_", "w0", 0)
    assert (warp["p0"][0], warp["p1"][0]) == (0, 0x77777777)


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_the_zeros_of_half_precision_are_equal(type):
    warp = Warp()
    warp["h0"], warp["h1"] = [0x8000] * 32, [0] * 32
    warp.issue(f"setp.eq.{type}", "p0", "p1", "h0", "h1")
    warp.issue(f"setp.lt.{type}", "p2", "_", "h0", "h1")
    assert (warp["p0"][0], warp["p1"][0], warp["p2"][0]) == (ALL, 0, 0)


@pytest.mark.parametrize("name", COMBINE)
def test_predicates_combine_lane_by_lane(name):
    warp = Warp()
    warp["p1"], warp["p2"] = 0x1000, 0xEFF0
    warp.issue(f"{name}.pred", "p0", "p1", "!p2")
    assert warp["p0"][0] == COMBINE[name](0x1000, 0xEFF0 ^ ALL)


def test_a_predicate_is_set_inverted_and_copied_under_a_mask():
    warp = Warp()
    warp["p1"], warp["p3"] = 0x00FF00FF, 0xF0F0F0F0
    warp.issue("mov.pred", "p0", 1, mask=0x0000FFFF)
    warp.issue("mov.pred", "p2", "!p1")
    warp.issue("not.pred", "p3", "p1", mask=0xFFFF0000)
    assert [int(warp[f"p{k}"][0]) for k in (0, 2, 3)] == [0x0000FFFF, 0xFF00FF00, 0xFF00F0F0]


@pytest.mark.parametrize(("kind", "type"), [("h", "b16"), ("w", "f32"), ("w", "b32"), ("d", "s64"), ("d", "f64")])
def test_selp_chooses_by_a_predicate_or_its_negation(kind, type):
    warp = Warp()
    warp[f"{kind}1"], warp["p0"] = np.arange(32) + 1, 0xF0F0F0F0
    warp.issue(f"selp.{type}", f"{kind}0", f"{kind}1", 0, "!p0")
    chosen = [0xF0F0F0F0 >> lane & 1 == 0 for lane in range(32)]
    assert (warp[f"{kind}0"] == np.where(chosen, np.arange(32) + 1, 0)).all()
