"""Half-precision pairs, pairs of 16-bit integers, atomics on halves and vectors, and CUDA's functions of halves, on an H200.

The shapes of single instructions are in the format of `hardware_vectors`. An atomic is recorded by a kernel in which each thread
has 16 bytes of its own: what it finds, what it adds, what it gives back, what is left.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

RECORDED = Path(__file__).parents[1] / "data" / "hardware" / "half_vectors.npz"
COUNT = 512  # values of a shape
THREADS = 256  # of an atomic
HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
WORDS = {16: "b16", 32: "b32"}
EDGES = {
    "f16": (0, 0x8000, 1, 0x8001, 0x3FF, 0x83FF, 0x400, 0x8400, 0x3C00, 0xBC00, 0x3C01, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00,
            0xFE00, 0x7FFF, 0xFFFF, 0x7C01, 0xFC01, 0x7DFF, 0x7FFE, 0xFFFE),
    "bf16": (0, 0x8000, 1, 0x8001, 0x7F, 0x807F, 0x80, 0x8080, 0x3F80, 0xBF80, 0x3F81, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7FC0,
             0xFFC0, 0x7FFF, 0xFFFF, 0x7F81, 0xFF81, 0x7FBF, 0x7FFE, 0xFFFE),
    "u16": (0, 1, 2, 0x7FFE, 0x7FFF, 0x8000, 0x8001, 0xFFFE, 0xFFFF),
}  # fmt: skip
FUNCTIONS = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#define PAIRS(NAME, TYPE) \
extern "C" __global__ void NAME(const TYPE *a, const TYPE *b, TYPE *out, unsigned *flags) \
{ \
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x; \
    TYPE x = a[i], y = b[i]; \
    TYPE found[] = {__heq2(x, y), __hne2(x, y), __hlt2(x, y), __hle2(x, y), __hgt2(x, y), __hge2(x, y), __hequ2(x, y), \
        __hneu2(x, y), __hltu2(x, y), __hleu2(x, y), __hgtu2(x, y), __hgeu2(x, y), __hisnan2(x), __hmax2(x, y), \
        __hmin2_nan(x, y), __h2div(x, y), __hfma2_relu(x, y, x)}; \
    for (int k = 0; k < 17; k++) out[k * n + i] = found[k]; \
    flags[i] = __hbeq2(x, y) | __hbne2(x, y) << 1 | __hblt2(x, y) << 2 | __hble2(x, y) << 3 | __hbgt2(x, y) << 4 | \
        __hbge2(x, y) << 5 | __hbequ2(x, y) << 6 | __hbneu2(x, y) << 7 | __hbltu2(x, y) << 8 | __hbleu2(x, y) << 9 | \
        __hbgtu2(x, y) << 10 | __hbgeu2(x, y) << 11; \
    flags[n + i] = __heq2_mask(x, y) ^ __hgtu2_mask(x, y); \
} \
extern "C" __global__ void NAME##_functions(const TYPE *a, TYPE *out) \
{ \
    int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x; \
    TYPE x = a[i]; \
    TYPE found[] = {h2exp(x), h2exp2(x), h2exp10(x), h2log(x), h2log2(x), h2log10(x), h2rcp(x), h2sqrt(x), h2rsqrt(x), \
        h2floor(x), h2ceil(x), h2trunc(x), h2rint(x), h2tanh_approx(x)}; \
    for (int k = 0; k < 14; k++) out[k * n + i] = found[k]; \
}
PAIRS(f16x2, __half2)
PAIRS(bf16x2, __nv_bfloat162)
"""
N_COMPARED, N_FUNCTIONS = 17, 14


# Single instructions --------------------------------------------------------------------------------------------------


def pool(type: str, k: int) -> np.ndarray:
    """Halves or pairs of them: edges, random bits, and values near the other operand's."""
    half = type.removesuffix("x2")
    rng = np.random.default_rng([k, sorted(EDGES).index(half if half in EDGES else "u16")])
    edges = np.array(EDGES.get(half, EDGES["u16"]), np.uint16)
    values = np.where(rng.random(2 * COUNT) < 0.5, rng.choice(edges, 2 * COUNT), rng.integers(0, 1 << 16, 2 * COUNT))
    if k == 1:
        near = pool(type, 0).view(np.uint16).repeat(2 * COUNT // pool(type, 0).view(np.uint16).size)
        values = np.where(rng.random(2 * COUNT) < 0.25, near + rng.integers(0, 2, 2 * COUNT), values)
    values = values.astype(np.uint16)
    return values.view(np.uint32) if type.endswith("x2") else values[:COUNT]


def shapes() -> list[dict]:
    """Texts with the types of their operands, as `hardware_vectors` reads them."""
    found: list[tuple[str, list[str], str]] = []
    for compare in COMPARISONS:
        for ftz, type in (("", "f16x2"), (".ftz", "f16x2"), ("", "bf16x2")):
            for into in (type, "u32", "s32"):
                found.append((f"set.{compare}{ftz}.{into}.{type} d, a, b;", [type] * 2, "b32"))
            both = "selp.u32 d, 1, 0, p; selp.u32 t32, 2, 0, q; or.b32 d, d, t32;"
            found.append((f"setp.{compare}{ftz}.{type} p|q, a, b; {both}", [type] * 2, "b32"))
    for combine in ("and", "or", "xor"):
        for type in ("f16x2", "bf16x2"):
            given = "setp.lt.s32 p, c, 0;"
            found.append((f"{given} set.le.{combine}.{type}.{type} d, a, b, p;", [type] * 3, "b32"))
            found.append((f"{given} set.ltu.{combine}.u32.{type} d, a, b, p;", [type] * 3, "b32"))
            both = "selp.u32 d, 1, 0, p; selp.u32 t32, 2, 0, q; or.b32 d, d, t32;"
            found.append((f"{given} setp.neu.{combine}.{type} p|q, a, b, p; {both}", [type] * 3, "b32"))
    for name in ("add.u16x2", "add.s16x2", "min.u16x2", "min.s16x2", "max.u16x2", "max.s16x2", "min.relu.s16x2", "max.relu.s16x2",
                 "min.relu.s32", "max.relu.s32"):  # fmt: skip
        found.append((f"{name} d, a, b;", ["u16x2"] * 2, "b32"))
    for type in ("f16", "bf16", "f16x2", "bf16x2"):
        out = type if type.endswith("x2") else "b16"
        for name in ("fma.rn.oob", "fma.rn.oob.relu", "fma.rn", "fma.rn.relu", *(["fma.rn.sat"] if type[0] == "f" else [])):
            found.append((f"{name}.{type} d, a, b, c;", [type] * 3, "b16" if out == "b16" else "b32"))
        if type[0] == "b" or type.endswith("x2"):
            for name in ("add", "sub", "mul", "add.rn", "min", "max", "min.NaN", "max.NaN", "min.xorsign.abs",
                         "max.NaN.xorsign.abs"):  # fmt: skip
                found.append((f"{name}.{type} d, a, b;", [type] * 2, "b16" if out == "b16" else "b32"))
            for name in ("abs", "neg"):
                found.append((f"{name}.{type} d, a;", [type], "b16" if out == "b16" else "b32"))
    return [{"id": k, "text": text, "ins": ins, "out": out} for k, (text, ins, out) in enumerate(found)]


def width_of(type: str) -> int:
    return 32 if type.endswith("x2") or type.endswith("32") else 16


def shape_ptx(shape: dict) -> str:
    """A kernel that runs one shape: pointers to its operands, then to its results."""
    ins, out = shape["ins"], width_of(shape["out"])
    parameters = ", ".join(f".param .u64 at_{name}" for name in [*"abc"[: len(ins)], "d"])
    lines = [f".visible .entry k{shape['id']}({parameters}) {{", ".reg .b32 %i, %n, t32; .reg .b64 %p, %o; .reg .pred p, q;"]
    lines += [f".reg .{WORDS[width_of(type)]} {name};" for name, type in zip("abc", ins, strict=False)]
    lines += [f".reg .{WORDS[out]} d;", "mov.u32 %i, %tid.x; mov.u32 %n, %ctaid.x; mad.lo.u32 %i, %n, 256, %i;"]
    for name, type in zip("abc", ins, strict=False):
        size = width_of(type)
        lines += [f"ld.param.u64 %p, [at_{name}]; mul.wide.u32 %o, %i, {size // 8}; add.u64 %p, %p, %o;"]
        lines += [f"ld.global.{WORDS[size]} {name}, [%p];"]
    lines += [shape["text"], f"ld.param.u64 %p, [at_d]; mul.wide.u32 %o, %i, {out // 8}; add.u64 %p, %p, %o;"]
    return "\n".join([*lines, f"st.global.{WORDS[out]} [%p], d; ret; }}"])


# Atomics --------------------------------------------------------------------------------------------------------------


def atomics() -> list[tuple[str, str, int]]:
    """Spelling, type of an element, how many."""
    found = []
    for type in ("f16", "bf16", "f16x2", "bf16x2"):
        found += [(f"{opcode}.{space}.add.noftz.{type}", type, 1) for opcode in ("atom", "red") for space in ("global", "shared")]
    for opcode in ("atom", "red"):
        found += [(f"{opcode}.global.add.v{count}.f32", "f32", count) for count in (2, 4)]
        for name in ("add", "min", "max"):
            for type in ("f16", "bf16"):
                found += [(f"{opcode}.global.{name}.noftz.v{count}.{type}", type, count) for count in (2, 4, 8)]
                found += [(f"{opcode}.global.{name}.noftz.v{count}.{type}x2", f"{type}x2", count) for count in (2, 4)]
    return found


def atomic_values(type: str, k: int) -> np.ndarray:
    """16 bytes for each thread, of the type's edges and of random numbers."""
    half = type.removesuffix("x2")
    if half == "f32":
        rng = np.random.default_rng(7 + k)
        edges = np.array([0, 1 << 31, 1, 0x80000001, 0x007FFFFF, 0x00800000, 0x80800000, 0x3F800000, 0xBF800000, 0x7F800000,
                          0xFF800000, 0x7FC00000, 0xFFFFFFFF, 0x7F7FFFFF, 0x3F800001], np.uint32)  # fmt: skip
        some = rng.integers(0, 1 << 32, 4 * THREADS, np.uint32)
        return np.where(rng.random(4 * THREADS) < 0.6, rng.choice(edges, 4 * THREADS), some).view(np.uint8).reshape(THREADS, 16)
    return np.resize(pool(f"{half}x2", k), 4 * THREADS).view(np.uint8).reshape(THREADS, 16).copy()


def atomic_ptx(number: int, spelling: str, type: str, count: int) -> str:
    """A kernel of 256 threads: pointers to what memory holds, to the operands, to the old values."""
    bits = 32 if type == "f32" else width_of(type)
    names = {kind: [f"%{kind}{k}" for k in range(count)] for kind in ("old", "new")}

    def braced(kind: str) -> str:
        return names[kind][0] if count == 1 else "{" + ", ".join(names[kind]) + "}"

    parameters = ".param .u64 at_memory, .param .u64 at_new, .param .u64 at_old"
    lines = [f".visible .entry a{number}({parameters}) {{", ".reg .b32 %i, %s; .reg .b64 %p, %n, %o, %t;"]
    lines += [f".shared .align 16 .b8 held{number}[{16 * THREADS}];"]
    lines += [f".reg .{'f32' if type == 'f32' else WORDS[bits]} {', '.join(names['old'] + names['new'])};"]
    lines += ["mov.u32 %i, %tid.x; mul.wide.u32 %t, %i, 16;"]
    for register, parameter in (("%p", "at_memory"), ("%n", "at_new"), ("%o", "at_old")):
        lines += [f"ld.param.u64 {register}, [{parameter}]; add.u64 {register}, {register}, %t;"]
    stored = "f32" if type == "f32" else WORDS[bits]
    lines += [f"ld.global.{stored} {name}, [%n+{k * bits // 8}];" for k, name in enumerate(names["new"])]
    place = "%p"
    if ".shared" in spelling:
        place = "%s"
        lines += [f"mov.u32 %s, held{number}; mad.lo.u32 %s, %i, 16, %s;"]
        lines += [f"ld.global.{stored} %old0, [%p]; st.shared.{stored} [%s], %old0;"]
    lines += [f"{spelling} {braced('old') + ', ' if spelling.startswith('atom') else ''}[{place}], {braced('new')};"]
    if spelling.startswith("atom"):
        lines += [f"st.global.{stored} [%o+{k * bits // 8}], {name};" for k, name in enumerate(names["old"])]
    if ".shared" in spelling:
        lines += [f"ld.shared.{stored} %old0, [%s]; st.global.{stored} [%p], %old0;"]
    return "\n".join([*lines, "ret; }"])


# What was recorded ----------------------------------------------------------------------------------------------------


@cache
def recorded() -> dict[str, np.ndarray]:
    with np.load(RECORDED) as file:
        return {key: file[key] for key in file.files}


def atomics_recorded() -> list[tuple[str, str, int]]:
    return [tuple(row) for row in json.loads(str(recorded()["atomics"]))]
