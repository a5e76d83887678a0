"""CUDA C++ through NVRTC: what it gives, how it refuses, and what is said where it does not exist."""

import os
import sys

import pytest

from simtlab.errors import CompileError
from simtlab.frontend import cuda
from simtlab.frontend.ast import Instruction
from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.parser import parse
from simtlab.storage import cache_directory

SAXPY = """extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""

try:
    cuda.nvrtc()
    has_nvrtc = True
except CompileError:
    has_nvrtc = False
needs_nvrtc = pytest.mark.skipif(not has_nvrtc, reason="the package nvidia-cuda-nvrtc is not installed")


def spellings(ptx, kernel="k"):
    return [statement.spelling for statement in parse(ptx).functions[kernel].body if isinstance(statement, Instruction)]


@needs_nvrtc
def test_every_instruction_knows_its_cuda_line():
    module = parse(compile_cuda(SAXPY, "saxpy.cu").ptx)
    assert module.files == {1: "saxpy.cu"}
    lines = {i.opcode: i.source for i in module.functions["saxpy"].body if isinstance(i, Instruction)}
    assert (lines["fma"].file, lines["fma"].line) == ("saxpy.cu", 3)
    assert lines["mad"].line == 2


@needs_nvrtc
def test_the_same_source_gives_the_same_ptx_in_any_folder(tmp_path, monkeypatch):
    source = 'extern "C" __global__ void k(cudaTextureObject_t t, float *o) { *o = tex2D<float>(t, 1, 2); }'
    here = compile_cuda(source).ptx
    monkeypatch.chdir(tmp_path)
    assert compile_cuda(source).ptx == here
    assert str(tmp_path) not in here


@needs_nvrtc
def test_an_absolute_name_stays_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = str(tmp_path / "saxpy.cu")
    assert parse(compile_cuda(SAXPY, name).ptx).files == {1: name}


@needs_nvrtc
def test_the_default_target_is_compute_75_and_both_ways_to_choose_another_work():
    assert ".target sm_75" in compile_cuda(SAXPY).ptx
    assert ".target sm_90" in compile_cuda(SAXPY, architecture="compute_90").ptx
    for options in (["-arch=compute_80"], ["--gpu-architecture=compute_80"], ["-arch", "compute_80"]):
        assert ".target sm_80" in compile_cuda(SAXPY, options=options).ptx


@needs_nvrtc
def test_options_reach_the_compiler():
    source = 'extern "C" __global__ void k(float *o) { *o = FACTOR * *o + 1.0f; }'
    assert "fma.rn.f32" in spellings(compile_cuda(source, options=["-DFACTOR=3.0f"]).ptx)
    assert "fma.rn.f32" not in spellings(compile_cuda(source, options=["-DFACTOR=3.0f", "-fmad=false"]).ptx)


@needs_nvrtc
def test_include_paths_are_searched(tmp_path):
    (tmp_path / "answer.h").write_text("#define ANSWER 4242\n")
    source = '#include "answer.h"\nextern "C" __global__ void k(int *o) { *o = ANSWER; }'
    assert "4242" in compile_cuda(source, include_paths=[str(tmp_path)]).ptx


@needs_nvrtc
def test_templates_are_made_by_name_expressions():
    source = "template <typename T, int N> __global__ void fill(T *o) { for (int i = 0; i < N; i++) o[i] = N; }"
    compiled = compile_cuda(source, name_expressions=["fill<float, 4>", "fill<int, 2>"])
    assert compiled.names == {"fill<float, 4>": "_Z4fillIfLi4EEvPT_", "fill<int, 2>": "_Z4fillIiLi2EEvPT_"}
    assert set(parse(compiled.ptx).functions) == set(compiled.names.values())


@needs_nvrtc
def test_char_is_signed_on_every_host():
    source = 'extern "C" __global__ void k(int *o) { char c = -1; *o = c < 0 ? 1111 : 2222; }'
    compiled = compile_cuda(source)
    assert "1111" in compiled.ptx
    assert "2222" not in compiled.ptx
    assert compiled.log == ""


@needs_nvrtc
def test_functions_need_no_device_keyword():
    compile_cuda('int twice(int x) { return 2 * x; } extern "C" __global__ void k(int *o) { *o = twice(*o); }')


@needs_nvrtc
def test_warnings_are_kept_and_name_the_file():
    compiled = compile_cuda('extern "C" __global__ void k() { int unused; }', "warned.cu")
    assert "warned.cu(1): warning" in compiled.log


@needs_nvrtc
def test_a_compile_error_is_the_compilers_own_text():
    with pytest.raises(CompileError) as caught:
        compile_cuda("__global__ void k() {\n  int x = nowhere;\n}\n", "broken.cu")
    assert 'broken.cu(2): error: identifier "nowhere" is undefined' in str(caught.value)


@needs_nvrtc
def test_an_unknown_option_is_refused_in_the_compilers_words():
    with pytest.raises(CompileError, match="unrecognized option --no-such-option"):
        compile_cuda(SAXPY, options=["--no-such-option"])


@needs_nvrtc
def test_a_missing_header_is_refused_in_the_compilers_words(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(CompileError, match=r'open source file "no_such_header\.h"'):
        compile_cuda("#include <no_such_header.h>\n")


@needs_nvrtc
def test_a_bad_name_expression_is_refused():
    with pytest.raises(CompileError):
        compile_cuda(SAXPY, name_expressions=["nowhere<int>"])


@pytest.fixture
def keep_cache_at(monkeypatch):
    """Moves simtlab's cache, as $SIMTLAB_CACHE does."""

    def move(folder):
        monkeypatch.setenv("SIMTLAB_CACHE", str(folder))
        cache_directory.cache_clear()

    yield move
    cache_directory.cache_clear()


@needs_nvrtc
def test_cuda_headers_come_with_the_compiler_and_go_to_the_cache(tmp_path, keep_cache_at):
    if not hasattr(cuda.nvrtc(), "nvrtcInstallBundledHeaders"):
        pytest.skip("this NVRTC carries no headers")
    keep_cache_at(tmp_path / "cache")
    source = '#include <cuda_fp16.h>\nextern "C" __global__ void k(half *o) { *o = __hadd(o[1], o[2]); }'
    assert "add.f16" in spellings(compile_cuda(source).ptx)
    assert "add.f16" in spellings(compile_cuda(source, include_paths=[str(tmp_path)]).ptx)
    assert list((tmp_path / "cache").glob("cuda-headers-*/cuda_fp16.h"))


@needs_nvrtc
def test_an_unwritable_cache_leaves_the_compilers_words(tmp_path, keep_cache_at):
    (tmp_path / "file").write_text("")
    keep_cache_at(tmp_path / "file" / "cache")
    with pytest.raises(CompileError, match="cuda_fp16"):
        compile_cuda("#include <cuda_fp16.h>\n")


def test_a_nul_character_is_refused_instead_of_ending_the_source():
    with pytest.raises(CompileError, match="NUL character"):
        compile_cuda("int x;\0int y;")


def test_where_the_compiler_is_missing_the_message_says_what_to_do(monkeypatch):
    monkeypatch.setattr(cuda, "library_paths", lambda: [])
    cuda.nvrtc.cache_clear()
    with pytest.raises(CompileError) as caught:
        compile_cuda(SAXPY)
    cuda.nvrtc.cache_clear()
    assert "needs the package nvidia-cuda-nvrtc, which exists for Linux" in str(caught.value)
    assert "PTX input works without it" in str(caught.value)


def test_of_two_packages_of_a_version_the_first_on_the_path_is_taken(tmp_path, monkeypatch):
    for folder in ("a", "b"):
        (tmp_path / folder / "nvidia" / "cu13" / "lib").mkdir(parents=True)
        (tmp_path / folder / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13").touch()
    for first, second in ("ab", "ba"):
        monkeypatch.setattr(sys, "path", [str(tmp_path / first), str(tmp_path / second)])
        assert [path.relative_to(tmp_path).parts[0] for path in cuda.library_paths()] == [first, second]
    (tmp_path / "a" / "nvidia" / "cu14" / "lib").mkdir(parents=True)
    newer = tmp_path / "a" / "nvidia" / "cu14" / "lib" / "libnvrtc.so.14"
    newer.touch()
    assert cuda.library_paths()[0] == newer


def test_a_library_that_cannot_be_loaded_counts_as_missing(tmp_path, monkeypatch):
    broken = tmp_path / "libnvrtc.so.13"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(cuda, "library_paths", lambda: [broken])
    cuda.nvrtc.cache_clear()
    with pytest.raises(CompileError, match="nvidia-cuda-nvrtc"):
        compile_cuda(SAXPY)
    cuda.nvrtc.cache_clear()


@pytest.mark.parametrize("header", ["cstdio", "stdio.h", "cstdlib", "math.h", "cmath", "cassert", "assert.h", "cuda_runtime.h"])
def test_host_headers_that_public_kernels_include_are_there(header):
    source = f'#include <{header}>\nextern "C" __global__ void k(float *x) {{ assert(x); printf("%f", sqrtf(x[0])); }}'
    assert ".entry k" in compile_cuda(source).ptx


def test_a_whole_program_is_told_where_to_go():
    with pytest.raises(CompileError, match=r"whole program, with host code: `simtlab nvcc app\.cu -o app` compiles it"):
        compile_cuda("#include <vector>\nint main() { return 0; }", "app.cu")
    with pytest.raises(CompileError) as told:
        compile_cuda("#include <nowhere.h>\n", "kernel.cu")
    assert "simtlab nvcc" not in str(told.value)


@needs_nvrtc
def test_a_source_that_stands_alone_is_compiled_once(monkeypatch, tmp_path):
    """Two GPUs with one kernel, and the same with other options; a header may have been edited since."""
    made = []
    once = cuda.compile_once
    monkeypatch.setattr(cuda, "compile_once", lambda *given: made.append(given) or once(*given))
    alone = f"extern \"C\" __global__ void once(int *x) {{ *x = {os.getpid()}; }}"
    first, second = cuda.compile_cuda(alone), cuda.compile_cuda(alone)
    assert first == second
    assert len(made) == 1
    assert cuda.compile_cuda(alone, options=["-DNDEBUG"]).ptx == first.ptx
    assert len(made) == 2
    header = tmp_path / "number.h"
    for number in (3, 4):
        header.write_text(f"#define NUMBER {number}\n")
        text = '#include "number.h"\nextern "C" __global__ void number(int *x) { *x = NUMBER; }'
        assert f", {number};" in cuda.compile_cuda(text, include_paths=[str(tmp_path)]).ptx
        forced = [f"--pre-include={header}"]
        assert f", {number};" in cuda.compile_cuda('extern "C" __global__ void f(int *x) { *x = NUMBER; }', options=forced).ptx
    assert len(made) == 6
