"""Programs come as text or as a path, in CUDA C++ or in PTX."""

import subprocess
import sys

import pytest

import simtlab as sl
from tests.kernels.library import source

PTX = """
.version 7.8
.target sm_75
.address_size 64
.visible .entry set(.param .u64 out, .param .u32 value)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [value];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""


def test_ptx_as_text_and_as_a_path(tmp_path):
    gpu = sl.Gpu()
    path = tmp_path / "set.ptx"
    path.write_text(PTX)
    for given in (PTX, path, str(path)):
        out = gpu.zeros(1, "u4")
        gpu.load(given)["set"](1, 1, [out, 7])
        assert out[0] == 7


def test_cuda_as_text_and_as_a_path(tmp_path):
    gpu = sl.Gpu()
    text = "__global__ void set(int *p, int v) { *p = v; }"
    path = tmp_path / "set.cu"
    path.write_text(text)
    for given in (text, path, str(path)):
        out = gpu.zeros(1, "i4")
        gpu.compile(given)["set"](1, 1, [out, 7])
        assert out[0] == 7


def test_a_header_beside_the_source_is_found(tmp_path):
    (tmp_path / "value.h").write_text("#define VALUE 42\n")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "other.h").write_text("#define OTHER 1\n")
    path = tmp_path / "k.cu"
    path.write_text('#include "value.h"\n#include "other.h"\n__global__ void k(int *p) { *p = VALUE + OTHER + EXTRA; }')
    gpu = sl.Gpu()
    out = gpu.zeros(1, "i4")
    module = gpu.compile(path, options=["-DEXTRA=100"], include_paths=[str(tmp_path / "more")])
    module["k"](1, 1, [out])
    assert out[0] == 143


def test_a_file_that_is_not_there():
    with pytest.raises(sl.SimtlabError, match=r"^cannot read nowhere\.cu: No such file or directory$"):
        sl.Gpu().compile("nowhere.cu")
    with pytest.raises(sl.SimtlabError, match=r"^cannot read nowhere\.ptx: No such file or directory$"):
        sl.Gpu().load("nowhere.ptx")


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "binary.cu"
    path.write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(sl.SimtlabError, match=r"binary\.cu is not a text file$"):
        sl.Gpu().compile(path)


def test_an_error_in_cuda_is_shown_as_the_compiler_words_it():
    with pytest.raises(sl.CompileError, match=r'kernel\.cu\(2\): error: identifier "undefined" is undefined'):
        sl.Gpu().compile("__global__ void k(int *p) {\n *p = undefined; }")


def test_an_unknown_instruction_is_refused_before_anything_runs():
    text = PTX.replace("st.global.u32 [%rd1], %r1;", "st.global.u32 [%rd1], %r1;\n    frobnicate.u32 %r1;")
    with pytest.raises(sl.PtxError, match=r"unknown instruction 'frobnicate\.u32' in 'set'"):
        sl.Gpu().load(text)["set"]


def test_two_modules_have_variables_of_their_own():
    gpu = sl.Gpu()
    text = "__device__ int count = 5; __global__ void bump() { count += 1; }"
    first, second = gpu.compile(text), gpu.compile(text)
    first["bump"](1, 1)
    first["bump"](1, 1)
    assert (first.variable("count")[0], second.variable("count")[0]) == (7, 5)


def test_importing_costs_next_to_nothing():
    code = "import sys, simtlab; print('numba' in sys.modules, 'numpy' in sys.modules, simtlab.__version__)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "False", sl.__version__]


def test_the_public_names():
    assert set(dir(sl)) == {*sl.__all__, "__version__"}
    for name in sl.__all__:
        assert getattr(sl, name).__name__.rpartition(".")[2] == name
    with pytest.raises(AttributeError, match="module 'simtlab' has no attribute 'Gpus'"):
        sl.Gpus  # noqa: B018


def test_threads_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("SIMTLAB_THREADS", "3")
    assert sl.Gpu().threads == 3


def test_kernels_of_a_source_keep_their_order():
    assert sl.Gpu().compile(source("grids")).kernels[:2] == ["nw_upper_left", "nw_lower_right"]


def test_a_launch_can_be_interrupted_and_the_gpu_goes_on():
    """Ctrl-C stops an endless kernel; the next launch works."""
    code = """
import signal, threading, time, os
import numpy as np, simtlab as sl
gpu = sl.Gpu(threads=2)
mod = gpu.compile("__global__ void count(volatile int *p) { while (1) p[threadIdx.x] = p[threadIdx.x] + 1; }"
                  "__global__ void set(int *p) { p[threadIdx.x] = -7; }")
p = gpu.zeros(32, "i4")
mod["set"](1, 32, [p])
mod["count"]
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    mod["count"](1, 32, [p])
    print("ended")
except KeyboardInterrupt:
    print("stopped", p[0] > 1000)
mod["set"](1, 32, [p])
print(p[0])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.split() == ["stopped", "True", "-7"], result.stderr


def test_ctrl_c_while_native_code_is_linked_leaves_the_next_kernel_unharmed():
    code = """
import llvmlite.binding as llvm, simtlab as sl
from simtlab.isa import build

def interrupted(engine):
    raise KeyboardInterrupt

gpu = sl.Gpu()
build._library()._stored = lambda missing: []  # all is compiled here
linked, llvm.ExecutionEngine.finalize_object = llvm.ExecutionEngine.finalize_object, interrupted
source = "__global__ void k(double *p) { p[threadIdx.x] = sqrt(p[threadIdx.x]) + (double)(long long)p[1]; }"
try:
    gpu.compile(source)["k"]
except KeyboardInterrupt:
    print("stopped")
llvm.ExecutionEngine.finalize_object = linked
p = gpu.array([4.0, 9.0], "f8")
gpu.compile(source)["k"](1, 1, [p])
print(p[0])
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.split() == ["stopped", "11.0"], (result.returncode, result.stderr)


def test_a_source_in_latin_1(tmp_path):
    path = tmp_path / "k.cu"
    path.write_bytes("// © Müller\n__global__ void k(int *p) { *p = sizeof(\"é\"); }".encode("latin-1"))
    gpu = sl.Gpu()
    out = gpu.zeros(1, "i4")
    gpu.compile(path)["k"](1, 1, [out])
    assert out[0] in (2, 3)  # bytes of the string: the text reaches the compiler as UTF-8
    ptx = tmp_path / "k.ptx"
    ptx.write_bytes(b"// \xa9\n" + PTX.encode())
    gpu.load(ptx)["set"](1, 1, [out, 7])
    assert out[0] == 7
