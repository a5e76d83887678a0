"""Windows and allocations: every lane finds its own, and the edges are exact."""

import numpy as np
import pytest

import simtlab as sl

SOURCE = r"""
#define EXTERN extern "C" __global__
EXTERN void gather(const unsigned long long *pointers, const int *offsets, int *out)
{
    int t = threadIdx.x;
    const int *p = (const int *)pointers[t];
    out[t] = p[offsets[t]];
}
EXTERN void scatter(const unsigned long long *pointers, int value)
{
    ((int *)pointers[threadIdx.x])[threadIdx.x % 4] = value + threadIdx.x;
}
EXTERN void add_everywhere(const unsigned long long *pointers, int *old)
{
    old[threadIdx.x] = atomicAdd((int *)pointers[threadIdx.x], (int)threadIdx.x);
}
template <typename T> __device__ void copy_one(const void *in, void *out, int at) { ((T *)out)[at] = ((const T *)in)[at]; }
EXTERN void copy_last(const void *in, void *out, int bytes, int size)
{
    int at = bytes / size - 1;
    if (size == 1) copy_one<char>(in, out, at);
    if (size == 2) copy_one<short>(in, out, at);
    if (size == 4) copy_one<int>(in, out, at);
    if (size == 8) copy_one<double>(in, out, at);
    if (size == 16) copy_one<int4>(in, out, at);
}
EXTERN void same_place(int *out) { out[0] = threadIdx.x; }
EXTERN void overlapping(int *out)
{
    __shared__ int shared[64];
    int t = threadIdx.x;
    shared[t] = -1;
    __syncthreads();
    shared[t / 2] = t;
    __syncthreads();
    out[t] = shared[t];
}
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def spaces(gpu):
    return gpu.compile(SOURCE)


def test_every_lane_may_point_into_another_allocation(gpu, spaces):
    arrays = [gpu.array(np.arange(10) + 100 * k, "i4") for k in range(64)]
    order = np.random.default_rng(1).permutation(64)
    pointers = gpu.array([arrays[k].address for k in order], "u8")
    offsets, out = np.random.default_rng(2).integers(0, 10, 64).astype("i4"), gpu.empty(64, "i4")
    spaces["gather"](1, 64, [pointers, gpu.array(offsets), out])
    np.testing.assert_array_equal(out.numpy(), 100 * order + offsets)
    spaces["scatter"](1, 64, [pointers, 5000])
    for t, k in enumerate(order):
        assert arrays[k][t % 4] == 5000 + t
    old = gpu.empty(64, "i4")
    shared_pointers = gpu.array([arrays[k % 3].address for k in range(64)], "u8")
    before = [int(arrays[k][0]) for k in range(3)]
    spaces["add_everywhere"](1, 64, [shared_pointers, old])
    for k in range(3):
        mine = np.arange(k, 64, 3)
        assert arrays[k][0] == before[k] + mine.sum()
        np.testing.assert_array_equal(old.numpy()[mine], before[k] + np.cumsum(mine) - mine)


def test_one_lane_outside_is_found_among_lanes_in_many_allocations(gpu, spaces):
    arrays = [gpu.zeros(10, "i4") for _ in range(32)]
    offsets = np.zeros(32, "i4")
    offsets[[20, 25]] = 10
    pointers = gpu.array([array.address for array in arrays], "u8")
    with pytest.raises(sl.DeviceFault, match=r"right at the end of the allocation of 40 bytes.*thread \(20, 0, 0\)"):
        spaces["gather"](1, 32, [pointers, gpu.array(offsets), gpu.empty(32, "i4")])


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("bytes", [16, 48, 256, 1008])
def test_the_last_element_is_inside_and_the_one_after_it_is_not(gpu, spaces, size, bytes):
    given, out = gpu.array(np.arange(bytes) % 251, "u1"), gpu.zeros(bytes, "u1")
    spaces["copy_last"](1, 1, [given, out, bytes, size])
    np.testing.assert_array_equal(out[-size:], given[-size:])
    assert not out[:-size].any()
    with pytest.raises(sl.DeviceFault, match=f"load of {size} bytes at .* is outside every allocation"):
        spaces["copy_last"](1, 1, [given, out, bytes + size, size])


def test_of_lanes_that_store_to_one_place_the_highest_stays(gpu, spaces):
    out = gpu.zeros(64, "i4")
    spaces["same_place"](1, 32, [out])
    assert out[0] == 31
    spaces["overlapping"](1, 64, [out])
    np.testing.assert_array_equal(out.numpy(), [*range(1, 64, 2), *[-1] * 32])


def test_a_32_bit_shared_address_wraps_around(gpu):
    module = gpu.load("""
.version 7.8
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    .shared .align 4 .b8 buffer[256];
    mov.u32 %r1, %tid.x;
    shl.b32 %r2, %r1, 2;
    sub.u32 %r3, %r2, 128;
    st.shared.u32 [%r3+128], %r1;
    atom.shared.add.u32 %r4, [%r3+128], 5;
    ld.shared.u32 %r5, [%r3+128];
    ld.param.u64 %rd1, [out];
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r5;
    ret;
}
""")
    out = gpu.zeros(64, "u4")
    module["k"](1, 64, [out])
    np.testing.assert_array_equal(out.numpy(), np.arange(64) + 5)
