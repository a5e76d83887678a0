"""The line used longest ago makes room; an empty one first."""

from simtlab.policies.l1_replacement.lru import victim

__all__ = ["victim"]
