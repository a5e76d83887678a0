"""CUDA's mathematical functions, within the bounds its programming guide gives (section on mathematical functions)."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.kernels.library import source

N = 400


@pytest.fixture(scope="module")
def mathematics(gpu):
    return gpu.compile(source("mathematics"))


def spread(low, high, rng):
    """Values of both signs whose logarithms are evenly spread."""
    values = np.exp(rng.uniform(np.log(low), np.log(high), N))
    return values * rng.choice([-1, 1], N)


def ulps(found, exact, dtype):
    """How far results are from exact values, in units of the last place; infinities and NaNs must agree."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        special = ~np.isfinite(rounded)
        assert np.array_equal(found[special], rounded[special], equal_nan=True)
        unit = np.spacing(np.abs(rounded[~special])).astype(exact.dtype)
        return np.abs((found[~special].astype(exact.dtype) - exact[~special]) / unit).max(initial=0)


def apply(gpu, mathematics, name, dtype, x, y=None):
    suffix = "single" if dtype == np.float32 else "double"
    out = gpu.empty(len(x), dtype)
    second = gpu.array(x if y is None else y, dtype)
    mathematics[f"{name}_{suffix}"](-(-len(x) // 128), 128, [gpu.array(x, dtype), second, out, len(x)])
    return out.numpy()


# name, reference, range of |x|, whether negative x are in its domain, bounds in ulp for single and double
ONE_ARGUMENT = [
    ("sin", np.sin, (1e-8, 1e6), True, 2, 2),
    ("cos", np.cos, (1e-8, 1e6), True, 2, 2),
    ("tan", np.tan, (1e-8, 1e6), True, 4, 2),
    ("exp", np.exp, (1e-6, 80), True, 2, 1),
    ("exp2", np.exp2, (1e-6, 100), True, 2, 1),
    ("expm1", np.expm1, (1e-6, 50), True, 1, 1),
    ("log", np.log, (1e-30, 1e30), False, 1, 1),
    ("log2", np.log2, (1e-30, 1e30), False, 1, 1),
    ("log10", np.log10, (1e-30, 1e30), False, 2, 1),
    ("log1p", np.log1p, (1e-6, 1e6), False, 1, 1),
    ("cbrt", np.cbrt, (1e-30, 1e30), True, 1, 1),
    ("asin", np.arcsin, (1e-5, 1), True, 2, 2),
    ("acos", np.arccos, (1e-5, 1), True, 2, 2),
    ("atan", np.arctan, (1e-5, 1e5), True, 2, 2),
    ("sinh", np.sinh, (1e-5, 80), True, 3, 2),
    ("cosh", np.cosh, (1e-5, 80), True, 2, 1),
    ("tanh", np.tanh, (1e-5, 30), True, 2, 1),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("case", ONE_ARGUMENT, ids=lambda case: case[0])
def test_functions_of_one_argument(gpu, mathematics, case, dtype):
    name, reference, limits, negative, *bounds = case
    x = spread(*limits, np.random.default_rng(len(name))).astype(dtype)
    if not negative:
        x = np.abs(x)
    found = apply(gpu, mathematics, name, dtype, x)
    wide = np.float64 if dtype == np.float32 else np.longdouble
    # the bounds are stated for results that are themselves rounded, so half an ulp comes on top
    assert ulps(found, reference(x.astype(wide)), dtype) <= bounds[dtype == np.float64] + 0.5


@pytest.mark.parametrize(
    ("name", "reference", "limits", "bounds"),
    [("erf", math.erf, (1e-3, 5), (2, 2)), ("erfc", math.erfc, (1e-3, 5), (4, 5)), ("tgamma", math.gamma, (0.1, 30), (5, 10))],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_error_and_gamma_functions(gpu, mathematics, name, reference, limits, bounds, dtype):
    x = np.abs(spread(*limits, np.random.default_rng(3))).astype(dtype)
    exact = np.array([reference(float(value)) for value in x])
    reference_error = 0 if dtype == np.float32 else 4  # the C library's own, in ulp
    found = apply(gpu, mathematics, name, dtype, x)
    assert ulps(found, exact, dtype) <= bounds[dtype == np.float64] + reference_error + 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers(gpu, mathematics, dtype):
    rng = np.random.default_rng(4)
    x, y = np.abs(spread(1e-3, 1e3, rng)).astype(dtype), rng.uniform(-12, 12, N).astype(dtype)
    x[:6], y[:6] = [-2, -2, 0, 0, 1, -8], [3, -2, 2, -1, 1e30, 1 / 3]
    wide = np.float64 if dtype == np.float32 else np.longdouble
    with np.errstate(all="ignore"):
        exact = x.astype(wide) ** y.astype(wide)
    found = apply(gpu, mathematics, "pow", dtype, x, y)
    assert ulps(found, exact, dtype) <= (4 if dtype == np.float32 else 2) + 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "reference", "bounds"), [("atan2", np.arctan2, (3, 2)), ("hypot", np.hypot, (3, 2))])
def test_functions_of_two_arguments(gpu, mathematics, name, reference, bounds, dtype):
    x, y = (spread(1e-6, 1e6, np.random.default_rng(seed)).astype(dtype) for seed in (5, 6))
    wide = np.float64 if dtype == np.float32 else np.longdouble
    found = apply(gpu, mathematics, name, dtype, x, y)
    assert ulps(found, reference(x.astype(wide), y.astype(wide)), dtype) <= bounds[dtype == np.float64] + 0.5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exactly_rounded_functions(gpu, mathematics, dtype):
    rng = np.random.default_rng(7)
    x, y = spread(1e-6, 1e6, rng).astype(dtype), spread(1e-3, 1e3, rng).astype(dtype)
    x[:5] = [0.5, -0.5, 2.5, -0.0, 1e7]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(apply(gpu, mathematics, "sqrt", dtype, x), np.sqrt(x))
    np.testing.assert_array_equal(apply(gpu, mathematics, "divide", dtype, x, y), x / y)
    np.testing.assert_array_equal(apply(gpu, mathematics, "fmod", dtype, x, y), np.fmod(x, y))
    for name in ("floor", "ceil", "trunc", "rint"):
        np.testing.assert_array_equal(apply(gpu, mathematics, name, dtype, x), getattr(np, name)(x))
    np.testing.assert_array_equal(apply(gpu, mathematics, "round", dtype, x), np.copysign(np.floor(np.abs(x) + dtype(0.5)), x))


def test_a_fused_multiplication_and_addition_rounds_once(gpu, mathematics):
    x = 1 + np.arange(N) * 2.0**-40
    found = apply(gpu, mathematics, "fused", np.float64, x, -x)
    exact = [float(1 - Fraction(value) ** 2) for value in x]  # a long double has too few bits on x86-64
    assert found.tolist() == exact


def test_large_arguments_of_sine_and_cosine(gpu, mathematics):
    x = np.array([1e10, 3e20, -7e30, 3.4e38, 1e5, 105615.0, 2.0**40], np.float32)
    for name, reference in (("sin", math.sin), ("cos", math.cos)):
        exact = np.array([reference(float(value)) for value in x])
        assert ulps(apply(gpu, mathematics, name, np.float32, x), exact, np.float32) <= 2.5
        wide = np.array([1e10, 1e22, -1e100, 1e300, 2.0**1000])
        exact = np.array([reference(float(value)) for value in wide])
        assert ulps(apply(gpu, mathematics, name, np.float64, wide), exact, np.float64) <= 3


def test_special_values(gpu, mathematics):
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, -1.0])
    expected = {
        "exp": [np.inf, 0, np.nan, 1, 1, math.exp(-1)],
        "log": [np.inf, np.nan, np.nan, -np.inf, -np.inf, np.nan],
        "sin": [np.nan, np.nan, np.nan, 0.0, -0.0, math.sin(-1)],
        "sqrt": [np.inf, np.nan, np.nan, 0.0, -0.0, np.nan],
        "atan": [np.pi / 2, -np.pi / 2, np.nan, 0.0, -0.0, -np.pi / 4],
    }
    for name, values in expected.items():
        for dtype in (np.float32, np.float64):
            found = apply(gpu, mathematics, name, dtype, x)
            np.testing.assert_allclose(found, values, rtol=2e-7)
            assert np.array_equal(np.signbit(found[3:5]), np.signbit(values[3:5]))


def test_numbers_taken_apart(gpu, mathematics):
    x = np.array([0.0, 1.0, -3.75, 1e300, 5e-324, -1e-310, 0.1])
    fraction, exponent, whole = gpu.empty(7, "f8"), gpu.empty(7, "i4"), gpu.empty(7, "f8")
    mathematics["parts"](1, 32, [gpu.array(x), fraction, exponent, whole, 7])
    expected = np.frexp(x)
    np.testing.assert_array_equal(fraction.numpy(), expected[0])
    np.testing.assert_array_equal(exponent.numpy(), expected[1])
    np.testing.assert_array_equal(whole.numpy(), 8 * np.trunc(x))
