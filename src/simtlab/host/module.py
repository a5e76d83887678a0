"""A loaded module: its variables in device memory, its kernels by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import LaunchError, SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.cubin import RegisterCounts
from simtlab.frontend.mangled import Type, demangle, is_called, plain_name, readable_name
from simtlab.frontend.sass.cubin import Cubin
from simtlab.host.array import DeviceArray, Variable
from simtlab.host.launch import Run, launch
from simtlab.host.memory import Allocation
from simtlab.host.types import fills, numpy_array
from simtlab.program.program import FROM_PTX, Program, build_program, function_addresses
from simtlab.program.sass.build import build_sass_program
from simtlab.program.sass.listing import listing_text

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu, Stream

__all__ = ["Kernel", "Module", "plain_name"]

HANDLES = ("texref", "samplerref", "surfref")
SAYS_ALL = ("f32", "f64")  # PTX types of variables that can be only one type in C++


class Module:
    """The kernels and variables of one PTX text, loaded on a GPU.

    `count_registers` gives ptxas's counts if asked, `declared` the C++ type of a variable where there is a C++ source.
    `places` says where variables are to be. With a `cubin` its kernels are executed as machine code.
    """

    def __init__(
        self,
        gpu: Gpu,
        tree: ast.Module,
        names: Mapping[str, str] | None = None,
        count_registers: Callable[[], RegisterCounts] = lambda: FROM_PTX,
        declared: Callable[[str], Type | None] = lambda _: None,
        places: Mapping[str, int] | None = None,
        cubin: Cubin | None = None,
        ptx: str = "",
    ):
        self.gpu, self.tree, self.cubin, self._ptx = gpu, tree, cubin, ptx
        self._places = places
        self._count_registers, self._declared = count_registers, declared
        self._names = dict(names or {})
        self._allocations: dict[str, Allocation] = {}  # of variables
        self._variables: dict[str, Variable] = {}  # that were asked for
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
            memory, label = self.gpu.memory, readable_name(variable.name)
            if self._places is not None:
                allocation = memory.place(self._places[variable.name], variable.size, label, writable)
            else:
                allocation = memory.allocate(variable.size, label, writable, zeros=True)
            self._allocations[variable.name] = allocation
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

    def variable_at(self, address: int) -> str:
        """The name of the variable that is there, as the PTX has it; empty if it is none of this module's."""
        return next((name for name, allocation in self._allocations.items() if allocation.start == address), "")

    @property
    def programs(self) -> list[Program]:
        """Of the kernels that were asked for."""
        return list(self._programs.values())

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, as the PTX has them."""
        return [name for name, f in self.tree.functions.items() if f.is_kernel and f.body is not None]

    def __getitem__(self, name: str) -> Kernel:
        """A kernel by its name in CUDA C++ or in the PTX, ready to launch."""
        full = self._resolve(name)
        with self.gpu.memory.lock:
            if full not in self._programs:
                self._programs[full] = self._build(full)
            return Kernel(self, self._programs[full])

    def _build(self, kernel: str) -> Program:
        if self.cubin is not None:
            return build_sass_program(self.cubin, self.tree, kernel, self._addresses)
        return build_program(self.tree, kernel, self._addresses, self._count_registers, self.gpu.yield_after)

    def full_name(self, kernel: str) -> str:
        """The name of a kernel as PTX and cubin have it."""
        return self._resolve(kernel)

    @property
    def ptx(self) -> str:
        """The PTX, as it was compiled or loaded; empty for a cubin that came alone."""
        return self._ptx if self.cubin is not None else self.tree.text

    @property
    def sass(self) -> str:
        """The machine code with its control bits, if that is what is executed; else empty."""
        return listing_text(self.cubin) if self.cubin is not None else ""

    def _resolve(self, name: str) -> str:
        full = self._names.get(name, name)
        if full in self.kernels:
            return full
        matching = [kernel for kernel in self.kernels if is_called(kernel, name)]
        if len(matching) == 1:
            return matching[0]
        known = ", ".join(f"'{readable_name(kernel)}'" for kernel in self.kernels) or "none"
        if matching:
            readable = list(map(readable_name, matching))
            which = readable if len(set(readable)) == len(readable) else [signature(kernel) for kernel in matching]
            raise LaunchError(f"'{name}' names {len(matching)} kernels: {', '.join(which)}")
        raise LaunchError(f"no kernel '{name}' here; the kernels are: {known}")

    def variable(self, name: str, dtype: Any = None) -> DeviceArray:
        """A `__device__` or `__constant__` variable, readable and writable by the host.

        It has the type and the shape it is declared with. PTX declares arrays as bytes: of a module loaded from PTX, `dtype`
        says what they are, as in `module.variable("table", "f4")[3]`.
        """
        full = name
        if name not in self._allocations:
            matching = [key for key in self._allocations if is_called(key, name)]
            if len(matching) != 1:
                known = ", ".join(f"'{readable_name(key)}'" for key in self._allocations) or "none"
                raise SimtlabError(f"no variable '{name}' here; the variables are: {known}")
            full = matching[0]
        with self.gpu.memory.lock:
            if dtype is not None:
                allocation = self._allocations[full]
                return DeviceArray(self.gpu.memory, allocation, (allocation.size,), np.dtype("u1")).view(dtype)
            if full not in self._variables:
                self._variables[full] = self._variable(full)
            return self._variables[full]

    def _variable(self, name: str) -> Variable:
        allocation = self._allocations[name]
        variable = next(one for one in self._all_variables() if one.name == name)
        type = None if variable.type in SAYS_ALL else self._declared(name)
        known = numpy_array(type) if type is not None else None
        if known is not None and fills(*known, allocation.size):
            return Variable(self.gpu.memory, allocation, *known)
        count = 1 if variable.count is None else variable.count
        array = Variable(self.gpu.memory, allocation, (count,), numpy_type(variable.type))
        array.untyped = variable.type == "b8" and count > 1
        return array

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
        *more: Any,
        shared: int = 0,
        stream: Stream | None = None,
        cooperative: bool = False,
    ) -> Run:
        """Launch it. In a stream of a GPU with a machine it waits for `gpu.synchronize()`, to run beside other streams.

        A `cooperative` launch has all its CTAs on the cores at once, so that they can wait for one another (`grid.sync()`).
        """
        if more or not isinstance(arguments, Sequence) or isinstance(arguments, str | bytes):
            raise LaunchError(
                f"the arguments of kernel '{readable_name(self.name)}' are one list, shared and stream are named: "
                "kernel(grid, block, [x, y, n], shared=0)"
            )
        return launch(self.module.gpu, self.program, grid, block, arguments, shared, stream, cooperative)

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, registers={self.registers}, shared_bytes={self.shared_bytes})"


def signature(mangled: str) -> str:
    """A name for a message that tells overloaded kernels apart."""
    known = demangle(mangled)
    return known.spellings[-1] if known else mangled


def numpy_type(type: str) -> np.dtype:
    """The NumPy type of a PTX element; plain bytes and bit types are unsigned."""
    kind = {"f": "f", "s": "i"}.get(type[0], "u")
    size = ast.TYPE_BYTES[type]
    return np.dtype("u2" if type == "bf16" else f"{kind}{size}" if size <= 8 else f"V{size}")
