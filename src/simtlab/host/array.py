"""Arrays in device memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import SimtlabError

if TYPE_CHECKING:
    from simtlab.host.memory import Allocation, DeviceMemory


class DeviceArray:
    """A NumPy-shaped piece of device memory. Slices read as NumPy copies and write through; `numpy()` copies it all."""

    def __init__(self, memory: DeviceMemory, allocation: Allocation, shape: tuple[int, ...], dtype: np.dtype):
        self._memory, self._allocation = memory, allocation
        self.shape, self.dtype = shape, dtype

    @property
    def address(self) -> int:
        """The device pointer a kernel receives."""
        return self._allocation.start

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, address={self.address:#x})"

    def _view(self) -> np.ndarray:
        self._memory.settle()
        if not self._memory.holds(self._allocation):
            raise SimtlabError(f"the array at {self.address:#x} has been freed")
        return self._memory.bytes(self.address, self.nbytes).view(self.dtype).reshape(self.shape)

    def numpy(self) -> np.ndarray:
        """A copy of the contents."""
        return self._view().copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        contents = self.numpy()
        return contents if dtype is None else contents.astype(dtype)

    def __getitem__(self, key: Any) -> Any:
        return np.copy(self._view()[key])[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._view()[key] = value

    def view(self, dtype: Any) -> DeviceArray:
        """The same memory as elements of another type, in one dimension."""
        dtype = np.dtype(dtype)
        if self.nbytes % dtype.itemsize:
            raise SimtlabError(f"{self.nbytes} bytes are no whole number of {dtype} elements")
        return DeviceArray(self._memory, self._allocation, (self.nbytes // dtype.itemsize,), dtype)

    def free(self) -> None:
        """Give the memory back; using the array afterwards is an error, here and in a kernel."""
        self._memory.free(self.address)


class Variable(DeviceArray):
    """A module's variable. PTX says of most arrays only how many bytes they have; such a one takes any array of its size."""

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.dtype == np.uint8 and self.nbytes > 1 and key in (Ellipsis, slice(None)):
            value = np.asarray(value)
            if value.ndim and value.dtype != np.uint8:
                value = self._as_bytes(value)
        super().__setitem__(key, value)

    def _as_bytes(self, value: np.ndarray) -> np.ndarray:
        if value.nbytes != self.nbytes:
            raise SimtlabError(
                f"'{self._allocation.label}' has {self.nbytes} bytes, of what type the PTX does not say; "
                f"the {value.dtype} array given has {value.nbytes}"
            )
        return np.frombuffer(value.tobytes(), np.uint8)
