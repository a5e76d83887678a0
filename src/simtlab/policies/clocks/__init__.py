"""Clocks: how fast cores and memory run. A file's name is the policy's name."""
