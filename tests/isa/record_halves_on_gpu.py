"""Record what a real GPU computes for the instructions, atomics and functions of `recorded_halves`.

    python -m tests.isa.record_halves_on_gpu prepare FOLDER    # here: needs NVRTC and ptxas
    python -m tests.isa.record_halves_on_gpu run FOLDER        # on a machine with a GPU: needs NumPy alone
    python -m tests.isa.record_halves_on_gpu store FOLDER      # here: into tests/data/hardware
"""

import ctypes
import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.hardware.driver import Device
from tests.isa import recorded_halves
from tests.isa.recorded_halves import COUNT, HEADER, N_COMPARED, N_FUNCTIONS, THREADS, atomic_values, pool, width_of


def prepare(folder: Path) -> None:
    from simtlab.frontend.cuda import compile_cuda

    folder.mkdir(parents=True, exist_ok=True)
    ptx = compile_cuda(recorded_halves.FUNCTIONS, options=["-arch=compute_90"]).ptx
    (folder / "functions.ptx").write_text(re.sub(r"(?m)^\.version .*$", ".version 9.0", ptx))
    (folder / "shapes.ptx").write_text(HEADER + "\n".join(map(recorded_halves.shape_ptx, recorded_halves.shapes())))
    kernels = [recorded_halves.atomic_ptx(k, *row) for k, row in enumerate(recorded_halves.atomics())]
    (folder / "atomics.ptx").write_text(HEADER + "\n".join(kernels))
    for name in ("functions", "shapes", "atomics"):
        path = folder / f"{name}.ptx"
        subprocess.run(["ptxas", "-arch=sm_90", str(path), "-o", str(path.with_suffix(".cubin"))], check=True)


def run(folder: Path) -> None:
    device, found = Device(), {}
    modules = {name: device.load((folder / f"{name}.cubin").read_bytes()) for name in ("functions", "shapes", "atomics")}
    for shape in recorded_halves.shapes():
        columns = [pool(type, k) for k, type in enumerate(shape["ins"])]
        out = np.zeros(COUNT, f"u{width_of(shape['out']) // 8}")
        device.run(modules["shapes"], f"k{shape['id']}", COUNT // 256, 256, [*columns, out])
        found[f"out/{shape['id']}"] = out
        found |= {f"pool/{type}/{k}": column for k, (type, column) in enumerate(zip(shape["ins"], columns, strict=True))}
    for number, (spelling, type, _) in enumerate(recorded_halves.atomics()):
        memory, new, old = atomic_values(type, 0), atomic_values(type, 1), np.zeros((THREADS, 16), np.uint8)
        found |= {f"values/{type.removesuffix('x2')}/0": memory.copy(), f"values/{type.removesuffix('x2')}/1": new.copy()}
        device.run(modules["atomics"], f"a{number}", 1, THREADS, [memory, new, old])
        found |= {f"memory/{spelling}": memory, f"old/{spelling}": old}
    for type in ("f16x2", "bf16x2"):
        out, flags = np.zeros((N_COMPARED, COUNT), np.uint32), np.zeros((2, COUNT), np.uint32)
        device.run(modules["functions"], type, COUNT // 256, 256, [pool(type, 0), pool(type, 1), out, flags])
        found |= {f"compared/{type}": out, f"flags/{type}": flags}
        every = np.arange(1 << 16, dtype=np.uint16).view(np.uint32)
        out = np.zeros((N_FUNCTIONS, len(every)), np.uint32)
        device.run(modules["functions"], f"{type}_functions", len(every) // 256, 256, [every, out])
        found[f"functions/{type}"] = out
    found |= run_out_of_bounds(device, modules["shapes"])
    (folder / "outputs").write_bytes(pickle.dumps({"gpu": device.name, "outputs": found}, protocol=4))


def run_out_of_bounds(device: Device, module: ctypes.c_void_p) -> dict[str, np.ndarray]:
    """fma.oob of every half in each place, and of all triples of edges and of those halves that it takes otherwise than fma."""
    numbers = {shape["text"].split()[0]: shape["id"] for shape in recorded_halves.shapes()}
    found = {}

    def results(name: str, columns: list[np.ndarray]) -> np.ndarray:
        count = len(columns[0])
        padded = [np.resize(column, -(-count // 256) * 256) for column in columns]
        out = np.zeros(len(padded[0]), np.uint16)
        device.run(module, f"k{numbers[name]}", len(out) // 256, 256, [*padded, out])
        return out[:count]

    every = np.arange(1 << 16, dtype=np.uint16)
    for type, one in (("f16", 0x3C00), ("bf16", 0x3F80)):
        special: set[int] = set()
        for place in range(3):
            columns = [every if k == place else np.full_like(every, one) for k in range(3)]
            out = results(f"fma.rn.oob.{type}", columns)
            special |= set(np.flatnonzero(out != results(f"fma.rn.{type}", columns)).tolist())
        found[f"out_of_bounds/{type}"] = np.array(sorted(special), np.uint16)
        halves = np.array([*recorded_halves.EDGES[type], *sorted(special)[:4]], np.uint16)
        triples = [np.ascontiguousarray(axis.ravel()) for axis in np.meshgrid(halves, halves, halves)]
        found |= {f"triples/{type}/{k}": column for k, column in enumerate(triples)}
        for name in ("fma.rn.oob", "fma.rn.oob.relu"):
            found[f"triples/{name}.{type}"] = results(f"{name}.{type}", triples)
    return found


def store(folder: Path) -> None:
    arrays = pickle.loads((folder / "outputs").read_bytes())["outputs"]
    arrays["shapes"] = np.array(json.dumps(recorded_halves.shapes()))
    arrays["atomics"] = np.array(json.dumps(recorded_halves.atomics()))
    arrays["functions_ptx"] = np.array((folder / "functions.ptx").read_text())
    np.savez_compressed(recorded_halves.RECORDED, **arrays)


if __name__ == "__main__":
    {"prepare": prepare, "run": run, "store": store}[sys.argv[1]](Path(sys.argv[2]))
