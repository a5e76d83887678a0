"""A kernel just before a launch, in a file: its module, all device memory, textures, and what it is launched with.

The file is a zip archive: `launch.json`, `module.ptx`, and one `memory/ADDRESS` for each allocation.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.execute.image import HANDLE_BASE
from simtlab.frontend.mangled import readable_name
from simtlab.host.arguments import Parameter, parameters_of
from simtlab.host.array import DeviceArray
from simtlab.host.launch import Run, check, launch_packed
from simtlab.host.texture import Image, Surface, Texture
from simtlab.program.program import Program

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.module import Kernel, Module

VERSION = 1
FAST = 1  # zlib's level: memory is large, and zeros pack well at any
Size = tuple[int, int, int]


@dataclass(frozen=True)
class Checkpoint:
    """A kernel of an application before one of its launches. `on(gpu)` puts it on a GPU, `run(gpu)` also launches it there."""

    kernel: str  # as the PTX has it
    grid: Size
    block: Size
    shared: int  # bytes of dynamic shared memory
    cooperative: bool
    source: str  # of which application and launch
    ptx: str = field(repr=False)
    parameters: bytes = field(repr=False)
    allocations: Sequence[dict[str, Any]] = field(repr=False)
    memory: dict[int, bytes] = field(repr=False)  # by address
    textures: Sequence[dict[str, Any] | None] = field(repr=False)  # by handle, from the first on

    def __str__(self) -> str:
        megabytes = sum(map(len, self.memory.values())) / 1e6
        return f"{readable_name(self.kernel)}, grid {self.grid}, block {self.block}, {megabytes:.1f} MB of memory: {self.source}"

    def on(self, gpu: Gpu | None = None) -> RestoredLaunch:
        """Memory and module on a GPU that has nothing on it yet, each at its old address."""
        from simtlab.host.gpu import Gpu

        gpu = Gpu() if gpu is None else gpu
        if len(gpu.memory):
            raise SimtlabError("a checkpoint needs a GPU of its own, with nothing in its memory: make a new Gpu")
        gpu.lets_stray = gpu.paces.looks = True  # as in an application
        with gpu.memory.lock:
            variables = {one["variable"]: one["start"] for one in self.allocations if one["variable"]}
            for one in self.allocations:
                if not one["variable"]:
                    gpu.memory.place(one["start"], one["size"], one["label"], one["writable"])
            for number, found in enumerate(self.textures):
                gpu.textures.reserve()
                if found is not None:
                    gpu.textures.bind(HANDLE_BASE + number, texture_of(gpu, HANDLE_BASE + number, found))
            module = gpu.load_at(self.ptx, self.source, variables)
            for start, contents in self.memory.items():
                gpu.memory.bytes(start, len(contents))[:] = np.frombuffer(contents, np.uint8)
        return RestoredLaunch(self, gpu, module[self.kernel])

    def run(self, gpu: Gpu | None = None) -> Run:
        """Launch the kernel, functionally or on a machine: `load_checkpoint(file).run(Gpu("v100", warp_scheduler="gto"))`."""
        return self.on(gpu).run()


@dataclass(frozen=True)
class RestoredLaunch:
    """A checkpoint on a GPU."""

    checkpoint: Checkpoint
    gpu: Gpu
    kernel: Kernel

    @property
    def arguments(self) -> list[Any]:
        """The kernel's arguments: numbers, bytes of a structure, and for a pointer the memory from there on, as bytes."""
        program, given = self.kernel.program, self.checkpoint.parameters
        return [self._argument(one, given[program.parameter_offsets[one.variable.name] :][: one.size])
                for one in parameters_of(program)]  # fmt: skip

    def _argument(self, parameter: Parameter, data: bytes) -> Any:
        if parameter.is_structure:
            return data
        kind = {"f": "f", "s": "i"}.get(parameter.variable.type[0], "u")
        value = np.frombuffer(data, f"{kind}{len(data)}")[0]
        allocation = self.gpu.memory.find(int(value)) if parameter.may_point else None
        if allocation is None:
            return value.item()
        length = allocation.end - int(value)
        return DeviceArray(self.gpu.memory, allocation, (length,), np.dtype("u1"), int(value) - allocation.start)

    def run(self) -> Run:
        """Launch the kernel as the application did."""
        asked, program = self.checkpoint, self.kernel.program
        check(program, asked.block, asked.shared)
        parameters = np.frombuffer(asked.parameters, np.uint8)
        return launch_packed(self.gpu, program, asked.grid, asked.block, parameters, asked.shared, cooperative=asked.cooperative)


# Files --------------------------------------------------------------------------------------------------------------------


def save_checkpoint(
    file: str | PathLike,
    gpu: Gpu,
    module: Module,
    program: Program,
    grid: Size,
    block: Size,
    parameters: np.ndarray,
    shared: int = 0,
    cooperative: bool = False,
    source: str = "",
) -> None:
    """Write a launch and all that is on its GPU."""
    allocations = [{"start": one.start, "size": one.size, "label": one.label, "writable": one.writable,
                    "variable": module.variable_at(one.start)} for one in gpu.memory]  # fmt: skip
    told = {"version": VERSION, "kernel": program.name, "grid": grid, "block": block, "shared": shared, "cooperative": cooperative,
            "source": source, "parameters": bytes(parameters).hex(), "allocations": allocations,
            "textures": [told_texture(one) for one in gpu.textures]}  # fmt: skip
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=FAST) as archive:
            archive.writestr("launch.json", json.dumps(told))
            archive.writestr("module.ptx", module.tree.text)
            for one in gpu.memory:
                archive.writestr(f"memory/{one.start:x}", gpu.memory.bytes(one.start, one.size).tobytes())
    except OSError as problem:
        raise SimtlabError(f"cannot write the checkpoint {file}: {problem.strerror}") from None


def load_checkpoint(file: str | PathLike) -> Checkpoint:
    """A launch of an application that `simtlab exec --checkpoint-at` wrote."""
    try:
        with zipfile.ZipFile(file) as archive:
            told = json.loads(archive.read("launch.json"))
            if told["version"] != VERSION:
                raise SimtlabError(f"the checkpoint {file} is of version {told['version']}; this simtlab reads version {VERSION}")
            memory = {one["start"]: archive.read(f"memory/{one['start']:x}") for one in told["allocations"]}
            ptx, parameters = archive.read("module.ptx").decode(), bytes.fromhex(told["parameters"])
            sizes = {name: tuple(told[name]) for name in ("grid", "block")}
            plain = {name: told[name] for name in ("kernel", "shared", "cooperative", "source", "allocations", "textures")}
    except (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, TypeError) as problem:
        why = getattr(problem, "strerror", None) or problem
        raise SimtlabError(f"{file} is no checkpoint that can be read: {why}") from None
    return Checkpoint(ptx=ptx, memory=memory, parameters=parameters, **sizes, **plain)  # type: ignore[arg-type]


def told_texture(one: Texture | Surface | None) -> dict[str, Any] | None:
    """A texture or surface as plain values; None where its memory has been freed."""
    if one is None or not one.image.is_there:
        return None
    image = one.image
    told = {"address": image.array.address, "shape": image.array.shape, "dtype": image.array.dtype.str, "pitch": image.pitch,
            "geometry": image.geometry, "channels": image.channels if image.has_channel_axis else None}  # fmt: skip
    if isinstance(one, Surface):
        return told
    reading = (one.filter, [int(mode) for mode in one.modes], one.normalized_coordinates, one.read_as_float)
    return {**told, "reading": reading}


def texture_of(gpu: Gpu, handle: int, told: dict[str, Any]) -> Texture | Surface:
    from simtlab.execute.image import AddressMode

    allocation = gpu.memory.find(told["address"])
    if allocation is None:
        raise SimtlabError(f"the checkpoint has a texture at {told['address']:#x}, and no memory there")
    array = DeviceArray(gpu.memory, allocation, tuple(told["shape"]), np.dtype(told["dtype"]), told["address"] - allocation.start)
    image = Image(gpu.memory, array, told["geometry"], told["channels"], told["pitch"])
    if "reading" not in told:
        return Surface(image, handle)
    filter, modes, normalized, as_float = told["reading"]
    x, y, z = map(AddressMode, modes)
    return Texture(image, handle, filter, (x, y, z), normalized, as_float)
