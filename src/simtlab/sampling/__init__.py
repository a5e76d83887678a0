"""Sampling: simulate a part of a launch, or of many launches, in detail, and extrapolate; docs/sampling.md says how."""
