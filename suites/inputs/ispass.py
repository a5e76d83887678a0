"""Inputs and references for the ISPASS-2009 applications.

ispass.py cutil folder              stand-in for NVIDIA's cutil.h, which the old CUDA SDK had
ispass.py boost folder              stand-in for the few names of Boost.Filesystem that AES uses
ispass.py mpi folder                stand-ins for MPI and ParMETIS with one process, for DG
ispass.py digits file count         images of the form of MNIST's t10k-images-idx3-ubyte
ispass.py tree file nodes           a graph for BFS with one way to each node: costs do not depend on the order of warps
ispass.py levels graph result       BFS: result against a breadth-first search of the graph
ispass.py digest printed            LIB: what it printed against the same model in double precision
ispass.py numbers reference result  CP: numbers within 0.5% or 0.005, as the suite's compare-output has it
ispass.py fields reference result   DG: single numbers on lines, within 5e-7
ispass.py network images weights result   NN: result against the network in double precision
"""

from __future__ import annotations

import re
import struct
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np

CUTIL = r"""// Stand-in for NVIDIA's cutil.h: errors, timers, arguments, comparison of bytes.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cuda_runtime.h>

enum CUTBoolean { CUTFalse = 0, CUTTrue = 1 };

static inline void cutStopOn(cudaError_t error, const char *file, int line)
{
    if (error == cudaSuccess) return;
    fprintf(stderr, "%s:%d: %s\n", file, line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

#define CUDA_SAFE_CALL_NO_SYNC(call) cutStopOn((call), __FILE__, __LINE__)
#define CUDA_SAFE_CALL(call) (cutStopOn((call), __FILE__, __LINE__), cutStopOn(cudaDeviceSynchronize(), __FILE__, __LINE__))
#define CUT_CHECK_ERROR(text) cutStopOn(cudaGetLastError(), text, __LINE__)
#define CUT_SAFE_CALL(call) do { if ((call) != CUTTrue) cutStopOn(cudaErrorUnknown, __FILE__, __LINE__); } while (0)
#define CUT_DEVICE_INIT(...) CUDA_SAFE_CALL(cudaSetDevice(0))
#define CUT_EXIT(argc, argv) exit(EXIT_SUCCESS)
#define CUT_BANK_CHECKER(array, index) array[index]

struct CutTimer { double begin_ms, total_ms; };
static CutTimer cutTimers[64];
static unsigned cutTimerCount;

static inline double cutNow_ms()
{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}
static inline CUTBoolean cutStartTimer(unsigned timer) { cutTimers[timer].begin_ms = cutNow_ms(); return CUTTrue; }
static inline CUTBoolean cutResetTimer(unsigned timer) { cutTimers[timer].total_ms = 0; return cutStartTimer(timer); }
static inline CUTBoolean cutCreateTimer(unsigned *timer) { *timer = cutTimerCount++ % 64; return cutResetTimer(*timer); }
static inline CUTBoolean cutDeleteTimer(unsigned) { return CUTTrue; }
static inline CUTBoolean cutStopTimer(unsigned timer)
{
    cutTimers[timer].total_ms += cutNow_ms() - cutTimers[timer].begin_ms;
    return CUTTrue;
}
static inline float cutGetTimerValue(unsigned timer) { return (float)cutTimers[timer].total_ms; }

static inline const char *cutArgument(int argc, const char **argv, const char *name)
{
    size_t length = strlen(name);
    for (int i = 1; i < argc; i++) {
        const char *given = argv[i] + strspn(argv[i], "-");
        if (given != argv[i] && !strncmp(given, name, length) && (!given[length] || given[length] == '=')) return given + length;
    }
    return 0;
}
static inline CUTBoolean cutCheckCmdLineFlag(int argc, const char **argv, const char *name)
{
    return cutArgument(argc, argv, name) ? CUTTrue : CUTFalse;
}
static inline CUTBoolean cutGetCmdLineArgumenti(int argc, const char **argv, const char *name, int *value)
{
    const char *given = cutArgument(argc, argv, name);
    if (!given || *given != '=') return CUTFalse;
    *value = atoi(given + 1);
    return CUTTrue;
}
static inline CUTBoolean cutCompareub(const unsigned char *one, const unsigned char *other, unsigned bytes)
{
    return memcmp(one, other, bytes) ? CUTFalse : CUTTrue;
}
"""

BOOST = """// Stand-in for Boost.Filesystem: the standard library has the same names now.
#pragma once
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
namespace boost {
using std::intmax_t;
namespace filesystem {
using std::filesystem::path;
using std::filesystem::exists;
using std::filesystem::file_size;
}
}
using std::copy;
using std::rotate;
using std::transform;
"""

MPI = """/* Stand-in for MPI with one process: what is sent to it is copied when both sides are there. */
#pragma once
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int MPI_Comm;
typedef int MPI_Request;
typedef int MPI_Status;
typedef int MPI_Datatype;
enum { MPI_COMM_WORLD, MPI_MAX = 0, MPI_MIN, MPI_SUM };
enum { MPI_SHORT = sizeof(short), MPI_INT = sizeof(int), MPI_FLOAT = sizeof(float), MPI_DOUBLE = sizeof(double) };

struct one_side { int tag, bytes, sends; void *at; };
static struct one_side waiting_sides[64];
static int n_waiting_sides;

static inline int meet(void *at, int bytes, int tag, int sends)
{
    for (int i = 0; i < n_waiting_sides; i++) {
        struct one_side other = waiting_sides[i];
        if (other.tag != tag || other.sends == sends) continue;
        memcpy(sends ? other.at : at, sends ? at : other.at, bytes < other.bytes ? bytes : other.bytes);
        waiting_sides[i] = waiting_sides[--n_waiting_sides];
        return 0;
    }
    if (n_waiting_sides == 64) abort();
    waiting_sides[n_waiting_sides++] = (struct one_side){tag, bytes, sends, at};
    return 0;
}
#define MPI_Isend(at, n, type, to, tag, comm, request) meet((void *)(at), (n) * (type), (tag), 1)
#define MPI_Irecv(at, n, type, from, tag, comm, request) meet((void *)(at), (n) * (type), (tag), 0)
#define MPI_Waitall(n, requests, status) (n_waiting_sides ? abort() : (void)0)
#define MPI_Allreduce(from, to, n, type, operation, comm) memcpy(to, from, (n) * (type))
#define MPI_Reduce(from, to, n, type, operation, root, comm) memcpy(to, from, (n) * (type))
#define MPI_Allgather(from, n, type, to, m, other, comm) memcpy(to, from, (n) * (type))
#define MPI_Alltoall(from, n, type, to, m, other, comm) memcpy(to, from, (n) * (type))
#define MPI_Alltoallv(from, n, at, type, to, m, place, other, comm) memcpy(to, from, *(n) * (type))
#define MPI_Init(argc, argv) ((void)0)
#define MPI_Finalize() ((void)0)
#define MPI_Barrier(comm) ((void)0)
#define MPI_Comm_rank(comm, rank) (*(rank) = 0)
#define MPI_Comm_size(comm, size) (*(size) = 1)
#define MPI_Comm_dup(comm, copy) (*(copy) = (comm))
#define MPI_Wtime() ((double)clock() / CLOCKS_PER_SEC)
"""

PARMETIS = """/* Stand-in for ParMETIS with one process: it has every element. */
#include <stdlib.h>
#include "mpi.h"
#include <parmetisbin.h>

idxtype *idxmalloc(int n, char *what) { return (idxtype *)calloc(n, sizeof(idxtype)); }

void ParMETIS_V3_PartMeshKway(idxtype *elements, idxtype *first, idxtype *nodes, idxtype *weights, int *weighted, int *numbers_from,
                              int *constraints, int *common, int *parts, float *shares, float *imbalance, int *options, int *cut,
                              idxtype *part, MPI_Comm *comm)
{
    for (int i = 0; i < elements[1]; i++) part[i] = 0;
}
"""

SIDE = 28  # pixels of an image


def cutil(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "cutil.h").write_text(CUTIL)


def boost(folder: str) -> None:
    for name in ("operations", "fstream"):
        path = Path(folder) / "boost" / "filesystem" / f"{name}.hpp"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BOOST if name == "operations" else '#include "operations.hpp"\n')


def mpi(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    (Path(folder) / "mpi.h").write_text(MPI)
    (Path(folder) / "parmetis.c").write_text(PARMETIS)


def digits(file: str, count: str) -> None:
    """Blurred strokes: bright lines between random points."""
    chance = np.random.default_rng(1)
    images = np.zeros((int(count), SIDE, SIDE), np.uint8)
    for image in images:
        points = chance.integers(5, SIDE - 5, (4, 2))
        for (y0, x0), (y1, x1) in pairwise(points):
            for t in np.linspace(0, 1, 2 * SIDE):
                y, x = round(y0 + (y1 - y0) * t), round(x0 + (x1 - x0) * t)
                image[y : y + 2, x : x + 2] = 230
    Path(file).write_bytes(struct.pack(">4i", 2051, int(count), SIDE, SIDE) + images.tobytes())


def tree(file: str, nodes: str) -> None:
    n, chance = int(nodes), np.random.default_rng(1)
    name = chance.permutation(n)
    parent = name[(np.arange(1, n) * chance.random(n - 1)).astype(int)]
    order = np.argsort(parent, kind="stable")
    count = np.bincount(parent, minlength=n)
    lines = [str(n), *(f"{a} {b}" for a, b in zip(np.cumsum(count) - count, count, strict=True))]
    lines += ["", str(name[0]), "", str(n - 1), *(f"{to} 1" for to in name[1:][order])]
    Path(file).write_text("\n".join(lines) + "\n")


def levels(graph: str, result: str) -> None:
    numbers = np.array(Path(graph).read_text().split(), int)
    n, (first, degree) = numbers[0], numbers[1 : 1 + 2 * numbers[0]].reshape(-1, 2).T
    source, targets = numbers[1 + 2 * n], numbers[3 + 2 * n :: 2]
    cost = np.full(n, -1)
    cost[source], front, level = 0, [source], 0
    while len(front):
        level += 1
        reached = np.unique(np.concatenate([targets[first[node] : first[node] + degree[node]] for node in front]))
        front = reached[cost[reached] < 0]
        cost[front] = level
    found = np.array(re.findall(r"cost:(-?\d+)", Path(result).read_text()), int)
    print(f"{n} nodes, {level} levels, {np.count_nonzero(found != cost) if found.size == n else n} differ")
    sys.exit(not np.array_equal(found, cost))


def swaptions(rate: np.ndarray) -> float:
    """Value of the portfolio for 80 forward rates: Giles' LIBOR market model with z = 0.3 on every path."""
    rate, delta, volatility = rate.copy(), 0.25, 0.2
    for n in range(40):
        drift = 0.0
        for i in range(n + 1, 80):
            drift += delta * volatility * rate[i] / (1 + delta * rate[i])
            rate[i] *= np.exp(delta * volatility * drift + volatility * (np.sqrt(delta) * 0.3 - 0.5 * delta * volatility))
    discount = np.cumprod(1 / (1 + delta * rate[40:]))
    annuity = delta * np.cumsum(discount)
    value = 0.0
    for maturity in (4, 8, 20, 28, 40):
        for strike in (0.045, 0.05, 0.055):
            value += 100 * max(0.0, 1 - discount[maturity - 1] - strike * annuity[maturity - 1])
    return value * np.prod(1 / (1 + delta * rate[:40]))


def digest(printed: str) -> None:
    """The value, and its sensitivity to the last rate, here by a difference."""
    start, step = np.full(80, 0.05), 1e-5
    value = swaptions(start)
    last = np.eye(80)[79] * step
    slope = (swaptions(start + last) - swaptions(start - last)) / (2 * step)
    found = re.findall(r"^(?:v|Lb)\s+=\s+(\S+)", Path(printed).read_text(), re.M)
    print(f"v {value:.6f}, dv/dL[79] {slope:.6f}; found {found}")
    sys.exit(len(found) != 3 or not np.allclose(np.array(found, float), [value, value, slope], rtol=1e-3))


def numbers(reference: str, result: str) -> None:
    wanted, found = (np.array(Path(name).read_text().split(), float) for name in (reference, result))
    right = wanted.size == found.size and bool(np.all(np.abs(wanted - found) < np.maximum(0.005, 0.005 * np.abs(wanted))))
    print(f"{wanted.size} numbers, {'all' if right else 'not all'} are near")
    sys.exit(not right)


def fields(reference: str, result: str) -> None:
    """A step changes the field by some 4e-6, so that a kernel that does nothing is found."""
    wanted, found = (np.array(re.findall(r"^\S+$", Path(name).read_text(), re.M), float) for name in (reference, result))
    off = np.abs(wanted - found).max() if wanted.size == found.size else np.inf
    print(f"{wanted.size} numbers, largest difference {off:.1e}")
    sys.exit(not off < 5e-7)


def network(images: str, weights: str, result: str) -> None:
    """Two convolutions with stride 2, two dense layers, each with a scaled tanh; the first image."""
    layers = [np.fromfile(Path(weights) / f"lw{i}.wei", np.float32).astype(float) for i in (1, 2, 3, 4)]
    image = np.zeros((29, 29))
    image[:SIDE, :SIDE] = np.fromfile(images, np.uint8, SIDE * SIDE, offset=16).reshape(SIDE, SIDE)
    maps = convolve((1 - image / 256)[None], layers[0].reshape(6, -1))
    maps = convolve(maps, layers[1].reshape(50, -1))
    hidden = squash(dense(maps.ravel(), layers[2].reshape(100, -1)))
    wanted = squash(dense(hidden, layers[3].reshape(10, -1)))
    found = np.fromfile(result)
    print(f"largest difference {np.abs(found - wanted).max():.2e}")
    sys.exit(not np.allclose(found, wanted, atol=1e-4))


def squash(x: np.ndarray) -> np.ndarray:
    return 1.7159 * np.tanh(0.66666667 * x)


def dense(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return weights[:, 0] + weights[:, 1:] @ x


def convolve(maps: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """5 x 5 windows, two apart; weights of a map: a bias, then for each input map (innermost) its 25."""
    windows = np.lib.stride_tricks.sliding_window_view(maps, (5, 5), axis=(1, 2))[:, ::2, ::2]
    kernels = weights[:, 1 : 1 + 25 * len(maps)].reshape(len(weights), 25, len(maps))
    return squash(weights[:, :1, None] + np.einsum("cyxk,mkc->myx", windows.reshape(*windows.shape[:3], 25), kernels))


if __name__ == "__main__":
    kinds = {each.__name__: each for each in (cutil, boost, mpi, digits, tree, levels, digest, numbers, fields, network)}
    kinds[sys.argv[1]](*sys.argv[2:])
