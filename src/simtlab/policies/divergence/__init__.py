"""Divergence: which side of a branch runs first. A file's name is the policy's name."""
