"""State spaces, vectors and small types."""

import numpy as np
import pytest

from tests.kernels.library import reserved_shared, source


@pytest.fixture(scope="module")
def memory(gpu):
    return gpu.compile(source("memory"))


def test_dynamic_shared_memory_begins_behind_the_static(gpu, memory):
    n = 50
    values = np.arange(n, dtype=np.float32)
    out = gpu.empty(n)
    assert memory["both_kinds_of_shared"].shared_bytes == reserved_shared(gpu) + 32  # three doubles and a char, rounded up
    memory["both_kinds_of_shared"](2, n, [gpu.array(values), out, n], shared=12 * n)
    np.testing.assert_array_equal(out.numpy(), 3 * np.roll(values, -1) + 100 * (np.arange(n) % 3) + 7)


def test_the_sizes_of_shared_memory(gpu, memory):
    out = gpu.empty(3, "u4")
    memory["sizes_of_shared"](1, 1, [out], shared=300)
    assert out.numpy().tolist() == [300, 300, reserved_shared(gpu)]


def test_vector_loads_and_stores(gpu, memory):
    rng = np.random.default_rng(1)
    pairs = [("f4", 4), ("f4", 2), ("i4", 4), ("f8", 2), ("u1", 4), ("i2", 2), ("i8", 1)]
    given = [rng.integers(0, 100, (40, count)).astype(dtype) for dtype, count in pairs]
    out = [gpu.zeros(values.shape, values.dtype) for values in given]
    arguments = [array for values, result in zip(given, out, strict=True) for array in (gpu.array(values), result)]
    memory["vector_copies"](1, 40, arguments)
    for values, result, (dtype, count) in zip(given, out, pairs, strict=True):
        if dtype == "i8":
            expected = values ^ 0x123456789ABCDEF
        else:
            expected = -values if (dtype, count) == ("i4", 4) else values[:, ::-1]
        np.testing.assert_array_equal(result.numpy(), expected)


def test_small_types_keep_their_signs(gpu, memory):
    rng = np.random.default_rng(2)
    given = [rng.integers(np.iinfo(d).min, np.iinfo(d).max, 64, dtype=d) for d in ("i1", "u1", "i2", "u2")]
    out, narrow = gpu.empty((64, 4), "i4"), gpu.empty(64, "i1")
    memory["small_types"](1, 64, [*map(gpu.array, given), out, narrow])
    np.testing.assert_array_equal(out.numpy(), np.stack([v.astype("i4") for v in given], 1))
    np.testing.assert_array_equal(narrow.numpy(), (given[2].astype("i4") + given[3]).astype("i1"))


def test_local_arrays_indexed_by_data(gpu, memory):
    values = np.random.default_rng(3).integers(0, 20, (70, 8)).astype(np.int32)
    out = gpu.empty((70, 8), "i4")
    memory["local_sort"](2, 35, [gpu.array(values), out])
    np.testing.assert_array_equal(out.numpy(), np.sort(values, axis=1))


def test_lanes_of_one_warp_follow_a_pointer_into_every_space(gpu, memory):
    t = np.arange(32)
    memory.variable("in_global", "i4")[:] = 3000 + t
    memory.constant("in_constant")[:] = (4000 + t).astype(np.int32)
    argument, kinds, values = gpu.array(5000 + t, "i4"), gpu.zeros(32, "i4"), gpu.zeros((32, 3), "i4")
    memory["mixed_pointers"](1, 32, [argument, kinds, values])
    np.testing.assert_array_equal(kinds.numpy(), np.choose(t % 4, [1, 2, 4, 4]))
    held = np.choose(t % 4, [1000 + t, 2000 + 10 * t + t % 3, 3000 + t, 5000 + t])
    read = np.where(t % 5 == 0, 4000 + t, held)
    np.testing.assert_array_equal(values.numpy(), np.stack([read, read + 1, 2 * (read + 1) + 5], 1))
    np.testing.assert_array_equal(memory.variable("in_global", "i4").numpy(), np.where(t % 4 == 2, read + 6, 3000 + t))
    np.testing.assert_array_equal(argument.numpy(), np.where(t % 4 == 3, read + 6, 5000 + t))


def test_a_pointer_to_local_memory_travels_through_shared_memory(gpu, memory):
    out = gpu.empty(64, "i4")
    memory["pointer_in_memory"](1, 64, [out])
    t = np.arange(64)
    np.testing.assert_array_equal(out.numpy(), np.where(t & 1, t * 1000 + 107, (t + 100) * 1000 + 7))
