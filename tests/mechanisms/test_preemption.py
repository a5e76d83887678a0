"""Preemption: an urgent kernel does not wait for CTAs of another, in three ways; results stay what they are. Chimera chooses."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.policies import hook
from tests.mechanisms.records import Example

SOURCE = r"""
extern "C" __global__ void slow(const float *x, float *out, int turns) {
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i];
    for (int t = 0; t < turns; t++) {
        s[threadIdx.x] = a;
        __syncthreads();
        a = s[(threadIdx.x + 1) & 255] * 0.5f + 1.0f;
        __syncthreads();
    }
    out[i] = a;
}
extern "C" __global__ void in_place(float *x, float *none, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int t = 0; t < turns; t++) x[i] = x[i] * 0.5f + 1.0f;
}
extern "C" __global__ void add_up(float *x, float *out, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i];
    for (int t = 0; t < turns; t++) atomicAdd(out + (i & 63), 1.0f);
    x[i] = a;
}
extern "C" __global__ void urgent(float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i * 2.0f;
}
"""
WAYS = {"switch": "always,how=1", "drain": "always,how=2", "flush": "always,how=3"}


def together(kernel="slow", turns=60, delay=3000, cores=2, urgent=8, **policies):
    """A long kernel, an urgent one that comes later; both runs and both results."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": cores}, **policies)
    module = gpu.compile(SOURCE)
    x, out, told = gpu.array(np.arange(36 * 256, dtype=np.float32)), gpu.zeros(36 * 256), gpu.zeros(8 * 256)
    low = module[kernel](36, 256, [x, out, np.int32(turns)], stream=gpu.stream())
    high = module["urgent"](urgent, 256, [told], stream=gpu.stream(priority=1, delay_cycles=delay))
    gpu.synchronize()
    return low, high, np.array(x), np.array(out), np.array(told)


@pytest.fixture(scope="module")
def plain():
    return {kernel: together(kernel) for kernel in ("slow", "in_place", "add_up")}


@pytest.mark.parametrize("kernel", ["slow", "in_place", "add_up"])
@pytest.mark.parametrize("policy", [*({"preemption": way} for way in WAYS.values()), {"mechanism": "chimera"},
                                    {"mechanism": "chimera,latency_cycles=0"}], ids=str)  # fmt: skip
def test_results_are_those_without_it(kernel, policy, plain):
    found = together(kernel, **policy)
    for mine, its in zip(found[2:], plain[kernel][2:], strict=True):
        assert np.array_equal(mine, its)
    assert np.array_equal(found[4], np.arange(8 * 256) * 2.0)


def test_an_urgent_kernel_waits_for_no_cta(plain):
    waits = plain["slow"][1].cycles
    for way in ("switch", "flush"):
        assert together(preemption=WAYS[way])[1].cycles < waits / 4
    assert together(preemption=WAYS["drain"])[1].cycles == waits


def test_a_flush_is_paid_by_doing_things_again(plain):
    low = together(preemption=WAYS["flush"])[0]
    assert low.instructions > plain["slow"][0].instructions
    assert together(preemption=WAYS["switch"])[0].instructions == plain["slow"][0].instructions


def test_what_cannot_be_done_again_is_not_flushed(tmp_path):
    """A CTA that has added to a counter: a policy that flushes it all the same is told that it may not."""
    path = tmp_path / "rash.py"
    path.write_text(
        "from simtlab.policies.hook import *\n@hook\ndef choose(core, own, could, cycle):\n"
        "    return stop(lowest_bit(could), FLUSH)\n"
    )
    with pytest.raises(sl.PolicyError, match=r"choose answered \d+ .*FLUSH where it `can_flush`"):
        together("add_up", preemption=str(path))
    with pytest.raises(sl.PolicyError, match="can_flush"):
        together("in_place", preemption=str(path))


def counts(made):
    return {name: made.counters[f"mechanism.chimera.{name}"] for name in ("switched", "drained", "flushed")}


@pytest.mark.parametrize("urgent", [1, 2, 3])
def test_no_more_ctas_are_stopped_than_find_a_place(urgent):
    """On six cores, all full: one CTA makes room for each."""
    _, high, *_ = together(cores=6, urgent=urgent, turns=400, delay=2000, mechanism="chimera,latency_cycles=100000")
    assert sum(counts(high).values()) == urgent


def test_chimera_takes_the_cheapest_way_in_time():
    """With time to wait, and CTAs that have ended before, it drains; where there is none it flushes what has just begun."""
    patient = counts(together(turns=10, delay=12000, mechanism="chimera,latency_cycles=100000")[0])
    assert patient["drained"] > 0 == patient["switched"] + patient["flushed"]
    soon = counts(together(turns=60, delay=400, mechanism="chimera,latency_cycles=500")[0])
    assert soon["flushed"] > 0


WAYS_BY_HAND = [  # cycles allowed, instructions done of 1,000 in 500 cycles, whether it can be flushed; how it goes
    (10000, 990, 1, "DRAIN"),  # 10 instructions at its pace are 5 cycles, and cost nothing
    (100, 500, 1, "FLUSH"),  # 500 more cycles are too long, 201 for a switch too: a flush takes none
    (300, 500, 0, "SWITCH"),  # a switch is in time
    (300, 500, 1, "SWITCH"),  # and at 402 costs less than the 500 cycles that a flush throws away
    (100, 500, 0, "SWITCH"),  # nothing is in time: the fastest
    (1000, 500, 1, "DRAIN"),  # 500 cycles are in time
]


@pytest.mark.parametrize(("allowed", "done", "flushable", "way"), WAYS_BY_HAND)
def test_the_estimates_by_hand(allowed, done, flushable, way):
    """CTAs of the kernel took 1,000 instructions so far; a context of 200 bytes moves at one a cycle."""
    example = Example("chimera", warps=1, latency_cycles=allowed)
    core, own = example.core, example.own
    core.cta_context[0], core.context_hundredths, core.broken = 200, 100, 1 - flushable
    own.kernel[0].ended, own.kernel[0].took = 2, 2000
    own.cta[0].done, own.cta[0].since = done, 1000
    chosen = example.tell("preemption_choose", 1, cycle=1500)
    assert chosen == getattr(hook, way)  # of CTA slot 0


@pytest.mark.parametrize(("kernel", "share"), [("slow", 0.5), ("in_place", 0.8)])
def test_an_urgent_kernel_gains_with_chimera(kernel, share, plain):
    """It does not wait for a CTA's end, and the other kernel is done nearly as soon. One that updates memory in place cannot be
    flushed, and its contexts share the way to memory with its loads."""
    low, high, *_ = together(kernel, mechanism="chimera,latency_cycles=500")
    assert sum(counts(low).values()) > 0
    assert high.cycles < share * plain[kernel][1].cycles
    assert low.timing.elapsed < 1.2 * plain[kernel][0].timing.elapsed


def test_without_an_urgent_kernel_it_does_nothing():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 2}, mechanism="chimera")
    without = sl.Gpu("caps-gtx480", set={"core.cores": 2})
    runs = []
    for device in (gpu, without):
        x, out = device.array(np.arange(12 * 256, dtype=np.float32)), device.zeros(12 * 256)
        runs.append(device.compile(SOURCE)["slow"](12, 256, [x, out, np.int32(20)]))
    assert runs[0].cycles == runs[1].cycles
    assert set(counts(runs[0]).values()) == {0}


def test_a_stream_says_what_is_wrong():
    gpu = sl.Gpu("caps-gtx480")
    with pytest.raises(sl.SimtlabError, match="a priority is from 0 to 3"):
        gpu.stream(priority=4)
