"""Images: texels in device memory, what a handle stands for, and how one texel is read.

An image is a row of the texture table; compiled functions hold its host address and read its fields by offset.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import compiled, load_i64, load_u8, load_u32
from simtlab.execute.state import field_offset
from simtlab.execute.warp_parts import context_of
from simtlab.program.forms import GEOMETRIES, HandleIn

HANDLE_BASE = 0x7E57_7E57_0000  # a handle is this plus a row number, so that stray integers are no handles
LOWER_BASE = HANDLE_BASE & 0xFFFFFFFF  # machine code takes the lower word of a handle only
NO_IMAGE, NO_TEXEL = 0, 0


class Role(IntEnum):
    NOTHING = 0
    TEXTURE = 1
    SURFACE = 2


class Format(IntEnum):
    """What a component is."""

    U8, S8, U16, S16, U32, S32, F16, F32 = range(8)


class AddressMode(IntEnum):
    """What a coordinate outside the image means."""

    CLAMP, BORDER, WRAP, MIRROR = range(4)
    INDEX = 4  # linear memory: there are no coordinates but whole indices


image_t = np.dtype(
    [
        (name, "i8")
        for name in (
            "role", "geometry", "host",  # of the first texel
            "width", "height", "depth",  # in texels; depth also counts layers and the faces of a cube
            "pitch", "slice",  # bytes from a row, from a layer or depth, to the next
            "channels", "component_bytes", "format",
            "linear", "normalized", "read_as_float",  # is the filter linear; are coordinates in [0, 1); see filtering.py
            "x_mode", "y_mode", "z_mode",
        )
    ]
)  # fmt: skip

IMAGE_BYTES = image_t.itemsize
ROLE, GEOMETRY, HOST = (field_offset(image_t, name) for name in ("role", "geometry", "host"))
WIDTH, HEIGHT, DEPTH = (field_offset(image_t, name) for name in ("width", "height", "depth"))
PITCH, SLICE = field_offset(image_t, "pitch"), field_offset(image_t, "slice")
CHANNELS, COMPONENT_BYTES = field_offset(image_t, "channels"), field_offset(image_t, "component_bytes")
FORMAT, LINEAR = field_offset(image_t, "format"), field_offset(image_t, "linear")
NORMALIZED, READ_AS_FLOAT = field_offset(image_t, "normalized"), field_offset(image_t, "read_as_float")
TEXTURE, ONE_D, TWO_D = int(Role.TEXTURE), GEOMETRIES.index("1d"), GEOMETRIES.index("2d")
HANDLE_AT, HANDLE_HOW_AT = 4, 10  # see encode_texture and encode_surface
NUMBER, IN_DOUBLE, IN_WORD, IN_SCALAR = int(HandleIn.NUMBER), int(HandleIn.DOUBLE), int(HandleIn.WORD), int(HandleIn.SCALAR)
X_MODE = field_offset(image_t, "x_mode")  # the modes of y and z follow it, as height and depth follow the width


@compiled
def handle_of(warp, ins, lane):
    """The handle that a lane's access has; where it has a lower word, the handle with that word, or else the word itself."""
    place, how = ins.operands[HANDLE_AT], ins.operands[HANDLE_HOW_AT]
    if how == NUMBER:
        return place
    if how == IN_DOUBLE:
        return load_i64(warp.window + place + 8 * lane)
    if how == IN_WORD:
        word = np.int64(load_u32(warp.window + place + 4 * lane))
    elif how == IN_SCALAR:
        word = np.int64(load_u32(warp.window + place))
    else:
        word = np.int64(load_u32(context_of(warp).parameters + place))
    return word + (HANDLE_BASE - LOWER_BASE) if word >= LOWER_BASE else word


@compiled
def find_image(launch, handle, role, geometry):
    """The image a handle stands for, or NO_IMAGE: no handle, another kind of object, another geometry."""
    number = handle - HANDLE_BASE
    if number < 0 or number >= launch.n_textures:
        return NO_IMAGE
    image = launch.textures + number * IMAGE_BYTES
    is_so = load_i64(image + GEOMETRY)
    first_row = role == TEXTURE and geometry == ONE_D and is_so == TWO_D  # a fetch along one axis reads the first row
    if load_i64(image + ROLE) != role or (is_so != geometry and not first_row):
        return NO_IMAGE
    return image


@compiled
def texel_at(image, x, y, z):
    """The host address of a texel inside the image."""
    texel_bytes = load_i64(image + CHANNELS) * load_i64(image + COMPONENT_BYTES)
    return load_i64(image + HOST) + z * load_i64(image + SLICE) + y * load_i64(image + PITCH) + x * texel_bytes


@compiled
def component(place, size):
    """The bits of one component of 1, 2 or 4 bytes."""
    if size == 4:
        return np.int64(load_u32(place))
    if size == 2:
        return np.int64(load_u8(place)) | np.int64(load_u8(place + 1)) << 8
    return np.int64(load_u8(place))


@compiled
def signed(bits, size):
    """Bits of `size` bytes as a two's complement number."""
    top = np.int64(1) << (8 * size - 1)
    return (bits ^ top) - top
