"""Small machines and kernels for tests that count cycles."""

from functools import cache

import numpy as np

import simtlab as sl
from simtlab.machine.config import load

HEAD = ".version 7.0\n.target sm_75\n.address_size 64\n"


@cache
def one_core() -> object:
    """caps-gtx480 with one core and one scheduler: cycles are easy to follow."""
    return load("caps-gtx480").replace({"core.cores": 1, "issue.schedulers": 1})


def gpu(changes: dict | None = None, **policies) -> sl.Gpu:
    config = one_core()
    return sl.Gpu(config.replace(changes) if changes else config, memory_bytes=1 << 28, **policies)


def kernel(device: sl.Gpu, body: str, registers: str = ".reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<40>; .reg .pred %p<4>;"):
    """A kernel k(.u64 a, .u64 b) with that body."""
    text = f"{HEAD}.visible .entry k(.param .u64 a, .param .u64 b) {{ {registers} .shared .align 8 .b8 s[16384];\n{body}\nret; }}"
    return device.load(text)["k"]


def cycles(device: sl.Gpu, body: str, threads: int = 32, grid: int = 1, a=None, b=None) -> int:
    """How long a kernel takes, its instructions already in the caches of the second level."""
    made = kernel(device, body)
    nothing = np.uint64(0)
    arguments = [a if a is not None else nothing, b if b is not None else nothing]
    made(grid, threads, arguments)
    return made(grid, threads, arguments).cycles


def step(device: sl.Gpu, one: str, before: str = "", short: int = 8, long: int = 16, **more) -> float:
    """Cycles that one repetition adds to a loop's body, its instructions being in the cache."""

    def per_iteration(copies: int) -> float:
        few, many = (cycles(device, before + loop(one * copies, times), **more) for times in (20, 60))
        return (many - few) / 40

    return (per_iteration(long) - per_iteration(short)) / (long - short)


def loop(body: str, times: int) -> str:
    return f"mov.u32 %r39, {times};\nL: {body}sub.u32 %r39, %r39, 1;\nsetp.ne.u32 %p3, %r39, 0;\n@%p3 bra L;\n"
