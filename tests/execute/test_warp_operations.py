"""Shuffles, votes and matches among the lanes that are there."""

import numpy as np
import pytest

import simtlab as sl

SOURCE = r"""
#define EXTERN extern "C" __global__
EXTERN void shuffles(const int *in, int *out, int by, int width)
{
    int t = threadIdx.x, n = blockDim.x;
    out[t] = __shfl_sync(~0u, in[t], by, width);
    out[n + t] = __shfl_up_sync(~0u, in[t], by, width);
    out[2 * n + t] = __shfl_down_sync(~0u, in[t], by, width);
    out[3 * n + t] = __shfl_xor_sync(~0u, in[t], by, width);
}
EXTERN void wide_shuffles(const double *in, double *out, const long long *in64, long long *out64)
{
    int t = threadIdx.x;
    out[t] = __shfl_sync(~0u, in[t], (t + 5) % 32);
    out64[t] = __shfl_xor_sync(~0u, in64[t], 9);
}
EXTERN void votes(const int *in, unsigned *out)
{
    int t = threadIdx.x;
    if (in[t] % 3 == 0) return;
    unsigned here = __activemask();
    out[5 * t] = here;
    out[5 * t + 1] = __ballot_sync(here, in[t] > 50);
    out[5 * t + 2] = __any_sync(here, in[t] > 90);
    out[5 * t + 3] = __all_sync(here, in[t] > 2);
    out[5 * t + 4] = __uni(in[t]);
}
EXTERN void matches(const int *in, const long long *wide, unsigned *out)
{
    int t = threadIdx.x, agreed, wide_agreed;
    if (t % 4 == 3) return;
    unsigned here = __activemask();
    out[5 * t] = __match_any_sync(here, in[t]);
    out[5 * t + 1] = __match_any_sync(here, wide[t]);
    out[5 * t + 2] = __match_all_sync(here, in[t] / 100, &agreed);
    out[5 * t + 3] = agreed;
    out[5 * t + 4] = __match_all_sync(here, wide[t], &wide_agreed) + 1000 * wide_agreed;
}
EXTERN void masks(unsigned *out)
{
    int t = threadIdx.x;
    unsigned eq, lt, le, gt, ge;
    asm("mov.u32 %0, %lanemask_eq;" : "=r"(eq));
    asm("mov.u32 %0, %lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %lanemask_le;" : "=r"(le));
    asm("mov.u32 %0, %lanemask_gt;" : "=r"(gt));
    asm("mov.u32 %0, %lanemask_ge;" : "=r"(ge));
    out[5 * t] = eq, out[5 * t + 1] = lt, out[5 * t + 2] = le, out[5 * t + 3] = gt, out[5 * t + 4] = ge;
}
EXTERN void reductions(const int *in, int *out)
{
    int t = threadIdx.x;
    unsigned u = in[t];
    if (t % 5 == 0) return;
    unsigned here = __activemask();
    out[8 * t] = __reduce_add_sync(here, in[t]);
    out[8 * t + 1] = __reduce_min_sync(here, in[t]);
    out[8 * t + 2] = __reduce_max_sync(here, in[t]);
    out[8 * t + 3] = __reduce_min_sync(here, u);
    out[8 * t + 4] = __reduce_max_sync(here, u);
    out[8 * t + 5] = __reduce_and_sync(here, u);
    out[8 * t + 6] = __reduce_or_sync(here, u);
    out[8 * t + 7] = __reduce_xor_sync(here, u);
}
""".replace("__uni(in[t])", "__all_sync(here, in[t] > 50) || !__any_sync(here, in[t] > 50)")


@pytest.fixture(scope="module", params=["ptx", "sm_90", pytest.param("sm_120", marks=pytest.mark.slow)])
def gpu(request):
    return sl.Gpu(isa=request.param)


@pytest.fixture(scope="module")
def warp(gpu):
    return gpu.compile(SOURCE, options=["--gpu-architecture=compute_80"] if gpu.isa == "ptx" else [])


@pytest.mark.parametrize("width", [4, 16, 32])
@pytest.mark.parametrize("by", [0, 1, 3, 17])
def test_shuffles_in_segments(gpu, warp, by, width):
    values = np.random.default_rng(1).integers(0, 1000, 64).astype(np.int32)
    out = gpu.empty((4, 64), "i4")
    warp["shuffles"](1, 64, [gpu.array(values), out, by, width])
    lane = np.arange(64) % 32
    base, first = np.arange(64) - lane, lane // width * width
    sources = [first + by % width, lane - by, lane + by, lane ^ by]
    inside = [lane >= 0, sources[1] >= first, sources[2] < first + width, sources[3] < first + width]
    for row, (origin, good) in enumerate(zip(sources, inside, strict=True)):
        expected = np.where(good, values[base + np.where(good, origin, 0)], values)
        np.testing.assert_array_equal(out[row], expected)


def test_shuffles_of_64_bits(gpu, warp):
    rng = np.random.default_rng(2)
    doubles, longs = rng.random(32), rng.integers(-(2**62), 2**62, 32)
    out, out64 = gpu.empty(32, "f8"), gpu.empty(32, "i8")
    warp["wide_shuffles"](1, 32, [gpu.array(doubles), out, gpu.array(longs), out64])
    lane = np.arange(32)
    np.testing.assert_array_equal(out.numpy(), doubles[(lane + 5) % 32])
    np.testing.assert_array_equal(out64.numpy(), longs[lane ^ 9])


def mask_of(lanes):
    return int(sum(1 << int(lane) for lane in np.flatnonzero(lanes)))


@pytest.mark.parametrize("threads", [32, 20])
def test_votes_among_the_lanes_that_are_left(gpu, warp, threads):
    values = np.random.default_rng(3).integers(0, 100, threads).astype(np.int32)
    out = gpu.zeros((threads, 5), "u4")
    warp["votes"](1, threads, [gpu.array(values), out])
    there = values % 3 != 0
    held = values[there]
    uniform = (held > 50).all() or not (held > 50).any()
    row = [mask_of(there), mask_of(there & (values > 50)), (held > 90).any(), (held > 2).all(), uniform]
    np.testing.assert_array_equal(out.numpy(), np.where(there[:, None], [np.uint32(v) for v in row], 0))


@pytest.mark.parametrize("equal", [False, True])
def test_matches_of_32_and_64_bits(gpu, warp, equal):
    rng = np.random.default_rng(4)
    values = rng.integers(0, 100 if equal else 300, 32).astype(np.int32)
    wide = np.full(32, 2**40) if equal else rng.integers(0, 3, 32) << 33
    out = gpu.zeros((32, 5), "u4")
    warp["matches"](1, 32, [gpu.array(values), gpu.array(wide, "i8"), out])
    there = np.arange(32) % 4 != 3
    everybody = mask_of(there)
    for t in np.flatnonzero(there):
        assert out[t, 0] == mask_of(there & (values == values[t]))
        assert out[t, 1] == mask_of(there & (wide == wide[t]))
        assert out[t, 2:].tolist() == ([everybody, 1, (everybody + 1000) % 2**32] if equal else [0, 0, 0])


def test_lane_masks(gpu, warp):
    out = gpu.empty((32, 5), "u4")
    warp["masks"](1, 32, [out])
    for t in range(32):
        eq, lt = 1 << t, (1 << t) - 1
        assert out[t].tolist() == [eq, lt, lt | eq, 0xFFFFFFFF & ~(lt | eq), 0xFFFFFFFF & ~lt]


def test_reductions_over_the_lanes_that_are_left(gpu, warp):
    values = np.random.default_rng(5).integers(-(2**31), 2**31, 32).astype(np.int32)
    out = gpu.zeros((32, 8), "i4")
    warp["reductions"](1, 32, [gpu.array(values), out])
    there = np.arange(32) % 5 != 0
    held, unsigned = values[there], values[there].view("u4")
    row = [held.sum(dtype="i4"), held.min(), held.max(), unsigned.min(), unsigned.max()]
    row += [np.bitwise_and.reduce(unsigned), np.bitwise_or.reduce(unsigned), np.bitwise_xor.reduce(unsigned)]
    expected = np.array([int(v) & 0xFFFFFFFF for v in row], "u4").view("i4")
    np.testing.assert_array_equal(out.numpy(), np.where(there[:, None], expected, 0))
