"""All families of operations. Importing this module fills the table."""

from simtlab.isa import integer

__all__ = ["integer"]
