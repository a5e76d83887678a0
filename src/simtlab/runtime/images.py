"""Textures and surfaces as the CUDA runtime describes them, over device memory of an application."""

from collections.abc import Sequence

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.execute.image import AddressMode
from simtlab.host.array import DeviceArray
from simtlab.host.memory import DeviceMemory
from simtlab.host.texture import AXES, FILTERS, Image, Texture, Textures, address_modes, check_reading
from simtlab.runtime.requests import CudaError, Refused

ADDRESS_MODES = ("wrap", "clamp", "mirror", "border")  # in the order of NVIDIA's numbers
LAYERED, CUBE = 1, 4  # flags of a cudaArray


def make_image(memory: DeviceMemory, asked: Sequence[int]) -> Image:
    """The texels of a cudaArray, or of other device memory."""
    address, width, height, depth, pitch, kind, bits, channels, is_linear, flags, *_ = asked
    allocation = memory.find(address)
    if allocation is None or bits not in (8, 16, 32):
        raise Refused(CudaError.INVALID_VALUE)
    if is_linear:  # cudaBindTexture without a size asks for all that there may be
        width = min(width, (allocation.start + allocation.size - address) // (channels * bits // 8))
    shape = (*(size for size in (depth, height) if size), width)
    texels = (*shape, channels) if channels > 1 else shape
    array = DeviceArray(memory, allocation, texels, np.dtype(f"{'iuf'[kind]}{bits // 8}"), address - allocation.start)
    geometry = "cube" if flags & CUBE else f"a{len(shape) - 1}d" if flags & LAYERED else f"{len(shape)}d"
    return Image(memory, array, geometry, channels if channels > 1 else None, pitch)


def make_texture(textures: Textures, asked: Sequence[int]) -> Texture:
    """A texture as cudaCreateTextureObject describes it."""
    image, (linear_memory, _, linear, x, y, z, normalised, as_float, _) = make_image(textures.memory, asked), asked[8:]
    as_float = bool(as_float) and image.array.dtype.kind != "f" and image.array.dtype.itemsize < 4
    normalised = bool(normalised) or image.geometry == "cube"
    filter = FILTERS[linear]
    try:
        check_reading(image.array.dtype, filter, as_float)
    except SimtlabError:
        raise Refused(CudaError.INVALID_VALUE) from None
    modes = address_modes([ADDRESS_MODES[mode] for mode in (x, y, z)], normalised, AXES[image.geometry])
    if linear_memory:
        modes = (AddressMode.INDEX, AddressMode.CLAMP, AddressMode.CLAMP)
    texture = Texture(image, textures.reserve(), filter, modes, normalised, as_float)
    textures.bind(texture.handle, texture)
    return texture
