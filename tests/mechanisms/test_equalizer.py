"""Equalizer: what its samples say, who is given which clock, and how many CTAs."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.kinds import Unit
from tests.mechanisms.records import Example
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


VOTES = [  # of 24 warps, 4 CTAs of 6: ready for memory, ready for arithmetic; the wish for CTAs, and who is voted for
    (8, 4, -1, "MEMORY"),  # 7 beyond the one that goes, more than the 6 of a CTA: overloaded
    (6, 4, 0, "MEMORY"),  # 5 beyond, more than 2: bound by memory
    (1, 10, 0, "ARITHMETIC"),  # 9 beyond the one that issues, more than 6
    (3, 5, 1, "ARITHMETIC"),  # 2 and 4 beyond, 16 of 24 wait: another CTA, arithmetic has more
    (3, 2, 1, "MEMORY"),
    (3, 10, 0, "ARITHMETIC"),
    (3, 7, 1, "ARITHMETIC"),  # 6 beyond are not more than 6; 14 wait
]


@pytest.mark.parametrize(("memory", "arithmetic", "wish", "vote"), VOTES)
def test_what_a_core_wishes_for_and_votes_for_by_what_its_warps_wait_for(memory, arithmetic, wish, vote):
    """The decision of section III on samples by hand; the number of CTAs follows after three epochs that agree."""
    example = Example("equalizer", warps=24, epoch=2)
    core, module = example.core, example.policy.module
    core.resident, core.buffered = 4, (1 << (memory + arithmetic)) - 1
    core.unit_of_head[int(Unit.LDST)] = (1 << memory) - 1
    answers = []
    for sample in range(6):
        core.samples = sample
        answers.append(example.tell("cta_throttle_sample", 8 if wish >= 0 else 4))
        if sample == 1:
            example.own.core[0].ctas = answers[-1] = 4  # four of eight run
    assert answers[1:5] == [4, 4, 4, 4]  # two epochs are not enough
    assert answers[5] == 4 + wish
    assert example.own.core[0].vote == getattr(module, vote)


@pytest.mark.parametrize(("votes", "save", "clocks"), [
    ([2, 2, 1], 0, ("USUAL", "HIGH")), ([1, 1, 2], 0, ("HIGH", "USUAL")), ([2, 2, 1], 1, ("LOW", "USUAL")),
    ([1, 1, 2], 1, ("USUAL", "LOW")), ([1, 2, 0], 0, ("USUAL", "USUAL")), ([0, 0, 1], 0, ("HIGH", "USUAL")),
])  # fmt: skip
def test_the_majority_of_the_cores_decides(votes, save, clocks):
    example = Example("equalizer", warps=1, save_energy=save)
    module = example.policy.module
    example.own.core["vote"][: len(votes)] = votes
    assert module.by_votes(len(votes), example.own) == tuple(getattr(module, name) for name in clocks)


def test_a_kernel_that_ends_within_an_epoch_is_left_alone():
    plain, same = run("copy"), run("copy", mechanism="equalizer,epoch=100000")
    assert same.cycles == plain.cycles
    assert set(actions(same).values()) == {0}


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
