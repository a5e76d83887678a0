"""Accesses outside every allocation, in a page that a GPU has mapped: faults, or let through and told of."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.memory import HEAP_BASE, PAGE_BYTES

TEXT = """
extern "C" __global__ void k(int *x, int *y, long long offset) {
    y[threadIdx.x] = x[threadIdx.x + offset] + 1;
    x[threadIdx.x + offset] = 7;
}
"""


def launched(machine: str | None, offset: int, lets_stray: bool = True):
    gpu = sl.Gpu(machine) if machine else sl.Gpu()
    gpu.lets_stray = lets_stray
    x, y = gpu.zeros(64, np.int32), gpu.zeros(64, np.int32)
    return gpu.compile(TEXT)["k"](1, 64, [x, y, np.int64(offset)]), x, y


@pytest.mark.parametrize("machine", [None, "caps-gtx480"])
def test_accesses_in_front_of_an_array_go_through_and_are_counted(machine):
    """Of 64 threads the first 32 are outside."""
    run, x, y = launched(machine, -32)
    assert y.numpy().tolist() == [1] * 64
    assert x.numpy().tolist() == [7] * 32 + [0] * 32
    assert len(run.strays) == 2  # a load and a store
    assert run.strays[0].startswith("32 accesses of kernel 'k' outside every allocation, the first 128 bytes before the allocation")
    assert ":3)" in run.strays[0]


def test_usually_they_are_faults():
    with pytest.raises(sl.DeviceFault, match="outside every allocation"):
        launched(None, -32, lets_stray=False)


def test_a_page_without_an_allocation_is_not_mapped():
    with pytest.raises(sl.DeviceFault, match="outside every allocation"):
        launched(None, PAGE_BYTES // 4)
    run, _, y = launched(None, PAGE_BYTES // 4 - 256)  # the end of the page that both are in
    assert y.numpy().tolist() == [1] * 64
    assert HEAP_BASE % PAGE_BYTES == 0
    assert run.strays


def test_an_access_across_the_end_of_an_allocation_is_a_fault():
    text = 'extern "C" __global__ void k(const char *x, long long *y) { y[0] = *(const long long *)(x + 96); }'
    gpu = sl.Gpu()
    gpu.lets_stray = True
    with pytest.raises(sl.DeviceFault, match="reaches 4 bytes past the end"):
        gpu.compile(text)["k"](1, 1, [gpu.zeros(100, np.int8), gpu.zeros(1, np.int64)])
