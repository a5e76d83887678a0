"""Caches, miss status holding registers, L2 slices, DRAM channels, address mapping."""
