"""All 256 functions of lop3, all selectors of prmt, shifts by any amount."""

import numpy as np
import pytest

from tests.isa.one_warp import Warp, lanes_where, random_lanes


def test_lop3_computes_all_256_functions():
    warp = Warp()
    for k, name in enumerate(("w1", "w2", "w3")):
        warp[name] = random_lanes(k)
    x, y, z = (warp[name].astype(np.uint32) for name in ("w1", "w2", "w3"))
    for table in range(256):
        warp.issue("lop3.b32", "w0", "w1", "w2", "w3", table)
        expected = np.zeros(32, np.uint32)
        for row in range(8):
            if table >> row & 1:
                expected |= (x if row & 4 else ~x) & (y if row & 2 else ~y) & (z if row & 1 else ~z)
        assert (warp["w0"] == expected).all(), table


@pytest.mark.parametrize("combine", ["or", "and"])
@pytest.mark.parametrize("destination", ["w0", "_"])
def test_lop3_tests_its_result_for_zero(combine, destination):
    warp = Warp()
    warp["w1"], warp["w2"], warp["p1"] = np.arange(32), np.full(32, 4), 0x0F0F00FF
    warp.issue(f"lop3.{combine}.b32", destination, "p0", "w1", "w2", 0, 0xC0, "p1")
    nonzero = lanes_where(np.arange(32) & 4 != 0)
    assert warp["p0"][0] == (nonzero | 0x0F0F00FF if combine == "or" else nonzero & 0x0F0F00FF)
    assert (warp["w0"] == (np.arange(32) & 4 if destination == "w0" else 0)).all()


MODES = {
    "f4e": lambda first, k: first + k,
    "b4e": lambda first, k: (first - k) % 8,
    "rc8": lambda first, k: first,
    "ecl": lambda first, k: max(first, k),
    "ecr": lambda first, k: min(first, k),
    "rc16": lambda first, k: 2 * (first % 2) + k % 2,
}


def permuted(low: int, high: int, control: int, mode: str) -> int:
    pool, result = low | high << 32, 0
    for k in range(4):
        nibble = MODES[mode](control & 3, k) if mode else control >> (4 * k) & 15
        byte = pool >> (8 * (nibble & 7)) & 0xFF
        if nibble & 8:
            byte = 0xFF if byte & 0x80 else 0
        result |= byte << (8 * k)
    return result


@pytest.mark.parametrize("mode", ["", *MODES])
def test_prmt_picks_the_bytes_a_reference_picks(mode):
    warp = Warp()
    for seed in range(8):
        for k, name in enumerate(("w1", "w2", "w3")):
            warp[name] = random_lanes(3 * seed + k)
        warp.issue("prmt.b32" + (f".{mode}" if mode else ""), "w0", "w1", "w2", "w3")
        sources = (warp[name].tolist() for name in ("w1", "w2", "w3"))
        assert warp["w0"].tolist() == [permuted(*lane, mode) for lane in zip(*sources, strict=True)]


@pytest.mark.parametrize("amount", [0, 1, 15, 16, 31, 32, 63, 64, 255, 256, 2**31, 2**32 - 1])
@pytest.mark.parametrize("bits", [16, 32, 64])
def test_a_shift_past_the_width_leaves_nothing_but_the_sign(bits, amount):
    warp, kind = Warp(), {16: "h", 32: "w", 64: "d"}[bits]
    warp[f"{kind}1"] = random_lanes(1, bits)
    values = [int(value) for value in warp[f"{kind}1"]]
    for spelling, expected in (
        (f"shl.b{bits}", [value << min(amount, bits) for value in values]),
        (f"shr.u{bits}", [value >> min(amount, bits) for value in values]),
        (f"shr.s{bits}", [value - (value >> (bits - 1) << bits) >> min(amount, bits) for value in values]),
    ):
        warp.issue(spelling, f"{kind}0", f"{kind}1", amount)
        assert warp[f"{kind}0"].tolist() == [value % 2**bits for value in expected], spelling


def test_fns_counts_from_its_base_in_both_directions():
    warp = Warp()
    for mask, base, offset, place in (
        (0b1011_0100, 0, 1, 2),
        (0b1011_0100, 2, 2, 4),
        (0b1011_0100, 7, -2, 5),
        (0b1011_0100, 5, 0, 5),
        (0b1011_0100, 6, 0, 0xFFFFFFFF),
        (0b1011_0100, 5, 4, 0xFFFFFFFF),
        (0b1011_0100, 32, -1, 0xFFFFFFFF),
    ):
        warp.issue("fns.b32", "w0", mask, base, offset)
        assert (warp["w0"] == place).all(), (base, offset)
