"""Linear algebra kernels against NumPy."""

import numpy as np
import pytest

from tests.kernels.library import source


@pytest.fixture(scope="module")
def linear(gpu):
    return gpu.compile(source("linear"))


def test_two_matrix_products_in_a_row(gpu, linear):
    n, alpha, beta = 40, 1.5, 1.2
    rng = np.random.default_rng(1)
    a, b, c, d = rng.random((4, n, n), np.float32)
    on_device = {name: gpu.array(values) for name, values in zip("abcd", (a, b, c, d), strict=True)}
    between = gpu.zeros((n, n))
    grid, block = (2, 5), (32, 8)
    linear["matrix_product"](grid, block, [n, alpha, 0.0, on_device["a"], on_device["b"], between])
    linear["matrix_product"](grid, block, [n, 1.0, beta, between, on_device["c"], on_device["d"]])
    np.testing.assert_allclose(on_device["d"].numpy(), alpha * a @ b @ c + beta * d, rtol=1e-5)


@pytest.mark.parametrize("n", [16, 48, 50])
def test_a_tiled_matrix_product(gpu, linear, n):
    a, b = np.random.default_rng(n).integers(-8, 8, (2, n, n)).astype(np.float32)
    out = gpu.empty((n, n))
    tiles = -(-n // 16)
    linear["tiled_product"]((tiles, tiles), (16, 16), [n, gpu.array(a), gpu.array(b), out])
    np.testing.assert_array_equal(out.numpy(), a @ b)


def test_lu_decomposition_in_blocks_of_16_threads(gpu, linear):
    n = 64
    rng = np.random.default_rng(2)
    matrix = (rng.random((n, n)) + n * np.eye(n)).astype(np.float32)
    m = gpu.array(matrix)
    for first in range(0, n, 16):
        left = (n - first) // 16 - 1
        linear["lud_diagonal"](1, 16, [m, n, first])
        if left:
            linear["lud_perimeter"](left, 32, [m, n, first])
            linear["lud_internal"]((left, left), (16, 16), [m, n, first])
    packed = m.numpy().astype(np.float64)
    lower, upper = np.tril(packed, -1) + np.eye(n), np.triu(packed)
    np.testing.assert_allclose(lower @ upper, matrix, rtol=1e-4, atol=1e-4)


def sparse_matrix(rows, columns, rng):
    counts = rng.integers(0, 70, rows)
    counts[3] = 0
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    column = np.concatenate([rng.choice(columns, c, replace=False) for c in counts]).astype(np.int32)
    return start, column, rng.random(len(column))


@pytest.mark.parametrize(("kernel", "threads_a_row"), [("csr_by_thread", 1), ("csr_by_warp", 32)])
def test_sparse_matrix_times_vector(gpu, linear, kernel, threads_a_row):
    rows, columns = 100, 90
    rng = np.random.default_rng(3)
    start, column, value = sparse_matrix(rows, columns, rng)
    x, y = rng.random(columns), gpu.empty(rows, "f8")
    grid = -(-rows * threads_a_row // 96)
    linear[kernel](grid, 96, [rows, *map(gpu.array, (start, column, value, x)), y])
    dense = np.zeros((rows, columns))
    for row in range(rows):
        dense[row, column[start[row] : start[row + 1]]] = value[start[row] : start[row + 1]]
    np.testing.assert_allclose(y.numpy(), dense @ x, rtol=1e-13)


def test_transpose_through_shared_memory(gpu, linear):
    height, width = 70, 45
    matrix = np.arange(height * width, dtype=np.float32).reshape(height, width)
    out = gpu.empty((width, height))
    linear["transpose"]((2, 3), (32, 8), [width, height, gpu.array(matrix), out])
    np.testing.assert_array_equal(out.numpy(), matrix.T)
