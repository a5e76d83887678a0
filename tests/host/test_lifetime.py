"""A GPU lives as long as somebody uses it, or something waits in it."""

import gc
import weakref

import pytest

import simtlab as sl

DOUBLE = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def used_gpu(machine: str | None) -> tuple[sl.Gpu, sl.DeviceArray]:
    gpu = sl.Gpu(machine)
    x = gpu.zeros(32)
    gpu.compile(DOUBLE)["twice"](1, 32, [x])
    return gpu, x


@pytest.fixture
def references_only():
    """Without the garbage collector: a machine is some 80 MB, and the collector does not see that."""
    yield
    gc.enable()


@pytest.mark.parametrize("machine", [None, "caps-gtx480"])
def test_a_gpu_that_nobody_uses_is_gone_at_once(machine, references_only):
    used_gpu(machine)  # where it is a first one, the compiler leaves garbage that refers to it
    gc.collect()
    gc.disable()
    gpu, x = used_gpu(machine)
    seen = weakref.ref(gpu)
    del gpu
    assert seen() is None
    assert (x.numpy() == 0).all()


def test_a_launch_that_waits_in_a_stream_runs_though_nobody_holds_its_gpu():
    gpu = sl.Gpu("caps-gtx480")
    x = gpu.zeros(32)
    x[...] = 3
    gpu.compile(DOUBLE)["twice"](1, 32, [x], stream=gpu.stream())
    del gpu
    assert (x.numpy() == 6).all()
