"""Cooperative launches: a place to meet, and no more CTAs than the cores hold at once."""

import numpy as np
import pytest

import simtlab as sl

ADDRESS = """.version 7.0
.target sm_75
.address_size 64
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<4>; .reg .b64 %d<8>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %envreg2;
    mov.u32 %r2, %envreg1;
    mov.b64 %d2, {%r1, %r2};
    mov.u64 %d3, 0;
    setp.eq.u64 %p1, %d2, 0;
    @%p1 bra END;
    atom.global.add.u32 %r3, [%d2], 1;
    mov.u64 %d3, 1;
END: st.global.u64 [%d1], %d3;
    ret;
}""".replace(".reg .b64 %d<8>;", ".reg .b64 %d<8>; .reg .pred %p<2>;")
BARRIER = """
extern "C" __global__ void k(int *x, int rounds) {  // what cooperative_groups' grid.sync() does, by hand
    unsigned low, high; asm("mov.u32 %0, %envreg2;" : "=r"(low)); asm("mov.u32 %0, %envreg1;" : "=r"(high));
    unsigned *arrived = (unsigned *)((unsigned long long)high << 32 | low);
    for (int round = 1; round <= rounds; round++) {
        atomicAdd(x, blockIdx.x);
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            atomicAdd(arrived, 1);
            while (*(volatile unsigned *)arrived < round * gridDim.x);
        }
        __syncthreads();
    }
}
"""


def test_only_a_cooperative_launch_has_a_workspace():
    gpu = sl.Gpu()
    kernel, out = gpu.load(ADDRESS)["k"], gpu.zeros(1, np.uint64)
    kernel(1, 1, [out])
    assert out[0] == 0
    kernel(1, 1, [out], cooperative=True)
    assert out[0] == 1


@pytest.mark.parametrize("machine", [None, "caps-gtx480"])
def test_all_ctas_meet(machine):
    gpu = sl.Gpu(machine, max_cycles=2_000_000) if machine else sl.Gpu()
    x = gpu.zeros(1, np.int32)
    gpu.compile(BARRIER)["k"](60, 32, [x, np.int32(3)], cooperative=True)
    assert x[0] == 3 * 32 * sum(range(60))


@pytest.mark.parametrize(("machine", "most"), [(None, 132 * 32), ("caps-gtx480", 15 * 8)])
def test_a_grid_that_does_not_fit_is_refused(machine, most):
    gpu = sl.Gpu(machine) if machine else sl.Gpu()
    with pytest.raises(sl.LaunchError, match=f"has {most + 1} CTAs; at most {most} are on the cores at once"):
        gpu.compile(BARRIER)["k"](most + 1, 32, [gpu.zeros(1, np.int32), np.int32(1)], cooperative=True)
