"""Equalizer: what its samples say, who is given which clock, and how many CTAs."""

import numpy as np
import pytest

import simtlab as sl
from tests.mechanisms.test_clock_levels import run

ACTIONS = ("fewer", "more", "core_high", "core_low", "memory_high", "memory_low")
SPREAD = r"""
extern "C" __global__ void spread(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float s = 0;
    for (int k = 0; k < n; k++) s += x[(i * 32 + k * 4096 * 33) & 0xFFFFF];
    y[i] = s;
}
"""


def actions(made):
    return {name: made.counters[f"mechanism.equalizer.{name}"] for name in ACTIONS}


@pytest.mark.parametrize(("kernel", "save", "acts"), [
    ("fma_loop", 0, "core_high"), ("fma_loop", 1, "memory_low"), ("copy", 0, "memory_high"), ("copy", 1, "core_low"),
])  # fmt: skip
def test_the_bound_goes_faster_or_the_other_slower(kernel, save, acts):
    """Performance mode raises the clock of what the kernel is bound by, energy mode lowers the other's."""
    made = run(kernel, mechanism=f"equalizer,save_energy={save},epoch=4")
    assert actions(made)[acts] > 0
    others = {"core_high", "core_low", "memory_high", "memory_low"} - {acts}
    assert actions(made)[acts] > sum(actions(made)[name] for name in others)


def test_both_modes_gain_what_they_are_for():
    plain = run("fma_loop")
    fast, frugal = (run("fma_loop", mechanism=f"equalizer,save_energy={save},epoch=4") for save in (0, 1))
    assert fast.timing.seconds < 0.95 * plain.timing.seconds
    for component in ("network", "l2", "dram"):
        assert frugal.energy[component] < plain.energy[component]
    assert frugal.timing.seconds < 1.05 * plain.timing.seconds


def test_fewer_ctas_where_memory_is_overloaded():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, mechanism="equalizer,epoch=4,clocks=0")
    x, y = gpu.zeros(1 << 20), gpu.zeros(24 * 192)
    made = gpu.compile(SPREAD)["spread"](24, 192, [x, y, np.int32(16)])
    assert actions(made)["fewer"] > 0
    assert actions(made)["core_high"] == actions(made)["memory_high"] == 0


def test_without_blocks_and_clocks_it_does_nothing():
    plain, idle = run("copy"), run("copy", mechanism="equalizer,blocks=0,clocks=0,epoch=4")
    assert idle.cycles == plain.cycles
    assert set(actions(idle).values()) == {0}
