"""The machine runs uncompiled too (`NUMBA_DISABLE_JIT=1`), and counts the same."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.watch import Watch

SOURCE = r"""
extern "C" __global__ void work(const float *x, float *y, int *count) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = x[(i * 17) % 128];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < (threadIdx.x & 3) + 1; k++) sum += tile[(threadIdx.x + k * 5) & 63] * 0.5f;
    y[i] = sum;
    if (sum > 0.5f) atomicAdd(count, 1);
}
"""
MESH = {"network.kind": "mesh", "network.mesh_width": 4, "network.mesh_height": 4}
MACHINES = {
    "three loops": {},
    "one loop": {"set": {"core.detail": 1}},
    "gto and a prefetcher": {"warp_scheduler": "gto", "prefetcher": "next-line"},
    "mesh, replay, policies": {"set": MESH | {"issue.replay": True, "l1d.reread": True}, "network_arbiter": "oldest-first",
                               "dram_scheduler": "oldest-first", "l1_replacement": "first-in"},
    "half-routers": {"set": MESH | {"network.mesh_width": 6, "network.virtual_channels": 2, "network.half_routers": True,
                                    "network.slice_placement": "checkerboard"}},
}  # fmt: skip


def work(options: dict) -> list:
    changes = {"core.cores": 2} | options.get("set", {})
    gpu = sl.Gpu("caps-gtx480", memory_bytes=1 << 24, **(options | {"set": changes}))
    assert gpu.machine is not None
    gpu.machine.watch = watch = Watch(1, 100, 300)
    x, y, count = gpu.array(np.linspace(0, 1, 128, dtype="f4")), gpu.zeros(128), gpu.zeros(1, "i4")
    run = gpu.compile(SOURCE)["work"](2, 64, [x, y, count])
    counted = [run.cycles, run.stalls, run.counters, run.timing.stalls_by_instruction.tolist()]
    return [*counted, y.numpy().tolist(), int(count[0]), repr(watch.cycles), repr(watch.requests)]


# The parts of the first two are in all others; tests/machine/test_half_routers.py has the last's.
SLOW = ("three loops", "one loop", "half-routers")
EVERY = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in MACHINES]


@pytest.mark.parametrize("name", EVERY)
def test_uncompiled_and_compiled_agree(name):
    text = f"import json; from tests.timing.test_uncompiled import MACHINES, work; print(json.dumps(work(MACHINES[{name!r}])))"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    answer = subprocess.run([sys.executable, "-W", "ignore", "-c", text], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr[-2000:]
    assert json.loads(answer.stdout) == json.loads(json.dumps(work(MACHINES[name])))
