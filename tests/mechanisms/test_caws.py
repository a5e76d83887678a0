"""Criticality-aware warp scheduling: predictions by hand, and a warp with more to do than the others."""

import numpy as np
import pytest

import simtlab as sl
from tests.mechanisms.records import Example

KERNELS = r"""
extern "C" __global__ void uneven(float *out, int more) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x;
    float a = 1, b = 2, c = 3, d = 4;
    if (thread / 32 == 47)
        #pragma unroll 16
        for (int k = 0; k < more; k++) { a = a * 0.5f + 1; b = b * 0.5f + 1; c = c * 0.5f + 1; d = d * 0.5f + 1; }
    #pragma unroll 1
    for (int k = 0; k < 100; k++) { a = a * 0.5f + 2; b = b * 0.5f + 2; c = c * 0.5f + 2; d = d * 0.5f + 2; }
    out[thread] = (a + b) + (c + d);
}
extern "C" __global__ void streams(const float *in, float *out) {
    int thread = blockIdx.x * blockDim.x + threadIdx.x, warp = thread / 32;
    const float *own = in + warp * 8 * 32 + thread % 32, *stream = in + 12288 + warp * 128 * 32 + thread % 32;
    float x = 0;
    if (warp % 8 == 7)
        for (int k = 0; k < 250; k++) {
            x += own[(k & 7) * 32];
            #pragma unroll
            for (int j = 0; j < 30; j++) x = x * 0.5f + 1;
        }
    else
        for (int k = 0; k < 128; k += 8) {
            #pragma unroll
            for (int j = 0; j < 8; j++) x += stream[(k + j) * 32];
        }
    out[thread] = x;
}
"""


def launch(kernel, *arguments, ctas=6, threads=256, **policies):
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, **policies)
    out = gpu.zeros(ctas * threads)
    data = [gpu.array(np.ones(12288 + 48 * 128 * 32, np.float32))] if kernel == "streams" else []
    run = gpu.compile(KERNELS)[kernel](ctas, threads, [*data, out, *arguments])
    return run, out.numpy()


def counts(run, mechanism):
    return {name.rsplit(".", 1)[1]: value for name, value in run.counters.items() if name.startswith(f"mechanism.{mechanism}.")}


def with_warps(mechanism, **parameters):
    """Two warps that have issued ten instructions each in 100 cycles, 10 cycles an instruction, and are at pcs 40 and 20."""
    example = Example(mechanism, warps=2, **parameters)
    example.core.ctas[0].warps["pc"][:2] = 40, 20
    for _ in range(10):
        for warp in (0, 1):
            example.tell("on_issue", warp)
    return example


def test_the_warp_with_more_left_is_more_critical():
    """Warp 0: 0 x 10 + 90 stalls; warp 1: 20 x 10 + 90 stalls."""
    example = with_warps("caws")
    assert example.tell("allow", 0b11, cycle=100) == 0b10
    assert example.own.preferred == 1
    example.core.ctas[0].warps["pc"][1] = 40
    assert example.tell("allow", 0b11, cycle=100) == 0b01  # as critical: the older one
    example.tell("on_issue", 0, cycle=100)
    assert example.tell("allow", 0b11, cycle=101) == 0b10  # one stall more


def test_a_warp_in_a_loop_has_all_of_it_before_it():
    example = with_warps("caws")
    example.core.ctas[0].warps["pc"][:2] = 38, 39
    assert example.tell("allow", 0b11, cycle=100) == 0b01
    loop = example.facts["row"][0, 35:40]
    loop["loop"], loop["header"], loop["last"] = 0, 35, 39
    example.core.ctas[0].warps["pc"][0] = 36
    assert example.tell("allow", 0b11, cycle=100) == 0b01  # both at 35, the older one
    example.core.ctas[0].warps["pc"][0] = 40
    assert example.tell("allow", 0b11, cycle=100) == 0b10


def test_greedy_stays_on_a_warp_until_it_stalls():
    example = with_warps("caws", greedy=1)
    example.tell("on_issue", 0, cycle=100)
    assert example.tell("allow", 0b11, cycle=101) == 0b01
    assert example.tell("allow", 0b10, cycle=101) == 0b10


@pytest.mark.parametrize("mechanism", ["caws", "caws,greedy=1", "cawa,cacp=0"])
def test_a_warp_with_more_to_do_gains(mechanism):
    """47 warps keep the core busy, and one has 4,000 instructions more: with loose round robin it issues as often as any other,
    and has most of them left when the others have ended."""
    without, expected = launch("uneven", 1000, warp_scheduler="lrr")
    run, values = launch("uneven", 1000, warp_scheduler="lrr", mechanism=mechanism)
    assert run.cycles < 0.95 * without.cycles
    assert counts(run, mechanism[:4])["preferred"] > 0
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("mechanism", ["caws", "cawa"])
def test_a_warp_alone_goes_before_nobody(mechanism):
    without, _ = launch("streams", ctas=1, threads=32)
    run, _ = launch("streams", ctas=1, threads=32, mechanism=mechanism)
    assert run.cycles == without.cycles
    assert counts(run, mechanism)["preferred"] == 0
