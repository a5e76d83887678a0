"""Functional execution: warps, CTAs and grids, with no notion of time."""
