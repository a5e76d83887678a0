"""Groups of lanes that CUDA C++ forms at run time: what their votes, shuffles and reductions give as machine code is PTX's."""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from tests.everyday import everyday

ISAS = everyday(("sm_75", "sm_80", "sm_90", "sm_100", "sm_120"), ("sm_90",).__contains__)
THREADS, RESULTS = 128, 16
SOURCE = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

extern "C" __global__ void groups(const int *x, int *results, int divisor) {
  auto block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int v = x[block.thread_rank()], *out = results + 16 * block.thread_rank();
  if (v % divisor) {
    auto some = cg::coalesced_threads();
    out[0] = some.size(); out[1] = some.thread_rank(); out[2] = some.shfl(v, 0); out[3] = cg::reduce(some, v, cg::plus<int>());
    auto label = cg::labeled_partition(some, v % 5);
    out[4] = label.size(); out[5] = label.meta_group_rank(); out[6] = label.any(v & 4); out[7] = label.ballot(v & 8);
    out[8] = label.match_any(v & 3); out[9] = cg::reduce(label, v, cg::greater<int>());
    auto half = cg::binary_partition(label, v & 1);
    out[10] = half.size(); out[11] = cg::inclusive_scan(half, v);
  }
  if (x[tile.meta_group_rank()] & 1) { out[12] = cg::reduce(tile, v, cg::bit_xor<int>()); out[13] = tile.ballot(v & 1); }
  tile.sync();
  cg::invoke_one(tile, [&] { out[14] = 7; });
}
"""


@cache
def compiled(isa: str):
    gpu = sl.Gpu(isa=isa, threads=1)
    return gpu, gpu.compile(SOURCE)


def given(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1000, THREADS, np.int32)


def run(isa: str, divisor: int, seed: int) -> np.ndarray:
    gpu, module = compiled(isa)
    out = gpu.zeros((THREADS, RESULTS), np.int32)
    module["groups"](1, THREADS, [gpu.array(given(seed)), out, divisor])
    return out.numpy()


@pytest.mark.parametrize("isa", ISAS)
def test_groups_give_what_they_give_as_ptx(isa):
    for seed, divisor in enumerate((1, 2, 3, 7, 1000, 3, 5, 11)):
        np.testing.assert_array_equal(run(isa, divisor, seed), run("ptx", divisor, seed))


@pytest.mark.parametrize("isa", ISAS)
def test_tiles_that_vote_at_the_same_instruction_vote_each_by_itself(isa):
    """`R2UR P1, URZ, R5; @!P1 BRA.DIV UR6`: lanes that name different lanes take the way round, whether all are there or not."""
    for seed in range(8):
        x = given(seed)
        odd = (x.reshape(-1, 8) & 1) << np.arange(8)
        expected = np.where(x[: THREADS // 8] & 1, odd.sum(1), 0)
        np.testing.assert_array_equal(run(isa, 3, seed)[:, 13].reshape(-1, 8), np.repeat(expected, 8).reshape(-1, 8))
