"""Kernel arguments: checked against the parameters one by one, then packed as the kernel expects them."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simtlab.errors import LaunchError, SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.mangled import Type, demangle
from simtlab.host.array import DeviceArray, native
from simtlab.host.memory import DeviceMemory
from simtlab.host.texture import Surface, Texture
from simtlab.host.types import holds, numpy_scalar, vector_parts
from simtlab.program.program import Program

SIMPLE: Any = ctypes._SimpleCData  # what ctypes' numbers and addresses have in common


@dataclass(frozen=True)
class Parameter:
    """A parameter: what the PTX says of it, and its C++ type where the kernel's name tells that."""

    variable: ast.Variable
    type: Type | None

    @property
    def size(self) -> int:
        return self.variable.size

    @property
    def is_structure(self) -> bool:
        return self.variable.count is not None

    @property
    def is_float(self) -> bool:
        return self.variable.type.startswith("f")

    @property
    def may_point(self) -> bool:
        """Whether it may be a pointer, for all that is known."""
        return self.size == 8 and not self.is_structure and not self.is_float and (self.type is None or not self.type.name)

    def __str__(self) -> str:
        if self.type is not None:
            return self.type.text + (f", a structure of {self.size} bytes" if self.is_structure else "")
        return f"a structure of {self.size} bytes" if self.is_structure else f".{self.variable.type}"


def parameters_of(program: Program) -> list[Parameter]:
    """The parameters of a kernel. A name that is not mangled says nothing of their types."""
    variables = program.kernel.parameters
    name = demangle(program.name)
    types: Sequence[Type | None] = (name.parameters if name else None) or ()
    if len(types) != len(variables):
        types = [None] * len(variables)
    return [Parameter(variable, type) for variable, type in zip(variables, types, strict=True)]


def pack(program: Program, arguments: Sequence[Any], memory: DeviceMemory) -> np.ndarray:
    """The parameter bytes of a launch."""
    parameters = parameters_of(program)
    if len(arguments) != len(parameters):
        raise LaunchError(
            f"kernel '{program.readable_name}' takes {len(parameters)} arguments ({', '.join(map(str, parameters))}), "
            f"not {len(arguments)}"
        )
    packed = np.zeros(max(program.parameter_bytes, 8), np.uint8)
    for number, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        try:
            raw = as_bytes(parameter, value, memory)
        except (ValueError, SimtlabError) as problem:
            place = f"argument {number} of kernel '{program.readable_name}'"
            raise LaunchError(f"{place} is {parameter}: {problem}") from None
        start = program.parameter_offsets[parameter.variable.name]
        packed[start : start + parameter.size] = np.frombuffer(raw, np.uint8)
    return packed


def as_bytes(parameter: Parameter, value: Any, memory: DeviceMemory) -> bytes:
    if isinstance(value, SIMPLE):
        value = from_ctypes(value)
    if parameter.is_structure:
        return _structure(parameter, value, memory)
    if isinstance(value, DeviceArray | Texture | Surface):
        return _pointer(parameter, value, memory)
    if value is None:
        if not parameter.may_point:
            raise ValueError("it got None, which is the null pointer")
        return bytes(8)
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 0):
        what = "NumPy array" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(
            f"it got a {what}; copy it to the device with gpu.array(…) first" if parameter.may_point else f"it got a {what}"
        )
    if isinstance(value, np.generic | np.ndarray):
        return _scalar(parameter, value)
    if isinstance(value, bool | int | float):
        return _number(parameter, value)
    raise ValueError(f"it cannot take a {type(value).__name__}")


def from_ctypes(value: Any) -> Any:
    """A number of ctypes as one of NumPy, an address as a Python integer or None."""
    if isinstance(value, ctypes.c_void_p | ctypes.c_char_p | ctypes.c_wchar_p):
        return value.value
    return np.dtype(type(value)).type(value.value)


def _pointer(parameter: Parameter, value: DeviceArray | Texture | Surface, memory: DeviceMemory) -> bytes:
    if parameter.size != 8 or parameter.is_float:
        raise ValueError("it cannot take a pointer or handle")
    if not isinstance(value, DeviceArray):
        value.array.check(memory)
        return np.uint64(value.handle).tobytes()
    value.check(memory)
    pointee = parameter.type.pointee if parameter.type else None
    if pointee is not None and not holds(value.dtype, pointee):
        wanted = numpy_scalar(pointee)
        raise ValueError(
            f"it got an array of {value.dtype}; gpu.array(values, '{wanted}') makes one of {wanted}, "
            f"x.view('{wanted}') takes the bytes as they are"
        )
    return np.uint64(value.address).tobytes()


def _structure(parameter: Parameter, value: Any, memory: DeviceMemory) -> bytes:
    if isinstance(value, list | tuple):
        raw = _members(parameter, value, memory)
    elif isinstance(value, bytes | bytearray | ctypes.Structure | ctypes.Union | ctypes.Array):
        raw = bytes(value)
    elif isinstance(value, np.generic | np.ndarray):
        raw = value.astype(native(value.dtype)).tobytes() if value.dtype != native(value.dtype) else value.tobytes()
    else:
        raise ValueError("pass a NumPy structured scalar, an array, a ctypes structure, a tuple, or bytes of that size")
    if len(raw) != parameter.size:
        raise ValueError(f"it got {len(raw)} bytes")
    return raw


def _members(parameter: Parameter, values: Sequence[Any], memory: DeviceMemory) -> bytes:
    """A structure from its members: those of `float2` and its like are known, others need a type each, as C aligns them."""
    parts = vector_parts(parameter.type) if parameter.type else None
    if parts is not None:
        dtype, count = parts
        if len(values) != count:
            raise ValueError(f"it got {len(values)} members, not {count}")
        return np.array(values, dtype).tobytes()
    if values and all(isinstance(value, float) for value in values):
        size = parameter.size // len(values)
        if size in (4, 8):
            return np.array(values, f"f{size}").tobytes()
    members = [_member(value, memory) for value in values]
    layout = np.dtype([(f"m{n}", native(member.dtype)) for n, member in enumerate(members)], align=True)
    filled = np.zeros((), layout)
    filled[()] = tuple(members)
    return filled.tobytes()


def _member(value: Any, memory: DeviceMemory) -> Any:
    if isinstance(value, SIMPLE):
        value = from_ctypes(value)
    if isinstance(value, DeviceArray | Texture | Surface):
        array = value if isinstance(value, DeviceArray) else value.array
        array.check(memory)
        return np.uint64(value.address if isinstance(value, DeviceArray) else value.handle)
    if value is None:
        return np.uint64(0)
    if not isinstance(value, np.generic | np.ndarray):
        raise ValueError(f"of what type the member {value!r} is, nobody knows: give it one, as in np.float32({value!r})")
    return value


def _scalar(parameter: Parameter, value: Any) -> bytes:
    wanted = {True: "a floating-point", False: "an integer"}[parameter.is_float]
    if value.dtype.kind not in "iufb" or (parameter.variable.type[0] != "b" and parameter.is_float != (value.dtype.kind == "f")):
        raise ValueError(f"it got a {value.dtype}; {wanted} value is needed")
    if value.dtype.itemsize != parameter.size:
        raise ValueError(f"it got a {value.dtype} of {value.dtype.itemsize} bytes")
    return value.astype(native(value.dtype)).tobytes()


def _number(parameter: Parameter, value: float) -> bytes:
    if parameter.variable.type in ("f32", "f64"):
        return np.dtype(parameter.variable.type.replace("f32", "f4").replace("f64", "f8")).type(value).tobytes()
    size = parameter.size
    if isinstance(value, float):
        bits = "" if size == 1 else f", or np.float{8 * size}({value}).view('u{size}') for its bits"
        raise ValueError(f"it got the float {value}; an integer is needed: int({value}){bits}")
    if not -(1 << (8 * size - 1)) <= value < 1 << 8 * size:
        raise ValueError(f"{value} does not fit in {8 * size} bits")
    return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
