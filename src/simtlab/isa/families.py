"""All families of operations. Importing this module fills the table."""

from simtlab.isa import (
    access,
    approx,
    atomic,
    bits,
    carry,
    compare,
    control,
    convert,
    floating,
    half,
    integer,
    logic,
    move,
    pairs,
    video,
    warp,
)
from simtlab.isa.sass import floating as sass_floating
from simtlab.isa.sass import half as sass_half
from simtlab.isa.sass import integer as sass_integer
from simtlab.isa.sass import memory as sass_memory
from simtlab.isa.sass import warp as sass_warp

__all__ = [
    "access",
    "approx",
    "atomic",
    "bits",
    "carry",
    "compare",
    "control",
    "convert",
    "floating",
    "half",
    "integer",
    "logic",
    "move",
    "pairs",
    "sass_floating",
    "sass_half",
    "sass_integer",
    "sass_memory",
    "sass_warp",
    "video",
    "warp",
]
