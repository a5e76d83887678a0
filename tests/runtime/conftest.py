"""Programs for tests of whole applications: compiled by nvcc where there are kernels, by the C compiler where there are none."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

from simtlab.errors import SimtlabError
from simtlab.runtime.library_file import library_folder
from simtlab.runtime.nvcc import find_nvcc

APPS = Path(__file__).parent.parent / "apps"


def why_no_nvcc() -> str:
    """Empty if applications can be compiled here."""
    try:
        find_nvcc()
    except SimtlabError as problem:
        return str(problem)
    return why_no_library() or ("" if shutil.which("g++") else "there is no g++ here, which nvcc needs")


@cache
def why_no_library() -> str:
    """Empty if simtlab's library for applications can be built here."""
    try:
        library_folder()
    except SimtlabError as problem:
        return str(problem).split("\n", 1)[0][:200]
    return ""


needs_library = pytest.mark.skipif(bool(why_no_library()), reason=why_no_library() or "it can be built")
needs_nvcc = pytest.mark.skipif(bool(why_no_nvcc()), reason=why_no_nvcc() or "there is one")


@pytest.fixture
def in_c(tmp_path):
    """Compiles a C program without kernels against simtlab's library."""

    def build(text: str) -> Path:
        source, program = tmp_path / "program.c", tmp_path / "program"
        source.write_text(text)
        command = ["cc", "-o", str(program), str(source), f"-L{library_folder()}", "-lcudart"]
        subprocess.run(command, check=True, capture_output=True)
        return program

    return build
