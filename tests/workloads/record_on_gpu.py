"""Record what a real GPU computes for every workload at `tiny` and `small`: the PTX simtlab runs, the same inputs and launches.

Of `tiny` everything is kept. Of `small` the digests are, and a sample of those outputs that are not what simtlab computes.

    python tests/workloads/record_on_gpu.py prepare FOLDER [NAME...]  # here: PTX and inputs, of all or of these; needs NVRTC
    python tests/workloads/record_on_gpu.py run FOLDER        # on a machine with a GPU and CuPy: outputs
    python tests/workloads/record_on_gpu.py store FOLDER      # here: into tests/data/hardware

The second step needs of simtlab only the workloads' own modules, so neither Numba nor NVRTC. What was stored of other programs
stays.
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
SAMPLE = 4096  # elements of an array
PTX_VERSION = "9.0"  # the newest a driver of CUDA 13.0 reads; nothing in the kernels needs a newer one
TYPES = {"f32": np.float32, "f64": np.float64, "u32": np.uint32, "s32": np.int32, "u64": np.uint64, "s64": np.int64}


def digest_of_ptx(ptx: str) -> str:
    """A digest of what is executed: no comments, no version, no line information."""
    kept = [line for line in ptx.splitlines() if not re.match(r"\s*(//|\.version|\.loc|\.file|$)", line)]
    code = "\n".join(kept).split(".section")[0]
    return hashlib.sha256(code.encode()).hexdigest()


def digests_of(arrays: dict[str, Any]) -> dict[str, str]:
    """Of those of these that are arrays, and of their shapes and types too."""
    found = {}
    for name, array in arrays.items():
        if isinstance(array, np.ndarray):
            described = f"{array.shape} {array.dtype.str} ".encode()
            found[name] = hashlib.sha256(described + np.ascontiguousarray(array).tobytes()).hexdigest()
    return found


def sample(array: np.ndarray) -> np.ndarray:
    """Some elements from all over an array."""
    return array.ravel()[:: -(-array.size // SAMPLE)]


# Prepare --------------------------------------------------------------------------------------------------------------


def prepare(folder: Path, *names: str) -> None:
    from simtlab.host.gpu import Gpu
    from simtlab.workloads.frame import Launcher, workload, workloads

    folder.mkdir(parents=True, exist_ok=True)
    for name in names or workloads():
        chosen = workload(name, "tiny")
        compiled = compiled_kernels(chosen)
        ptx = re.sub(r"(?m)^\.version .*$", f".version {PTX_VERSION}", compiled.ptx)
        small = workload(name, "small")
        gpu = Gpu(threads=1)
        data = small.inputs()
        outputs = small.definition.run(Launcher(gpu, small.compile(gpu)), dict(data))
        job = {"ptx": ptx, "names": compiled.names, "data": chosen.inputs(), "digest": digest_of_ptx(compiled.ptx),
               "folder": chosen.folder.name, "small": digests_of(outputs), "small_inputs": digests_of(data)}  # fmt: skip
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


class GpuTextures:
    """Point-filtered textures of a real GPU with clamped coordinates: linear memory for one axis, an array for two."""

    def __init__(self, cupy: Any):
        self.cupy = cupy

    def texture(self, values: Any, channels: int = 1) -> Any:
        from cupy.cuda import runtime
        from cupy.cuda import texture as of

        texels = values.values if isinstance(values, GpuArray) else self.cupy.asarray(np.ascontiguousarray(values))
        kinds = {"f": runtime.cudaChannelFormatKindFloat, "u": runtime.cudaChannelFormatKindUnsigned,
                 "i": runtime.cudaChannelFormatKindSigned}  # fmt: skip
        bits = [8 * texels.dtype.itemsize * (k < channels) for k in range(4)]
        form = of.ChannelFormatDescriptor(*bits, kinds[texels.dtype.kind])
        if texels.ndim == 1:
            resource = of.ResourceDescriptor(runtime.cudaResourceTypeLinear, arr=texels, chDesc=form, sizeInBytes=texels.nbytes)
        else:
            rows = texels.reshape(texels.shape[0], -1)
            array = of.CUDAarray(form, texels.shape[1], texels.shape[0])
            array.copy_from(rows)
            resource = of.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
        clamp = (runtime.cudaAddressModeClamp,) * 2
        how = of.TextureDescriptor(clamp, runtime.cudaFilterModePoint, runtime.cudaReadModeElementType)
        return of.TextureObject(resource, how)


class GpuLauncher:
    """simtlab's Launcher on a real GPU."""

    def __init__(self, folder: Path, name: str, job: dict[str, Any]):
        import cupy

        path = folder / f"{name}.ptx"
        path.write_text(job["ptx"])
        self.cupy, self.names, self.ptx, self.module = cupy, job["names"], job["ptx"], GpuModule(path)
        self.gpu = GpuTextures(cupy)

    def array(self, values: Any, dtype: Any = None, label: str = "") -> GpuArray:
        return GpuArray(self.cupy.asarray(np.ascontiguousarray(values, dtype)))

    def zeros(self, shape: Any, dtype: Any = "f4", label: str = "") -> GpuArray:
        return GpuArray(self.cupy.zeros(shape, dtype))

    def launch(self, kernel: str, grid: Any, block: Any, args: Any = (), shared: int = 0) -> None:
        full = self._full_name(kernel)
        given = [as_argument(a, t) for a, t in zip(args, self._types(full), strict=True)]
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


def as_argument(value: Any, kind: Any) -> Any:
    """As CuPy takes it: an array, the number of a texture object, or a number of the parameter's type."""
    return value.values if isinstance(value, GpuArray) else np.asarray(getattr(value, "ptr", value)).astype(kind)[()]


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
        outputs[path.stem] = {"tiny": found, **run_small(definition, GpuLauncher(folder, path.stem, job), job)}
        print(path.stem, outputs[path.stem]["small"]["same"], flush=True)
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    (folder / "outputs").write_bytes(pickle.dumps({"gpu": name, "outputs": outputs}, protocol=4))


def run_small(definition: Any, launcher: GpuLauncher, job: dict[str, Any]) -> dict[str, Any]:
    """The digests of `small`, and those outputs that are other than simtlab's."""
    data = definition.inputs(**definition.SIZES["small"], seed=0)
    inputs = digests_of(data)
    found = {name: np.asarray(array) for name, array in definition.run(launcher, data).items()}
    digests = digests_of(found)
    same = digests == job["small"] and inputs == job["small_inputs"]
    others = {name: array for name, array in found.items() if digests[name] != job["small"].get(name)}
    return {"small": {"inputs": inputs, "outputs": digests, "same": same}, "others": others}


# Store ----------------------------------------------------------------------------------------------------------------


def store(folder: Path) -> None:
    """Inputs and outputs as arrays; what they belong to, beside them."""
    found = pickle.loads((folder / "outputs").read_bytes())
    programs: dict[str, Any] = json.loads((DATA / "workloads.json").read_text())["programs"]
    arrays = stored_of_others(DATA / "workloads.npz", found["outputs"])
    small = stored_of_others(DATA / "workloads_small.npz", found["outputs"])
    for name, recorded in found["outputs"].items():
        outputs = recorded["tiny"]
        small |= {f"{name}/{key}": sample(value) for key, value in recorded["others"].items()}
        job = pickle.loads((folder / f"{name}.pickle").read_bytes())
        inputs = {key: value for key, value in job["data"].items() if isinstance(value, np.ndarray)}
        arrays |= {f"{name}/in/{key}": value for key, value in inputs.items()}
        arrays |= {f"{name}/out/{key}": value for key, value in outputs.items()}
        digests = {key: hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest() for key, value in outputs.items()}
        of_small = {"input_sha256": recorded["small"]["inputs"], "output_sha256": recorded["small"]["outputs"]}
        programs[name] = {"ptx_sha256": job["digest"], "output_sha256": digests, "small": of_small}
    np.savez_compressed(DATA / "workloads.npz", **arrays)  # type: ignore[arg-type]
    np.savez_compressed(DATA / "workloads_small.npz", **small)  # type: ignore[arg-type]
    (DATA / "workloads.json").write_text(json.dumps({"gpu": found["gpu"], "programs": programs}, indent=1) + "\n")


def stored_of_others(path: Path, programs: dict[str, Any]) -> dict[str, np.ndarray]:
    """The stored arrays of programs other than these."""
    with np.load(path) as file:
        return {key: file[key] for key in file.files if key.split("/")[0] not in programs}


if __name__ == "__main__":
    {"prepare": prepare, "run": run, "store": store}[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
