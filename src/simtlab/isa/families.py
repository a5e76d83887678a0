"""All families of operations. Importing this module fills the table."""

from simtlab.isa import access, atomic, control, warp, integer

__all__ = ["access", "atomic", "control", "warp", "integer"]
