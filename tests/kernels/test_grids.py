"""Grid methods against NumPy."""

import numpy as np
import pytest

from tests.kernels.library import source

GRADIENT = np.dtype([(side, "f4") for side in ("north", "south", "west", "east")])


@pytest.fixture(scope="module")
def grids(gpu):
    return gpu.compile(source("grids"))


def alignment(similarity, penalty):
    """The table of best scores, cell after cell."""
    n = len(similarity)
    score = np.zeros((n, n), np.int32)
    score[0], score[:, 0] = -penalty * np.arange(n), -penalty * np.arange(n)
    for i in range(1, n):
        for j in range(1, n):
            ways = score[i - 1, j - 1] + similarity[i, j], score[i, j - 1] - penalty, score[i - 1, j] - penalty
            score[i, j] = max(ways)
    return score


def test_sequence_alignment_in_blocks_of_16_threads(gpu, grids):
    blocks, penalty = 4, 10
    n = 16 * blocks + 1
    similarity = np.random.default_rng(1).integers(-4, 12, (n, n), dtype=np.int32)
    first = np.zeros((n, n), np.int32)
    first[0], first[:, 0] = -penalty * np.arange(n), -penalty * np.arange(n)
    score, given = gpu.array(first), gpu.array(similarity)
    for diagonal in range(1, blocks + 1):
        grids["nw_upper_left"](diagonal, 16, [given, score, n, penalty, diagonal])
    for diagonal in range(blocks - 1, 0, -1):
        grids["nw_lower_right"](diagonal, 16, [given, score, n, penalty, diagonal, blocks])
    np.testing.assert_array_equal(score.numpy(), alignment(similarity, penalty))


def diffusion(image, q0, rate):
    """One step of speckle-reducing anisotropic diffusion."""
    padded = np.pad(image, 1, mode="edge")
    north, south = padded[:-2, 1:-1] - image, padded[2:, 1:-1] - image
    west, east = padded[1:-1, :-2] - image, padded[1:-1, 2:] - image
    g2 = (north**2 + south**2 + west**2 + east**2) / image**2
    laplacian = (north + south + west + east) / image
    q = (0.5 * g2 - laplacian**2 / 16) / (1 + 0.25 * laplacian) ** 2
    c = np.clip(1 / (1 + (q - q0) / (q0 * (1 + q0))), 0, 1)
    below, right = np.pad(c, 1, mode="edge")[2:, 1:-1], np.pad(c, 1, mode="edge")[1:-1, 2:]
    return image + 0.25 * rate * (c * north + below * south + c * west + right * east)


def test_speckle_reducing_diffusion(gpu, grids):
    rows, columns, rate, steps = 40, 52, 0.5, 3
    image = np.exp(np.random.default_rng(2).random((rows, columns))).astype(np.float32)
    on_device, gradient, c = gpu.array(image), gpu.empty((rows, columns), GRADIENT), gpu.empty((rows, columns))
    expected = image.astype(np.float64)
    for _ in range(steps):
        q0 = float(np.var(expected) / np.mean(expected) ** 2)
        grid, block = (4, 3), (16, 16)
        grids["srad_coefficients"](grid, block, [rows, columns, q0, on_device, gradient, c])
        grids["srad_update"](grid, block, [rows, columns, rate, on_device, gradient, c])
        expected = diffusion(expected, q0, rate)
    np.testing.assert_allclose(on_device.numpy(), expected, rtol=1e-5)


def test_a_heat_step_with_three_dimensional_blocks(gpu, grids):
    nz, ny, nx = 9, 10, 14
    field = np.random.default_rng(3).random((nz, ny, nx), np.float32)
    out = gpu.empty(field.shape)
    grids["heat_step"]((2, 3, 3), (8, 4, 3), [nx, ny, nz, gpu.array(field), out])
    inner = field[1:-1, 1:-1, 1:-1]
    around = sum(np.roll(field, step, axis)[1:-1, 1:-1, 1:-1] for axis in range(3) for step in (-1, 1))
    expected = field.copy()
    expected[1:-1, 1:-1, 1:-1] = inner + np.float32(0.1) * (around - 6 * inner)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("grid", "block"), [((3,), (33,)), ((2, 3), (5, 7)), ((2, 3, 2), (3, 5, 3)), (4, 1), (1, (1, 1, 64)), (1, (2, 512))]
)
def test_every_thread_knows_where_it_is(gpu, grids, grid, block):
    full = [(*(size if isinstance(size, tuple) else (size,)), 1, 1)[:3] for size in (grid, block)]
    (gx, gy, gz), (bx, by, bz) = full
    threads = bx * by * bz
    out = gpu.empty((gx * gy * gz, threads, 4), "u4")
    grids["coordinates"](grid, block, [out])
    t, b = np.arange(threads), np.arange(gx * gy * gz)
    thread = t % bx | t // bx % by << 8 | t // (bx * by) << 16
    where = b % gx | b // gx % gy << 8 | b // (gx * gy) << 16
    found = out.numpy()
    assert (found[..., 0] == thread).all()
    assert (found[..., 1] == where[:, None]).all()
    assert (found[..., 2] == t % 32).all()
    assert (found[..., 3] == t // 32).all()
