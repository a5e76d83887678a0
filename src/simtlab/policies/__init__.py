"""Policies: one small file for each mechanism, hooked into the machine without recompiling it."""
