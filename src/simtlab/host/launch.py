"""Launch a kernel: check the request, run the grid, turn what went wrong into a message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

from simtlab.errors import LaunchError, SimtlabError, TooLarge
from simtlab.execute.grid import (
    CLOCK_KHZ,
    MAX_RESIDENT_CTAS,
    MAX_RESIDENT_THREADS,
    N_CORES,
    GridRun,
    aligned_bytes,
    new_launch,
)
from simtlab.execute.memory import PAGE_BYTES
from simtlab.frontend.mangled import plain_name
from simtlab.host.arguments import pack
from simtlab.host.explained import Explained
from simtlab.host.faults import explain_deadlock, explain_fault
from simtlab.host.notebook import facts, size
from simtlab.host.races import told_races
from simtlab.host.services import Services
from simtlab.program.program import Program
from simtlab.program.sass.constants import Launched

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu, Stream
    from simtlab.machine.config import MachineConfig
    from simtlab.machine.load_figures import Loads
    from simtlab.machine.machine import TimedRun
    from simtlab.report.profile import LaunchProfile

MAX_THREADS = 1024
MAX_BLOCK = (1024, 1024, 64)
MAX_GRID = (2**31 - 1, 65535, 65535)
MAX_SHARED_BYTES = 227 * 1024  # what one CTA can have on the largest machine
WORKSPACE_BYTES = 256  # where the CTAs of a cooperative launch meet: a word for each barrier of theirs
RECURSIVE_WINDOW_BYTES = 256 * 1024  # registers of a warp whose calls have no deepest chain


def no_gpu() -> None:
    """In place of a reference to a GPU."""


@dataclass(frozen=True)
class Starting:
    """What is about to be launched."""

    program: Program
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int  # bytes of dynamic shared memory of a CTA
    parameters: bytes = field(repr=False)


@dataclass(repr=False)
class Run(Explained):
    """What a launch did."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    instructions: int  # warp instructions executed
    printed: str = field(default="")  # what the kernel printed, in order of block and time
    timing: TimedRun | None = None  # what it took on a machine; None for a functional run
    in_stream: bool = field(default=False)
    strays: list[str] = field(default_factory=list)  # accesses outside every allocation that a GPU lets through
    races: list[str] = field(default_factory=list)  # between warps of a CTA, where the GPU looks for them
    shared_bytes: int = field(default=0)  # of a CTA, static and dynamic
    program: Program | None = field(default=None, compare=False)
    config: MachineConfig | None = field(default=None, compare=False)  # of the machine that it was timed on
    gpu: Callable[[], Gpu | None] = field(default=no_gpu, compare=False)  # a weak reference: a run does not keep its GPU

    def __repr__(self) -> str:
        cycles = f", {self.cycles:,} cycles, {self.ipc:.3g} a cycle" if self.timing is not None else ""
        cycles += f", {self.timing.sampled}" if self.timing is not None and self.timing.sampled is not None else ""
        shape = f"grid {size(self.grid)}, block {size(self.block)}"
        return f"<Run of {plain_name(self.kernel)}, {shape}: {self.instructions:,} warp instructions{cycles}>"

    def _repr_html_(self) -> str:
        """How it looks in a notebook."""
        return super()._repr_html_() if self.timing is not None else facts([("run", repr(self)[1:-1])])

    def _timing(self) -> TimedRun:
        if self.timing is None and self.in_stream:
            raise SimtlabError("this launch waits in a stream: gpu.synchronize() runs it")
        if self.timing is None:
            raise SimtlabError("this run has no timing: it was functional; use a GPU with a machine, as in Gpu('gtx480')")
        return self.timing

    @property
    def cycles(self) -> int:
        """Core cycles from launch to end."""
        return self._timing().cycles

    @property
    def ipc(self) -> float:
        """Warp instructions a core cycle, the whole GPU together."""
        return self._timing().ipc

    @property
    def stalls(self) -> dict[str, int]:
        """Scheduler cycles by cause; together they are all scheduler cycles."""
        return self._timing().stalls

    @property
    def counters(self) -> dict[str, int]:
        """Everything that was counted: by the machine (`simtlab.machine.counters` says what each is), and by its policies."""
        return self._timing().counters

    @property
    def energy(self) -> dict[str, float]:
        """Joules by component; `docs/energy.md` says what they are made of."""
        return self._timing().energy

    @property
    def utilisation(self) -> dict[str, float]:
        """Utilisation, the share of its time that each part of the machine worked: units, networks, L2, DRAM bus."""
        return self._timing().utilisation

    def figures(self) -> list[LaunchProfile]:
        """What was measured of this launch, for a page or a text; see `report/profile.py`. Over time while its GPU is there."""
        from simtlab.report.profile import NO_INTERVALS, profile_of

        timing, gpu = self._timing(), self.gpu()
        if self.config is None or self.program is None:
            raise SimtlabError("this run has no program or no machine: it did not come from a launch")
        shape = self.grid, self.block, self.shared_bytes
        intervals = gpu.machine.intervals() if gpu is not None and gpu.machine is not None else NO_INTERVALS
        return [profile_of(self.program, timing, shape, self.config, intervals)]

    @property
    def loads(self) -> Loads:
        """What each global load did: requests, outcomes in the L1, where its time went; `docs/loads.md` explains the columns."""
        return self._timing().loads


def launch(
    gpu: Gpu,
    program: Program,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    arguments: Sequence[Any],
    shared: int,
    stream: Stream | None = None,
    cooperative: bool = False,
) -> Run:
    """Run a kernel to its end; on a machine and in a stream, put it in line for `gpu.synchronize()`."""
    grid, block = triple(grid, "grid", MAX_GRID), triple(block, "block", MAX_BLOCK)
    check(program, block, shared)
    if stream is not None and stream.gpu is not gpu:
        raise LaunchError(f"kernel '{program.readable_name}' is on one GPU and its stream on another")
    with gpu.memory.lock:
        return launch_packed(gpu, program, grid, block, pack(program, arguments, gpu.memory), shared, stream, cooperative)


def launch_packed(
    gpu: Gpu,
    program: Program,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    parameters: np.ndarray,
    shared: int,
    stream: Stream | None = None,
    cooperative: bool = False,
    timed: bool = True,
) -> Run:
    """Run a kernel whose parameters are bytes already; of what is given, only a cooperative grid is checked. On a machine it is
    timed, unless it is not to be."""
    if cooperative:
        check_cooperative(gpu, program, grid, block, shared)
    timed = gpu.before_launch(Starting(program, grid, block, shared, bytes(parameters))) and timed
    with gpu.memory.lock:
        record, kept, buffers = prepare(gpu, program, grid, block, shared, parameters)
        if cooperative:
            workspace = gpu.memory.allocate(WORKSPACE_BYTES, f"workspace of {program.readable_name}", zeros=True)
            record[0]["workspace"] = workspace.start
            kept.append(workspace)
        strays = watch_strays(gpu, program, record[0]) if gpu.lets_stray else None
        buffers = (*buffers, strays) if strays is not None else buffers
        in_line = stream is not None and gpu.machine is not None and timed
        run = Run(program.name, grid, block, 0, in_stream=in_line, shared_bytes=int(record[0]["shared_bytes"]),
                  program=program, config=gpu.machine.config if gpu.machine else None, gpu=ref(gpu))  # fmt: skip
        waiting = Waiting(run, program, record, Services(gpu, program, record), kept, buffers, stream)
        if gpu.machine is None or not timed:
            run_functionally(gpu, waiting)
        else:
            gpu.put_in_line(waiting)
            if stream is None:
                gpu.synchronize()
    if strays is not None:
        run.strays = told_strays(gpu, program, strays)
    gpu.on_launch(run)
    return run


def watch_strays(gpu: Gpu, program: Program, record: np.record) -> np.ndarray:
    """Let a launch reach memory outside its allocations that a GPU has mapped, and count where it does."""
    strays = np.zeros((len(program.lowered), 2), np.int64)
    if gpu.memory.size % PAGE_BYTES == 0:
        record["strays"] = strays.ctypes.data
    return strays


def told_strays(gpu: Gpu, program: Program, strays: np.ndarray) -> list[str]:
    """A sentence for each instruction that went outside."""
    return [f"{count} access{'es' * (count > 1)} of kernel '{program.readable_name}' outside every allocation, the first "
            f"{gpu.memory.describe(address)}, at {program.where(pc)}"
            for pc, (count, address) in enumerate(strays.tolist()) if count]  # fmt: skip


@dataclass
class Waiting:
    """A launch ready to run: its record, what must live until it has ended, and where its result goes."""

    run: Run
    program: Program
    record: np.ndarray
    services: Services
    kept: list[Any]  # allocations to free when it has ended
    buffers: tuple[np.ndarray, ...]
    stream: Stream | None

    def end(self, gpu: Gpu) -> None:
        for allocation in self.kept:
            gpu.memory.free(allocation.start)
        self.run.printed = self.services.printed.show(self.program.readable_name, gpu.prints)


def run_functionally(gpu: Gpu, waiting: Waiting) -> None:
    try:
        parts = execute(gpu, waiting)
    finally:
        waiting.end(gpu)
    raise_trouble(gpu, waiting, parts)
    waiting.run.instructions = sum(part.executed for part in parts)


def execute(gpu: Gpu, waiting: Waiting) -> list[GridRun]:
    """Run a launch functionally; what went wrong is in the last of what it gives."""
    gpu.memory.show_to(waiting.record[0])
    program = waiting.program
    make = partial(GridRun, program, waiting.record, waiting.services.serve)
    parts = gpu.paces.run(gpu.threads, program, waiting.record, make)
    if gpu.paces.reports:
        waiting.run.races = told_races(gpu, program, waiting.run.grid, parts)
    return parts


def raise_trouble(gpu: Gpu, waiting: Waiting, parts: Sequence[GridRun]) -> None:
    """Explain what went wrong in a functional run, if anything did."""
    if parts[-1].faults:
        raise explain_fault(gpu, waiting.program, parts[-1], waiting.services)
    if parts[-1].stuck:
        raise explain_deadlock(waiting.program, parts[-1].stuck)


def triple(size: int | Sequence[int], what: str, limits: tuple[int, int, int]) -> tuple[int, int, int]:
    """A grid or block size as three numbers, each within its limit."""
    given = tuple(size) if isinstance(size, Sequence | np.ndarray) else (size,)
    if not 1 <= len(given) <= 3 or not all(isinstance(n, int | np.integer) for n in given):
        raise LaunchError(f"{what} must be one to three integers, not {size!r}")
    x, y, z = (*map(int, given), 1, 1)[:3]
    for axis, n, limit in zip("xyz", (x, y, z), limits, strict=True):
        if not 1 <= n <= limit:
            raise LaunchError(f"{what}.{axis} is {n}; it must lie between 1 and {limit}")
    return x, y, z


def check(program: Program, block: tuple[int, int, int], shared: int) -> None:
    """Refuse what cannot run on any machine."""
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise LaunchError(f"a block of {block} has {threads} threads; at most {MAX_THREADS} are possible")
    directives = program.kernel.directives
    required = directives.get("reqntid")
    if required and tuple((*required, 1, 1)[:3]) != block:
        raise LaunchError(f"kernel '{program.readable_name}' requires blocks of {required}, not {block}")
    limit = prod(directives.get("maxntid", (MAX_THREADS,)))
    if threads > limit:
        raise LaunchError(f"kernel '{program.readable_name}' allows at most {limit} threads a block, not {threads}")
    if shared < 0:
        raise LaunchError(f"shared is {shared}; it must not be negative")
    total = program.static_shared_bytes + shared
    if total > MAX_SHARED_BYTES:
        parts = f"{program.static_shared_bytes} static and {shared} dynamic"
        raise LaunchError(f"kernel '{program.readable_name}' needs {total} bytes of shared memory ({parts}); "
                          f"at most {MAX_SHARED_BYTES} are possible")  # fmt: skip


def resident_ctas(gpu: Gpu, program: Program, threads: int, shared: int) -> int:
    """How many CTAs of a kernel fit on a core; without a machine, as many as threads and shared memory of the largest allow."""
    shared_bytes = program.static_shared_bytes + shared
    if gpu.machine is None:
        return min(MAX_RESIDENT_CTAS, MAX_RESIDENT_THREADS // (-(-threads // 32) * 32), MAX_SHARED_BYTES // max(shared_bytes, 1))
    from simtlab.machine.occupancy import occupancy

    return occupancy(gpu.machine.config, program, threads, shared_bytes).ctas


def check_cooperative(
    gpu: Gpu, program: Program, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int
) -> None:
    """All CTAs of a cooperative launch must be on the cores at once: they wait for one another."""
    cores = gpu.machine.config.core.cores if gpu.machine else N_CORES
    most = cores * resident_ctas(gpu, program, prod(block), shared)
    if prod(grid) > most:
        raise TooLarge(f"a cooperative launch of kernel '{program.readable_name}' has {prod(grid)} CTAs; at most {most} are on the "
                       "cores at once")  # fmt: skip


def prepare(
    gpu: Gpu,
    program: Program,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
    parameters: np.ndarray,
) -> tuple[np.ndarray, list[Any], tuple[np.ndarray, ...]]:
    """The launch record, and what lives as long as the launch: device allocations, and host memory read by address."""
    record = new_launch()
    row = record[0]
    kept = []
    depth = program.depth
    local_bytes = depth.local_bytes + (gpu.stack_bytes if depth.recursive else 0)
    given = parameters
    if program.constants is not None:
        launched = Launched(grid, block, local_bytes, shared, N_CORES)
        given = program.constants.of_launch(parameters, launched, gpu.memory.bytes)
    buffer = aligned_bytes(len(given))
    buffer[: len(given)] = given
    if program.takes_parameter_address:
        allocation = gpu.memory.allocate(len(parameters), f"parameters of {program.readable_name}", writable=False)
        gpu.memory.bytes(allocation.start, len(parameters))[:] = parameters
        row["parameter_address"] = allocation.start
        kept.append(allocation)
    textures = gpu.textures.table()
    row["code_address"], row["targets"], row["entries"] = program.addresses
    row["n_entries"], row["n_instructions"] = len(program.entries), len(program.lowered)
    row["textures"], row["n_textures"] = textures.ctypes.data, len(textures)
    row["arena"] = gpu.memory.arena_address
    row["grid"], row["block"] = grid, block
    row["threads"], row["n_ctas"] = prod(block), prod(grid)
    row["n_cores"], row["clock_khz"] = N_CORES, CLOCK_KHZ
    row["push_order"] = gpu.push_order
    nests = depth.recursive and not program.is_machine_code  # whose functions share the registers of their kernel
    row["register_bytes"] = max(RECURSIVE_WINDOW_BYTES if nests else 0, depth.window_bytes)
    row["local_bytes"] = local_bytes
    row["shared_bytes"], row["dynamic_shared"] = program.static_shared_bytes + shared, shared
    row["parameters"] = buffer.ctypes.data
    return record, kept, (buffer, textures)
