"""Integers in pairs, bytes and words: sums, bounds of two and of three, bounds of sums; atomics on vectors. As PTX gives them."""

import numpy as np
import pytest

import simtlab as sl

ISAS = ("sm_75", "sm_90", "sm_120")
OF_TWO = (
    "__vimax_s16x2_relu", "__vimax_s32_relu", "__vimin_s16x2_relu", "__vimin_s32_relu", "__vmaxs2", "__vminu2", "__vmaxu2",
    "__vmins2", "__vadd2", "__vsub2", "__vabsdiffs2", "__vaddss2", "__vaddus2",
    "__vabsdiffu4", "__vabsdiffs4", "__vsadu4", "__vsads4", "__vadd4", "__vsub4", "__vmaxu4", "__vmins4", "__vaddss4", "__vavgu4",
)  # fmt: skip
OF_THREE = tuple(
    f"__vi{name}_{type}"
    for name in ("max3", "min3", "addmax", "addmin")
    for type in ("s32", "u32", "s16x2", "u16x2", "s32_relu", "s16x2_relu")
)
TOLD = tuple(f"__vib{name}_{type}" for name in ("max", "min") for type in ("s32", "u32"))
TOLD_TWICE = tuple(f"__vib{name}_{type}" for name in ("max", "min") for type in ("s16x2", "u16x2"))
LINES = (
    [f"d[i] = {name}(a[i], b[i]);" for name in OF_TWO]
    + [f"d[i] = {name}(a[i], b[i], c[i]);" for name in OF_THREE]
    + [f"bool p; unsigned x = {name}(a[i], b[i], &p); d[i] = x * 3 + (p ? 77 : c[i]);" for name in TOLD]
    + [f"bool p, q; unsigned x = {name}(a[i], b[i], &p, &q); d[i] = x * 3 + (p ? 77 : c[i]) + (q ? 900 : c[i] * 7);"
       for name in TOLD_TWICE]
    + [f"long long x = (long long)a[i] << 32 | b[i], y = (long long)b[i] << 32 | c[i]; d[i] = {name}({type}x, {type}y) * 5 >> 31;"
       for name in ("min", "max") for type in ("", "(unsigned long long)")]
    + ["d[i] = __vabs4(a[i]);", "d[i] = __vsadu4(a[i], b[i]) + c[i];"]
    + ["d[i] = __vadd2(a[i], 0xffff0003);", "d[i] = __viaddmax_s16x2(a[i], __vneg2(b[i]), 0x00050005);"]
)  # fmt: skip
SOURCE = "".join(
    f'extern "C" __global__ void k{k}(const unsigned *a, const unsigned *b, const unsigned *c, unsigned *d)'
    f" {{ int i = blockIdx.x * blockDim.x + threadIdx.x; {line} }}\n"
    for k, line in enumerate(LINES)
)


def operands() -> list[np.ndarray]:
    """Halves that are equal, extreme, or anything, in all combinations."""
    rng = np.random.default_rng(11)
    edges = np.array([0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234], np.uint32)
    chosen = rng.choice(edges, (3, 2, 1024))
    anything = rng.integers(0, 1 << 16, (3, 2, 1024)).astype(np.uint32)
    halves = np.where(rng.random((3, 2, 1024)) < 0.7, chosen, anything)
    return list((halves[:, 0] | halves[:, 1] << 16).astype(np.uint32))


def words_of_each(isa: str | None) -> list[np.ndarray]:
    gpu = sl.Gpu(isa=isa) if isa else sl.Gpu()
    module, given = gpu.compile(SOURCE), [gpu.array(column) for column in operands()]
    found = []
    for k in range(len(LINES)):
        out = gpu.zeros(1024, np.uint32)
        module[f"k{k}"](8, 128, [*given, out])
        found.append(out.numpy())
    return found


@pytest.fixture(scope="module")
def expected():
    return words_of_each(None)


@pytest.mark.parametrize("isa", ISAS)
def test_bounds_and_sums_of_parts_are_those_of_ptx(isa, expected):
    for line, ours, theirs in zip(LINES, words_of_each(isa), expected, strict=True):
        assert np.array_equal(ours, theirs), line


@pytest.mark.parametrize(
    ("isa", "names"),
    [
        ("sm_75", ("VABSDIFF4.U8 ", "VABSDIFF4.U8.ACC")),
        ("sm_90", ("VIADD.16x2", "VIMNMX.S16x2.RELU", "VIMNMX3.U16x2", "VIMNMX3.RELU", "VIADDMNMX.S16x2.RELU", "P0, P1, R")),
        ("sm_120", ("VIADD.16x2", "VIMNMX.S32.RELU", "IMNMX.U64 PT, PT, ", "IMNMX.S64 PT, PT, ", "VIADD.U8x4", "VIMNMX.U8x4")),
    ],
)
def test_these_instructions_are_there(isa, names):
    code = sl.Gpu(isa=isa).compile(SOURCE).sass
    assert [name for name in names if name not in code] == []


VECTORS = """
#define K(name, type, letter, count, red, atom) extern "C" __global__ void name(type *p, const type *in, type *out) { \\
  int i = threadIdx.x; type x[8], old[8]; for (int k = 0; k < count; k++) x[k] = in[count * i + k], old[k] = 0; \\
  red atom for (int k = 0; k < count; k++) out[count * i + k] = old[k]; }
#define IN2(l) "l"(p), l(x[0]), l(x[1])
#define IN4(l) IN2(l), l(x[2]), l(x[3])
#define IN8(l) IN4(l), l(x[4]), l(x[5]), l(x[6]), l(x[7])
#define OUT2(l) l(old[0]), l(old[1])
#define OUT4(l) OUT2(l), l(old[2]), l(old[3])
#define OUT8(l) OUT4(l), l(old[4]), l(old[5]), l(old[6]), l(old[7])
#define RED2(op, l) asm volatile("red.global." op " [%0], {%1, %2};" :: IN2(l) : "memory");
#define RED4(op, l) asm volatile("red.global." op " [%0], {%1, %2, %3, %4};" :: IN4(l) : "memory");
#define RED8(op, l) asm volatile("red.global." op " [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" :: IN8(l) : "memory");
#define ATOM2(op, o, l) asm volatile("atom.global." op " {%0, %1}, [%2], {%3, %4};" : OUT2(o) : IN2(l) : "memory");
#define ATOM4(op, o, l) \\
  asm volatile("atom.global." op " {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};" : OUT4(o) : IN4(l) : "memory");
#define ATOM8(op, o, l) asm volatile("atom.global." op " {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], " \\
  "{%9, %10, %11, %12, %13, %14, %15, %16};" : OUT8(o) : IN8(l) : "memory");
"""
FORMS = {
    "v2.f32": ("add",), "v4.f32": ("add",), "v2.f16": ("add", "min", "max"), "v4.f16": ("add", "max"), "v8.f16": ("add", "min"),
    "v2.bf16": ("add", "min"), "v4.bf16": ("max",), "v8.bf16": ("add",), "v2.f16x2": ("min",), "v4.bf16x2": ("add",),
}  # fmt: skip
TYPES = {"f32": ("float", "f"), "f16": ("unsigned short", "h"), "bf16": ("unsigned short", "h")}


def vector_kernels() -> str:
    lines = [VECTORS]
    for form, operations in FORMS.items():
        count, element = form[1], form[3:]
        type, letter = TYPES.get(element, ("unsigned", "r"))
        for name in operations:
            op = f'"{name}{"" if element == "f32" else ".noftz"}.{form}"'
            lines.append(f'K({name}_{form.replace(".", "_")}, {type}, "{letter}", {count}, RED{count}({op}, "{letter}"), '
                         f'ATOM{count}({op}, "={letter}", "{letter}"))\n')  # fmt: skip
    return "".join(lines)


@pytest.mark.parametrize("isa", ["sm_90", "sm_120"])
def test_atomics_on_vectors_are_those_of_ptx(isa):
    rng, source = np.random.default_rng(3), vector_kernels()
    on_ptx, on_machine_code = sl.Gpu(threads=1), sl.Gpu(isa=isa, threads=1)
    ptx, code = on_ptx.compile(source, options=["-arch=compute_90"]), on_machine_code.compile(source)
    for form, operations in FORMS.items():
        count, half = int(form[1]), form.endswith("16")
        type = np.uint16 if half else np.uint32
        given = rng.integers(0, 1 << (16 if half else 32), count * 40).astype(type)
        for name in operations:
            found = []
            for gpu, module in ((on_ptx, ptx), (on_machine_code, code)):
                memory, out = gpu.array(given[:count]), gpu.zeros(count * 32, type)
                module[f"{name}_{form.replace('.', '_')}"](1, 32, [memory, gpu.array(given[count:]), out])
                found.append(np.concatenate([memory.numpy(), out.numpy()]))
            assert np.array_equal(*found), (form, name)
