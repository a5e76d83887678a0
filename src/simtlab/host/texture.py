"""Textures and surfaces: images in device memory with the way they are read."""

from __future__ import annotations

from typing import Any

import numpy as np

from simtlab.host.memory import DeviceMemory

texture_t = np.dtype([("bound", "i8")])


class Textures:
    """The texture objects of a GPU; a handle is an object's number in this table."""

    def __init__(self, memory: DeviceMemory):
        self.memory = memory
        self._table = np.zeros(1, texture_t)

    def table(self) -> np.ndarray:
        return self._table

    def reserve(self) -> int:
        """A handle with nothing behind it yet."""
        raise NotImplementedError

    def bind(self, handle: int, texture: Any) -> None:
        raise NotImplementedError

    def create(self, values: Any, **options: Any) -> Any:
        raise NotImplementedError
