"""`simtlab nvcc`: what is found, and what becomes of a program's options."""

from pathlib import Path

import pytest

from simtlab.cli.applications import execute
from simtlab.errors import SimtlabError
from simtlab.lab.machines import Host, MachineChoice
from simtlab.runtime import nvcc
from simtlab.runtime.library_file import library_folder
from simtlab.runtime.nvcc import find_nvcc, options_for
from tests.runtime.conftest import needs_library, needs_nvcc


@needs_library
@pytest.mark.parametrize(
    ("given", "architecture"),
    [
        ([], 75),
        (["-arch=sm_35"], 75),  # CUDA 13 compiles for none of them
        (["-arch", "sm_80"], 80),
        (["-gencode", "arch=compute_52,code=sm_52", "-gencode=arch=compute_86,code=[sm_86,compute_86]"], 86),
        (["--gpu-architecture=sm_90a"], 90),
        (["-gencode=arch=compute_70,code=sm_70"], 75),
    ],
)
def test_a_programs_architectures_become_one_ptx(given, architecture):
    made = options_for([*given, "-O3", "app.cu", "-o", "app"], 13)
    assert made[0] == f"-arch=compute_{architecture}"
    assert made[-4:] == ["-O3", "app.cu", "-o", "app"]
    assert not any("sm_" in option for option in made)


@needs_library
@pytest.mark.parametrize("given", [["-rdc=true"], ["-rdc", "true"], ["--relocatable-device-code=true"]])
def test_device_code_of_each_file_is_for_itself(given):
    made = options_for([*given, "-dc", "app.cu"], 13)
    assert made[-2:] == ["-c", "app.cu"]
    assert not any("rdc" in option or "relocatable" in option or option == "true" for option in made)


@needs_nvcc
def test_a_device_function_in_another_file_is_told(tmp_path, capfd):
    (tmp_path / "other.cu").write_text("__device__ int twice(int x) { return 2 * x; }\n")
    (tmp_path / "app.cu").write_text("""
extern __device__ int twice(int);
__global__ void kernel(int *x) { x[threadIdx.x] = twice(threadIdx.x); }
int main() { kernel<<<1, 32>>>(nullptr); return cudaGetLastError() == cudaErrorInvalidPtx ? 3 : 0; }
""")
    files = [str(tmp_path / "app.cu"), str(tmp_path / "other.cu")]
    assert nvcc.compile_program(["-rdc=true", *files, "-o", str(tmp_path / "app")]) == 0
    assert execute([str(tmp_path / "app")], MachineChoice(), Host(), False).status == 3
    told = capfd.readouterr().err
    assert "function '_Z5twicei' is declared but not defined (in '_Z6kernelPi')" in told
    assert "; device code of several files (-rdc=true) is not linked" in told


@needs_library
def test_the_runtime_is_shared_and_simtlabs():
    made = options_for(["-cudart", "static", "app.cu"], 13)
    assert "--cudart=shared" in made
    assert "static" not in made
    assert f"-L{library_folder(13)}" in made


@needs_library
def test_a_program_with_texture_references_gets_the_header_for_them(tmp_path):
    """Also where a file that it includes has them; not where a variable has such a name."""
    (tmp_path / "kernel.cu").write_text("static texture<float, 2> image;\n")
    (tmp_path / "app.cu").write_text('#include <stdio.h>\n#include "kernel.cu"\nint main() {}\n')
    (tmp_path / "plain.cu").write_text("int texture = 1, surface = 2;\nint main() { return texture < surface; }\n")
    assert str(nvcc.REFERENCES_HEADER) in options_for([str(tmp_path / "app.cu")], 13)
    assert str(nvcc.REFERENCES_HEADER) not in options_for([str(tmp_path / "plain.cu")], 13)
    assert nvcc.has_references(["-I", str(tmp_path), str(tmp_path / "app.cu")])


INVALID = "cudaErrorInvalidSymbol"
REGISTERED = ["cudaErrorInvalidValue", "cudaSuccess", "cudaErrorHostMemoryAlreadyRegistered", "cudaSuccess", "cudaSuccess",
              "cudaErrorHostMemoryNotRegistered", "0 wrong"]  # fmt: skip
RECORDED = Path(__file__).parent.parent / "data"
PRINTED = {
    "small_matters": "0 0 0 0 12 0\n2\n",  # as on an H200
    "one_of_two": (RECORDED / "one_of_two_h200.txt").read_text(),  # as an H200 printed it
    "registered_memory": "\n".join(REGISTERED) + "\n",
    "texture_references": "0 wrong\n",
    "old_names": f"cudaSuccess\n{INVALID}\n{INVALID}\n0 10 200 3000 4 50 600 7000 8 1\n",
}


@needs_nvcc
@pytest.mark.parametrize("name", PRINTED)
def test_a_small_program_prints_what_it_should(name, tmp_path, capfd):
    assert nvcc.compile_program([str(Path(__file__).parent / f"{name}.cu"), "-o", str(tmp_path / name)]) == 0
    assert execute([str(tmp_path / name)], MachineChoice(), Host(), False).status == 0
    assert capfd.readouterr().out == PRINTED[name]


def test_without_nvcc_it_is_said_how_to_get_one(monkeypatch):
    monkeypatch.setattr(nvcc.shutil, "which", lambda name: None)
    monkeypatch.setattr(nvcc.os, "access", lambda path, mode: False)
    with pytest.raises(SimtlabError, match=r"there is no nvcc on this machine.*pip install 'simtlab\[nvcc\]'"):
        find_nvcc()


@needs_library
def test_the_library_is_built_once():
    folder = library_folder(13)
    assert {path.name for path in folder.iterdir()} == {"libcudart.so.13", "libcudart.so", "libcuda.so.1", "libcuda.so"}
    before = (folder / "libcudart.so.13").stat().st_mtime_ns
    assert library_folder(13) == folder
    assert (folder / "libcudart.so.13").stat().st_mtime_ns == before
    assert library_folder(12) != folder
    with pytest.raises(SimtlabError, match="CUDA 11 cannot be run, only of 12 and 13"):
        library_folder(11)
