"""C++ types as NumPy has them."""

import math
import re
from collections.abc import Callable

import numpy as np

from simtlab.errors import CompileError
from simtlab.frontend.cuda import CompiledCuda
from simtlab.frontend.mangled import Type, demangle, readable_name

TYPE_OF = "simtlab_type_of"  # a template whose instance for a type has that type in its mangled name

SCALARS = {
    "bool": "?", "char": "i1", "signed char": "i1", "unsigned char": "u1", "short": "i2", "unsigned short": "u2",
    "int": "i4", "unsigned int": "u4", "long": "i8", "unsigned long": "u8", "long long": "i8", "unsigned long long": "u8",
    "wchar_t": "i4", "float": "f4", "double": "f8", "__half": "f2", "__nv_bfloat16": "u2",
}  # fmt: skip
VECTOR = re.compile(r"(u?)(char|short|int|long|longlong|float|double)([1-4])")  # CUDA's own: float2, uchar4, …


def numpy_scalar(type: Type) -> np.dtype | None:
    """The NumPy type of a C++ type, if it is an arithmetic one (or a pointer)."""
    if type.pointee is not None:
        return np.dtype("u8")
    return np.dtype(SCALARS[type.name]) if type.name in SCALARS else None


def numpy_array(type: Type) -> tuple[tuple[int, ...], np.dtype] | None:
    """The shape and the element type of a variable declared so; one that is no array has one element."""
    shape = []
    while type.element is not None:
        shape.append(type.length)
        type = type.element
    dtype = numpy_scalar(type)
    return None if dtype is None else (tuple(shape) or (1,), dtype)


def vector_parts(type: Type) -> tuple[np.dtype, int] | None:
    """What CUDA's `float2` and its like, and `dim3`, are made of: the type of a component, and how many there are."""
    if type.name == "dim3":
        return np.dtype("u4"), 3
    found = VECTOR.fullmatch(type.name)
    if found is None:
        return None
    unsigned, word, count = found.groups()
    name = "long long" if word == "longlong" else word
    return np.dtype(SCALARS[f"unsigned {name}" if unsigned else name]), int(count)


def holds(dtype: np.dtype, pointee: Type) -> bool:
    """Whether an array of this type is one that a pointer of C++ may point to.

    Bytes and structures may be anything, and so may the target where it is no arithmetic type; the sign does not matter.
    """
    expected = numpy_scalar(pointee) if pointee.pointee is None else None
    if expected is None or dtype.kind in "VS" or (dtype.itemsize == 1 and dtype.kind in "iu"):
        return True
    if dtype.kind == "c":
        return expected.kind == "f" and 2 * expected.itemsize == dtype.itemsize
    if dtype.itemsize != expected.itemsize:
        return False
    return (dtype.kind == "f") == (expected.kind == "f") or expected.itemsize == 2  # halves are often carried as integers


def fills(shape: tuple[int, ...], dtype: np.dtype, size: int) -> bool:
    """Whether elements of this type and number have that many bytes."""
    return math.prod(shape) * dtype.itemsize == size


def type_of(variable: str, text: str, compile: Callable[[str, str], CompiledCuda]) -> Type | None:
    """The type a variable has in the source, which the PTX often leaves out: the compiler mangles it into an instance's name.

    None where the source cannot name the variable from outside, as one of a function.
    """
    template = f"{text}\ntemplate <class T> __global__ void {TYPE_OF}(T *) {{}}\n"
    asked = f"{TYPE_OF}<decltype(::{readable_name(variable)})>"
    try:
        instance = demangle(compile(template, asked).names[asked])
    except CompileError:
        return None
    return instance.parameters[0].pointee if instance and instance.parameters else None
