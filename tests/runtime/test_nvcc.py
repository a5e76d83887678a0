"""`simtlab nvcc`: what is found, and what becomes of a program's options."""

import pytest

from simtlab.errors import SimtlabError
from simtlab.runtime import nvcc
from simtlab.runtime.library_file import library_folder
from simtlab.runtime.nvcc import find_nvcc, options_for
from tests.runtime.conftest import needs_library


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
