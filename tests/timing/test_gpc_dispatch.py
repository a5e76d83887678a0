"""Which core has which CTA, beside what an H200 had (%smid of grids of 256 threads a CTA): so many in each GPC, side by side."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.network.request_coalescer import sizes

WHERE = """extern "C" __global__ void where(int *out)
{
    unsigned core;
    asm volatile("mov.u32 %0, %smid;" : "=r"(core));
    out[blockIdx.x] = core;
}"""
GPCS = np.repeat(np.arange(8), sizes(132, 18))


@pytest.fixture(scope="module")
def device() -> sl.Gpu:
    return sl.Gpu("h200", memory_bytes=1 << 24)


def cores_of(device: sl.Gpu, ctas: int) -> np.ndarray:
    out = device.zeros(ctas, "i4")
    device.compile(WHERE)["where"](ctas, 256, [out])
    return out.numpy()


@pytest.mark.parametrize(
    ("ctas", "in_gpcs"),
    [
        (8, [8, 0, 0, 0, 0, 0, 0, 0]),
        (12, [9, 1, 1, 1, 0, 0, 0, 0]),
        (36, [12, 4, 4, 4, 3, 3, 3, 3]),
        (64, [12, 8, 8, 8, 7, 7, 7, 7]),
        (128, [16, 16, 16, 16, 16, 16, 16, 16]),
        (132, [16, 16, 16, 16, 16, 16, 18, 18]),
    ],
)
def test_gpcs_have_as_many_ctas_as_those_of_an_h200(device, ctas, in_gpcs):
    """The H200 takes the GPCs in another order from launch to launch; the first to have one more is the first of its order."""
    cores = cores_of(device, ctas)
    assert np.bincount(GPCS[cores], minlength=8).tolist() == in_gpcs
    assert len(set(cores.tolist())) == ctas
    assert (np.diff(GPCS[cores]) >= 0).all()


def test_tpcs_have_one_cta_each_before_any_has_two(device):
    cores = cores_of(device, 64)[8:]  # the first eight are on the cores that come first
    assert (cores % 2 == 0).all()


def test_the_last_round_of_a_large_grid_is_spread_too(device):
    """148 CTAs: 132, then eight on the cores that come first and one in each GPC."""
    cores = cores_of(device, 148)
    assert cores[:132].tolist() == list(range(132))
    assert sorted(GPCS[cores[132:]].tolist()) == [0] * 9 + list(range(1, 8))
