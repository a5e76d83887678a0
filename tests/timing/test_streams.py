"""Launches in streams: in order within one, side by side in several, with the results of running one after another."""

import numpy as np
import pytest

import simtlab as sl

SOURCE = r"""
extern "C" __global__ void add(float *x, float by, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < rounds; k++) v = v * 1.0f + by;
    x[i] = v;
}
extern "C" __global__ void wait_for(volatile int *flag, int *out) { while (*flag == 0) {} *out = 7; }
extern "C" __global__ void raise(volatile int *flag) { *flag = 1; }
extern "C" __global__ void fault(int *x) { x[1 << 28] = 1; }
"""


def started(machine="caps-gtx480", **options):
    gpu = sl.Gpu(machine, **options)
    return gpu, gpu.compile(SOURCE)


def test_two_small_kernels_side_by_side_take_the_time_of_one():
    gpu, module = started()
    x, y = gpu.zeros(512), gpu.zeros(512)
    first, second = gpu.stream(), gpu.stream()
    alone = module["add"](2, 256, [x, np.float32(1), 400])
    runs = [module["add"](2, 256, [array, np.float32(1), 400], stream=stream) for array, stream in ((x, first), (y, second))]
    gpu.synchronize()
    assert all(abs(run.cycles - alone.cycles) < 0.2 * alone.cycles for run in runs)
    assert x[0] == 800
    assert y[0] == 400


def test_launches_of_one_stream_run_one_after_another():
    gpu, module = started()
    x = gpu.array(np.ones(512, np.float32))
    stream = gpu.stream()
    runs = [module["add"](2, 256, [x, np.float32(k), 50], stream=stream) for k in range(3)]
    assert x.numpy().tolist() == [1 + 150] * 512  # reading runs what waits
    assert all(run.cycles > 50 for run in runs)


def test_streams_give_the_results_and_instructions_of_launches_without_them():
    def work(streams: bool):
        gpu, module = started()
        arrays = [gpu.array(np.full(2048, k, np.float32)) for k in range(4)]
        queues = [gpu.stream() if streams else None for _ in arrays]
        runs = [module["add"](8, 256, [array, np.float32(j), 10 * (j + 1)], stream=queue)
                for j in range(3) for array, queue in zip(arrays, queues, strict=True)]  # fmt: skip
        return [array.numpy() for array in arrays], [run.instructions for run in runs], [run.timing for run in runs]

    one, many = work(False), work(True)
    assert all(np.array_equal(a, b) for a, b in zip(one[0], many[0], strict=True))
    assert one[1] == many[1]
    counts = [timing.stalls_by_instruction[:, 0].sum() for timing in many[2]]
    assert counts == many[1]  # issues by instruction are each launch's own


def test_a_kernel_can_wait_for_another_streams():
    """Run one after another this would never end."""
    gpu, module = started()
    flag, out = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
    module["wait_for"](1, 32, [flag, out], stream=gpu.stream())
    module["raise"](1, 1, [flag], stream=gpu.stream())
    gpu.synchronize()
    assert out[0] == 7


def test_a_run_that_waits_says_so():
    gpu, module = started()
    run = module["add"](1, 32, [gpu.zeros(32), np.float32(1), 1], stream=gpu.stream())
    with pytest.raises(sl.SimtlabError, match=r"waits in a stream: gpu.synchronize\(\) runs it"):
        print(run.cycles)
    gpu.synchronize()
    assert run.cycles > 0


def test_a_functional_gpu_runs_a_stream_at_once():
    gpu, module = started(None)
    x = gpu.zeros(32)
    run = module["add"](1, 32, [x, np.float32(2), 3], stream=gpu.stream())
    assert run.instructions > 0
    assert x[0] == 6


def test_a_fault_in_a_stream_names_its_kernel_and_leaves_the_gpu_usable():
    gpu, module = started()
    x = gpu.zeros(32)
    module["add"](1, 32, [x, np.float32(2), 3], stream=gpu.stream())
    module["fault"](1, 1, [x], stream=gpu.stream())
    with pytest.raises(sl.SimtlabError, match="kernel 'fault'"):
        gpu.synchronize()
    assert module["add"](1, 32, [x, np.float32(0), 1]).cycles > 0


def test_more_launches_than_the_kernel_table_holds():
    gpu, module = started()
    x = gpu.zeros(32)
    streams = [gpu.stream() for _ in range(3)]
    runs = [module["add"](1, 32, [x, np.float32(0), 1], stream=streams[k % 3]) for k in range(100)]
    gpu.synchronize()
    assert {run.instructions for run in runs} == {runs[0].instructions}
