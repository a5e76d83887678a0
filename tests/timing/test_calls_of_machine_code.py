"""Functions that are called in machine code share the registers of their kernel: a machine needs no more memory for them."""

import simtlab as sl

SOURCE = """
__device__ __noinline__ int twice(int x) { return 2 * x + 1; }
extern "C" __global__ void k(int *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = twice(x[i]) + twice(i); }
"""


def test_a_kernel_with_calls_is_timed_on_a_machine_of_132_cores():
    gpu = sl.Gpu("h200", isa="sm_90")
    x = gpu.zeros(2048, "i4")
    module = gpu.compile(SOURCE)
    assert "CALL" in module.sass
    run = module["k"](2, 1024, [x])
    assert x.numpy().tolist() == [2 * i + 2 for i in range(2048)]
    assert run.cycles > 0
