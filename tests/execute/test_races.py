"""Warps of a CTA that race: they run in step, as on a GPU, where that is asked for, and are told of with their lines."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.grid import Pace

SOURCE = """
extern "C" __global__ void accumulate(const float *a, float *x, int n)  // blocks of 32 x 8: eight warps do the same
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < n; j++)
        x[i] += a[i * n + j];
}

extern "C" __global__ void reverse(int *data)
{
    __shared__ int tile[256];
    tile[threadIdx.x] = data[blockIdx.x * 256 + threadIdx.x];
#ifdef WITH_BARRIER
    __syncthreads();
#endif
    data[blockIdx.x * 256 + threadIdx.x] = tile[255 - threadIdx.x];
}

extern "C" __global__ void count(int *total, int *each)
{
    atomicAdd(total, 1);
    each[threadIdx.x] = 1;
}
"""


def make(looks=True, reports=False, options=()):
    gpu = sl.Gpu()
    gpu.paces.looks, gpu.paces.reports = looks, reports
    return gpu, gpu.compile(SOURCE, options=options)


def accumulate(gpu, module):
    a = np.random.default_rng(3).integers(0, 9, (64, 48)).astype("f4")
    x = gpu.array(np.zeros(64, "f4"))
    run = module["accumulate"](2, (32, 8), [gpu.array(a), x, 48])
    return a.sum(1), x.numpy(), run


def test_eight_warps_that_add_to_the_same_elements_in_step_give_the_sequential_sum():
    gpu, module = make()
    for _ in range(2):  # found in the first launch, known in the second
        expected, found, run = accumulate(gpu, module)
        assert (found == expected).all()
    assert run.races == []
    assert [pace for pace, _ in gpu.paces.known.values()] == [Pace.IN_STEP]


def test_in_turns_they_give_eight_times_it():
    """What the same kernel does if nobody looks: a warp ends before the next one begins."""
    expected, found, _ = accumulate(*make(looks=False))
    assert (found == 8 * expected).all()


def test_a_race_is_told_with_both_lines_and_how_often():
    gpu, module = make(reports=True)
    _, _, run = accumulate(gpu, module)
    assert len(run.races) == 2  # a write after others' reads, and after another's write
    assert all(told.startswith("a race in kernel 'accumulate', block (0, 0, 0): warp ") for told in run.races)
    assert all(told.count(", kernel.cu:6)") == 2 and "0 bytes into the allocation of 256 bytes" in told for told in run.races)
    assert "warp 1 writes what warp 0 wrote with no barrier between" in run.races[1]
    assert run.races[1].endswith(f"; {2 * 32 * (8 * 48 - 1)} times")  # of two blocks, each of 32 words: all but the first


@pytest.mark.parametrize(("options", "races"), [(["-DWITH_BARRIER"], False), ([], True)])
def test_a_barrier_ends_a_race_in_shared_memory(options, races):
    gpu, module = make(reports=True, options=options)
    data = gpu.array(np.arange(512, dtype="i4"))
    run = module["reverse"](2, 256, [data])
    assert bool(run.races) is races
    if races:
        assert "bytes into shared memory" in run.races[0]
        assert ":16) after" in run.races[0]
    else:
        assert (data.numpy().reshape(2, 256) == np.arange(512).reshape(2, 256)[:, ::-1]).all()


def test_without_a_race_warps_go_on_in_turns():
    gpu, module = make(options=["-DWITH_BARRIER"])
    module["reverse"](2, 256, [gpu.array(np.arange(512, dtype="i4"))])
    assert [pace for pace, _ in gpu.paces.known.values()] == [Pace.IN_TURNS]


def test_atomics_do_not_race():
    gpu, module = make(reports=True)
    total, each = gpu.array(np.zeros(1, "i4")), gpu.array(np.zeros(256, "i4"))
    run = module["count"](1, 256, [total, each])
    assert (run.races, total.numpy()[0]) == ([], 256)


def test_instructions_are_counted_alike_in_turns_and_in_step():
    counts = [accumulate(*make(**how))[2].instructions for how in ({"looks": False}, {}, {"reports": True})]
    assert len(set(counts)) == 1
