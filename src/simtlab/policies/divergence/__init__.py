"""Divergence: which lanes of a warp that have parted run first. A file's name is the policy's name."""
