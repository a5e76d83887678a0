"""Arrays in device memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import SimtlabError

if TYPE_CHECKING:
    from simtlab.host.memory import Allocation, DeviceMemory


class DeviceArray:
    """A NumPy-shaped piece of device memory. Slices read as NumPy copies and write through; `numpy()` copies it all."""

    def __init__(self, memory: DeviceMemory, allocation: Allocation, shape: tuple[int, ...], dtype: np.dtype, offset: int = 0):
        self._memory, self._allocation, self._offset = memory, allocation, offset
        self.shape, self.dtype = shape, dtype

    @property
    def address(self) -> int:
        """The device pointer a kernel receives."""
        return self._allocation.start + self._offset

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without axes has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, address={self.address:#x})"

    def _repr_html_(self) -> str:
        """How it looks in a notebook."""
        from simtlab.host.notebook import of_array

        return of_array(self)

    def check(self, memory: DeviceMemory) -> None:
        """Refuse an array that is not, or no longer, in this memory."""
        if self._memory is not memory:
            raise SimtlabError(f"the array at {self.address:#x} is another GPU's; gpu.array(x.numpy()) copies it")
        if not memory.holds(self._allocation):
            raise SimtlabError(f"the array at {self.address:#x} has been freed")

    def _view(self) -> np.ndarray:
        self._memory.settle()
        self.check(self._memory)
        return self._memory.bytes(self.address, self.nbytes).view(self.dtype).reshape(self.shape)

    def numpy(self) -> np.ndarray:
        """A copy of the contents."""
        with self._memory.lock:
            return opaque(self._view()).copy().view(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        contents = self.numpy()
        return contents if dtype is None else contents.astype(dtype)

    def __getitem__(self, key: Any) -> Any:
        with self._memory.lock:
            picked = self._view()[key]
            if picked.dtype.names:
                raw = picked.tobytes() if isinstance(picked, np.void) else opaque(picked).tobytes()
                return np.frombuffer(bytearray(raw), picked.dtype).reshape(picked.shape)[()]
            return np.copy(picked)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        with self._memory.lock:
            view = self._view()
            if view.dtype.names and getattr(value, "dtype", None) == view.dtype and not names_fields(key):
                view, value = opaque(view), opaque(np.asarray(value))
            view[key] = value

    def fill(self, value: Any) -> None:
        """Let every element have a value."""
        self[...] = value

    def copy(self) -> DeviceArray:
        """A new array with the same contents, in device memory too."""
        with self._memory.lock:
            self._view()
            allocation = self._memory.allocate(self.nbytes, self._allocation.label)
            self._memory.bytes(allocation.start, self.nbytes)[:] = self._memory.bytes(self.address, self.nbytes)
            return DeviceArray(self._memory, allocation, self.shape, self.dtype)

    def at(self, *index: int) -> DeviceArray:
        """The same memory from an element on, in one dimension: `x.at(2)` is C's `x + 2`, `m.at(3)` a matrix from row 3 on."""
        if not 1 <= len(index) <= len(self.shape):
            raise SimtlabError(f"an array of shape {self.shape} has no element {index}")
        start = 0
        for n, length in zip((*index, *(0,) * len(self.shape)), self.shape, strict=False):
            start = start * length + int(n)
            if not 0 <= n <= length or start > self.size:
                raise SimtlabError(f"an array of shape {self.shape} has no element {', '.join(map(str, index))}")
        offset = self._offset + start * self.dtype.itemsize
        return DeviceArray(self._memory, self._allocation, (self.size - start,), self.dtype, offset)

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another type, in one dimension."""
        dtype = np.dtype(dtype)
        if self.nbytes % dtype.itemsize:
            raise SimtlabError(f"{self.nbytes} bytes are no whole number of {dtype} elements")
        return DeviceArray(self._memory, self._allocation, (self.nbytes // dtype.itemsize,), dtype, self._offset)

    def free(self) -> None:
        """Give the memory back, after what waits in streams; using the array afterwards is an error, here and in a kernel."""
        with self._memory.lock:
            self._view()
            if self._offset:
                raise SimtlabError(f"the array at {self.address:#x} begins within another one, which is the one to free")
            self._memory.free(self.address)


class Variable(DeviceArray):
    """A module's variable. Given a value for every element, the value may have another shape.

    An `untyped` one is an array of which nobody knows more than its bytes: PTX declares most arrays so. It takes bytes, and
    as a whole any array of its size.
    """

    untyped = False

    def __setitem__(self, key: Any, value: Any) -> None:
        whole = key is Ellipsis or (isinstance(key, slice) and key == slice(None))
        if not isinstance(value, int):
            value = np.asarray(value)
            if self.untyped and not is_bytes(value):
                value = self._as_bytes(value, whole)
            if whole and value.size == self.size:
                value = value.reshape(self.shape)
        super().__setitem__(key, value)

    def _as_bytes(self, value: np.ndarray, whole: bool) -> np.ndarray:
        if not whole or value.nbytes != self.nbytes:
            name = self._allocation.label
            raise SimtlabError(
                f"'{name}' has {self.nbytes} bytes, of what type the PTX does not say; {value.nbytes} bytes of {value.dtype} do "
                f"not fill it. Say the type: module.variable('{name}', '{value.dtype.str[1:]}')"
            )
        return np.frombuffer(value.tobytes(), np.uint8)


def is_bytes(values: np.ndarray) -> bool:
    return values.dtype.itemsize == 1 and values.dtype.kind in "iub"


def names_fields(key: Any) -> bool:
    """Whether a key picks fields of a structure, not elements."""
    return isinstance(key, str) or (isinstance(key, list) and bool(key) and all(isinstance(one, str) for one in key))


def opaque(values: np.ndarray) -> np.ndarray:
    """An array whose elements are copied whole. NumPy copies structures field by field, and leaves out what is between them."""
    return values.view(f"V{values.dtype.itemsize}") if values.dtype.names else values


def native(dtype: np.dtype) -> np.dtype:
    """The same type in the byte order of GPUs, which is little-endian."""
    return dtype.newbyteorder("<")
