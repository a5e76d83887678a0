"""bfloat16, atomics on vectors and pairs of 16-bit integers, compiled for sm_90, against NumPy."""

import numpy as np
import pytest

from tests.kernels.library import source

N = 64


@pytest.fixture(scope="module")
def brain(gpu):
    return gpu.compile(source("brain"), options=["-arch=compute_90"] if gpu.isa == "ptx" else [])


def to_bits(values):
    """Numbers that bf16 holds exactly, as bf16."""
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def from_bits(bits):
    return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)


def test_comparisons_of_bfloat16_pairs(gpu, brain):
    a, b = (np.random.default_rng(1).integers(-3, 4, (2, N, 2)) / 2).astype("f4")
    a[::5, 0], b[::7, 1] = np.nan, np.nan
    out = gpu.empty((3, N, 2), "u2")
    brain["brain_pairs"](1, N, [gpu.array(to_bits(a)), gpu.array(to_bits(b)), out])
    np.testing.assert_array_equal(from_bits(out.numpy()), [a > b, ~(a >= b), np.isnan(a)])


def test_atomic_sums_of_bfloat16(gpu, brain):
    total, pairs = gpu.zeros(2, "u2"), gpu.zeros((3, 2), "u2")
    brain["brain_atomics"](1, 16, [total, pairs])
    assert from_bits(total.numpy()).tolist() == [8, 0]
    assert from_bits(pairs.numpy()).tolist() == [[8, 56], [8, 64], [4, 32]]


def test_atomic_sums_of_vectors(gpu, brain):
    """sm_90 brought them. bfloat16 and pairs of integers are there on all: the compiler makes them of other instructions."""
    if gpu.isa == "sm_75":
        assert "vector_atomics" not in brain.kernels
        return
    two, four, before = gpu.zeros(2), gpu.zeros(4), gpu.empty((N, 4))
    brain["vector_atomics"](1, N, [two, four, before])
    sums = np.arange(N).cumsum()
    assert two.numpy().tolist() == [sums[-1], N]
    assert four.numpy().tolist() == [N, sums[-1], -sums[-1], N / 2]
    count, added, taken, halves = before.numpy().T  # in whatever order the warps came
    assert sorted(count.tolist()) == list(range(N))
    assert (taken == -added).all()
    assert (halves == count / 2).all()


def test_arithmetic_on_pairs_of_16_bit_integers(gpu, brain):
    a, b = np.random.default_rng(2).integers(0, 1 << 16, (2, N, 2)).astype(np.uint16)
    out = gpu.empty((5, N, 2), "u2")
    brain["integer_pairs"](1, N, [gpu.array(a), gpu.array(b), out])
    signed = np.minimum(a.view("i2"), b.view("i2")).view("u2"), np.maximum(np.maximum(a.view("i2"), b.view("i2")), 0).view("u2")
    np.testing.assert_array_equal(out.numpy(), [a + b, signed[0], np.maximum(a, b), signed[1], np.minimum(a + b, a)])
