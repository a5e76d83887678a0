"""Wavefronts of loads, beside what `ncu` counted on an H200 (`h200_wavefronts.json`), and what they cost."""

import json
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl

LOADS = json.loads((Path(__file__).parents[1] / "data" / "hardware" / "h200_wavefronts.json").read_text())["loads"]
CODE = """
__device__ int sum(int value) { return value; }
__device__ int sum(int2 value) { return value.x + value.y; }
__device__ int sum(int4 value) { return value.x + value.y + value.z + value.w; }
template <typename T> __device__ void loads(const char *data, const int *offsets, int *out)
{
    T value = *(const T *)(data + offsets[threadIdx.x]);
    if (sum(value) == 12345) out[0] = 1;
}
extern "C" __global__ void bytes_4(const char *data, const int *offsets, int *out) { loads<int>(data, offsets, out); }
extern "C" __global__ void bytes_8(const char *data, const int *offsets, int *out) { loads<int2>(data, offsets, out); }
extern "C" __global__ void bytes_16(const char *data, const int *offsets, int *out) { loads<int4>(data, offsets, out); }
extern "C" __global__ void stores(char *data, const int *offsets) { *(int *)(data + offsets[threadIdx.x]) = 1; }
"""
OFFSETS = 1  # a load of 32 words side by side
SPAN = 1 << 16  # what the offsets stay in, and a multiple of which the data lie at, as on the H200


@pytest.fixture(scope="module")
def device() -> sl.Gpu:
    return sl.Gpu("h200", set={"core.cores": 1})


def offsets_of(load: dict) -> np.ndarray:
    return np.array(load.get("offsets") or [lane * load["apart"] for lane in range(32)], "i4")


def wavefronts(device: sl.Gpu, kernel: str, offsets: np.ndarray) -> tuple[int, int]:
    """Of an access: of its tags, and of its data."""
    room = device.zeros(2 * SPAN, "u1")
    data = np.uint64(-(-room.address // SPAN) * SPAN)
    more = [] if kernel == "stores" else [device.zeros(1, "i4")]
    found = device.compile(CODE)[kernel](1, 32, [data, device.array(offsets), *more]).counters
    room.free()
    return found["l1_tag_wavefronts"] - OFFSETS, found["l1_data_wavefronts"] - OFFSETS


@pytest.mark.parametrize("load", LOADS, ids=lambda load: f"{load['bytes']} bytes, {load.get('apart', 'at random')}")
def test_a_load_has_the_wavefronts_of_an_h200(device, load):
    assert wavefronts(device, f"bytes_{load['bytes']}", offsets_of(load)) == (load["tags"], load["data"])


def test_a_store_has_those_of_a_load(device):
    for load in LOADS[::5]:
        if load["bytes"] == 4:
            assert wavefronts(device, "stores", offsets_of(load)) == (load["tags"], load["data"])


def test_lines_whose_parities_are_the_same_lie_in_one_bank(device):
    """Lines 0 and 1 differ in one parity, 0 and 2 in the other, 0 and 3 in both, 0 and 5 or 33 in none."""
    lanes = np.arange(32, dtype="i4")
    assert [wavefronts(device, "bytes_4", lanes % 2 * 128 * line)[0] for line in (1, 2, 3, 5, 33)] == [1, 1, 1, 2, 2]


def test_a_machine_without_banks_counts_none():
    found = sl.Gpu("h200", set={"core.cores": 1, "l1d.banked_tags": False, "l1d.return_cycles": 0})
    assert wavefronts(found, "bytes_4", np.arange(32, dtype="i4") * 128) == (-OFFSETS, -OFFSETS)


SURFACE = """
extern "C" __global__ void after(cudaSurfaceObject_t s, const int *data, int apart, unsigned *out)
{
    int sum = 0;
    float texel = 0;
    for (int k = 0; k < 4; k++) {
        int value;
        asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(value) : "l"(data + threadIdx.x * apart));
        sum += value;
    }
    for (int k = 0; k < 2; k++) texel += surf2Dread<float>(s, threadIdx.x * 4, 0);
    out[64] = sum + texel;
    __syncthreads();
    unsigned begin = clock();
    for (int k = 0; k < 8; k++) texel += surf2Dread<float>(s, threadIdx.x * 4 + ((int)texel & 0), 0);
    out[threadIdx.x] = texel == 12345 ? 0 : clock() - begin;
}"""


def test_a_surface_takes_as_long_whatever_was_accessed_before_it():
    def took(apart: int) -> int:
        gpu = sl.Gpu("h200", set={"core.cores": 1})
        surface, out = gpu.surface(gpu.array(np.zeros((2, 32), "f4"))), gpu.zeros(65, "u4")
        gpu.compile(SURFACE)["after"](1, 32, [surface, gpu.zeros(1 << 12, "i4"), np.int32(apart), out])
        return int(out.numpy()[0])

    assert took(32) == took(1)
