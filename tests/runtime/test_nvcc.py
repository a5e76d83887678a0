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
PRINTED = {
    "texture_references": "0 wrong\n",
    "old_names": f"cudaSuccess\n{INVALID}\n{INVALID}\n0 10 200 3000 4 50 600 7000 8 1\n",
}


@needs_nvcc
@pytest.mark.parametrize("name", PRINTED)
def test_what_cuda_has_dropped(name, tmp_path, capfd):
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
