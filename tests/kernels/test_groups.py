"""Cooperative groups."""

from itertools import permutations

import numpy as np
import pytest

from tests.kernels.library import source


@pytest.fixture(scope="module")
def groups(gpu):
    return gpu.compile(source("groups"))


def test_tiles_of_eight_threads(gpu, groups):
    values = np.random.default_rng(1).integers(0, 100, 96).astype(np.int32)
    out = gpu.empty(12, "i4")
    groups["tile_sums"](1, 96, [gpu.array(values), out])
    np.testing.assert_array_equal(out.numpy(), values.reshape(12, 8).sum(1))


def test_reduction_over_a_block(gpu, groups):
    values = np.random.default_rng(2).integers(-1000, 1000, (3, 128)).astype(np.int32)
    out = gpu.empty(3, "i4")
    groups["group_reduce"](3, 128, [gpu.array(values), out])
    np.testing.assert_array_equal(out.numpy(), values.max(1))


def test_lanes_that_are_together_append_together(gpu, groups):
    values = np.random.default_rng(3).integers(0, 100, 128).astype(np.int32)
    out, count = gpu.zeros(128, "i4"), gpu.zeros(1, "i4")
    groups["append_together"](1, 128, [gpu.array(values), out, count])
    of_warps = [warp[warp % 3 == 0] for warp in values.reshape(4, 32)]
    together = out[: int(count[0])].tolist()
    assert any(np.concatenate(order).tolist() == together for order in permutations(of_warps))  # warps come in any order


def test_ranks_in_the_grid(gpu, groups):
    out = gpu.zeros(2 * 3 * 24, "u8")
    groups["grid_ranks"]((2, 3), (4, 3, 2), [out])
    np.testing.assert_array_equal(out.numpy(), 144000 + np.arange(144))
