"""CUDA kernels of one PTX text each, by inline assembly: what the compiler makes of it is executed as machine code.

In a text, {d} is the result and {a} {b} {c} the operands, as in `ptx_vectors.npz`; p, q, t32, t64 and tid are registers of it.
"""

import re

import numpy as np

import simtlab as sl
from tests.isa.hardware_vectors import bits

THREADS = 32
MEMORY = {8: "unsigned char", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}
REGISTER = {8: "unsigned short", 16: "unsigned short", 32: "unsigned", 64: "unsigned long long"}
CONSTRAINT = {8: "h", 16: "h", 32: "r", 64: "l"}
SCRATCH = ".reg .pred p, q; .reg .b32 t32, tid; .reg .b64 t64; mov.u32 tid, %%tid.x;"


def kernel(name: str, text: str, ins: tuple[str, ...], out: str) -> str:
    """A kernel whose thread i reads element i of each operand and writes element i of the result."""
    for number, letter in enumerate("dabc"):
        text = text.replace(f"{{{letter}}}", f"%{number}")
    text = re.sub(r"\bs2\b", "7", text)
    named = list(zip("abc", ins, strict=False))
    parameters = "".join(f"const {memory_type(type)} *{letter}, " for letter, type in named)
    loads = " ".join(f"{'short' if type == 's8' else REGISTER[bits(type)]} v{letter} = {letter}[i];" for letter, type in named)
    operands = ", ".join(f'"{CONSTRAINT[bits(type)]}"(v{letter})' for letter, type in named)
    return (
        f'extern "C" __global__ void {name}({parameters}{memory_type(out)} *d) {{\n'
        f"  int i = blockIdx.x * {THREADS} + threadIdx.x; {loads} {REGISTER[bits(out)]} x;\n"
        f'  asm("{{ {SCRATCH} {text} }}" : "={CONSTRAINT[bits(out)]}"(x) : {operands});\n'
        f"  d[i] = x;\n}}\n"
    )


def memory_type(type: str) -> str:
    return "signed char" if type == "s8" else MEMORY[bits(type)]


def run(gpu: sl.Gpu, module, name: str, columns: list[np.ndarray], ins: tuple[str, ...], out) -> np.ndarray:
    """The words that a kernel computes of columns of words."""
    given = [gpu.array(column.view(np.int8) if type == "s8" else column) for type, column in zip(ins, columns, strict=True)]
    result = gpu.zeros(len(columns[0]), out)
    module[name](len(columns[0]) // THREADS, THREADS, [*given, result])
    return result.numpy()


def words(text: str, ins: tuple[str, ...], out: str, columns: list[np.ndarray], isa: str) -> np.ndarray:
    """The same for one text alone, on a GPU that executes PTX or an architecture's machine code."""
    gpu = sl.Gpu(isa=isa)
    return run(gpu, gpu.compile(kernel("k", text, ins, out)), "k", columns, ins, f"u{bits(out) // 8}")
