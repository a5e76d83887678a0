"""A kit to measure kernels on a GPU: one file with their machine code and memory, and a script that needs nothing but Python,
NVIDIA's driver and `ncu`."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from simtlab import __version__
from simtlab.correlate.cases import Case
from simtlab.correlate.launches import Chosen, SelectedLaunches, choose
from simtlab.errors import SimtlabError
from simtlab.host.gpu import Gpu
from simtlab.host.launch import Starting

SCRIPT = Path(__file__).parent / "on_gpu.py"
FAST = 1  # zlib's level


def write_kit(folder: Path, cases: Iterable[Case], isa: str, tell: Callable[[str], None] = lambda _: None) -> int:
    """Write `kernels.zip` and `measure.py`; how many launches are in it."""
    folder.mkdir(parents=True, exist_ok=True)
    listed: list[dict[str, Any]] = []
    with zipfile.ZipFile(folder / "kernels.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=FAST) as archive:
        for case in cases:
            chosen = choose(case, isa)
            if not chosen:
                raise SimtlabError(f"{case.name} launches nothing")
            look = SelectedLaunches(chosen, Gpu(isa=isa))
            look.before = partial(put_down, archive, look, listed)
            look.run()
            tell(", ".join(one.name for one in chosen))
        archive.writestr("kernels.json", json.dumps({"isa": isa, "simtlab": __version__, "launches": listed}))
    (folder / "measure.py").write_text(SCRIPT.read_text())
    return len(listed)


def put_down(
    archive: zipfile.ZipFile, look: SelectedLaunches, listed: list[dict[str, Any]], chosen: Chosen, launch: Starting
) -> None:
    """Put a launch's machine code and the GPU's memory into the archive, each content once, and list what the script is to do."""
    module, gpu = look.module_of(launch), look.gpu
    assert module.cubin is not None

    def put(content: bytes) -> str:
        name = hashlib.sha256(content).hexdigest()[:24]
        if name not in archive.NameToInfo:
            archive.writestr(name, content)
        return name

    memory = [{"start": one.start, "size": one.size, "variable": module.variable_at(one.start),
               "content": put(gpu.memory.bytes(one.start, one.size).tobytes())} for one in gpu.memory]  # fmt: skip
    listed.append({
        "name": chosen.name, "kernel": launch.program.name, "grid": launch.grid, "block": launch.block, "shared": launch.shared,
        "instructions": chosen.instructions,
        "parameters": launch.parameters[: launch.program.parameter_bytes].hex(), "memory": memory,
        "cubin": put(module.cubin.content),
    })  # fmt: skip
