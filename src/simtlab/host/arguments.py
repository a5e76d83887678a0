"""Kernel arguments: checked against the parameters one by one, then packed as the kernel expects them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from simtlab.errors import LaunchError
from simtlab.frontend import ast
from simtlab.host.array import DeviceArray
from simtlab.program.program import Program


def pack(program: Program, arguments: Sequence[Any]) -> np.ndarray:
    """The parameter bytes of a launch."""
    parameters = program.kernel.parameters
    if len(arguments) != len(parameters):
        raise LaunchError(
            f"kernel '{program.name}' takes {len(parameters)} arguments ({', '.join(map(describe, parameters))}), "
            f"not {len(arguments)}"
        )
    packed = np.zeros(max(program.parameter_bytes, 8), np.uint8)
    for number, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        try:
            raw = as_bytes(parameter, value)
        except ValueError as problem:
            place = f"argument {number} of kernel '{program.name}'"
            raise LaunchError(f"{place} is {describe(parameter)}: {problem}") from None
        start = program.parameter_offsets[parameter.name]
        packed[start : start + parameter.size] = np.frombuffer(raw, np.uint8)
    return packed


def describe(parameter: ast.Variable) -> str:
    """A parameter as a user may know it: its type, or its size if it is a structure."""
    return f".{parameter.type}" if parameter.count is None else f"a structure of {parameter.size} bytes"


def as_bytes(parameter: ast.Variable, value: Any) -> bytes:
    if parameter.count is not None:
        return _structure(parameter, value)
    if isinstance(value, DeviceArray) or hasattr(value, "handle"):
        if parameter.size != 8 or parameter.type.startswith("f"):
            raise ValueError("it cannot take a pointer or handle")
        return np.uint64(value.address if isinstance(value, DeviceArray) else value.handle).tobytes()
    if isinstance(value, np.ndarray) and value.ndim > 0:
        raise ValueError("it got a NumPy array; copy it to the device with gpu.array(…) first")
    if isinstance(value, np.generic | np.ndarray):
        return _scalar(parameter, value)
    if isinstance(value, bool | int | float):
        return _number(parameter, value)
    raise ValueError(f"it cannot take a {type(value).__name__}")


def _structure(parameter: ast.Variable, value: Any) -> bytes:
    if isinstance(value, DeviceArray) or not isinstance(value, bytes | bytearray | np.generic | np.ndarray):
        raise ValueError("pass a NumPy structured scalar, an array or bytes of that size")
    raw = bytes(value) if isinstance(value, bytes | bytearray) else value.tobytes()
    if len(raw) != parameter.size:
        raise ValueError(f"it got {len(raw)} bytes")
    return raw


def _scalar(parameter: ast.Variable, value: Any) -> bytes:
    if value.dtype.itemsize != parameter.size:
        raise ValueError(f"it got a {value.dtype} of {value.dtype.itemsize} bytes")
    wants_float = parameter.type.startswith("f")
    is_float = value.dtype.kind == "f"
    if parameter.type[0] != "b" and wants_float != is_float:
        raise ValueError(f"it got a {value.dtype}; {'a floating-point' if wants_float else 'an integer'} value is needed")
    return value.tobytes()


def _number(parameter: ast.Variable, value: float) -> bytes:
    if parameter.type in ("f32", "f64"):
        return np.dtype(parameter.type.replace("f32", "f4").replace("f64", "f8")).type(value).tobytes()
    if isinstance(value, float):
        raise ValueError(f"it got the float {value}; wrap it in a NumPy type to say which bits are meant")
    bits = 8 * parameter.size
    if not -(1 << (bits - 1)) <= value < 1 << bits:
        raise ValueError(f"{value} does not fit in {bits} bits")
    return (int(value) & ((1 << bits) - 1)).to_bytes(parameter.size, "little")
