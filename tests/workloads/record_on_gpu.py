"""Record what a real GPU computes for every workload at `tiny`: the PTX simtlab runs, the same inputs, the same launches.

    python tests/workloads/record_on_gpu.py prepare FOLDER    # here: PTX and inputs; needs NVRTC
    python tests/workloads/record_on_gpu.py run FOLDER        # on a machine with a GPU and CuPy: outputs
    python tests/workloads/record_on_gpu.py store FOLDER      # here: into tests/data/hardware

The second step needs of simtlab only the workloads' own modules, so neither Numba nor NVRTC.
"""

import hashlib
import json
import pickle
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
DATA = HERE.parent / "data" / "hardware"
PTX_VERSION = "9.0"  # the newest a driver of CUDA 13.0 reads; nothing in the kernels needs a newer one
TYPES = {"f32": np.float32, "f64": np.float64, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64}


def digest_of_ptx(ptx: str) -> str:
    """A digest of what is executed: no comments, no version, no line information."""
    kept = [line for line in ptx.splitlines() if not re.match(r"\s*(//|\.version|\.loc|\.file|$)", line)]
    code = "\n".join(kept).split(".section")[0]
    return hashlib.sha256(code.encode()).hexdigest()


# Prepare --------------------------------------------------------------------------------------------------------------


def prepare(folder: Path) -> None:
    from simtlab.workloads.frame import workload, workloads

    folder.mkdir(parents=True, exist_ok=True)
    for name in workloads():
        chosen = workload(name, "tiny")
        compiled = compiled_kernels(chosen)
        ptx = re.sub(r"(?m)^\.version .*$", f".version {PTX_VERSION}", compiled.ptx)
        job = {"ptx": ptx, "names": compiled.names, "data": chosen.inputs(), "digest": digest_of_ptx(compiled.ptx),
               "folder": chosen.folder.name}  # fmt: skip
        (folder / f"{name}.pickle").write_bytes(pickle.dumps(job, protocol=4))


def compiled_kernels(chosen: Any) -> Any:
    from simtlab.frontend.cuda import compile_cuda

    source = chosen.folder / "kernel.cu"
    definition = chosen.definition
    return compile_cuda(source.read_text(), "kernel.cu", definition.OPTIONS, [str(chosen.folder)], definition.KERNEL_NAMES)


# Run ------------------------------------------------------------------------------------------------------------------


class GpuArray:
    """simtlab's DeviceArray on a real GPU."""

    def __init__(self, values: Any):
        self.values = values
        self.shape, self.dtype, self.size, self.nbytes = values.shape, values.dtype, values.size, values.nbytes
        self.address = values.data.ptr

    def __len__(self) -> int:
        return len(self.values)

    def numpy(self) -> np.ndarray:
        return self.values.get()

    def __getitem__(self, key: Any) -> Any:
        return self.values.get()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        contents = self.values.get()
        contents[key] = value
        self.values.set(contents)

    def view(self, dtype: Any) -> "GpuArray":
        return GpuArray(self.values.ravel().view(dtype))


class GpuModule:
    """A loaded module; a variable takes a whole array, or its first elements."""

    def __init__(self, path: Path):
        import cupy

        self.cupy, self.module = cupy, cupy.RawModule(path=str(path))

    def variable(self, name: str, dtype: Any = None) -> Any:
        return GpuVariable(self.cupy, self.module.get_global(name))

    constant = variable


class GpuVariable:
    def __init__(self, cupy: Any, pointer: Any):
        self.cupy, self.pointer = cupy, pointer

    def __setitem__(self, key: Any, value: np.ndarray) -> None:
        assert key is Ellipsis or (isinstance(key, slice) and not key.start and not key.step)
        self.cupy.ndarray(value.shape, value.dtype, self.pointer).set(np.ascontiguousarray(value))


class GpuLauncher:
    """simtlab's Launcher on a real GPU."""

    def __init__(self, folder: Path, name: str, job: dict[str, Any]):
        import cupy

        path = folder / f"{name}.ptx"
        path.write_text(job["ptx"])
        self.cupy, self.names, self.ptx, self.module = cupy, job["names"], job["ptx"], GpuModule(path)

    def array(self, values: Any, dtype: Any = None, label: str = "") -> GpuArray:
        return GpuArray(self.cupy.asarray(np.ascontiguousarray(values, dtype)))

    def zeros(self, shape: Any, dtype: Any = "f4", label: str = "") -> GpuArray:
        return GpuArray(self.cupy.zeros(shape, dtype))

    def launch(self, kernel: str, grid: Any, block: Any, args: Any = (), shared: int = 0) -> None:
        full = self._full_name(kernel)
        given = [a.values if isinstance(a, GpuArray) else t(a) for a, t in zip(args, self._types(full), strict=True)]
        self.module.module.get_function(full)(triple(grid), triple(block), tuple(given), shared_mem=shared)
        self.cupy.cuda.Device().synchronize()

    def _full_name(self, kernel: str) -> str:
        known = re.findall(r"\.entry\s+([\w$]+)", self.ptx)
        full = self.names.get(kernel, kernel)
        return full if full in known else next(k for k in known if re.match(rf"_Z{len(kernel)}{kernel}(?!\w*I)", k))

    def _types(self, full: str) -> list[Any]:
        header = re.search(rf"\.entry\s+{re.escape(full)}\s*\((.*?)\)\s*[\n{{.]", self.ptx, re.DOTALL)
        assert header is not None
        return [TYPES[t] for t in re.findall(r"\.param\s+\.(\w+)", header[1])]


def triple(size: Any) -> tuple[int, ...]:
    given = tuple(size) if isinstance(size, tuple | list) else (size,)
    return tuple(map(int, (*given, 1, 1)[:3]))


def run(folder: Path) -> None:
    import cupy

    outputs: dict[str, Any] = {}
    for path in sorted(folder.glob("*.pickle")):
        job = pickle.loads(path.read_bytes())
        definition = import_module(f"simtlab.workloads.{job['folder']}.workload")
        found = definition.run(GpuLauncher(folder, path.stem, job), job["data"])
        outputs[path.stem] = found
        print(path.stem, {name: array.shape for name, array in found.items()}, flush=True)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    (folder / "outputs").write_bytes(pickle.dumps({"gpu": name, "outputs": outputs}, protocol=4))


# Store ----------------------------------------------------------------------------------------------------------------


def store(folder: Path) -> None:
    """Inputs and outputs as arrays; what they belong to, beside them."""
    found = pickle.loads((folder / "outputs").read_bytes())
    arrays: dict[str, np.ndarray] = {}
    programs: dict[str, Any] = {}
    for name, outputs in found["outputs"].items():
        job = pickle.loads((folder / f"{name}.pickle").read_bytes())
        inputs = {key: value for key, value in job["data"].items() if isinstance(value, np.ndarray)}
        arrays |= {f"{name}/in/{key}": value for key, value in inputs.items()}
        arrays |= {f"{name}/out/{key}": value for key, value in outputs.items()}
        digests = {key: hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for key, value in outputs.items()}
        programs[name] = {"ptx_sha256": job["digest"], "output_sha256": digests}
    np.savez_compressed(DATA / "workloads.npz", **arrays)  # type: ignore[arg-type]
    (DATA / "workloads.json").write_text(json.dumps({"gpu": found["gpu"], "programs": programs}, indent=1) + "\n")


if __name__ == "__main__":
    {"prepare": prepare, "run": run, "store": store}[sys.argv[1]](Path(sys.argv[2]))
