"""The device heap and assertions."""

import numpy as np
import pytest

import simtlab as sl
from tests.kernels.library import ISAS, line_of, new_gpu, source


@pytest.fixture(params=ISAS)
def gpu(request):
    return new_gpu(request.param)


@pytest.fixture
def heap(gpu):
    return gpu.compile(source("heap"))


def test_lists_outlive_the_launch_that_built_them(gpu, heap):
    threads, each = 40, 5
    values = np.random.default_rng(1).integers(0, 100, (threads, each)).astype(np.int32)
    heads, sums = gpu.zeros(threads, "u8"), gpu.zeros(threads, "i4")
    given = gpu.array(values)
    before = len(gpu.memory)
    heap["build_lists"](1, threads, [given, each, heads])
    assert len(gpu.memory) == before + threads * each
    heap["walk_lists"](1, threads, [heads, sums, threads])
    np.testing.assert_array_equal(sums.numpy(), (values[:, ::-1] * np.arange(1, each + 1)).sum(1))
    assert len(gpu.memory) == before


def test_new_and_delete(gpu, heap):
    out = gpu.zeros(33, "i4")
    heap["objects"](1, 33, [out])
    t = np.arange(33)
    np.testing.assert_array_equal(out.numpy(), np.choose(t % 4, [1, 2, 3, t]))


def test_malloc_gives_null_where_there_is_no_room(gpu, heap):
    out = gpu.array([1, 1], "u8")
    heap["too_much"](1, 2, [out])
    assert out.numpy().tolist() == [0, 0]


@pytest.mark.parametrize(("kernel", "marker"), [("use_after_free", "read after free"), ("read_twice_and_free", "second time")])
def test_memory_is_gone_once_it_is_freed(gpu, heap, kernel, marker):
    out = gpu.array([0, 0, 1], "i4", label="out")
    with pytest.raises(sl.DeviceFault, match=r"load of 4 bytes at .* is outside every allocation") as error:
        heap[kernel](1, 1, [out])
    assert f"heap.cu:{line_of('heap', marker)})" in str(error.value)


def test_freeing_twice_is_a_fault(heap):
    with pytest.raises(sl.DeviceFault, match=r"free of 0x[0-9a-f]+, which malloc did not give") as error:
        heap["double_free"](1, 4, [2])
    assert "kernel 'double_free', block (0, 0, 0), thread (2, 0, 0)" in str(error.value)
    assert f"heap.cu:{line_of('heap', 'freed again')})" in str(error.value)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_failed_assertion_names_the_first_block(threads):
    gpu = sl.Gpu(threads=threads)
    values = np.zeros(6 * 32, np.int32)
    values[[70, 69, 100, 180]] = 100
    with pytest.raises(sl.DeviceFault) as error:
        gpu.compile(source("heap"))["asserting"](6, 32, [gpu.array(values)])
    line = line_of("heap", "// asserts")
    assert str(error.value).startswith(f"assertion 'in[i] < 100 && \"too large\"' failed ({source('heap')}:{line}, ")
    assert "kernel 'asserting', block (2, 0, 0), thread (5, 0, 0)" in str(error.value)


def test_an_assertion_that_holds_costs_nothing(gpu, heap):
    heap["asserting"](2, 32, [gpu.zeros(64, "i4")])
