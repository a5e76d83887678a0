"""What machine code reads of its launch in constant bank 0, beside the dimensions that every kernel reads."""

import numpy as np
import pytest

import simtlab as sl

ISAS = ("sm_75", "sm_80", "sm_90", "sm_100", "sm_120")
SOURCE = """
__constant__ int table[8];
extern "C" __global__ void words(unsigned *out) {
  extern __shared__ int dynamic[];
  __shared__ int fixed[5];
  fixed[threadIdx.x] = out[0];
  dynamic[threadIdx.x] = fixed[4 - threadIdx.x];
  asm("mov.u32 %0, %dynamic_smem_size;" : "=r"(out[1]));
  asm("mov.u32 %0, %total_smem_size;" : "=r"(out[2]));
  asm("mov.u32 %0, %nsmid;" : "=r"(out[3]));
  out[0] = dynamic[threadIdx.x];
}
extern "C" __global__ void through_a_pointer(int *out, int *given, int n) {
  const int *p = (threadIdx.x + n) % 2 ? table + threadIdx.x : given + threadIdx.x;
  out[threadIdx.x] = *p + 1000 * __isGlobal(p);
}
"""


@pytest.mark.parametrize("isa", ISAS)
def test_the_sizes_of_shared_memory_and_the_number_of_cores(isa):
    """c[0x0][0x2c] and c[0x0][0x10c], or where sm_100 has them; what the driver reserves of shared memory is taken off."""
    found = []
    for gpu in (sl.Gpu(), sl.Gpu(isa=isa)):
        out = gpu.zeros(4, np.uint32)
        gpu.compile(SOURCE)["words"](1, 5, [out], shared=300)
        found.append(out.numpy().tolist())
    assert found[0] == found[1]
    assert found[1][1] == 300


@pytest.mark.parametrize("isa", ISAS)
def test_a_constant_is_read_through_a_generic_pointer_and_is_not_global(isa):
    gpu = sl.Gpu(isa=isa)
    module, out = gpu.compile(SOURCE), gpu.zeros(8, np.int32)
    module.constant("table")[:] = np.arange(8, dtype=np.int32) + 50
    for n in (0, 1):
        module["through_a_pointer"](1, 8, [out, gpu.array(np.arange(8, dtype=np.int32)), n])
        t = np.arange(8)
        assert np.array_equal(out.numpy(), np.where((t + n) % 2, t + 50, t + 1000))


FAULTS = {
    "a pointer to one of two constants": ("__constant__ int one[8], two[8];", "int *out, int n", "n ? one + n : two + out[1]", 3),
    "the address of a parameter": ("", "int *out, const __grid_constant__ int n", "&n", bytes(4)),
}


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("isa", ["sm_90", "sm_120"])
def test_an_address_that_is_not_known_is_a_fault(isa, what):
    variables, parameters, pointer, argument = FAULTS[what]
    gpu = sl.Gpu(isa=isa)
    body = f"const int *p = {pointer}; asm volatile(\"ld.s32 %0, [%1];\" : \"=r\"(out[0]) : \"l\"(p));"
    kernel = gpu.compile(f'{variables} extern "C" __global__ void k({parameters}) {{ {body} }}')["k"]
    with pytest.raises(sl.DeviceFault, match="load of 4 bytes"):
        kernel(1, 1, [gpu.zeros(4, np.int32), argument])
