"""The line filled longest ago is evicted, whatever was used since; an empty one first."""

from simtlab.policies.l1_replacement.first_in import victim

__all__ = ["victim"]
