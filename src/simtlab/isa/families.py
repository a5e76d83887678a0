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
from simtlab.isa.sass import integer as sass_integer

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
    "sass_integer",
    "video",
    "warp",
]
