"""Where compiled code and results are kept, and the digests that decide when compiled code is stale."""

import hashlib
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

PACKAGE = Path(__file__).parent
Translate = Callable[[bytes, str], CodeType]


@cache
def cache_directory() -> Path:
    """`$SIMTLAB_CACHE`, or simtlab's folder in the user's cache directory."""
    chosen = os.environ.get("SIMTLAB_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "simtlab"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "simtlab"


def digest_of_sources(*folders: str, also: object = None) -> str:
    """A digest of the Python sources under some folders (or files) of the package, and of anything else given.

    Numba's own cache does not notice a change in a callee's file, so compiled code is kept under this digest.
    """
    digest = hashlib.sha256()
    for folder in folders:
        place = PACKAGE / folder
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            digest.update(path.relative_to(PACKAGE).as_posix().encode())
            digest.update(path.read_bytes())
    digest.update(repr(also).encode())
    return digest.hexdigest()[:16]


def keep(path: Path, content: bytes) -> None:
    """Write a file of the cache whole or not at all. A read-only or full disk costs the next start some time, nothing else."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(content)
        part.replace(path)
    except OSError:
        pass


def nvidia_files(pattern: str) -> list[Path]:
    """Files of NVIDIA's Python packages by a pattern such as `*/bin/nvdisasm`, the newest version last. Of several folders
    with such packages, that which Python's path has first comes last."""
    package = find_spec("nvidia")  # a namespace with no code in it, so there is nothing to import
    roots = package.submodule_search_locations if package is not None else None
    return [path for root in reversed(list(roots or ())) for path in sorted(Path(root).glob(pattern))]


def data_directory() -> Path:
    """`$SIMTLAB_DATA`, or simtlab's folder in the user's data directory: what is there cannot be made again for nothing."""
    chosen = os.environ.get("SIMTLAB_DATA")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "simtlab"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "simtlab"


class _FromSource(SourceFileLoader):
    """Imports a file as it is now. Bytecode kept beside it is taken for new if size and second of the last change agree."""

    def __init__(self, name: str, path: str, translate: Translate | None):
        super().__init__(name, path)
        self.translate = translate or self.source_to_code

    def get_code(self, fullname: str) -> CodeType:
        return self.translate(self.get_data(self.path), self.path)


def import_file(path: Path, name: str, translate: Translate | None = None) -> ModuleType:
    """Import a file that may have been edited since it was last imported, under a name of its own.

    `translate` makes code of its text, where that is not to be Python's own.
    """
    specification = spec_from_loader(name, _FromSource(name, str(path), translate))
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    sys.modules[name] = module  # dataclasses look their module up, and Numba when it finds a hook on disk
    try:
        specification.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
