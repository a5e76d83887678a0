"""The number of host threads changes how long a launch takes, never what it computes."""

import numpy as np
import pytest

import simtlab as sl
from tests.kernels.library import source

THREADS = (1, 2, 5)


def everything(gpu, arrays):
    return [array.numpy().tobytes() for array in arrays]


def order_matters(gpu):
    n = 3000
    values = np.random.default_rng(1).random(n, np.float32)
    out = gpu.zeros(1), gpu.zeros(n, "i4"), gpu.zeros(1, "i4")
    run = gpu.compile(source("atomics"))["order_matters"](24, 128, [gpu.array(values), n, *out])
    return run, out


def histogram(gpu):
    data = np.random.default_rng(2).integers(0, 256, 5000).astype(np.uint8)
    bins = gpu.zeros(256, "u4")
    run = gpu.compile(source("reductions"))["histogram"](7, 96, [gpu.array(data), len(data), bins])
    return run, [bins]


def independent_blocks(gpu):
    matrix = np.random.default_rng(3).random((80, 70), np.float32)
    out = gpu.zeros((70, 80))
    run = gpu.compile(source("linear"))["transpose"]((3, 3), (32, 8), [70, 80, gpu.array(matrix), out])
    return run, [out]


def software_barrier(gpu):
    a, b, arrived = gpu.array(np.arange(500, dtype=np.int32)), gpu.zeros(500, "i4"), gpu.zeros(1, "u4")
    run = gpu.compile(source("synchronisation"))["phases"](20, 32, [500, 3, a, b, arrived])
    return run, (a, b, arrived)


def device_heap(gpu):
    values = np.arange(60, dtype=np.int32)
    heads = gpu.zeros(20, "u8")
    run = gpu.compile(source("heap"))["build_lists"](1, 20, [gpu.array(values), 3, heads])
    return run, [heads]


def printing(gpu):
    counts = gpu.zeros(60, "i4")
    return gpu.compile(source("printing"))["in_order"](10, 6, [counts]), [counts]


def clocks(gpu):
    taken, low = gpu.zeros(64, "i8"), gpu.zeros(64, "u4")
    return gpu.compile(source("language"))["watch_the_clock"](3, 64, [taken, low]), (taken, low)


@pytest.mark.parametrize(
    "workload", [order_matters, histogram, independent_blocks, software_barrier, device_heap, printing, clocks]
)
def test_the_same_bytes_with_one_two_and_five_threads(workload):
    results = []
    for threads in (*THREADS, THREADS[-1]):
        gpu = sl.Gpu(threads=threads)
        run, out = workload(gpu)
        results.append((run.instructions, run.printed, [array.numpy().tobytes() for array in out]))
    assert all(result == results[0] for result in results)


def test_the_same_bytes_twice_on_one_gpu():
    gpu = sl.Gpu()
    first, second = (order_matters(gpu) for _ in range(2))
    assert everything(gpu, first[1]) == everything(gpu, second[1])
    assert first[0].instructions == second[0].instructions


def test_registers_and_shared_memory_start_as_zeros_in_every_block():
    gpu = sl.Gpu(threads=1)
    module = gpu.load("""
.version 7.8
.target sm_75
.address_size 64
.visible .entry leftovers(.param .u64 out)
{
    .reg .b32 %r<9>;
    .reg .b64 %rd<5>;
    .shared .align 4 .b8 buffer[128];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    shl.b32 %r3, %r1, 2;
    mov.u32 %r4, buffer;
    add.s32 %r4, %r4, %r3;
    ld.shared.u32 %r5, [%r4];
    add.s32 %r6, %r7, %r5;
    mov.u32 %r7, 77;
    st.shared.u32 [%r4], %r7;
    ld.param.u64 %rd1, [out];
    mad.lo.s32 %r8, %r2, 32, %r1;
    mul.wide.u32 %rd2, %r8, 4;
    add.s64 %rd1, %rd1, %rd2;
    st.global.u32 [%rd1], %r6;
    ret;
}
""")
    out = gpu.array(np.full(160, 9), "u4")
    module["leftovers"](5, 32, [out])
    assert not out.numpy().any()
