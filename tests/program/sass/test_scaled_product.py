"""FMUL.D4: a product and a power of two, rounded once."""

import numpy as np

import simtlab as sl

SOURCE = """
extern "C" __global__ void quarter(float *x, const float *y) { int i = threadIdx.x; x[i] = x[i] * y[i] * 0.25f; }
"""


def test_a_product_is_scaled_and_rounded_once():
    rng = np.random.default_rng(5)
    x, y = ((rng.random(256, np.float32) - 0.5) * 10.0 ** rng.integers(-15, 15, 256).astype(np.float32) for _ in range(2))
    gpu = sl.Gpu(isa="sm_90")
    module = gpu.compile(SOURCE, options=["--use_fast_math"])
    assert "FMUL.FTZ.D4" in module.sass
    device = gpu.array(x)
    module["quarter"](1, 256, [device, gpu.array(y)])
    with np.errstate(over="ignore"):
        expected = (x.astype(np.float64) * y * 0.25).astype(np.float32)
    expected[np.abs(expected) < np.finfo(np.float32).tiny] = 0
    assert np.array_equal(device.numpy(), expected)
