"""The line used longest ago is evicted; an empty one first."""

from simtlab.policies.l1_replacement.lru import victim

__all__ = ["victim"]
