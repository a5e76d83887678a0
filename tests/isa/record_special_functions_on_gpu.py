"""Record what a real GPU computes, for `recorded_special_functions`.

    python -m tests.isa.record_special_functions_on_gpu prepare FOLDER    # here: needs NVRTC and ptxas
    python -m tests.isa.record_special_functions_on_gpu run FOLDER        # on a machine with a GPU: needs NumPy alone
    python -m tests.isa.record_special_functions_on_gpu store FOLDER      # here: into tests/data/hardware
"""

import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.hardware.driver import Device
from tests.isa import recorded_special_functions as special

TURN = struct.pack("<I", 0x3E22F983)  # 1/(2 pi), as machine code has it
ONE = struct.pack("<f", 1.0)
SUMS = [*special.SINGLE, *special.DOUBLE, *special.HALF]


def prepare(folder: Path) -> None:
    from simtlab.frontend.cuda import compile_cuda

    folder.mkdir(parents=True, exist_ok=True)
    kernels = [special.sum_kernel(f"sum{k}", spelling) for k, spelling in enumerate(SUMS)]
    kernels += [special.flush_kernel(f"flush{k}", spelling) for k, spelling in enumerate(special.FLUSHED)]
    turns = [special.sum_kernel(f"turns{k}", spelling) for k, spelling in enumerate(special.TURNS.values())]
    for name, sources in (("kernels", kernels), ("turns", turns)):
        path = folder / f"{name}.ptx"
        path.write_text(compile_cuda(special.HEADER + "".join(sources), options=["-arch=compute_90"]).ptx)
        subprocess.run(["ptxas", "-arch=sm_90", str(path), "-o", str(path.with_suffix(".cubin"))], check=True)
    changed = (folder / "turns.cubin").read_bytes()
    assert TURN in changed
    (folder / "turns.cubin").write_bytes(changed.replace(TURN, ONE))


def run(folder: Path) -> None:
    device, found = Device(), {}
    kernels, turns = (device.load((folder / f"{name}.cubin").read_bytes()) for name in ("kernels", "turns"))
    wanted = [(kernels, f"sum{k}", spelling) for k, spelling in enumerate(SUMS)]
    wanted += [(turns, f"turns{k}", spelling) for k, spelling in enumerate(special.TURNS)]
    for module, kernel, spelling in wanted:
        found[spelling] = np.zeros(1 if spelling in special.HALF else special.BLOCKS, np.uint64)
        device.run(module, kernel, len(found[spelling]), 256, [found[spelling]])
    for k, (spelling, count) in enumerate(special.FLUSHED.items()):
        columns = special.nearly_normal(spelling[-3:])
        found |= {f"{spelling[-3:]}/{number}": column for number, column in enumerate(columns)}
        found[spelling] = np.zeros_like(columns[0])
        device.run(kernels, f"flush{k}", special.FLUSHED_COUNT // 256, 256, [*columns[:count], found[spelling]])
    np.savez_compressed(folder / "outputs.npz", **found)
    print(device.name)


def store(folder: Path) -> None:
    shutil.copy(folder / "outputs.npz", special.RECORDED)


if __name__ == "__main__":
    {"prepare": prepare, "run": run, "store": store}[sys.argv[1]](Path(sys.argv[2]))
