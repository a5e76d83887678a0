"""Clocks that a policy sets: what is bound by cores goes with theirs, what is bound by memory with its, and energy follows."""

import numpy as np
import pytest

import simtlab as sl

ARITHMETIC = r"""
extern "C" __global__ void fma_loop(float *out, int n) {
    float x = threadIdx.x, y = x + 1;
    for (int i = 0; i < n; i++) { x = x * 0.5f + 1.5f; y = y * 0.5f + 1.5f; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = x + y;
}
extern "C" __global__ void copy(const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i];
}
"""
COMPONENTS_OF_MEMORY = ("network", "l2", "dram")


def run(kernel, **policies):
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 4, "clocks.step_percent": 20}, **policies)
    made = gpu.compile(ARITHMETIC)[kernel]
    if kernel == "fma_loop":
        return made(8, 256, [gpu.zeros(8 * 256), np.int32(200)])
    n = 1 << 16
    return made(n // 256, 256, [gpu.zeros(n), gpu.zeros(n)])


@pytest.mark.parametrize("kernel", ["fma_loop", "copy"])
def test_clocks_as_usual_change_nothing(kernel):
    plain, same = run(kernel), run(kernel, clocks="fixed,period=64")
    assert (plain.cycles, plain.counters) == (same.cycles, same.counters)
    assert same.timing.seconds == pytest.approx(plain.timing.seconds, rel=1e-9) == plain.cycles / 1400e6
    assert same.energy == pytest.approx(plain.energy, rel=1e-9)


def test_faster_cores_take_the_same_cycles_and_less_time_where_they_are_the_bound():
    plain, fast = run("fma_loop"), run("fma_loop", clocks="fixed,core=2,period=16")
    assert fast.cycles == pytest.approx(plain.cycles, rel=0.05)
    assert fast.timing.seconds == pytest.approx(plain.timing.seconds / 1.2, rel=0.05)
    assert fast.energy["sp"] == pytest.approx(plain.energy["sp"] * 1.44, rel=0.01)
    assert fast.energy["dram"] == pytest.approx(plain.energy["dram"], rel=0.05)


def test_faster_memory_takes_less_time_where_it_is_the_bound():
    plain, fast = run("copy"), run("copy", clocks="fixed,memory=2,period=16")
    assert fast.timing.seconds < 0.95 * plain.timing.seconds
    for component in COMPONENTS_OF_MEMORY:
        assert fast.energy[component] == pytest.approx(plain.energy[component] * 1.44, rel=0.05)


def test_all_clocks_lower_are_the_same_machine_slower():
    plain, slow = run("copy"), run("copy", clocks="fixed,core=0,memory=0,period=1")
    assert slow.cycles == pytest.approx(plain.cycles, rel=0.01)
    assert slow.timing.seconds == pytest.approx(plain.timing.seconds / 0.8, rel=0.01)


def test_every_launch_is_asked_for_as_it_begins():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 4}, clocks="fixed,core=2")
    kernel, out = gpu.compile(ARITHMETIC)["fma_loop"], gpu.zeros(256)
    for _ in range(2):
        run = kernel(1, 256, [out, np.int32(20)])
        assert run.timing.seconds == pytest.approx(run.cycles / (1.15 * 1400e6), rel=0.01)
