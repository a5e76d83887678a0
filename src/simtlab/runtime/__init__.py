"""Whole CUDA applications: compiled by nvcc, run with a library of simtlab's own in the place of NVIDIA's."""
