"""The kernels of the correlation suite: the workloads' and the micro-benchmarks, each launched as it is measured on a GPU."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu

MICRO = Path(__file__).parent / "micro"
MOST_INSTRUCTIONS = 3_000_000  # that warps execute in a launch of each kernel at `small`, else a workload is `tiny`
WITH_TEXTURES = ("AES", "JPEG", "KM", "LKC", "MUM", "SAD")  # left out: a kit has no textures
SPINNING = ("ATM", "CQ", "HT")  # left out: how much they execute depends on who comes first


@dataclass(frozen=True)
class Case:
    """Something that launches kernels. `size` is a workload's."""

    name: str
    run: Callable[[Gpu], Any]
    is_micro: bool = False


def is_held_out(kernel: str) -> bool:
    """Whether a kernel is kept out of all fitting: a third of them, by a hash of their names."""
    return hashlib.sha256(kernel.encode()).digest()[0] % 3 == 0


def cases(names: Sequence[str] = ()) -> list[Case]:
    """All, or those whose names begin so."""
    everything = [*workload_cases(), *micro_cases()]
    return [case for case in everything if not names or any(case.name.startswith(name) for name in names)]


# Workloads ------------------------------------------------------------------------------------------------------------


def workload_cases() -> list[Case]:
    from simtlab.workloads.loading import workloads
    from simtlab.workloads.measured import stored

    found = []
    for name in workloads():
        if name in WITH_TEXTURES + SPINNING:
            continue
        small = stored().get(name, {}).get("small")
        size = "small" if small and sum(one.instructions / one.launches for one in small.kernels) <= MOST_INSTRUCTIONS else "tiny"
        found.append(Case(f"{name}.{size}", workload_runner(name, size)))
    return found


def workload_runner(name: str, size: str) -> Callable[[Gpu], Any]:
    def run(gpu: Gpu) -> None:
        from simtlab.workloads.frame import workload

        workload(name, size=size).run(gpu)

    return run


# Micro-benchmarks -----------------------------------------------------------------------------------------------------

CHASE_STEPS = 4096
CORES = 132  # of an H200: grids that give each core so many CTAs
FLOAT, DOUBLE = (np.float32(0.999), np.float32(0.001)), (0.999, 0.001)
INTEGER = (np.int32(3), np.int32(7))


def micro(name: str, place: str, grid: int, block: int, *arguments: Any) -> Case:
    """A launch of a kernel of a file, `chains/chain_ffma`. An argument that is a tuple of a shape and a type is an array of zeros,
    an array is copied."""

    def run(gpu: Gpu) -> None:
        given = [gpu.zeros(*one) if isinstance(one, tuple) else gpu.array(one) if isinstance(one, np.ndarray) else one
                 for one in arguments]  # fmt: skip
        file, _, kernel = place.partition("/")
        gpu.compile(MICRO / f"{file}.cu")[kernel](grid, block, given)

    return Case(name, run, is_micro=True)


def ring(count: int, stride: int) -> np.ndarray:
    """A chase over `count` words, `stride` words at a time; words that it does not come to are zero."""
    found, places = np.zeros(count, np.int32), np.arange(CHASE_STEPS, dtype=np.int64) * stride % count
    found[places] = (places + stride) % count
    return found


@cache
def micro_cases() -> list[Case]:
    return [*launches(), *chains(), *shared_memory(), *global_memory(), *atomics(), *others()]


def launches() -> list[Case]:
    return [micro(f"empty.{ctas}", "launch/empty", ctas, 128) for ctas in (1, CORES, 16 * CORES, 128 * CORES)]


def chains() -> list[Case]:
    kinds = {"ffma": ("f4", FLOAT), "fadd": ("f4", FLOAT), "dfma": ("f8", DOUBLE), "imad": ("i4", INTEGER), "xor": ("i4", INTEGER),
             "shift": ("u4", tuple(map(np.uint32, (3, 7)))), "mufu": ("f4", FLOAT), "convert": ("f4", FLOAT),
             "divide": ("f4", FLOAT), "popc": ("i4", INTEGER), "shuffle": ("i4", INTEGER)}  # fmt: skip
    found = [micro(f"chain_{kind}", f"chains/chain_{kind}", 1, 32, (32, type), *given) for kind, (type, given) in kinds.items()]
    for kind in ("ffma", "dfma", "imad", "xor", "mufu"):
        type, given = kinds[kind]
        for warps in (4, 16):
            count = CORES * warps * 32
            found.append(micro(f"wide_{kind}.{warps}", f"wide/wide_{kind}", CORES, 32 * warps, (count, type), *given))
    return found


def shared_memory() -> list[Case]:
    words, steps = (CORES * 256, "i4"), np.int32(256)
    strides = [micro(f"shared_stride.{stride}", "shared/shared_stride", CORES, 256, words, np.int32(stride), steps)
               for stride in (1, 2, 4, 8, 32)]  # fmt: skip
    widths = [
        micro(f"shared_width.{32 * k}", f"shared/shared_{32 * k}", CORES, 256, (CORES * 256 * k, "i4"), np.int32(256))
        for k in (1, 2, 4)
    ]
    return [micro("chase_shared", "shared/chase_shared", 1, 1, (32, "i4"), np.int32(1024)), *strides, *widths]


def global_memory() -> list[Case]:
    rings = {"l1": (1 << 12, 33, 0), "l2": (1 << 17, 1056, 1 << 17), "dram": (1 << 24, 33 * 1056, 0)}
    steps = np.int32(CHASE_STEPS)
    found = [micro(f"chase_{place}", "memory/chase_global", 1, 256, ring(count, stride), (256, "i4"), steps, np.int32(warm))
             for place, (count, stride, warm) in rings.items()]  # fmt: skip
    for width in (1, 2, 4):
        for words in (1 << 18, 1 << 21):
            given = np.int32(words // width)
            found.append(
                micro(
                    f"copy_{32 * width}.{words >> 18}M",
                    f"memory/copy_{32 * width}",
                    4 * CORES,
                    256,
                    (words, "i4"),
                    (words, "i4"),
                    given,
                )
            )
    words = 1 << 21
    found += [
        micro("read_only", "memory/read_only", 4 * CORES, 256, (words, "i4"), (4, "i4"), np.int32(words // 4)),
        micro("write_only", "memory/write_only", 4 * CORES, 256, (words, "i4"), np.int32(words)),
    ]
    threads, mask = 2 * CORES * 256, np.int32((1 << 21) - 1)
    found += [micro(f"strided.{stride}", "memory/strided", 2 * CORES, 256, (1 << 21, "i4"), (threads, "i4"), np.int32(stride), mask)
              for stride in (2, 8, 32)]  # fmt: skip
    out = (CORES * 256, "i4")
    found += [micro(f"gather.{bits}", "memory/gather", CORES, 256, (1 << bits, "i4"), out, np.int32((1 << bits) - 1))
              for bits in (14, 20, 24)]  # fmt: skip
    return [*found, micro("scatter", "memory/scatter", CORES, 256, (1 << 20, "i4"), np.int32((1 << 20) - 1))]


def atomics() -> list[Case]:
    kernels = {"global": ("memory/atomic_spread", (1, 32, 1024, 16384)), "shared": ("shared/atomic_shared", (1, 32, 1024))}
    return [micro(f"atomic_{where}.{spread}", kernel, CORES, 256, (CORES * 256, "u4"), np.uint32(spread), np.int32(8))
            for where, (kernel, spreads) in kernels.items() for spread in spreads]  # fmt: skip


def others() -> list[Case]:
    found = [
        micro(f"barriers.{threads}", "launch/barriers", CORES, threads, (CORES * threads, "i4"), np.int32(256))
        for threads in (32, 256, 1024)
    ]
    found += [
        micro(f"constant_{how}", f"constants/constant_{how}", CORES, 128, (CORES * 128, "i4"), np.int32(512))
        for how in ("uniform", "by_lane")
    ]
    found += [
        micro(f"straight_{length}", f"code/straight_{length}", CORES, 128, (CORES * 128, "f4"), *FLOAT)
        for length in ("1k", "4k", "16k")
    ]
    return [*found, micro("divergent", "code/divergent", CORES, 128, (CORES * 128, "f4"), *FLOAT, np.int32(64))]
