"""Progress lines say how long a launch may still take."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.cli.progress import time_left

SOURCE = r"""
extern "C" __global__ void add(float *x) {
    float v = x[threadIdx.x];
    for (int k = 0; k < 200; k++) v = v * 1.0f + 1.0f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
"""


@pytest.mark.parametrize(
    ("seconds", "share", "words"),
    [
        (10, 0.001, ""),
        (10, 0.5, ", 50% of CTAs, about 10 s left"),
        (60, 0.25, ", 25% of CTAs, about 3 min left"),
        (360, 0.02, ", 2% of CTAs, about 4.9 h left"),
    ],
)
def test_the_time_left_follows_the_ctas_that_have_ended(seconds, share, words):
    assert time_left(seconds, share) == words


def test_a_run_tells_the_share_of_ctas_that_have_ended():
    gpu, told = sl.Gpu("caps-gtx480", set={"core.cores": 2}), []

    class Listening:
        def __enter__(self):
            return lambda cycles, share: told.append((cycles, share))

        def __exit__(self, *error):
            return None

    gpu.watch = lambda kernel: Listening()
    gpu.compile(SOURCE)["add"](64, 64, [gpu.zeros(64 * 64)])
    cycles, shares = np.array(told).T
    assert (np.diff(cycles) > 0).all()
    assert (np.diff(shares) >= 0).all()
    assert shares[0] == 0
    assert ((shares > 0) & (shares < 1)).any()
    assert shares[-1] == 1
