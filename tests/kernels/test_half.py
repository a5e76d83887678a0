"""Half precision against NumPy's."""

import numpy as np
import pytest

from tests.kernels.library import source

N = 64


@pytest.fixture(scope="module")
def half(gpu):
    return gpu.compile(source("half"))


def test_half_precision_arithmetic_rounds_as_numpy_does(gpu, half):
    a, b = np.random.default_rng(1).uniform(-8, 8, (2, N)).astype(np.float16)
    out = gpu.empty((8, N), "f2")
    half["half_arithmetic"](1, N, [gpu.array(a), gpu.array(b), out, N])
    fused = (a.astype("f8") * b + a).astype("f2")
    expected = [a + b, a * b, a - b, fused, a / b, np.minimum(a, b), np.sqrt(np.abs(a)), (a.astype("f4") * 3).astype("f2")]
    np.testing.assert_array_equal(out.numpy(), expected)


def test_pairs_of_halves(gpu, half):
    a, b = np.random.default_rng(2).uniform(-4, 4, (2, N, 2)).astype(np.float16)
    out, sums = gpu.empty((N, 2), "f2"), gpu.empty(N)
    half["half_pairs"](1, N, [gpu.array(a), gpu.array(b), out, sums])
    fused = (a.astype("f8") * b + 1).astype("f2")
    np.testing.assert_array_equal(out.numpy(), fused[:, ::-1])
    np.testing.assert_array_equal(sums.numpy(), fused.astype("f4").sum(1))


def test_conversions_to_half_in_three_directions(gpu, half):
    values = np.random.default_rng(3).uniform(-2000, 2000, 32).astype(np.float32)
    values[:3] = [70000, 1e-8, -0.0]
    results = [gpu.empty(32, dtype) for dtype in ("f2", "f2", "f2", "i2", "f2")]
    half["half_conversions"](1, 32, [gpu.array(values), *results, np.float16(0.25)])
    nearest, down, up, whole, added = (r.numpy() for r in results)
    with np.errstate(over="ignore"):
        expected = values.astype("f2")
    np.testing.assert_array_equal(nearest, expected)
    assert (down.astype("f4") <= values).all()
    assert (up.astype("f4") >= values).all()
    between = np.nextafter(down[3:], np.float16(np.inf)) - up[3:]
    assert (between[down[3:] != up[3:]] == 0).all()
    np.testing.assert_array_equal(whole[1:], np.rint(expected[1:]).astype("i2"))
    np.testing.assert_array_equal(added, expected + np.float16(0.25))


def test_atomic_sums_of_halves(gpu, half):
    total, pairs = gpu.zeros(2, "f2"), gpu.zeros((2, 2), "f2")
    half["half_atomics"](1, 16, [total, pairs])
    assert total.numpy().tolist() == [8, 0]
    assert pairs.numpy().tolist() == [[8, 56], [8, 64]]


def test_comparisons_of_pairs(gpu, half):
    a, b = np.random.default_rng(4).uniform(-4, 4, (2, N, 2)).astype(np.float16)
    a[::5, 0], b[::7, 1], b[::3] = np.nan, np.nan, a[::3]
    out, both = gpu.empty((4, N, 2), "f2"), gpu.empty((2, N), "i4")
    half["half_pair_comparisons"](1, N, [gpu.array(a), gpu.array(b), out, both])
    greater, at_most = a > b, ~(a > b)
    np.testing.assert_array_equal(out[:3], [greater, at_most, np.isnan(a)])
    np.testing.assert_array_equal(both.numpy(), [greater.all(1), (a != b).all(1)])
    np.testing.assert_allclose(out[3], np.exp(a.astype("f4")), rtol=2**-11)
