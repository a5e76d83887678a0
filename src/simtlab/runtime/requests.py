"""What an application asks the simtlab process for, as bytes: the same as in `library/simtlab_cuda.h`."""

import struct
from enum import IntEnum

from simtlab.errors import SimtlabError

REQUEST = struct.Struct("<II6Q")  # what, bytes that follow, numbers
ANSWER = struct.Struct("<iI2Q")  # error, bytes that follow, numbers
DEVICE = struct.Struct("<3Q14i256s")
IMAGE = struct.Struct("<5Q12i")  # of a texture or surface
FUNCTION = struct.Struct("<Q8i")
PARAMETER = struct.Struct("<2I")


class What(IntEnum):
    HELLO = 0
    MODULE = 1
    UNLOAD = 2
    FUNCTION = 3
    VARIABLE = 4
    ALLOCATE = 5
    FREE = 6
    LAUNCH = 7
    CLOCK = 8
    RESET = 9
    OCCUPANCY = 10
    ARRAY = 11
    FREE_ARRAY = 12
    COPY_ARRAY = 13
    TEXTURE = 14
    SURFACE = 15
    DESTROY = 16
    WARN = 17
    DYNAMIC_SHARED = 18


class CudaError(IntEnum):
    """NVIDIA's codes."""

    INVALID_VALUE = 1
    OUT_OF_MEMORY = 2
    INVALID_CONFIGURATION = 9
    INVALID_SYMBOL = 13
    INVALID_FUNCTION = 98
    INVALID_PTX = 218
    INVALID_HANDLE = 400
    SYMBOL_NOT_FOUND = 500
    ILLEGAL_ADDRESS = 700
    OUT_OF_RESOURCES = 701
    TIMEOUT = 702
    ASSERT = 710
    ILLEGAL_INSTRUCTION = 715
    MISALIGNED = 716
    LAUNCH_FAILURE = 719
    TOO_LARGE = 720
    NOT_SUPPORTED = 801
    UNKNOWN = 999


class Refused(SimtlabError):
    """A request that gets an error of NVIDIA's for an answer."""

    def __init__(self, code: CudaError, message: str = ""):
        self.code = code
        super().__init__(message or code.name.replace("_", " ").lower())
