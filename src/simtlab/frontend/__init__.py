"""CUDA C++ and PTX in, programs out."""
