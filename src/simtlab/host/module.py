"""A loaded module: its variables in device memory, its kernels by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import LaunchError, SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.cubin import RegisterCounts
from simtlab.host.array import DeviceArray, Variable
from simtlab.host.launch import Run, launch
from simtlab.program.program import FROM_PTX, Program, build_program, function_addresses

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu, Stream

HANDLES = ("texref", "samplerref", "surfref")


class Module:
    """The kernels and variables of one PTX text, loaded on a GPU. `count_registers` gives ptxas's counts if asked."""

    def __init__(
        self,
        gpu: Gpu,
        tree: ast.Module,
        names: Mapping[str, str] | None = None,
        count_registers: Callable[[], RegisterCounts] = lambda: FROM_PTX,
    ):
        self.gpu, self.tree = gpu, tree
        self._count_registers = count_registers
        self._names = dict(names or {})
        self._variables: dict[str, Variable] = {}
        self._addresses: dict[str, int] = {}
        self._programs: dict[str, Program] = {}
        self._place_variables()
        self._fill_variables()

    def _all_variables(self) -> list[ast.Variable]:
        inner = [v for f in self.tree.functions.values() for v in f.variables.values() if v.space in ("global", "const")]
        outer = [v for v in self.tree.variables.values() if v.space in ("global", "const")]
        return outer + inner

    def _place_variables(self) -> None:
        for variable in self._all_variables():
            if variable.type in HANDLES:
                self._addresses[variable.name] = self.gpu.textures.reserve()
                continue
            writable = variable.space != "const"
            allocation = self.gpu.memory.allocate(variable.size, variable.name, writable)
            self.gpu.memory.clear(allocation)
            count = 1 if variable.count is None else variable.count
            self._variables[variable.name] = Variable(self.gpu.memory, allocation, (count,), numpy_type(variable.type))
            self._addresses[variable.name] = allocation.start

    def _fill_variables(self) -> None:
        functions = function_addresses(self.tree)
        for variable in self._all_variables():
            for offset, value in variable.initial:
                start = self._addresses[variable.name] + offset
                if isinstance(value, ast.Symbol):
                    found = self._addresses.get(value.name, functions.get(value.name))
                    if found is None:
                        raise SimtlabError(f"'{variable.name}' is initialised with the address of unknown '{value.name}'")
                    value = self._symbol_bytes(found + value.offset, value.mask, ast.TYPE_BYTES[variable.type])
                self.gpu.memory.bytes(start, len(value))[:] = np.frombuffer(value, np.uint8)

    @staticmethod
    def _symbol_bytes(address: int, mask: int | None, size: int) -> bytes:
        """An address as data; a mask such as 0xFF00 picks one byte of it."""
        if mask is not None:
            shift = (mask & -mask).bit_length() - 1
            address = (address & mask) >> shift
        return (address & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, as the PTX has them."""
        return [name for name, f in self.tree.functions.items() if f.is_kernel and f.body is not None]

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by its name in CUDA C++ or in the PTX, ready to launch."""
        full = self._resolve(name)
        if full not in self._programs:
            self._programs[full] = build_program(self.tree, full, self._addresses, self._count_registers)
        return Kernel(self, self._programs[full])

    def _resolve(self, name: str) -> str:
        full = self._names.get(name, name)
        if full in self.kernels:
            return full
        matching = [kernel for kernel in self.kernels if plain_name(kernel) == name]
        if len(matching) == 1:
            return matching[0]
        known = ", ".join(f"'{plain_name(kernel)}'" for kernel in self.kernels) or "none"
        if matching:
            raise LaunchError(f"'{name}' names {len(matching)} kernels: {', '.join(matching)}")
        raise LaunchError(f"no kernel '{name}' here; the kernels are: {known}")

    def variable(self, name: str, dtype: Any = None) -> DeviceArray:
        """A `__device__` or `__constant__` variable, readable and writable by the host.

        The compiler declares arrays as bytes; `dtype` says what they are: `module.variable("table", "f4")[3]`.
        """
        found = self._variables.get(name)
        if found is None:
            matching = [array for key, array in self._variables.items() if plain_name(key) == name]
            if len(matching) != 1:
                known = ", ".join(f"'{plain_name(key)}'" for key in self._variables) or "none"
                raise SimtlabError(f"no variable '{name}' here; the variables are: {known}")
            found = matching[0]
        return found if dtype is None else found.view(dtype)

    constant = variable

    def bind(self, name: str, texture: Any) -> None:
        """Let a texture or surface reference (`.texref`, as older compilers write them) stand for a texture object."""
        if name not in self._addresses or name in self._variables:
            raise SimtlabError(f"no texture reference '{name}' in this module")
        self.gpu.textures.bind(self._addresses[name], texture)


class Kernel:
    """A kernel ready to launch: `kernel(grid, block, arguments, shared=0)`."""

    def __init__(self, module: Module, program: Program):
        self.module, self.program = module, program

    @property
    def name(self) -> str:
        return self.program.name

    @property
    def registers(self) -> int:
        """32-bit registers of a thread: as ptxas allocates them, or simtlab if the kernel came as PTX."""
        return self.program.registers

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a CTA."""
        return self.program.static_shared_bytes

    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        arguments: Sequence[Any] = (),
        shared: int = 0,
        stream: Stream | None = None,
    ) -> Run:
        """Launch it. In a stream of a GPU with a machine it waits for `gpu.synchronize()`, to run beside other streams."""
        return launch(self.module.gpu, self.program, grid, block, arguments, shared, stream)

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, registers={self.registers}, shared_bytes={self.shared_bytes})"


def plain_name(mangled: str) -> str:
    """The last part of a C++ name: `saxpy` of `_Z5saxpyifPKfPf`, `f` of `_ZN2ns1fEv`; other names are as they are."""
    match = re.match(r"_ZN?K?(\d.*)", mangled)
    if not match:
        return mangled
    rest, name = match[1], mangled
    while True:
        part = re.match(r"(\d+)(.*)", rest)
        if not part:
            return name
        length = int(part[1])
        name, rest = part[2][:length], part[2][length:]
        if not mangled.startswith("_ZN"):
            return name


def numpy_type(type: str) -> np.dtype:
    """The NumPy type of a PTX element; plain bytes and bit types are unsigned."""
    kind = {"f": "f", "s": "i"}.get(type[0], "u")
    size = ast.TYPE_BYTES[type]
    return np.dtype("u2" if type == "bf16" else f"{kind}{size}" if size <= 8 else f"V{size}")
