"""The simtlab side of an application: one process of it, its modules, its kernels, its memory, and what it launched."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import CycleLimit, Deadlock, DeviceFault, LaunchError, OutOfMemory, PtxError, SimtlabError, TooLarge
from simtlab.execute.grid import CLOCK_KHZ, N_CORES
from simtlab.execute.memory import HEAP_BASE
from simtlab.host.checkpoint import save_checkpoint
from simtlab.host.launch import MAX_BLOCK, MAX_GRID, Run, check, launch_packed, resident_ctas, triple
from simtlab.host.texture import Surface
from simtlab.runtime.fat_binary import ptx_of
from simtlab.runtime.images import make_image, make_texture
from simtlab.runtime.requests import DEVICE, FUNCTION, IMAGE, PARAMETER, CudaError, Refused, What

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu
    from simtlab.host.module import Module
    from simtlab.program.program import Program

Reply = tuple[int, int, bytes]  # two numbers and bytes
STATIC_LIMIT = 48 << 10  # dynamic shared memory of a kernel that has not asked for more
CAPABILITIES = {"h200": (9, 0)}  # of the others that execute PTX: as nvcc is told to compile for
NOT_LINKED = "; device code of several files (-rdc=true) is not linked"
FAULTS = {"misaligned": CudaError.MISALIGNED, "assertion": CudaError.ASSERT, "trap": CudaError.LAUNCH_FAILURE,
          "not_a_member": CudaError.ILLEGAL_INSTRUCTION, "stack_overflow": CudaError.LAUNCH_FAILURE}  # fmt: skip


@dataclass
class Launched:
    """A launch of the application's, for the table at the end."""

    program: Program
    run: Run


@dataclass(frozen=True)
class Selection:
    """Which launches are timed on a machine; the others are run functionally."""

    kernels: str = ""  # a regular expression for their names; empty: all
    first: int = 1  # of the launches of such kernels, counted from 1
    last: int | None = None
    after: int = 0  # warp instructions that the application has run before

    def takes(self, name: str) -> bool:
        return re.search(self.kernels, name) is not None

    def times(self, number: int, executed: int) -> bool:
        return number >= self.first and (self.last is None or number <= self.last) and executed >= self.after

    def as_parameters(self) -> dict[str, Any]:
        """What was chosen, by name, for a stored result."""
        launches = "" if (self.first, self.last) == (1, None) else f"{self.first}:{self.last or ''}"
        chosen = {"kernels": self.kernels, "timed_launches": launches, "fast_forward": self.after}
        return {name: value for name, value in chosen.items() if value}


@dataclass
class Log:
    """What the processes of an application did, and which of it is to be timed."""

    launches: list[Launched] = field(default_factory=list)
    selection: Selection = field(default_factory=Selection)
    strict: bool = False  # whether accesses that a GPU lets through by chance stop the kernel
    races: bool = False  # whether races between warps are looked for in all CTAs, and told
    checkpoint_at: int | None = None  # of the launches of kernels that the selection takes, the one before which a file is written
    checkpoint: Path | None = None  # that file
    application: str = ""  # for the checkpoint
    begins: Callable[[str], AbstractContextManager[None]] = lambda _: nullcontext()  # entered around each launch, with its name
    taken: int = 0  # launches of kernels that the selection takes
    executed: int = 0  # warp instructions
    warn: Callable[[str], None] = lambda text: print(f"simtlab: {text}", file=sys.stderr, flush=True)


class Session:
    """What one process of an application has on the GPU."""

    def __init__(self, gpu: Gpu, log: Log):
        self.gpu, self.log = gpu, log
        gpu.prints = False  # the application does, in its own order
        gpu.lets_stray = not log.strict
        gpu.paces.looks, gpu.paces.reports = True, log.races
        self._told: set[tuple[str, str]] = set()
        self._modules: dict[int, Module] = {}
        self._functions: list[Program] = []
        self._module_of: list[Module] = []  # of each function
        self._dynamic: dict[int, int] = {}  # bytes of shared memory that a kernel may be launched with
        self._allocations: dict[int, Any] = {}
        self._bad_launch = CudaError.INVALID_VALUE  # as an H200 with CUDA 13 has it
        self._answers: dict[What, Callable[[tuple[int, ...], bytes], Reply]] = {
            What.HELLO: self._hello, What.MODULE: self._module, What.UNLOAD: self._unload, What.FUNCTION: self._function,
            What.VARIABLE: self._variable, What.ALLOCATE: self._allocate, What.FREE: self._free, What.LAUNCH: self._launch,
            What.CLOCK: self._clock, What.RESET: self._reset, What.OCCUPANCY: self._occupancy,
            What.DYNAMIC_SHARED: self._allow_shared, What.TEXTURE: self._texture, What.SURFACE: self._surface,
            What.DESTROY: self._destroy,
        }  # fmt: skip

    def answer(self, what: int, given: tuple[int, ...], data: bytes) -> tuple[int, Reply]:
        """An error of NVIDIA's, or 0, and what was asked for. What went wrong is told as simtlab says it, too."""
        try:
            return 0, self._answers[What(what)](given, data)
        except (ValueError, KeyError) as problem:
            self.log.warn(f"a request that this simtlab does not know ({what}: {problem})")
            return CudaError.NOT_SUPPORTED, (0, 0, b"")
        except SimtlabError as problem:
            if not isinstance(problem, Refused):
                self.log.warn(f"{problem}{NOT_LINKED * ('is declared but not defined' in str(problem))}")
            return code_of(problem), (0, 0, b"")
        except Exception as problem:  # a mistake of simtlab's: the application shall hear of it, not hang
            self.log.warn(f"a mistake in simtlab: {type(problem).__name__}: {problem}")
            return CudaError.UNKNOWN, (0, 0, b"")

    def close(self) -> None:
        """The process has ended, or wants to begin anew."""
        for allocation in self._allocations.values():
            self.gpu.memory.free(allocation.start)
        self._allocations.clear()
        self._modules.clear()
        self._functions.clear()
        self._module_of.clear()

    # Answers ----------------------------------------------------------------------------------------------------------

    def _hello(self, given: tuple[int, ...], data: bytes) -> Reply:
        if given[1] < 13:
            self._bad_launch = CudaError.INVALID_CONFIGURATION
        return 0, 0, device_facts(self.gpu)

    def _module(self, given: tuple[int, ...], data: bytes) -> Reply:
        number = len(self._modules) + 1
        self._modules[number] = self.gpu.load(ptx_of(data))
        return number, 0, b""

    def _unload(self, given: tuple[int, ...], data: bytes) -> Reply:
        if self._modules.pop(given[0], None) is None:
            raise Refused(CudaError.INVALID_HANDLE)
        return 0, 0, b""

    def _function(self, given: tuple[int, ...], data: bytes) -> Reply:
        module, name = self._modules[given[0]], data.decode()
        if name not in module.kernels:
            raise Refused(CudaError.SYMBOL_NOT_FOUND)
        program = module[name].program
        self._functions.append(program)
        self._module_of.append(module)
        number = len(self._functions) - 1
        return number, 0, function_facts(program, number)

    def _variable(self, given: tuple[int, ...], data: bytes) -> Reply:
        try:
            variable = self._modules[given[0]].variable(data.decode(), "u1")
        except SimtlabError:
            raise Refused(CudaError.SYMBOL_NOT_FOUND) from None
        return variable.address, variable.nbytes, b""

    def _allocate(self, given: tuple[int, ...], data: bytes) -> Reply:
        with self.gpu.memory.lock:
            allocation = self.gpu.memory.allocate(given[0])
        self._allocations[allocation.start] = allocation
        return allocation.start, 0, b""

    def _free(self, given: tuple[int, ...], data: bytes) -> Reply:
        allocation = self._allocations.pop(given[0], None)
        if allocation is None:
            raise Refused(CudaError.INVALID_VALUE)
        with self.gpu.memory.lock:
            self.gpu.memory.free(allocation.start)
        return 0, 0, b""

    def _launch(self, given: tuple[int, ...], data: bytes) -> Reply:
        number, low, middle, high, shared, last = given
        program = self._functions[number]
        half = 0xFFFFFFFF
        try:
            grid = triple((low & half, low >> 32, middle & half), "grid", MAX_GRID)
            block = triple((middle >> 32, high & half, high >> 32), "block", MAX_BLOCK)
            if program.static_shared_bytes + shared > max(STATIC_LIMIT, self._dynamic.get(number, 0) + program.static_shared_bytes):
                raise Refused(CudaError.INVALID_VALUE)
            check(program, block, shared)
        except LaunchError:
            raise Refused(self._bad_launch) from None
        parameters = np.zeros(max(program.parameter_bytes, 8), np.uint8)
        parameters[: len(data)] = np.frombuffer(data, np.uint8)
        cooperative = bool(last & 1)
        timed = self._is_timed(program)
        if self.log.taken == self.log.checkpoint_at and self.log.checkpoint is not None and not self.log.checkpoint.exists():
            source = f"launch {self.log.taken} of {self.log.application}"
            module = self._module_of[number]
            save_checkpoint(self.log.checkpoint, self.gpu, module, program, grid, block, parameters, shared, cooperative, source)
        with self.log.begins(program.readable_name):
            run = launch_packed(self.gpu, program, grid, block, parameters, shared, cooperative=cooperative, timed=timed)
        self.log.launches.append(Launched(program, run))
        self.log.executed += run.instructions
        for sentence in run.strays:
            self._tell_once(program, sentence.rpartition(", at ")[2], f"{sentence}; a GPU lets that through, and --strict does not")
        for sentence in run.races:
            self._tell_once(program, sentence.rpartition(": ")[2].rpartition("; ")[0], sentence)
        return 0, 0, run.printed.encode()

    def _tell_once(self, program: Program, place: str, sentence: str) -> None:
        """Once for each instruction."""
        if (program.name, place) not in self._told:
            self._told.add((program.name, place))
            self.log.warn(sentence)

    def _is_timed(self, program: Program) -> bool:
        if not self.log.selection.takes(program.readable_name):
            return False
        self.log.taken += 1
        return self.log.selection.times(self.log.taken, self.log.executed)

    def _clock(self, given: tuple[int, ...], data: bytes) -> Reply:
        machine = self.gpu.machine
        return (int(machine.cycle * 1e3 / machine.config.clocks.core_mhz) if machine else 0), 0, b""

    def _reset(self, given: tuple[int, ...], data: bytes) -> Reply:
        self.close()
        return 0, 0, b""

    def _occupancy(self, given: tuple[int, ...], data: bytes) -> Reply:
        number, threads, shared = given[:3]
        program = self._functions[number]
        if not 1 <= threads <= 1024:
            raise Refused(CudaError.INVALID_VALUE)
        try:
            return resident_ctas(self.gpu, program, threads, shared), 0, b""
        except LaunchError:
            return 0, 0, b""

    def _allow_shared(self, given: tuple[int, ...], data: bytes) -> Reply:
        number, wanted = given[:2]
        if wanted + self._functions[number].static_shared_bytes > device_shared(self.gpu):
            raise Refused(CudaError.INVALID_VALUE)
        self._dynamic[number] = wanted
        return 0, 0, b""


    def _texture(self, given: tuple[int, ...], data: bytes) -> Reply:
        texture = make_texture(self.gpu.textures, IMAGE.unpack(data))
        return texture.handle, 0, b""

    def _surface(self, given: tuple[int, ...], data: bytes) -> Reply:
        textures = self.gpu.textures
        surface = Surface(make_image(textures.memory, IMAGE.unpack(data)), textures.reserve())
        textures.bind(surface.handle, surface)
        return surface.handle, 0, b""

    def _destroy(self, given: tuple[int, ...], data: bytes) -> Reply:
        if not self.gpu.textures.release(given[0]):
            raise Refused(CudaError.INVALID_VALUE)
        return 0, 0, b""


def code_of(problem: SimtlabError) -> CudaError:
    """NVIDIA's code for an error of simtlab's."""
    if isinstance(problem, Refused):
        return problem.code
    if isinstance(problem, OutOfMemory):
        return CudaError.OUT_OF_MEMORY
    if isinstance(problem, DeviceFault):
        return FAULTS.get(problem.kind, CudaError.ILLEGAL_ADDRESS)
    if isinstance(problem, Deadlock | CycleLimit):
        return CudaError.TIMEOUT
    if isinstance(problem, LaunchError):
        return CudaError.TOO_LARGE if isinstance(problem, TooLarge) else CudaError.OUT_OF_RESOURCES
    return CudaError.INVALID_PTX if isinstance(problem, PtxError) else CudaError.NOT_SUPPORTED


def device_shared(gpu: Gpu) -> int:
    """The most shared memory that a CTA can have."""
    from simtlab.host.launch import MAX_SHARED_BYTES
    from simtlab.machine.occupancy import most_shared_bytes

    return min(MAX_SHARED_BYTES, most_shared_bytes(gpu.machine.config)) if gpu.machine else MAX_SHARED_BYTES


def device_facts(gpu: Gpu) -> bytes:
    """The device as the library has it."""
    shared = device_shared(gpu)
    if gpu.machine is None:
        numbers, name, capability = [N_CORES, CLOCK_KHZ, 1_000_000, 4096, 4 << 20, 65536, 64, 32], "simtlab", (7, 5)
    else:
        config = gpu.machine.config
        core, memory = config.core, config.dram
        numbers = [core.cores, int(config.clocks.core_mhz * 1000), int(config.clocks.dram_mhz * 1000),
                   8 * memory.bus_bytes * memory.channels, config.l2.bytes * config.l2.slices, core.registers, core.max_warps,
                   core.max_ctas]  # fmt: skip
        name, capability = f"simtlab {config.name}", CAPABILITIES.get(config.name, (7, 5))
    if gpu.isa != "ptx":
        capability = divmod(int(gpu.isa.removeprefix("sm_")), 10)
    heap = (HEAP_BASE, gpu.memory.size, gpu.memory.size)
    return DEVICE.pack(*heap, *numbers, shared, shared, *capability, int(gpu.machine is not None), 0, name.encode())


def function_facts(program: Program, number: int) -> bytes:
    """A kernel as the library has it: what it needs, and where its parameters go."""
    limit = int(np.prod(program.kernel.directives.get("maxntid", (1024,)), dtype=np.int64))
    parameters = program.kernel.parameters
    places = b"".join(PARAMETER.pack(program.parameter_offsets[one.name], one.size) for one in parameters)
    facts = (program.registers, program.static_shared_bytes, program.depth.local_bytes, 0, min(limit, 1024), len(parameters))
    return FUNCTION.pack(number, *facts, STATIC_LIMIT - min(STATIC_LIMIT, program.static_shared_bytes), 0) + places
