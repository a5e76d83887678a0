"""Machine code's own forms: two floats in a pair, three operands, predicates that choose, halves and bytes by name."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.program.sass.given import UnknownSass
from tests.isa.hardware_vectors import bits
from tests.program.sass.assembly import kernel, run, words

COUNT = 1024
HARDWARE = Path(__file__).parents[2] / "data" / "hardware"


def floats(seed: int) -> np.ndarray:
    """Words of all exponents, special ones among them."""
    found = np.random.default_rng(seed).integers(0, 1 << 32, COUNT, np.uint64).astype(np.uint32)
    found[seed : seed + 11] = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC12345, 0xFFFFFFFF, 1, 0x807FFFFF, 0x3F800000, 0, 0x7F7FFFFF]
    return found


COMBINED = (".reg .pred r; setp.gt.u32 q, tid, 13; setp.HOW.f32 p|r, {a}, {b}, q; "
            "selp.u32 {d}, 1, 0, p; selp.u32 t32, 2, 0, r; or.b32 {d}, {d}, t32;")  # fmt: skip
WAYS = ["lt.and", "geu.xor", "num.or", "nan.xor", "neu.and", "equ.or", "le.xor.ftz", "gtu.and.ftz"]
BYTE = "bfe.TYPE t32, {a}, SHIFT, 8; cvt.rn.f32.TYPE {d}, t32;"
BYTES = [BYTE.replace("TYPE", type).replace("SHIFT", shift) for type in ("u32", "s32") for shift in ("0", "8", "16", "24")]
UPPER = ["cvt.f32.f16 {d}, h;", "cvt.f64.f16 t64, h; cvt.rn.f32.f64 {d}, t64;", "cvt.rzi.s32.f16 {d}, h;"]
HALVES = ".reg .pred r; setp.lt.f16x2 p|r, {a}, {b}; selp.u32 {d}, 1, 0, p; selp.u32 t32, 2, 0, r; or.b32 {d}, {d}, t32;"
FORMS = {  # texts, the types of their operands, that of their results
    "combined": ([COMBINED.replace("HOW", how) for how in WAYS], ("f32", "f32"), "u32"),
    "halves": ([HALVES], ("f16x2", "f16x2"), "u32"),
    "set": (["set.geu.f16x2.f16x2 {d}, {a}, {b};"], ("f16x2", "f16x2"), "u32"),
    "pair": (["mov.b32 t32, 0x3c004500; fma.rn.f16x2 {d}, {a}, t32, {b};"], ("f16x2", "f16x2"), "f16x2"),
    "constant": (["add.u32 {d}, {a}, 0; mov.b32 {d}, 0x3c004500;"], ("u32",), "u32"),
    "bytes": (BYTES, ("u32",), "f32"),
    "upper": ([f".reg .b16 g, h; mov.b32 {{g, h}}, {{a}}; {way}" for way in UPPER], ("u32",), "u32"),
    "special": (["ex2.approx.f16x2 {d}, {a};", "tanh.approx.f16x2 {d}, {a};"], ("f16x2",), "f16x2"),
    "lesser": (["min.f64 {d}, {a}, {b};", "max.f64 {d}, {a}, {b};"], ("f64", "f64"), "f64"),
    "packed": (["cvt.pack.sat.u8.s32.b32 {d}, {a}, {b}, {c};"], ("u32", "u32", "u32"), "u32"),
    "packed_2": (["cvt.pack.sat.s16.s32 {d}, {a}, {b};"], ("u32", "u32"), "u32"),
}  # fmt: skip


@cache
def compiled(isa: str) -> tuple[sl.Gpu, sl.Module]:
    """All forms in one source: to disassemble a cubin takes most of a second."""
    gpu = sl.Gpu(isa=isa)
    sources = [kernel(f"{name}_{k}", text, ins, out) for name, (texts, ins, out) in FORMS.items() for k, text in enumerate(texts)]
    return gpu, gpu.compile("".join(sources))


def results(name: str, isa: str, *columns: np.ndarray) -> list[np.ndarray]:
    """The words that a form's texts compute of columns of words."""
    texts, ins, out = FORMS[name]
    return [run(*compiled(isa), f"{name}_{k}", list(columns), ins, f"u{bits(out) // 8}") for k in range(len(texts))]


def same(name: str, isa: str, *columns: np.ndarray) -> None:
    """PTX and machine code compute the same words."""
    expected, got = (results(name, one, *columns) for one in ("ptx", isa))
    texts = FORMS[name][0]
    assert [text for text, x, y in zip(texts, expected, got, strict=True) if not np.array_equal(x, y)] == []


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_a_comparison_is_combined_with_a_predicate_and_so_is_its_opposite(isa):
    same("combined", isa, floats(3), floats(5))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90"])
def test_halves_of_a_pair_are_compared_each_for_itself(isa):
    x, y = floats(3), floats(5)
    (got,) = results("halves", isa, x, y)
    less = x.view(np.float16) < y.view(np.float16)
    assert np.array_equal(got, less[::2] + 2 * less[1::2])


@pytest.mark.parametrize("isa", ["sm_75", "sm_90"])
def test_a_comparison_of_halves_is_1_in_each(isa):
    x, y = floats(3), floats(5)
    (got,) = results("set", isa, x, y)
    assert np.array_equal(got.view(np.float16), ~(x.view(np.float16) < y.view(np.float16)))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_an_immediate_pair_of_halves_has_the_upper_half_first(isa):
    same("pair", isa, floats(3), floats(5))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_a_constant_is_loaded_by_a_half_precision_instruction(isa):
    (got,) = results("constant", isa, floats(3))
    assert set(got) == {0x3C004500}


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_a_byte_of_a_word_becomes_a_float(isa):
    same("bytes", isa, floats(3))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_the_upper_half_of_a_word_is_converted(isa):
    same("upper", isa, floats(3))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_special_functions_take_either_half(isa):
    same("special", isa, floats(3))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_the_lesser_double_is_chosen_by_two_predicates(isa):
    wide = [np.random.default_rng(seed).integers(0, 1 << 64, COUNT, np.uint64, endpoint=False) for seed in (1, 2)]
    wide[0][:6] = [0, 1 << 63, 0x7FF8000000000001, 0xFFF0000000000001, 0x7FF8000000000007, 0x3FF0000000000000]
    wide[1][:6] = [1 << 63, 0, 0x3FF0000000000000, 0x7FF4000000000005, 0xFFF8000000000009, 0x7FF4000000000005]
    same("lesser", isa, *wide)


@pytest.mark.parametrize("name", ["fma.rn.f32x2 {d}, r, s, r", "add.rn.ftz.f32x2 {d}, r, s", "mul.rz.f32x2 {d}, r, s"])
def test_two_floats_of_a_pair_of_registers_are_computed_at_once(name):
    """Of sm_100: {a, b} with {b, c}, whose words lie exchanged."""
    x, y, z = floats(3), floats(5), floats(9)
    text = f".reg .b64 r, s; mov.b64 r, {{{{a}}, {{b}}}}; mov.b64 s, {{{{b}}, {{c}}}}; {name};"
    got = words(text, ("f32", "f32", "f32"), "u64", [x, y, z], "sm_100")
    one = name.partition(" ")[0].replace("f32x2", "f32")
    last = ", {a}" if one.startswith("fma") else ""
    low = words(f"{one} {{d}}, {{a}}, {{b}}{last};", ("f32", "f32"), "f32", [x, y], "ptx")
    high = words(f"{one} {{d}}, {{a}}, {{b}}{last};", ("f32", "f32"), "f32", [y, z], "ptx")
    assert np.array_equal(got, low.astype(np.uint64) | high.astype(np.uint64) << 32)


def test_one_float_and_one_number_stand_for_both_of_a_pair():
    text = ".reg .b64 r, s, u; mov.b64 r, {{a}, {b}}; mov.b64 s, {{c}, {c}}; mov.b64 u, 0x3fc000003fc00000; "
    text += "fma.rn.f32x2 {d}, r, s, u;"
    x, y, z = floats(3), floats(5), floats(9)
    got = words(text, ("f32", "f32", "f32"), "u64", [x, y, z], "sm_100")
    low, high = (words("fma.rn.f32 {d}, {a}, {b}, 0f3fc00000;", ("f32", "f32"), "f32", [one, z], "ptx") for one in (x, y))
    assert np.array_equal(got, low.astype(np.uint64) | high.astype(np.uint64) << 32)


@pytest.mark.parametrize("name", ["min", "max"])
def test_the_least_of_three(name):
    x, y, z = floats(3), floats(5), floats(9)
    got = words(f"{name}.f32 {{d}}, {{a}}, {{b}}, {{c}};", ("f32", "f32", "f32"), "f32", [x, y, z], "sm_100")
    two = f"{name}.f32 {{d}}, {{a}}, {{b}}; {name}.f32 {{d}}, {{d}}, {{c}};"
    assert np.array_equal(got, words(two, ("f32", "f32", "f32"), "f32", [x, y, z], "ptx"))


@pytest.mark.parametrize("type", ["f16", "bf16"])
def test_halves_are_added_to_an_f32(type):
    """Of sm_100: in PTX before it, a conversion and a sum."""
    x, y, z = floats(3).astype(np.uint16), floats(5).astype(np.uint16), floats(9)
    got = words(f"add.f32.{type} {{d}}, {{a}}, {{b}};", (type, "f32"), "f32", [x, z], "sm_100")
    two = f"cvt.f32.{type} t32, {{a}}; add.rn.f32 {{d}}, t32, {{b}};"
    assert np.array_equal(got, words(two, (type, "f32"), "f32", [x, z], "ptx"))
    got = words(f"fma.rn.f32.{type} {{d}}, {{a}}, {{b}}, {{c}};", (type, type, "f32"), "f32", [x, y, z], "sm_100")
    two = f".reg .b32 s; cvt.f32.{type} t32, {{a}}; cvt.f32.{type} s, {{b}}; fma.rn.f32 {{d}}, t32, s, {{c}};"
    assert np.array_equal(got, words(two, (type, type, "f32"), "f32", [x, y, z], "ptx"))


@pytest.mark.parametrize("isa", ["sm_75", "sm_90"])
def test_integers_are_limited_and_packed(isa):
    x, y, z = (np.random.default_rng(seed).integers(-400, 400, COUNT).astype(np.int32) for seed in (1, 2, 3))
    columns = [column.view(np.uint32) for column in (x, y, z)]
    (got,) = results("packed", isa, *columns)
    assert np.array_equal(got, z.view(np.uint32) << 16 | (np.clip(x, 0, 255) << 8 | np.clip(y, 0, 255)).astype(np.uint32))
    (got,) = results("packed_2", isa, columns[0] << 9, columns[1] << 9)
    halves = [np.clip(column << 9, -32768, 32767).astype(np.int16).view(np.uint16).astype(np.uint32) for column in (x, y)]
    assert np.array_equal(got, halves[0] << 16 | halves[1])


@pytest.mark.parametrize("isa", ["sm_75", "sm_90"])
def test_division_is_rounded_correctly_whichever_way_it_takes(isa):
    """FCHK sends what is near an end of the range to the slow path; both give IEEE's quotient."""
    x, y = (floats(seed).view(np.float32) for seed in (3, 5))
    gpu = sl.Gpu(isa=isa)
    module = gpu.compile('extern "C" __global__ void k(const float *x, const float *y, float *d) {'
                         " int i = blockIdx.x * 32 + threadIdx.x; d[i] = x[i] / y[i]; }")  # fmt: skip
    quotient = gpu.zeros(COUNT, "f4")
    module["k"](COUNT // 32, 32, [gpu.array(x), gpu.array(y), quotient])
    with np.errstate(all="ignore"):
        expected = x / y
    number = ~np.isnan(expected)
    assert np.array_equal(quotient.numpy()[number].view(np.uint32), expected[number].view(np.uint32))
    assert set(quotient.numpy()[~number].view(np.uint32)) == {0x7FFFFFFF}


def test_divisions_take_the_slow_path_for_the_exponents_for_which_an_h200_does():
    """The cubin is that of x / y, with another constant in the place of what the slow path has given."""
    gpu, marked = sl.Gpu(isa="sm_90"), 0x7FC12345
    module = gpu.load_cubin((HARDWARE / "fchk.cubin").read_bytes())
    exponents = np.arange(256, dtype=np.uint32) << 23
    for mantissa in (0, 0x7FFFFF):
        x, y = (one.ravel() | mantissa for one in np.meshgrid(exponents, exponents, indexing="ij"))
        result = gpu.zeros(x.size, "u4")
        module["divide"](x.size // 256, 256, [gpu.array(x), gpu.array(y), result, x.size])
        with np.load(HARDWARE / "fchk.npz") as recorded:
            on_h200 = np.unpackbits(recorded["slow"]).astype(bool)
        assert np.array_equal(result.numpy() == marked, on_h200)


def test_reciprocals_and_roots_of_all_mantissas_are_rounded_correctly():
    """The seed is MUFU's, here correctly rounded and on a GPU not quite: one correction gives the same."""
    gpu = sl.Gpu(isa="sm_90")
    body = "(const float *x, float *d) { int i = blockIdx.x * 256 + threadIdx.x; d[i] = "
    module = gpu.compile(f'extern "C" __global__ void reciprocal{body}__frcp_rn(x[i]); }}\n'
                         f'extern "C" __global__ void root{body}sqrtf(x[i]); }}')  # fmt: skip
    x = (np.arange(1 << 24, dtype=np.uint32) + (127 << 23)).view(np.float32)  # from 1 to 4
    given, result = gpu.array(x), gpu.zeros(len(x), "f4")
    for name, expected in (("reciprocal", np.float32(1) / x), ("root", np.sqrt(x))):
        module[name](len(x) // 256, 256, [given, result])
        assert np.array_equal(result.numpy(), expected), name


def test_uniform_floats_are_computed_once_for_the_warp():
    gpu = sl.Gpu(isa="sm_120")
    module = gpu.compile('extern "C" __global__ void k(float s, float u, float *d) {'
                         " float t = s * u + 1.0f; if (t > 3.0f) t = sqrtf(t); d[threadIdx.x] = t; }")  # fmt: skip
    assert {"UFFMA", "UFSETP"} <= {one.origin.opcode for one in module["k"].program.lowered}
    for s, expected in ((4.0, 3.5), (0.5, 2.40625)):
        result = gpu.zeros(32, "f4")
        module["k"](1, 32, [s, 2.8125, result])
        assert set(result.numpy()) == {expected}


def test_a_constant_becomes_a_half_toward_zero_on_turing():
    """HADD2 of -0 and an f32: ptxas rounds a constant itself where that is to nearest, and leaves it as it is where it is not."""
    gpu = sl.Gpu(isa="sm_75")
    module = gpu.compile('#include <cuda_fp16.h>\nextern "C" __global__ void k(__half *d, float x) {'
                         " d[0] = __float2half_rn(0.7f), d[1] = __float2half_rz(0.7f), d[2] = __float2half_rz(x); }")  # fmt: skip
    assert module.sass.count("HADD2") == 3
    result = gpu.zeros(3, "f2")
    module["k"](1, 1, [result, -0.7])
    up, down = np.float16(0.7), np.nextafter(np.float16(0.7), np.float16(0))
    assert up > np.float32(0.7) > down
    assert result.numpy().tolist() == [up, down, -down]


def test_what_is_not_understood_is_named():
    gpu = sl.Gpu(isa="sm_90")
    source = ('extern "C" __global__ void k(unsigned short *d, float x) {'
              ' asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %1;" : "=h"(d[0]) : "f"(x)); }')  # fmt: skip
    with pytest.raises(UnknownSass, match=r"F2FP\.SATFINITE\.E4M3"):
        gpu.compile(source)["k"](1, 1, [gpu.zeros(1, "u2"), 1.0])
