"""Register counts by ptxas: read from the cubin, as ptxas itself tells them, and what happens where it refuses."""

import re
import struct

import pytest

from simtlab.errors import CompileError
from simtlab.frontend import cuda
from simtlab.frontend.cubin import UnreadableCubin, register_counts
from simtlab.frontend.cuda import compile_cuda
from tests.frontend.test_cuda import SAXPY, needs_nvrtc

# 64 values that all live at once, so that ptxas takes what it may.
MANY_LIVE = """extern "C" __global__ void BOUNDS k(float *o) {
    float s[64];
    for (int i = 0; i < 64; i++) s[i] = o[i];
    for (int j = 0; j < 64; j++) {
        float t = 0;
        for (int i = 0; i < 64; i++) t += s[i] * s[(i * j) % 64];
        o[64 + j] = t;
    }
    for (int i = 0; i < 64; i++) o[200 + i] = s[i];
}"""
FILL = "template <int N> __global__ void fill(double *o) { o[threadIdx.x] = N / o[N]; }"
CALLS = """__device__ __noinline__ float f(float a, float b) {
    for (int i = 0; i < 40; i++) a = sinf(a * b + i);
    return a;
}
extern "C" __global__ void k(float *o) { *o = f(o[1], o[2]); }"""
DEFINED_NOWHERE = 'extern __device__ int g(int n); extern "C" __global__ void k(int *o) { *o = g(*o); }'
TOO_MUCH_SHARED = 'extern "C" __global__ void k(int *o) { __shared__ int s[20000]; s[*o] = o[1]; o[2] = s[o[3]]; }'


def counts(source, *options):
    return compile_cuda(source, options=options, count_registers=True).registers


def told_by_ptxas(log):
    """`ptxas -v` names each kernel and then what it uses."""
    return {name: int(count) for name, count in re.findall(r"entry function '(\w+)'.*?Used (\d+) registers", log, re.DOTALL)}


@needs_nvrtc
@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100"])
def test_the_counts_are_those_that_ptxas_tells(architecture):
    source = SAXPY + MANY_LIVE.replace("BOUNDS", "") + FILL
    options = [f"-arch={architecture}", "--ptxas-options=-v"]
    compiled = compile_cuda(source, options=options, name_expressions=["fill<3>", "fill<4>"], count_registers=True)
    assert set(compiled.registers.by_name) == {"saxpy", "k", "_Z4fillILi3EEvPd", "_Z4fillILi4EEvPd"}
    assert compiled.registers.by_name == told_by_ptxas(compiled.log)
    assert compiled.registers.architecture == architecture
    assert compiled.registers.why_none == ""


@needs_nvrtc
def test_launch_bounds_and_the_compilers_limit_are_kept():
    assert counts(MANY_LIVE, "-DBOUNDS=").by_name["k"] > 64
    assert counts(MANY_LIVE, "-DBOUNDS=__launch_bounds__(1024)").by_name["k"] == 64  # a core of sm_75 has 65,536
    assert counts(MANY_LIVE, "-DBOUNDS=", "--maxrregcount=40").by_name["k"] == 40


@needs_nvrtc
def test_counting_leaves_the_ptx_as_it_is():
    assert compile_cuda(SAXPY, count_registers=True).ptx == compile_cuda(SAXPY).ptx
    for option in ("-arch=sm_90", "-arch=compute_90"):
        assert compile_cuda(SAXPY, options=[option], count_registers=True).ptx == compile_cuda(SAXPY, options=[option]).ptx


@needs_nvrtc
@pytest.mark.parametrize(
    "options", [["-arch=compute_80"], ["-arch=sm_80"], ["--gpu-architecture=sm_80"], ["-arch", "compute_80"], ["-arch", "sm_80"]]
)
def test_every_way_to_name_an_architecture_gives_ptx_and_counts_for_it(options):
    assert ".target sm_80" in compile_cuda(SAXPY, options=options).ptx
    found = counts(SAXPY, *options)
    assert (found.architecture, list(found.by_name)) == ("sm_80", ["saxpy"])


@needs_nvrtc
def test_only_the_architecture_is_changed_for_the_real_gpu():
    given = ["-D", "compute_80", "-arch", "compute_90a", "--include-path=/x/compute_75", "-DX=sm_75"]
    assert cuda.to_architecture("sm", given) == ["-D", "compute_80", "-arch", "sm_90a", "--include-path=/x/compute_75", "-DX=sm_75"]


@needs_nvrtc
@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (DEFINED_NOWHERE, "ptxas fatal : Unresolved extern function '_Z1gi'"),
        (TOO_MUCH_SHARED, "ptxas error : Entry function 'k' uses too much shared data (0x13880 bytes, 0xc000 max)"),
    ],
)
def test_what_only_ptxas_refuses_has_ptx_and_the_reason_why_there_are_no_counts(source, complaint):
    for option in ("-arch=compute_75", "-arch=sm_75"):
        compiled = compile_cuda(source, options=[option], count_registers=True)
        assert compiled.ptx == compile_cuda(source, options=[option]).ptx
        assert (compiled.registers.by_name, compiled.registers.why_none) == ({}, complaint)


@needs_nvrtc
def test_what_the_compiler_refuses_is_refused_in_its_words():
    with pytest.raises(CompileError, match='identifier "nowhere" is undefined'):
        compile_cuda("__global__ void k() { int x = nowhere; }", count_registers=True)


@needs_nvrtc
def test_headers_that_come_with_the_compiler_are_found_while_counting():
    source = '#include <cuda_fp16.h>\nextern "C" __global__ void k(half *o) { *o = __hadd(o[1], o[2]); }'
    assert counts(source).by_name["k"] > 0


@needs_nvrtc
def test_device_functions_alone_have_no_counts_and_relocatable_ones_have():
    assert counts("__device__ int g(int n) { return 3 * n; }").by_name == {}
    assert set(counts(CALLS).by_name) == {"k"}
    assert set(counts(CALLS, "-rdc=true").by_name) == {"k", "_Z1fff"}


@needs_nvrtc
def test_registers_that_nobody_asks_for_are_not_counted():
    for option in ("-arch=compute_75", "-arch=sm_75"):
        found = compile_cuda(SAXPY, options=[option]).registers
        assert (found.by_name, found.why_none) == ({}, "registers were not asked for")


class WithoutCubin:
    """The library of an older NVRTC."""

    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        if "CUBIN" in name:
            raise AttributeError(name)
        return getattr(self.library, name)


@needs_nvrtc
def test_a_compiler_that_gives_no_cubin_is_no_error(monkeypatch):
    library = WithoutCubin(cuda.nvrtc())
    monkeypatch.setattr(cuda, "nvrtc", lambda: library)
    assert counts(SAXPY + "// by a compiler that makes none").why_none == "NVRTC made no cubin"


@needs_nvrtc
def test_a_cubin_that_cannot_be_read_is_no_error(monkeypatch):
    def unreadable(cubin):
        raise UnreadableCubin("odd")

    monkeypatch.setattr(cuda, "register_counts", unreadable)
    assert counts(SAXPY + "// of which the cubin is odd").why_none == "odd"


# Cubins made by hand


def attribute(form, kind, value=b"", short=0):
    return struct.pack("<BBH", form, kind, len(value) if form == 4 else short) + value


def cubin(info):
    """An ELF file with symbols 1 `alpha` and 2 `beta`, and `.nv.info`."""
    section_names, names = b"\0.symtab\0.nv.info\0", b"\0alpha\0beta\0"
    symbols = b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 0, 0, 0) for name in (0, 1, 7))
    contents = [b"", section_names, names, symbols, info]
    named = [(0, 0, 0), (0, 3, 0), (0, 3, 0), (1, 2, 2), (9, 0x70000000, 3)]  # name, type, link
    body, headers, place = b"", b"", 64
    for content, (name, type, link) in zip(contents, named, strict=True):
        headers += struct.pack("<IIQQQQIIQQ", name, type, 0, 0, place, len(content), link, 0, 0, 0)
        body, place = body + content, place + len(content)
    head = b"\x7fELF\x02\x01\x01".ljust(40, b"\0") + struct.pack("<Q", place) + bytes(10) + struct.pack("<HHH", 64, 5, 1)
    return head + body + headers


def test_other_attributes_are_passed_over():
    info = (
        attribute(4, 0x11, struct.pack("<II", 1, 99))
        + attribute(3, 0x2F, short=77)  # the right kind in a form that holds no pair
        + attribute(4, 0x2F, struct.pack("<II", 2, 255))
        + attribute(1, 0x2A)
        + attribute(4, 0x2F, struct.pack("<II", 1, 16))
    )
    assert register_counts(cubin(info)) == {"alpha": 16, "beta": 255}


def test_a_cubin_without_attributes_has_no_counts():
    assert register_counts(cubin(b"")) == {}


@pytest.mark.parametrize(
    "broken",
    [
        b"", b"PTX text", cubin(b"")[:80], cubin(attribute(4, 0x2F, struct.pack("<II", 9, 1))), cubin(attribute(4, 0x2F, b"123")),
    ],
)  # fmt: skip
def test_what_is_no_such_file_is_refused_by_name(broken):
    with pytest.raises(UnreadableCubin, match="no register counts could be read from the cubin: "):
        register_counts(broken)
