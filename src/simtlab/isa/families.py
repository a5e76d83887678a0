"""All families of operations. Importing this module fills the table."""

from simtlab.isa import (
    access,
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
    video,
    warp,
)

__all__ = [
    "access",
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
    "video",
    "warp",
]
