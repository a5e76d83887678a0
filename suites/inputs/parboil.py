"""Inputs of the forms that Parboil's applications read, and the comparison of what they write.

parboil.py opencl folder                   stand-in for CL/cl.h, which common/include/parboil.h takes in for six types
parboil.py operators folder                declares fft's operators on float2 for the device
parboil.py graph file nodes degree         bfs: a text, each node's first edge and number of edges, then edges with cost 1
parboil.py matrix file rows columns        sgemm: a text, columns one after another
parboil.py sparse file rows per_row        spmv: a symmetric Matrix Market file, and file.bin, a vector
parboil.py reals file count                fft, stencil: floats
parboil.py samples file k x [both]         mri-q, mri-fhd: k-space samples and x points (`both`: with two more arrays)
parboil.py grid file n                     mri-gridding: its parameters for n samples, and file.data, these
parboil.py molecule file atoms side        cutcp: a .pqr file, atoms in a cube
parboil.py basis file shells               rpes: atoms, and file.basis with their shells
parboil.py picture file width height bins  histo: bins around a centre
parboil.py pixels file count               imghisto: big-endian words of 12 bits
parboil.py frame file width height shift   sad: an image, moved by `shift` pixels
parboil.py sky file points seed            tpacf: right ascension and declination of points, some in clusters
parboil.py cavity file                     lbm: obstacles in its 120 x 120 x 150 cells

parboil.py floats reference file header absolute relative  floats after a header: within a part of the largest, or of each
parboil.py numbers reference file absolute relative        numbers in texts
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

OPENCL = """/* Stand-in for CL/cl.h: the types that parboil.h names; no function is called. */
#pragma once
#include <stddef.h>
typedef int cl_int;
typedef unsigned cl_uint;
typedef struct _cl_command_queue *cl_command_queue;
typedef struct _cl_kernel *cl_kernel;
typedef struct _cl_event *cl_event;
typedef struct _cl_mem *cl_mem;
"""

OPERATORS = """// Put before fft: its operators are for the device, too, as all inline functions were for nvcc's first versions.
#pragma once
#ifdef __CUDACC__
#include <cuda_runtime.h>
__host__ __device__ inline float2 operator*(float2 a, float2 b);
__host__ __device__ inline float2 operator*(float2 a, float b);
__host__ __device__ inline float2 operator+(float2 a, float2 b);
__host__ __device__ inline float2 operator-(float2 a, float2 b);
#endif
"""

CHANCE = np.random.default_rng(1)


def opencl(folder: str) -> None:
    path = Path(folder) / "CL" / "cl.h"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(OPENCL)


def operators(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "operators.h").write_text(OPERATORS)


def graph(file: str, nodes: str, degree: str) -> None:
    """Undirected: each edge is there in both directions."""
    n = int(nodes)
    ends = CHANCE.integers(0, n, (n * int(degree) // 2, 2))
    edges = np.concatenate([ends, ends[:, ::-1]])
    edges = edges[np.argsort(edges[:, 0], kind="stable")]
    count = np.bincount(edges[:, 0], minlength=n)
    first = np.cumsum(count) - count
    lines = [str(n), *(f"{a} {b}" for a, b in zip(first, count, strict=True))]
    lines += ["", "0", "", str(len(edges)), *(f"{to} 1" for to in edges[:, 1])]
    Path(file).write_text("\n".join(lines) + "\n")


def matrix(file: str, rows: str, columns: str) -> None:
    values = CHANCE.random(int(rows) * int(columns))
    Path(file).write_text(f"{rows} {columns} " + " ".join(f"{x:.6f}" for x in values) + "\n")


def sparse(file: str, rows: str, per_row: str) -> None:
    n = int(rows)
    row = np.repeat(np.arange(n), CHANCE.integers(1, 2 * int(per_row), n))
    below = np.unique(np.stack([row, (row * CHANCE.random(row.size)).astype(int)], 1), axis=0)
    entries = np.unique(np.concatenate([below, np.arange(n)[:, None].repeat(2, 1)]), axis=0)
    lines = [f"{i + 1} {j + 1} {x:.6f}" for (i, j), x in zip(entries, CHANCE.random(len(entries)), strict=True)]
    head = ["%%MatrixMarket matrix coordinate real symmetric", f"{n} {n} {len(entries)}"]
    Path(file).write_text("\n".join(head + lines) + "\n")
    CHANCE.random(n, np.float32).tofile(file + ".bin")


def reals(file: str, count: str) -> None:
    (2 * CHANCE.random(int(count), np.float32) - 1).tofile(file)


def samples(file: str, k: str, x: str, both: str = "") -> None:
    arrays = [CHANCE.random(int(k)) - 0.5 for _ in range(3)] + [CHANCE.random(int(x)) - 0.5 for _ in range(3)]
    arrays += [CHANCE.random(int(k)) for _ in range(4 if both else 2)]
    Path(file).write_bytes(np.array([k, x], np.int32).tobytes() + np.concatenate(arrays).astype(np.float32).tobytes())


def grid(file: str, n: str) -> None:
    """Positions of samples are in units of kmax."""
    size = "16 16 16"
    names = ["aquisition.numsamples", "aquisition.kmax", "aquisition.matrixSize", "reconstruction.matrixSize"]
    names += ["gridding.matrixSize", "gridding.oversampling", "kernel.width", "kernel.useLUT"]
    values = [n, "1 1 1", size, size, "32 32 32", "2", "3", "1"]
    Path(file).write_text("".join(f"{name}={value}\n" for name, value in zip(names, values, strict=True)))
    sample = np.empty((int(n), 6), np.float32)  # real, imaginary, x, y, z, density
    sample[:, :2], sample[:, 2:5], sample[:, 5] = CHANCE.random((int(n), 2)), 1.6 * CHANCE.random((int(n), 3)) - 0.8, 1
    sample.tofile(file + ".data")


def molecule(file: str, atoms: str, side: str) -> None:
    at = CHANCE.random((int(atoms), 3)) * float(side)
    charge = np.where(np.arange(int(atoms)) % 3, 0.4, -0.8)
    rows = zip(range(1, len(at) + 1), *at.T, charge, strict=True)
    lines = [f"ATOM  {i} O WAT 1 {x:.3f} {y:.3f} {z:.3f} {q:.3f}" for i, x, y, z, q in rows]
    Path(file).write_text("\n".join(lines) + "\n")


def basis(file: str, shells: str) -> None:
    """Atoms of one kind with one shell of three primitives."""
    at = CHANCE.random((int(shells), 3)) * 8
    Path(file).write_text(f"ATOMS {shells}\n" + "".join(f"H {x:.4f} {y:.4f} {z:.4f}\n" for x, y, z in at))
    lines = ["NUMBER ATOMS 1", "NUMBER SHELLS 1", "ATOM H", "SHELLS 1", "SHELL 1 PRIMITIVES 3"]
    lines += ["P E C 3.4253 0.1543", "P E C 0.6239 0.5353", "P E C 0.1689 0.4446"]
    Path(file + ".basis").write_text("\n".join(lines) + "\n")


def picture(file: str, width: str, height: str, bins: str) -> None:
    """The histogram is as wide as the picture, and `bins` high."""
    w, h, high = int(width), int(height), int(bins)
    values = np.clip(CHANCE.normal(w * high / 2, w * high / 40, w * h), 0, w * high - 1)
    np.concatenate([[w, h, w, high], values]).astype(np.uint32).tofile(file)


def pixels(file: str, count: str) -> None:
    CHANCE.integers(0, 4096, int(count)).astype(">u2").tofile(file)


def frame(file: str, width: str, height: str, shift: str) -> None:
    w, h = int(width), int(height)
    y, x = np.mgrid[:h, :w]
    image = 128 + 60 * np.sin((x + int(shift)) / 7) + 50 * np.cos(y / 5) + CHANCE.integers(0, 8, (h, w))
    np.concatenate([[w, h], image.ravel()]).astype(np.uint16).tofile(file)


def sky(file: str, points: str, seed: str) -> None:
    chance, n = np.random.default_rng(int(seed)), int(points)
    right, up = 360 * chance.random(n), np.degrees(np.arcsin(2 * chance.random(n) - 1))
    right[: n // 4], up[: n // 4] = 120 + chance.normal(0, 2, n // 4), 30 + chance.normal(0, 2, n // 4)
    np.savetxt(file, np.stack([right, up], 1), fmt="%.5f")


def cavity(file: str) -> None:
    """Lines of x, planes of y, and a line break after each; a few blocks stand in the way."""
    cells = np.full((150, 120, 120), ord("."), np.uint8)
    for z, y, x in CHANCE.integers(10, 100, (20, 3)):
        cells[z : z + 8, y : y + 8, x : x + 8] = ord("#")
    lines = np.full((150, 120, 121), ord("\n"), np.uint8)
    lines[:, :, :120] = cells
    Path(file).write_bytes(b"".join(plane.tobytes() + b"\n" for plane in lines))


def floats(reference: str, file: str, header: str, absolute: str, relative: str) -> None:
    """Words of the header are counts, which the size tells, and sums, which are compared each for itself."""
    wanted, found = (np.fromfile(name, np.float32).astype(float) for name in (reference, file))
    n = int(header)
    if not np.allclose(wanted[:n], found[:n], rtol=float(relative)):
        sys.exit(f"header {found[:n]}, not {wanted[:n]}")
    compare(wanted[n:], found[n:], float(absolute), float(relative))


def numbers(reference: str, file: str, absolute: str, relative: str) -> None:
    compare(*(np.array(Path(name).read_text().split(), float) for name in (reference, file)), float(absolute), float(relative))


def compare(wanted: np.ndarray, found: np.ndarray, absolute: float, relative: float) -> None:
    if wanted.size != found.size or not wanted.size:
        sys.exit(f"{found.size} numbers, {wanted.size} in the reference")
    off = np.abs(wanted - found)
    wrong = np.count_nonzero(~(off <= np.maximum(absolute * np.abs(wanted).max(), relative * np.abs(wanted))))
    print(f"{wanted.size} numbers, largest {np.abs(wanted).max():g}, largest difference {off.max():g}, {wrong} too far off")
    sys.exit(bool(wrong) or not wanted.any())


if __name__ == "__main__":
    standins, comparisons = (opencl, operators), (floats, numbers)
    made = (graph, matrix, sparse, reals, samples, grid, molecule, basis, picture, pixels, frame, sky, cavity)
    {each.__name__: each for each in (*standins, *made, *comparisons)}[sys.argv[1]](*sys.argv[2:])
