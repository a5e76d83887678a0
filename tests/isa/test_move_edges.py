"""Moves into and out of parts of registers, and between address spaces."""

import numpy as np
import pytest

from simtlab.isa.spaces import LOCAL_BASE, LOCAL_BYTES, SHARED_BASE, SHARED_BYTES
from tests.isa.one_warp import ALL, Warp, random_lanes


def test_two_words_make_a_double_and_come_out_of_it():
    warp = Warp()
    warp["w0"], warp["w1"] = random_lanes(1), random_lanes(2)
    warp.issue("pack.b64", "d0", "w0", "w1")
    assert (warp["d0"] == (warp["w0"] | warp["w1"].astype(np.uint64) << np.uint64(32))).all()
    warp.issue("unpack.b64", "w2", "w3", "d0")
    assert (warp["w2"] == warp["w0"]).all()
    assert (warp["w3"] == warp["w1"]).all()


def test_four_halves_make_a_double_and_come_out_of_it():
    warp = Warp()
    for k in range(4):
        warp[f"h{k}"] = random_lanes(k, 16)
    warp.issue("pack.b64", "d0", "h0", "h1", "h2", "h3")
    parts = np.array([warp[f"h{k}"] for k in range(4)]).T.copy()
    assert (warp["d0"] == parts.view(np.uint64)[:, 0]).all()
    warp.issue("unpack.b64", "h4", "_", "h5", "h6", "d0")
    for part, original in (("h4", "h0"), ("h5", "h2"), ("h6", "h3")):
        assert (warp[part] == warp[original]).all()


def test_a_word_takes_halves_and_immediates_and_drops_what_nobody_reads():
    warp = Warp()
    warp["h0"] = random_lanes(1, 16)
    warp.issue("pack.b32", "w0", 0x1234, "h0")
    assert (warp["w0"] == (0x1234 | warp["h0"].astype(np.uint32) << 16)).all()
    warp.issue("unpack.b32", "_", "h1", "w0")
    assert (warp["h1"] == warp["h0"]).all()


def test_unpacking_under_a_mask_leaves_the_other_lanes_alone():
    warp = Warp()
    warp["d0"], warp["w0"], warp["w1"] = random_lanes(3, 64), np.full(32, 7), np.full(32, 8)
    warp.issue("unpack.b64", "w0", "w1", "d0", mask=0x000000FF)
    assert (warp["w0"][8:] == 7).all()
    assert (warp["w1"][8:] == 8).all()
    assert (warp["w0"][:8] == warp["d0"][:8].astype(np.uint32)).all()


@pytest.mark.parametrize(
    ("type", "kind"), [("b16", "h"), ("u32", "w"), ("f32", "w"), ("s32", "w"), ("b64", "d"), ("f64", "d")]
)
def test_mov_copies_registers_and_immediates(type, kind):
    warp, bits = Warp(), {"h": 16, "w": 32, "d": 64}[kind]
    warp[f"{kind}1"] = random_lanes(5, bits)
    warp.issue(f"mov.{type}", f"{kind}0", f"{kind}1")
    assert (warp[f"{kind}0"] == warp[f"{kind}1"]).all()
    warp.issue(f"mov.{type}", f"{kind}0", 2**bits - 3)
    assert (warp[f"{kind}0"] == 2**bits - 3).all()


@pytest.mark.parametrize(
    ("space", "base"),
    [
        ("shared", SHARED_BASE),
        ("shared::cta", SHARED_BASE),
        ("local", LOCAL_BASE),
        ("global", 0),
        ("const", 0),
        ("param", 0),
    ],
)
def test_a_space_has_its_window_in_the_generic_addresses(space, base):
    warp = Warp()
    warp["d1"] = np.arange(32) * 4
    warp.issue(f"cvta.{space}.u64", "d0", "d1")
    assert (warp["d0"] == np.arange(32) * 4 + base).all()
    warp.issue(f"cvta.to.{space}.u64", "d2", "d0")
    assert (warp["d2"] == warp["d1"]).all()


@pytest.mark.parametrize(
    ("address", "spaces"),
    [
        (0, {"global"}),
        (SHARED_BASE - 1, {"global"}),
        (SHARED_BASE, {"shared"}),
        (SHARED_BASE + SHARED_BYTES - 1, {"shared"}),
        (SHARED_BASE + SHARED_BYTES, {"global"}),
        (LOCAL_BASE, {"local"}),
        (LOCAL_BASE + LOCAL_BYTES, {"global"}),
    ],
)
def test_a_generic_address_lies_in_one_space(address, spaces):
    warp = Warp()
    warp["d0"] = np.full(32, address, np.uint64)
    for space in ("global", "shared", "local", "const", "param"):
        warp.issue(f"isspacep.{space}", "p0", "d0")
        assert warp["p0"][0] == (ALL if space in spaces else 0), space
