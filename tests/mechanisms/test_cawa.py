"""CAWA: the part of the L1 for critical lines, by hand and beside streams. Its scheduler is tested in test_caws.py."""

import numpy as np
import pytest

from tests.mechanisms.test_caws import counts, launch, with_warps

LINES = 42 * 128 + 6 * 8  # that the warps of `streams` touch


def test_lines_go_to_the_part_of_the_l1_that_their_load_is_predicted_to_want():
    """A set of two ways, the first for critical lines. A load at pc 7 by warp 0 goes to the second, until critical warp 1 has hit
    its line twice; a line that leaves the first way without such a hit takes one of the two back."""
    example = with_warps("cawa")
    core, own, l1d = example.core, example.own, example.core.l1d
    example.tell("on_tick", 0, cycle=100)
    assert own.critical == 0b10
    l1d.access.pc, l1d.access.warp = 7, 0
    assert example.tell("l1_replacement_victim", 2) == 3
    l1d.tags[3], l1d.line["state"][3], l1d.owner["pc"][3] = 1, 2, 7
    core.ops["slot"][4], core.ops["lines"][4][0] = 1, 128
    example.tell("on_l1_hit", 4)
    assert example.tell("l1_replacement_victim", 2) == 3
    example.tell("on_l1_hit", 4)
    assert (example.tell("l1_replacement_victim", 2), own.protected) == (2, 1)
    l1d.owner["pc"][2] = 7
    example.tell("on_l1_evict", 2)
    assert example.tell("l1_replacement_victim", 2) == 3
    l1d.access.warp = 1
    assert example.tell("l1_replacement_victim", 2) == 2  # a critical warp's own


@pytest.mark.parametrize(("parts", "gains"), [("cawa", True), ("cawa,gcaws=0", True), ("cawa,cacp=0", False)])
def test_lines_of_critical_warps_stay_beside_streams(parts, gains):
    """Six warps use 8 lines each again and again, slowly, while 42 others stream through the L1: with a part of it for the six
    every line is fetched once."""
    without, expected = launch("streams", warp_scheduler="lrr")
    run, values = launch("streams", warp_scheduler="lrr", mechanism=parts)
    assert without.counters["l1_misses"] > LINES + 50
    assert (run.counters["l1_misses"] == LINES) == gains
    assert (run.cycles < 0.97 * without.cycles) == gains
    assert (counts(run, "cawa")["protected"] > 0) == gains
    assert np.array_equal(values, expected)
