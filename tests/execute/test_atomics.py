"""Atomic functions of every type and operation, in every space: lanes go in order, lowest first."""

import numpy as np
import pytest

import simtlab as sl
from tests.kernels.library import MACHINE_CODE, source

PLACES, THREADS = 8, 70
GLOBAL, SHARED, GENERIC = 0, 1, 2
TYPES = {
    "add": ("s32", "u32", "u64", "f32", "f64"),
    "sub": ("s32", "u32"),
    "exch": ("s32", "u64", "f32"),
    "min": ("s32", "u32", "s64", "u64"),
    "max": ("s32", "u32", "s64", "u64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "and": ("u32", "u64"),
    "or": ("u32", "u64"),
    "xor": ("u32", "u64"),
    "cas": ("s32", "u64", "u16"),
}
BY_SWAPPING = ("min_s64", "min_u64", "max_s64", "max_u64")
NAMES = [f"{operation}_{type}" for operation, types in TYPES.items() for type in types]


@pytest.fixture(scope="module", params=["ptx", *MACHINE_CODE])
def gpu(request):
    return sl.Gpu(isa=request.param)


@pytest.fixture(scope="module")
def atomics(gpu):
    return gpu.compile(source("atomics"))


def combine(operation, old, x, y):
    if operation == "inc":
        return 0 if old >= x else old + 1
    if operation == "dec":
        return x if old == 0 or old > x else old - 1
    return {
        "add": lambda: old + x,
        "sub": lambda: old - x,
        "exch": lambda: x,
        "min": lambda: min(old, x),
        "max": lambda: max(old, x),
        "and": lambda: old & x,
        "or": lambda: old | x,
        "xor": lambda: old ^ x,
        "cas": lambda: y if old == x else old,
    }[operation]()


def values_of(dtype, operation, rng):
    """Targets and operands; comparisons must sometimes succeed, and counters must sometimes wrap."""
    if dtype.kind == "f":
        return rng.normal(size=PLACES).astype(dtype), *rng.normal(size=(2, THREADS)).astype(dtype)
    if operation in ("cas", "inc", "dec"):
        return rng.integers(0, 3, PLACES).astype(dtype), *rng.integers(0, 4, (2, THREADS)).astype(dtype)
    limits = np.iinfo(dtype)
    return tuple(rng.integers(limits.min, limits.max, size, dtype, True) for size in (PLACES, THREADS, THREADS))


def order_of_swaps(operation, old, x):
    """The order of lanes by what they found. Machine code has a loop of compare-and-swap for 64 bits in shared memory, in which
    lanes that would change nothing leave before the others swap: at each value they come first."""
    rises = 1 if operation == "max" else -1
    return sorted(range(THREADS), key=lambda t: (rises * int(old[t]), combine(operation, old[t], x[t], 0) != old[t]))


@pytest.mark.parametrize("space", [GLOBAL, SHARED, GENERIC], ids=["global", "shared", "generic"])
@pytest.mark.parametrize("name", NAMES)
def test_an_atomic_function(gpu, atomics, name, space):
    operation, type = name.split("_")
    dtype = np.dtype({"s": "i", "u": "u", "f": "f"}[type[0]] + str(int(type[1:]) // 8))
    target, x, y = values_of(dtype, operation, np.random.default_rng(len(name)))
    on_device, old = gpu.array(target), gpu.empty(THREADS, dtype)
    atomics[name](1, THREADS, [space, on_device, gpu.array(x), gpu.array(y), old])
    expected = np.empty(THREADS, dtype)
    swaps = gpu.isa != "ptx" and name in BY_SWAPPING and space != GLOBAL
    with np.errstate(over="ignore"):
        for t in order_of_swaps(operation, old.numpy(), x) if swaps else range(THREADS):
            place = t % PLACES
            expected[t] = target[place]
            target[place] = combine(operation, target[place], x[t], y[t])
    np.testing.assert_array_equal(old.numpy(), expected)
    np.testing.assert_array_equal(on_device.numpy(), target)


def test_reductions_without_a_result(gpu, atomics):
    a, b, c = gpu.zeros(3, "i4"), gpu.array([0xFFFFFFFF, 0, 0, 0], "u4"), gpu.zeros(1, "u8")
    d, e = gpu.zeros(1), gpu.zeros(1, "f8")
    atomics["reductions"](3, 50, [a, b, c, d, e])
    t = np.arange(150)
    assert a.numpy().tolist() == [t.sum(), 149, -149]
    assert b.numpy().tolist() == [0, 0x7FFFFFFF, np.bitwise_xor.reduce(t), 150 - 101]
    assert (c[0], d[0], e[0]) == (150 << 33, 75.0, 37.5)


def test_a_sum_built_from_compare_and_swap(gpu, atomics):
    values = np.random.default_rng(1).integers(0, 100, 200).astype(np.float64)
    sums = gpu.zeros(5, "f8")
    atomics["sums_by_swapping"](4, 64, [gpu.array(values), sums, 200])
    np.testing.assert_array_equal(sums.numpy(), values.reshape(-1, 5).sum(0))


def test_scoped_atomics(gpu, atomics):
    a = gpu.zeros(4, "i4")
    atomics["scopes"](1, 40, [a])
    assert a.numpy().tolist() == [40, 80, 39, 5]


SUBNORMAL, TWICE = 0x000116C2, 0x00022D84


@pytest.mark.parametrize(
    ("space", "expected"),
    [(GLOBAL, [0, 0, 0, 0x80000000]), (SHARED, [TWICE, 0x000AE398, 0x800116C2, 0x800116C2])],
    ids=["global", "shared"],
)
def test_sums_of_subnormal_numbers_are_flushed_in_global_memory_alone(gpu, atomics, space, expected):
    """As an H200 does: four sums of two numbers each, subnormal in and out."""
    target, x = np.zeros(PLACES, "f4"), np.zeros(PLACES, "f4")
    target[:4] = np.array([SUBNORMAL, 0, 0, 0x80000000], "u4").view("f4")
    x[:4] = np.array([SUBNORMAL, 0, 0x800116C2, 0x800116C2], "u4").view("f4")
    target[1], x[1] = 1.5e-38, -1.4e-38
    on_device, old = gpu.array(target), gpu.empty(PLACES)
    atomics["add_f32"](1, PLACES, [space, on_device, gpu.array(x), gpu.array(x), old])
    assert on_device.numpy().view("u4")[:4].tolist() == expected
    assert old.numpy().view("u4")[0] == SUBNORMAL
