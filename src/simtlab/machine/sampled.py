"""The mark of a sampled run: how much of it was simulated in detail, and how far off its figures may be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sampled:
    """Of a run on a machine that samples. One that was simulated in full has a share of 1, no error, and a reason."""

    share: float  # of its warp instructions that were simulated in detail
    error: float  # of its cycles: half the 95% confidence interval, as a share of them
    errors: Mapping[str, float] = field(default_factory=dict, repr=False)  # of each counter, in its unit
    windows: int = 0  # stretches of steady rate that were measured, or launches of the same cluster
    gaps: int = 0  # stretches that were run functionally only
    reason: str = ""  # why it was simulated in full

    @property
    def is_extrapolated(self) -> bool:
        return self.share < 1

    def __str__(self) -> str:
        if not self.is_extrapolated:
            return f"simulated in full: {self.reason}" if self.reason else "simulated in full"
        return f"sampled: {100 * self.share:.3g}% of its warp instructions in detail, cycles ±{100 * self.error:.2g}%"
