"""Record what a real GPU gives for the kernels of `recorded_warps`, built by default, by `-O0` and for debugging.

    python -m tests.execute.record_warp_operations_on_gpu prepare FOLDER    # here: needs NVRTC and ptxas
    python -m tests.execute.record_warp_operations_on_gpu run FOLDER        # on a machine with a GPU: needs NumPy alone
    python -m tests.execute.record_warp_operations_on_gpu store FOLDER      # here: into tests/data/hardware
"""

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tests.execute import recorded_warps
from tests.hardware.driver import Device, in_processes

BUILDS = {"default": [], "O0": ["-O0"], "debug": ["-O0", "-g"]}  # options of ptxas
PTX_VERSION = "9.0"  # the newest a driver of CUDA 13.0 reads
CASES = 210


def prepare(folder: Path) -> None:
    from simtlab.frontend.cuda import compile_cuda

    folder.mkdir(parents=True, exist_ok=True)
    for build, options in BUILDS.items():
        debug = ["-G"] if build == "debug" else []
        ptx = compile_cuda(recorded_warps.source(), options=["-arch=compute_90", *debug]).ptx
        path = folder / f"{build}.ptx"
        path.write_text(re.sub(r"(?m)^\.version .*$", f".version {PTX_VERSION}", ptx))
        cubin = path.with_suffix(".cubin")
        subprocess.run(["ptxas", "-arch=sm_90", *options, str(path), "-o", str(cubin)], check=True)
    given, active = recorded_warps.make_cases(CASES)
    np.savez(folder / "cases.npz", given=given, active=active)


def work(device: Device, item: tuple[str, str, np.ndarray, np.ndarray]) -> np.ndarray:
    """One launch: the two words of every lane."""
    cubin, kernel, given, active = item
    out = np.full((len(active), 32, 2), 0xCCCCCCCC, np.uint32)
    module = device.load(Path(cubin).read_bytes())
    device.run(module, kernel, len(active), 32, [given.copy(), active.copy(), out])
    return out


def run(folder: Path) -> None:
    with np.load(folder / "cases.npz") as file:
        cases = file["given"], file["active"]
    jobs: dict[tuple[str, ...], Any] = {}
    for build in BUILDS:
        cubin = str(folder / f"{build}.cubin")
        for kernel in recorded_warps.kernels():
            jobs[build, kernel, ""] = (cubin, kernel, *recorded_warps.cases_of(kernel, *cases))
        odd = recorded_warps.outside_cases() | (recorded_warps.unequal_cases() if build == "default" else {})
        for name, case in odd.items():
            for kernel in recorded_warps.OUTSIDE_KERNELS:
                jobs[build, f"{kernel}_join", name] = (cubin, f"{kernel}_join", *case)
        case = recorded_warps.outside_cases()["most"]
        for kernel in recorded_warps.OUTSIDE_KERNELS:
            jobs[build, f"{kernel}_low_join", "literal"] = (cubin, f"{kernel}_low_join", *case)
    results = in_processes(work, list(jobs.values()))
    found = dict(zip(jobs, results, strict=True))
    (folder / "outputs").write_bytes(pickle.dumps({"gpu": Device().name, "outputs": found}, protocol=4))
    for key, result in found.items():
        if isinstance(result, int):
            print(*key, result, flush=True)


def store(folder: Path) -> None:
    """Results of the default build; what differs from it in another build, and every fault and hang, as notes."""
    found = pickle.loads((folder / "outputs").read_bytes())
    with np.load(folder / "cases.npz") as file:
        arrays = {key: file[key] for key in file.files}
    notes: dict[str, Any] = {"gpu": found["gpu"], "outcomes": {}, "differs": {}}
    for (build, kernel, name), result in found["outputs"].items():
        reference = found["outputs"].get(("default", kernel, name))
        if isinstance(result, int):
            notes["outcomes"][f"{build}/{kernel}/{name}"] = result
        elif build == "default":
            arrays[f"out/{kernel}/{name}"] = result
        elif not isinstance(reference, int) and (result != reference).any():
            notes["differs"][f"{build}/{kernel}/{name}"] = np.unique(np.nonzero(result != reference)[0]).tolist()
    arrays["ptx"] = np.array((folder / "default.ptx").read_text())
    arrays["notes"] = np.array(json.dumps(notes))
    np.savez_compressed(recorded_warps.RECORDED, **arrays)  # type: ignore[arg-type]


if __name__ == "__main__":
    {"prepare": prepare, "run": run, "store": store}[sys.argv[1]](Path(sys.argv[2]))
