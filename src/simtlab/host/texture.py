"""Textures and surfaces: images in device memory with the way they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.execute.image import HANDLE_BASE, AddressMode, Format, Role, handle_of, image_t
from simtlab.execute.memory import HEAP_BASE
from simtlab.execute.surface import coordinate
from simtlab.host.array import DeviceArray
from simtlab.host.memory import DeviceMemory
from simtlab.program.forms import COORDINATES, GEOMETRIES

FORMATS = {
    "uint8": Format.U8, "int8": Format.S8, "uint16": Format.U16, "int16": Format.S16,
    "uint32": Format.U32, "int32": Format.S32, "float16": Format.F16, "float32": Format.F32,
}  # fmt: skip
FILTERS = ("point", "linear")
MODES = {"clamp": AddressMode.CLAMP, "wrap": AddressMode.WRAP, "border": AddressMode.BORDER, "mirror": AddressMode.MIRROR}
CHANNEL_COUNTS = (1, 2, 4)
CUBE_FACES = 6
AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 1, "a2d": 2, "cube": 2}  # that coordinates run along, layers left out


class Image:
    """Texels in device memory: what a texture or a surface shows to a kernel."""

    def __init__(self, memory: DeviceMemory, array: DeviceArray, geometry: str, channels: int | None, pitch: int = 0):
        self.array, self.geometry, self._memory = array, geometry, memory
        self.channels = 1 if channels is None else channels
        self.has_channel_axis = channels is not None
        self.allocation = memory.find(array.address)
        if self.allocation is None or array._memory is not memory:
            raise SimtlabError("the array is no memory of this GPU, or has been freed")
        shape = array.shape if channels is None else array.shape[:-1]
        self.width = shape[-1]
        self.height = 1 if geometry in ("1d", "a1d") else shape[-2]
        self.depth = int(np.prod(shape, dtype=np.int64)) // (self.width * self.height)
        self.pitch = pitch or self.width * self.channels * array.dtype.itemsize  # bytes from row to row

    @property
    def is_there(self) -> bool:
        """Whether its memory has not been freed."""
        return self._memory.find(self.array.address) is self.allocation

    def row(self, role: Role) -> np.ndarray:
        """The image's row of the table the executor reads; it says nothing if the memory has been freed."""
        row = np.zeros((), image_t)
        if not self.is_there:
            return row
        row["role"] = role
        size = self.array.dtype.itemsize
        row["geometry"] = GEOMETRIES.index(self.geometry)
        row["host"] = self._memory.arena_address + self.array.address - HEAP_BASE
        row["width"], row["height"], row["depth"] = self.width, self.height, self.depth
        row["pitch"] = self.pitch
        row["slice"] = row["pitch"] * self.height
        row["channels"], row["component_bytes"] = self.channels, size
        row["format"] = FORMATS[self.array.dtype.name]
        return row


def geometry_of(values: np.ndarray | DeviceArray, channels: int | None, layered: bool, cube: bool) -> str:
    """Which of the geometries of `tex` these texels have; an error if they cannot be an image."""
    if values.dtype.name not in FORMATS:
        raise SimtlabError(f"texels of type {values.dtype} are not possible; these are: {', '.join(FORMATS)}")
    if channels is not None and (channels not in CHANNEL_COUNTS or values.shape[-1:] != (channels,)):
        raise SimtlabError(f"channels is {channels} for an array of shape {values.shape}; it must be 1, 2 or 4, "
                           "and the last axis must have that many")  # fmt: skip
    shape = values.shape if channels is None else values.shape[:-1]
    if 0 in shape:
        raise SimtlabError(f"an image of shape {shape} has no texels")
    if cube:
        if layered or len(shape) != 3 or shape[0] != CUBE_FACES or shape[1] != shape[2]:
            raise SimtlabError(f"a cube map has the shape (6, n, n) and no layers, not {shape}")
        return "cube"
    if not (2 if layered else 1) <= len(shape) <= 3:
        axes = "layers and one or two axes" if layered else "one to three axes"
        raise SimtlabError(f"an image has {axes} of texels, not the shape {shape} (pass channels=… if the last are channels)")
    return f"a{len(shape) - 1}d" if layered else f"{len(shape)}d"


class Texture:
    """An image with a filter and rules for coordinates. Pass it to a kernel as its `cudaTextureObject_t`."""

    def __init__(
        self,
        image: Image,
        handle: int,
        filter: str,
        modes: tuple[AddressMode, AddressMode, AddressMode],
        normalized_coordinates: bool,
        read_as_float: bool,
    ):
        self.image, self.handle = image, handle
        self.filter, self.modes = filter, modes
        self.normalized_coordinates, self.read_as_float = normalized_coordinates, read_as_float

    @property
    def array(self) -> DeviceArray:
        """The texels, in device memory."""
        return self.image.array

    def numpy(self) -> np.ndarray:
        """A copy of the texels."""
        return self.array.numpy()

    def row(self) -> np.ndarray:
        row = self.image.row(Role.TEXTURE)
        row["linear"] = self.filter == "linear"
        row["normalized"] = self.normalized_coordinates
        row["read_as_float"] = self.read_as_float
        row["x_mode"], row["y_mode"], row["z_mode"] = self.modes
        return row


class Surface:
    """An image that kernels read and write by coordinate. Pass it to a kernel as its `cudaSurfaceObject_t`."""

    def __init__(self, image: Image, handle: int):
        self.image, self.handle = image, handle

    @property
    def array(self) -> DeviceArray:
        """The texels, in device memory."""
        return self.image.array

    def numpy(self) -> np.ndarray:
        """A copy of the texels."""
        return self.array.numpy()

    def row(self) -> np.ndarray:
        return self.image.row(Role.SURFACE)


class Textures:
    """The texture and surface objects of a GPU; a handle stands for an object's row in this table."""

    def __init__(self, memory: DeviceMemory):
        self.memory = memory
        self._objects: list[Texture | Surface | None] = []

    def __iter__(self) -> Iterator[Texture | Surface | None]:
        """What each handle stands for, from the first on."""
        return iter(self._objects)

    def table(self) -> np.ndarray:
        """The rows of all objects as they are now."""
        table = np.zeros(max(len(self._objects), 1), image_t)
        for number, item in enumerate(self._objects):
            if item is not None:
                table[number] = item.row()
        return table

    def reserve(self) -> int:
        """A handle with nothing behind it yet."""
        self._objects.append(None)
        return HANDLE_BASE + len(self._objects) - 1

    def bind(self, handle: int, item: Texture | Surface) -> None:
        """Let a handle stand for an object."""
        if not isinstance(item, Texture | Surface):
            raise SimtlabError(f"a reference can be bound to a texture or a surface, not to a {type(item).__name__}")
        self._objects[handle - HANDLE_BASE] = item

    def release(self, handle: int) -> bool:
        """Let a handle stand for nothing again; whether it stood for something."""
        at = handle - HANDLE_BASE
        there = 0 <= at < len(self._objects) and self._objects[at] is not None
        if there:
            self._objects[at] = None
        return there

    def describe_access(self, row: np.void, warp: np.record, lane: int) -> str:
        """Where a lane's surface access goes, in words; `row` is the instruction's, and its handle is good."""
        item = self._objects[int(handle_of(warp, row, lane)) - HANDLE_BASE]
        assert item is not None
        image = item.image
        names = ("layer", "x", "y") if image.geometry in ("a1d", "a2d") else ("x", "y", "z")
        at = (f"{names[k]} = {int(coordinate(warp, row, lane, k))}" for k in range(COORDINATES[image.geometry]))
        texel_bytes = image.channels * image.array.dtype.itemsize
        size = f"{image.width} × {image.height} × {image.depth} texels of {texel_bytes} bytes"
        return f"access of {int(row['access_bytes'])} bytes at {', '.join(at)} (x in bytes) of a surface of {size}"

    def create(
        self,
        values: Any,
        *,
        filter: str = "point",
        address: str | Sequence[str] = "clamp",
        normalized_coordinates: bool = False,
        read_as_float: bool = False,
        layered: bool = False,
        cube: bool = False,
        channels: int | None = None,
        label: str = "texture",
    ) -> Texture:
        """A texture over a copy of a NumPy array, or over a DeviceArray's own memory.

        `values` has the shape (width), (height, width) or (depth, height, width), and a last axis of channels if
        `channels` says so; with `layered` the first axis counts layers, with `cube` it counts the six faces.
        `address` is "clamp", "wrap", "border" or "mirror", or one of them for each of x, y and z. `read_as_float`
        reads 8- and 16-bit integers as [0, 1] or [-1, 1]. A DeviceArray of one axis becomes linear memory, for
        tex1Dfetch.
        """
        values = values if isinstance(values, DeviceArray) else np.ascontiguousarray(values)
        geometry = geometry_of(values, channels, layered, cube)
        normalized = normalized_coordinates or cube
        check_reading(values.dtype, filter, read_as_float)
        modes = address_modes(address, normalized, AXES[geometry])
        if isinstance(values, DeviceArray) and geometry == "1d":
            if filter != "point" or normalized:
                raise SimtlabError("a DeviceArray of one axis is linear memory, which has neither filter nor normalised "
                                   "coordinates; give a NumPy array, which is copied, for those")  # fmt: skip
            modes = (AddressMode.INDEX, AddressMode.CLAMP, AddressMode.CLAMP)
        image = self._image(values, geometry, channels, label)
        texture = Texture(image, self.reserve(), filter, modes, normalized, read_as_float)
        self.bind(texture.handle, texture)
        return texture

    def surface(self, values: Any, *, layered: bool = False, channels: int | None = None, label: str = "surface") -> Surface:
        """A surface over a texture's image, over a DeviceArray's memory, or over a copy of a NumPy array."""
        if isinstance(values, Texture):
            image = values.image
        else:
            values = values if isinstance(values, DeviceArray) else np.ascontiguousarray(values)
            image = self._image(values, geometry_of(values, channels, layered, False), channels, label)
        if image.geometry == "cube":
            raise SimtlabError("surfaces over cube maps are not supported; make one over layers (layered=True)")
        if image.allocation is not None and not image.allocation.writable:
            raise SimtlabError(f"constant memory ('{image.allocation.label}') cannot be a surface: kernels could write to it")
        surface = Surface(image, self.reserve())
        self.bind(surface.handle, surface)
        return surface

    def _image(self, values: np.ndarray | DeviceArray, geometry: str, channels: int | None, label: str) -> Image:
        if isinstance(values, DeviceArray):
            return Image(self.memory, values, geometry, channels)
        allocation = self.memory.allocate(values.nbytes, label)
        array = DeviceArray(self.memory, allocation, values.shape, values.dtype)
        array[...] = values
        return Image(self.memory, array, geometry, channels)


def check_reading(dtype: np.dtype, filter: str, read_as_float: bool) -> None:
    """Refuse what the hardware's texture unit refuses."""
    if filter not in FILTERS:
        raise SimtlabError(f"filter is {filter!r}; it must be one of {', '.join(map(repr, FILTERS))}")
    if read_as_float and (dtype.kind == "f" or dtype.itemsize > 2):
        raise SimtlabError(f"read_as_float is for integers of 8 and 16 bits, not for {dtype}")
    if filter == "linear" and dtype.kind != "f" and not read_as_float:
        raise SimtlabError(f"a linear filter needs floats: {dtype} texels need read_as_float=True")


def address_modes(address: str | Sequence[str], normalized: bool, axes: int) -> tuple[AddressMode, AddressMode, AddressMode]:
    """The modes of x, y and z; without normalised coordinates, what would repeat the image clamps instead.

    So do axes the image has not: the hardware filters a one-dimensional image with a second coordinate of zero.
    """
    names = (address,) * 3 if isinstance(address, str) else tuple(address)
    if not 1 <= len(names) <= 3 or any(name not in MODES for name in names):
        raise SimtlabError(f"address is {address!r}; it must be one of {', '.join(map(repr, MODES))}, or a tuple of them")
    modes = [MODES[name] for name in (*names[:axes], "clamp", "clamp", "clamp")[:3]]
    repeating = (AddressMode.WRAP, AddressMode.MIRROR)
    x, y, z = (AddressMode.CLAMP if mode in repeating and not normalized else mode for mode in modes)
    return x, y, z
