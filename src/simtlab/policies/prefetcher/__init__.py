"""Prefetchers: what to fetch into the L1 before it is asked for. A file's name is the policy's name."""
