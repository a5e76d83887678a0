"""The stand-in for NVIDIA's libraries: C in `library/`, built when it is first needed and kept."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from simtlab.errors import SimtlabError
from simtlab.storage import cache_directory

SOURCES = Path(__file__).parent / "library"
FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-shared", "-pthread"]
CUDA_VERSIONS = (12, 13)


def library_folder(cuda: int = 13) -> Path:
    """A folder with `libcudart.so.N` and `libcuda.so.1`, one file under several names, for a major version of CUDA."""
    if cuda not in CUDA_VERSIONS:
        raise SimtlabError(f"applications of CUDA {cuda} cannot be run, only of {' and '.join(map(str, CUDA_VERSIONS))}")
    digest = hashlib.sha256(repr((cuda, FLAGS)).encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(path.name.encode() + path.read_bytes())
    folder = cache_directory() / f"cuda{cuda}-{digest.hexdigest()[:16]}"
    if not (folder / f"libcudart.so.{cuda}").exists():
        _build(folder, cuda)
    return folder


def _build(folder: Path, cuda: int) -> None:
    """Into a folder of its own first, so that nobody finds half of it."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SimtlabError("running an application needs a C compiler: install gcc, or name one in $CC")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        made, versions = Path(beside) / "made", Path(beside) / "versions"
        made.mkdir()
        versions.write_text(f"libcudart.so.{cuda} {{ global: cuda*; __cuda*; cu*; local: *; }};\n")
        name = f"libcudart.so.{cuda}"
        command = [compiler, *FLAGS, f"-DCUDA_MAJOR={cuda}", f"-Wl,-soname,{name}", f"-Wl,--version-script={versions}", "-o",
                   str(made / name), *map(str, sorted(SOURCES.glob("*.c")))]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SimtlabError("the library for applications cannot be built: a C compiler with the headers of the C library is "
                               f"needed (gcc and libc6-dev on Debian)\n{' '.join(command)}\n{done.stderr.strip()}")  # fmt: skip
        for other in ("libcudart.so", "libcuda.so.1", "libcuda.so"):
            (made / other).symlink_to(name)
        try:
            made.rename(folder)
        except OSError:  # another process was faster
            if not (folder / name).exists():
                raise
