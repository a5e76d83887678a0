"""The texture unit: misses become traffic once, hits behind them wait in the FIFO, fetches leave in order."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing.machines import gpu

FETCH = r"""
extern "C" __global__ void fetch(cudaTextureObject_t t, float *out, int stride) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = tex1Dfetch<float>(t, i * stride);
}
extern "C" __global__ void twice(cudaTextureObject_t t, float *out) {
    int i = threadIdx.x;
    float a = tex1Dfetch<float>(t, i);
    float b = tex1Dfetch<float>(t, 31 - i);
    out[i] = a + b;
}
extern "C" __global__ void filtered(cudaTextureObject_t t, float *out) {
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 1.0f, 1.0f);
}
extern "C" __global__ void surface(cudaSurfaceObject_t s) {
    float v; surf2Dread(&v, s, threadIdx.x * 4, 0); surf2Dwrite(v + 1, s, threadIdx.x * 4, 1);
}
"""


@pytest.fixture(scope="module")
def device():
    return gpu()


def fetch(device, stride, warps=1):
    image = np.arange(1 << 14, dtype="f4")
    texture, out = device.texture(device.array(image)), device.zeros(32 * warps)
    run = device.compile(FETCH)["fetch"](1, 32 * warps, [texture, out, np.int32(stride)])
    assert np.array_equal(out.numpy(), image[: 32 * warps * stride : stride])
    return run.counters


def test_a_warp_of_neighbouring_texels_takes_one_line(device):
    assert device.machine.config.l1t.line_bytes == 128
    found = fetch(device, 1)
    assert (found["l1t_misses"], found["l1t_hits"]) == (1, 0)


def test_a_warp_of_scattered_texels_takes_a_line_each(device):
    assert fetch(gpu(), 32)["l1t_misses"] == 32


def test_a_second_fetch_of_the_line_asks_for_nothing(device):
    fresh = gpu()
    texture, out = fresh.texture(fresh.array(np.arange(32, dtype="f4"))), fresh.zeros(32)
    run = fresh.compile(FETCH)["twice"](1, 32, [texture, out])
    assert (run.counters["l1t_misses"], run.counters["l1t_hits"]) == (1, 1)
    assert out.numpy().tolist() == [31] * 32


def test_a_filtered_fetch_touches_the_texels_around_each_point():
    fresh = gpu()
    image = np.arange(4 * 64, dtype="f4").reshape(4, 64)
    texture, out = fresh.texture(image, filter="linear"), fresh.zeros(32)
    run = fresh.compile(FETCH)["filtered"](1, 32, [texture, out])
    assert run.counters["l1t_misses"] + run.counters["l1t_hits"] >= 2  # the rows above and below
    functional = sl.Gpu()
    expected = functional.zeros(32)
    functional.compile(FETCH)["filtered"](1, 32, [functional.texture(image, filter="linear"), expected])
    assert np.array_equal(out.numpy(), expected.numpy())


def test_a_hit_waits_for_the_misses_before_it():
    """Hits and misses have roughly the same latency (BOOK 4.1.2): two fetches of one line end together."""
    one, two = gpu(), gpu({"l1t.fifo_entries": 1})
    times = []
    for device in (one, two):
        texture, out = device.texture(device.array(np.arange(32, dtype="f4"))), device.zeros(32)
        kernel = device.compile(FETCH)["twice"]
        times.append(kernel(1, 32, [texture, out]).cycles)
    assert times[0] + 100 > times[1] >= times[0]  # with one place the second waits to be issued, then hits
    latency = one.machine.config.l1t.hit_latency_cycles
    assert times[1] - times[0] <= latency + 40


def test_a_short_fifo_throttles_the_schedulers():
    free, narrow = gpu(), gpu({"l1t.fifo_entries": 1})
    slow, fast = fetch(narrow, 32, warps=8), fetch(free, 32, warps=8)
    assert slow["l1t_misses"] == fast["l1t_misses"] == 256
    texture, out = narrow.texture(narrow.array(np.zeros(1 << 14, "f4"))), narrow.zeros(256)
    run = narrow.compile(FETCH)["fetch"](1, 256, [texture, out, np.int32(32)])
    assert run.stalls["tex_throttle"] > 0


def test_surfaces_are_global_memory():
    fresh = gpu()
    surface = fresh.surface(fresh.array(np.arange(64, dtype="f4").reshape(2, 32)))
    run = fresh.compile(FETCH)["surface"](1, 32, [surface])
    assert run.counters["l1_misses"] == 1
    assert run.counters["l2_writes"] == 1
