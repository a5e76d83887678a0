"""Mechanisms: their worked examples, and kernels on which they gain or do nothing."""
