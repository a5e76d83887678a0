"""Micro-benchmarks of one core: the kernels of `probes/*.cu`, how they are launched, and what an H200 took.

A launch is of one CTA, whose warps each store the cycles of their last round; the slowest counts. What is compared is cycles a
step. The machine code is what simtlab compiles for sm_90, on the GPU as here. `record_probes_on_gpu.py` measures them.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

PROBES = Path(__file__).parent / "probes"
RECORDED = Path(__file__).parents[1] / "data" / "hardware" / "h200_probes.json"
FILES = ("chains", "independent", "shared_memory", "constants", "global_memory", "code", "divergence", "local_memory")

TYPES = {"float": np.float32, "double": np.float64, "int": np.int32, "unsigned": np.uint32, "unsigned long long": np.uint64}
STEPS, ATOMIC_STEPS = 256, 64
MEMORY_WORDS, MAX_WARPS = 1 << 20, 32
FOOTPRINTS = {64: 1, 512: 16, 1024: 16, 4096: 16, 16384: 64}  # words of constants: how far apart they are read
POWERS, ODD = (0, 1, 2, 4, 8, 16, 32), (3, 5, 9, 17, 33)  # how many elements lanes are apart
LENGTHS = (64, 256, 1024, 1536, 2048, 4096, 6144, 8192)  # of code, in instructions


@dataclass(frozen=True)
class Probe:
    """A kernel with the numbers that it is given behind its arrays."""

    name: str  # with those numbers that vary
    file: str
    kernel: str
    numbers: tuple[np.generic, ...]
    steps: int
    warps: tuple[int, ...]  # of the CTA, in a launch each

    @property
    def has_memory(self) -> bool:
        """A third array."""
        return self.file == "global_memory"


def of_steps(file: str) -> Iterator[Probe]:
    """CHAIN and INDEPENDENT: a and b are of the type that the kernel computes with."""
    for kernel, type in re.findall(r"(?m)^[A-Z]+\((\w+), ([a-z ]+),", (PROBES / f"{file}.cu").read_text()):
        of = TYPES[type]
        numbers = (of(0.999), of(0.001)) if type in ("float", "double") else (of(3), of(7))
        yield Probe(kernel, file, kernel, numbers, STEPS, (4, 8, 16, 32) if kernel == "independent_fmul" else (1, 4, 8, 16, 32))
    if file == "independent":
        yield Probe("independent_s2r", file, "independent_s2r", (), STEPS, (1, 4, 16, 32))


def of_constants() -> Iterator[Probe]:
    for kernel in ("constant_chase", "constant_loads"):
        for words, stride in FOOTPRINTS.items():
            numbers = (np.int32(words - 1), np.int32(stride))
            yield Probe(f"{kernel} over {words} words", "constants", kernel, numbers, STEPS, (1, 4, 16))
    for apart in (1, 2, 4, 16, 64):
        numbers = (np.int32(2047), np.int32(apart))
        yield Probe(f"constant_by_lane {apart} words apart", "constants", "constant_by_lane", numbers, STEPS, (1, 4, 16))


def of_memory() -> Iterator[Probe]:
    """By how many elements lanes are apart. Loads stay in 16 KB; steps of the others are 4 KB apart in 4 MB."""
    for bits in (32, 64, 128):
        for apart in (*POWERS, *(ODD if bits > 32 else (*ODD, 34, 48, 69))):
            kernel, numbers = f"loads_of_{bits}_bits", (np.int32(32), np.int32(apart), np.int32(4096 * 32 // bits - 1))
            yield Probe(f"{kernel} {apart} apart", "global_memory", kernel, numbers, STEPS, (1, 4, 16, 32))
    for kernel in ("stores", "reductions", "atomic_chain"):
        for apart in (0, 1, 8, 32):
            numbers = (np.int32(1024), np.int32(apart), np.int32(MEMORY_WORDS - 1))
            steps = STEPS if kernel == "stores" else ATOMIC_STEPS
            yield Probe(f"{kernel} {apart} apart", "global_memory", kernel, numbers, steps, (1, 4, 16))


def of_local_memory() -> Iterator[Probe]:
    """By how many different elements the lanes want. A step goes on to the next element of 16."""
    for kind in ("stores", "loads"):
        for bits in (32, 64, 128):
            for different in (1, 2, 4, 16):
                kernel, numbers = f"local_{kind}_of_{bits}_bits", (np.int32(1), np.int32(different))
                yield Probe(f"{kernel} {different} different", "local_memory", kernel, numbers, STEPS, (1, 4, 16, 32))


def of_divergence() -> Iterator[Probe]:
    for kernel in re.findall(r"(?m)^CHAIN\((\w+), int, 0,", (PROBES / "divergence.cu").read_text()):
        yield Probe(kernel, "divergence", kernel, (np.int32(3), np.int32(7)), STEPS, (1, 4, 8, 16, 32))
    for values in (1, 2, 4, 8, 32):
        yield Probe(f"match_any of {values}", "divergence", "match_any", (np.int32(values), np.int32(0)), STEPS, (1, 4, 8, 16, 32))


def of_code() -> Iterator[Probe]:
    for length in LENGTHS:
        yield Probe(f"code_{length}", "code", f"code_{length}", (np.float32(0.999), np.float32(0.001)), length, (1, 4, 8, 16))


@cache
def probes() -> dict[str, Probe]:
    """All by their names."""
    every = [*of_steps("chains"), *of_steps("independent"), *of_steps("shared_memory"), *of_constants(), *of_memory(), *of_code(),
             *of_divergence(), *of_local_memory()]
    return {probe.name: probe for probe in every}


@cache
def recorded() -> dict[str, dict[str, float]]:
    """What the H200 took: cycles a step by a probe's name and warps."""
    found: dict[str, dict[str, float]] = json.loads(RECORDED.read_text())["cycles_a_step"]
    return found


@cache
def measured_code() -> dict[str, str]:
    """The machine code that was measured, by kernel: `code_digest`."""
    found: dict[str, str] = json.loads(RECORDED.read_text())["machine_code"]
    return found


def compiled(file: str) -> bytes:
    """The machine code of a file's kernels."""
    from simtlab.frontend.cuda import compile_cuda

    path = PROBES / f"{file}.cu"
    return compile_cuda(path.read_text(), path.name, include_paths=[str(PROBES)], architecture="sm_90", count_registers=True).cubin


def code_digest(cubin: bytes, kernel: str) -> str:
    """Tells machine code of a kernel from other machine code; control bits count."""
    from simtlab.frontend.sass.cubin import Cubin
    from simtlab.frontend.sass.disassemble import instructions_of

    words = b"".join(one.word.to_bytes(16, "little") for one in instructions_of(Cubin(cubin), kernel))
    return hashlib.sha256(words).hexdigest()[:16]
