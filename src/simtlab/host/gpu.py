"""A GPU as the host sees it."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import CompileError, SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.cuda import CompiledCuda, compile_cuda
from simtlab.frontend.mangled import Type
from simtlab.frontend.parser import parse
from simtlab.frontend.sass.cubin import Cubin
from simtlab.frontend.sass.link import link
from simtlab.host.array import DeviceArray, native
from simtlab.host.memory import DEFAULT_BYTES, DeviceMemory, nothing_waits
from simtlab.host.module import Module
from simtlab.host.printed import PRINTF_BYTES
from simtlab.host.races import Paces
from simtlab.host.settings import (
    limit_cycles,
    read_changes,
    read_isa,
    read_push_order,
    read_reconvergence,
    read_source,
    usual_threads,
)
from simtlab.host.texture import Textures
from simtlab.host.types import type_of
from simtlab.program.action import YIELD_AFTER
from simtlab.program.sass.module import tree_of
from simtlab.sampling.settings import Sampling, read_sampling

if TYPE_CHECKING:
    from simtlab.host.launch import Run, Starting, Waiting
    from simtlab.host.saving import Saving
    from simtlab.machine.config import MachineConfig
    from simtlab.machine.machine import Machine

STACK_BYTES = 16 * 1024  # local memory of a thread whose calls have no deepest chain
MAX_STACK_BYTES = 512 * 1024  # as much local memory as a thread can have

_building = threading.Lock()  # of machines: their policies are compiled once for all of them


class Gpu:
    """A GPU: without a machine it runs kernels and gives the bits a real one gives; with one it also tells the time.

    `Gpu("caps-gtx480", warp_scheduler="two-level,active_warps=6", set={"core.cores": 8})` is a preset with a policy and a
    changed key. Every slot of `simtlab.machine.hooks` can be named so; a policy is a name or the path of a file.
    `threads` is how many host threads run a launch: CTAs functionally (usually one for each processor), or the parts of a machine
    (usually one). It changes how long a launch takes, never what it computes or counts.
    `push_order` says which side of a branch goes on the SIMT stack first and runs last: the one with the "most-lanes", the
    one with the "fewest-lanes", or the one that is "taken".
    `printf_bytes` is the size of the buffer for what one launch prints.
    A timed launch stops with `CycleLimit` after `max_cycles` (without: it goes on), and with `Deadlock` when for `stuck_cycles`
    (2,000,000) nothing has come any further. With `check_policies` simtlab's own policies are checked as those from other files
    always are: indices, loops, writes to the machine.
    `isa` is what it executes: "ptx", or the machine code of an architecture, such as "sm_90"; if left out, what the machine's
    key `core.isa` says, or PTX. `reconvergence` is how lanes of PTX that part at a branch meet again: by the SIMT "stack" or at
    convergence "barriers"; if left out, what `core.reconvergence` says, or the stack. Machine code brings barriers of its own.
    With `sample` long launches, and many launches of a kernel, are simulated in detail only in part, and the rest is
    extrapolated (docs/sampling.md); results stay exact. `sample=True`, or the error that is allowed, as in `sample=0.03`.
    `profile` are earlier timed runs of the same kernels, for mechanisms that want to know what their loads found in the L1.
    With `memory_in_file` device memory is a file, `gpu.memory.file`, that other processes can map.
    """

    def __init__(
        self,
        machine: str | PathLike | MachineConfig | None = None,
        *,
        set: Mapping[str, Any] | None = None,
        threads: int | None = None,
        memory_bytes: int = DEFAULT_BYTES,
        stack_bytes: int = STACK_BYTES,
        printf_bytes: int = PRINTF_BYTES,
        push_order: str = "most-lanes",
        max_cycles: int | None = None,
        stuck_cycles: int | None = None,
        check_policies: bool = False,
        memory_in_file: bool = False,
        isa: str | None = None,
        reconvergence: str | None = None,
        profile: Iterable[Run] = (),
        sample: Any = None,
        **policies: Any,
    ):
        self.machine = None
        self.threads = usual_threads() if threads is None else threads
        if self.threads < 1:
            raise SimtlabError(f"threads is {threads}; at least one is needed")
        sampling = read_sampling(sample)
        if machine is not None:
            several = 1 if threads is None else threads, self.threads
            self.machine = build_machine(machine, policies, read_changes(set), check_policies, profile, sampling, *several)
            limit_cycles(self.machine, max_cycles, stuck_cycles)
        else:
            limited = max_cycles is not None or stuck_cycles is not None
            refuse_without_machine(
                sampling is not None and "sampling (sample)", limited and "a limit of cycles",
                policies and f"a policy ({', '.join(policies)})", set and "a key of the configuration (set)",
            )  # fmt: skip
        # Entered around each timed launch with the kernel's name; what it gives, if anything, is told the cycles so far and
        # the share of CTAs that have ended.
        self.watch: Callable[[str], AbstractContextManager[Callable[[int, float], None] | None]] = lambda _: nullcontext()
        self.before_launch: Callable[[Starting], bool] = lambda _: True  # told of each launch; whether a machine is to time it
        self.on_launch: Callable[[Run], None] = lambda _: None  # told of each launch when it has run
        self.memory = DeviceMemory(memory_bytes, memory_in_file)
        self.textures = Textures(self.memory)
        if not 0 <= stack_bytes <= MAX_STACK_BYTES:
            raise SimtlabError(f"stack_bytes is {stack_bytes}; it must lie between 0 and {MAX_STACK_BYTES}")
        self.stack_bytes = -(-stack_bytes // 16) * 16
        if printf_bytes < 0:
            raise SimtlabError(f"printf_bytes is {printf_bytes}; it must not be negative")
        self.printf_bytes = printf_bytes
        self.lets_stray = False  # whether accesses outside allocations, but in pages that a GPU has mapped, go through
        self.paces = Paces()
        self.prints = True  # whether what kernels print goes to stdout, and not only to the launch's `printed`
        self.push_order = read_push_order(push_order)
        core = self.machine.config.core if self.machine else None
        self.isa = read_isa(isa or (core.isa if core else "ptx"))
        self.reconvergence = read_reconvergence(reconvergence or (core.reconvergence if core else "stack"))
        self.yield_after = 0 if self.reconvergence == "stack" else core.yield_after if core else YIELD_AFTER
        self.saving: Saving | None = None  # where its timed runs are saved
        self._streams = 0
        self.waiting: list[Waiting] = []  # launches in streams that have not run yet

    def __repr__(self) -> str:
        if self.machine is None:
            return "<Gpu, functional>"
        core, clocks = self.machine.config.core, self.machine.config.clocks
        return f"<Gpu {self.machine.config.name}: {core.cores} cores at {clocks.core_mhz:g} MHz>"

    def _repr_html_(self) -> str:
        """How it looks in a notebook."""
        from simtlab.host.notebook import facts, machine_facts

        return facts([("gpu", "functional: no time")] if self.machine is None else machine_facts(self.machine))

    # Programs ---------------------------------------------------------------------------------------------------------

    def compile(
        self,
        source: str | PathLike,
        options: Sequence[str] = (),
        include_paths: Sequence[str] = (),
        names: Sequence[str] = (),
    ) -> Module:
        """Compile CUDA C++, given as text or as a path. `names` are template instances wanted, such as "scale<float>"."""
        for what, strings in (("options", options), ("include_paths", include_paths), ("names", names)):
            if isinstance(strings, str | PathLike):
                raise SimtlabError(f"{what} is {str(strings)!r}; it must be a list of strings: {what}=[{str(strings)!r}]")
        text, name = read_source(source, "kernel.cu")
        paths = [*include_paths, *([str(Path(name).parent)] if Path(name).exists() else [])]

        def compiled(count_registers: bool) -> CompiledCuda:
            return compile_cuda(text, name, options, paths, names, count_registers=count_registers)

        if self.isa != "ptx":
            return self._compile_to_machine_code(text, name, options, paths, names)
        # Registers take half as long again. A machine needs them; without one they are counted if somebody asks.
        timed = self.machine is not None
        given = compiled(count_registers=timed)
        count = cache(lambda: given.registers if timed else compiled(count_registers=True).registers)

        declared = self._declared(text, name, options, paths)
        module = self._module(given.ptx, f"{Path(name).stem}.ptx", given.names, count, declared)
        module.tree.sources[name] = text
        return module

    @staticmethod
    def _declared(text: str, name: str, options: Sequence[str], paths: Sequence[str]) -> Callable[[str], Type | None]:
        """What gives a variable's type."""
        return lambda variable: type_of(
            variable, text, lambda source, asked: compile_cuda(source, name, options, paths, [asked])
        )

    def _compile_to_machine_code(
        self, text: str, name: str, options: Sequence[str], paths: Sequence[str], names: Sequence[str]
    ) -> Module:
        given = compile_cuda(text, name, options, paths, names, architecture=self.isa, count_registers=True)
        if not given.cubin:
            raise CompileError(given.registers.why_none or "the compiler made no machine code")
        ptx = parse(given.ptx, f"{Path(name).stem}.ptx")
        ptx.sources[name] = text
        return self._load_cubin(given.cubin, Path(name).stem, ptx, given.names, self._declared(text, name, options, paths))

    def load_cubin(self, source: str | PathLike | bytes) -> Module:
        """Load a cubin, given as bytes or as a path: its machine code is executed. A GPU with neither a machine nor an isa takes
        one of any architecture."""
        if isinstance(source, bytes | bytearray):
            return self._load_cubin(bytes(source), "cubin")
        path = Path(source)
        try:
            return self._load_cubin(path.read_bytes(), path.stem)
        except OSError as error:
            raise SimtlabError(f"cannot read {path}: {error.strerror}") from None

    def _load_cubin(
        self,
        raw: bytes,
        name: str,
        ptx: ast.Module | None = None,
        names: Mapping[str, str] | None = None,
        declared: Callable[[str], Type | None] = lambda _: None,
    ) -> Module:
        cubin = Cubin(raw)
        if (self.machine is not None or self.isa != "ptx") and not cubin.runs_on(self.isa):
            its = cubin.architecture
            raise SimtlabError(f"this cubin is for {its}, and this GPU's isa is {self.isa!r}; Gpu(…, isa={its!r}) executes it")
        with self.memory.lock:
            return Module(self, tree_of(cubin, ptx, name), names, declared=declared, cubin=cubin, ptx=ptx.text if ptx else "")

    def load(self, source: str | PathLike) -> Module:
        """Load PTX, given as text or as a path."""
        text, name = read_source(source, "PTX")
        if self.isa != "ptx":
            return self._load_cubin(link(text, self.isa, name), name, parse(text, name))
        return self._module(text, name)

    def load_at(self, ptx: str, name: str, places: Mapping[str, int]) -> Module:
        """Load PTX with its variables at given addresses, as a checkpoint has them."""
        tree = parse(ptx, name)
        with self.memory.lock:
            return Module(self, tree, places=places)

    def _module(self, ptx: str, name: str, *known: Any) -> Module:
        tree = parse(ptx, name)
        with self.memory.lock:
            return Module(self, tree, *known)

    # Memory -----------------------------------------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None, label: str = "") -> DeviceArray:
        """Copy a NumPy array (or what makes one) to the device."""
        values = np.asarray(values, dtype)
        array = self._new_array(values.shape, values.dtype, label, zeros=values.dtype.names is not None)
        array[...] = values
        return array

    def empty(self, shape: int | Sequence[int], dtype: Any = "f4", label: str = "") -> DeviceArray:
        """Device memory with whatever was in it."""
        return self._new_array(shape, dtype, label, zeros=False)

    def zeros(self, shape: int | Sequence[int], dtype: Any = "f4", label: str = "") -> DeviceArray:
        """Device memory filled with zeros."""
        return self._new_array(shape, dtype, label, zeros=True)

    def _new_array(self, shape: int | Sequence[int], dtype: Any, label: str, zeros: bool) -> DeviceArray:
        shape = (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)
        dtype = native(np.dtype(dtype))
        if any(n < 0 for n in shape):
            raise SimtlabError(f"the shape {shape} has a negative size")
        if dtype.hasobject:
            raise SimtlabError("Python objects cannot lie in device memory; give the array a dtype, such as 'f4'")
        with self.memory.lock:
            allocation = self.memory.allocate(math.prod(shape) * dtype.itemsize, label, zeros=zeros)
            return DeviceArray(self.memory, allocation, shape, dtype)

    def texture(self, values: Any, **options: Any) -> Any:
        """A texture object over an image; see `simtlab.host.texture.Textures.create` for the options."""
        with self.memory.lock:
            return self.textures.create(values, **options)

    def surface(self, values: Any, **options: Any) -> Any:
        """A surface object over an image; see `simtlab.host.texture.Textures.surface` for the options."""
        with self.memory.lock:
            return self.textures.surface(values, **options)

    # Saving -----------------------------------------------------------------------------------------------------------

    def save_every(self, seconds: float, file: str | PathLike) -> None:
        """Save timed runs to a file every so many seconds, so that `resume` can go on from there; see docs/long-runs.md."""
        self._saves("save_every").save_every(seconds, file)

    def resume(self, file: str | PathLike) -> None:
        """Go on from a saved run. The same program must have been started anew, on a GPU like the one it ran on: before its first
        launch."""
        saving = self._saves("resume")
        assert self.machine is not None
        saving.go_on(self.machine, self.isa, file)

    def _saves(self, what: str) -> Saving:
        if self.machine is None or self.machine.samples:
            which = "which this GPU does not time" if self.machine is None else "and this GPU samples"
            raise SimtlabError(f"{what} is for timed runs in full, {which}: name a machine, as in Gpu('caps-gtx480')")
        if self.saving is None:
            from simtlab.host.saving import Saving

            self.saving = Saving()
        return self.saving

    # Streams ----------------------------------------------------------------------------------------------------------

    def stream(self, priority: int = 0, delay_cycles: int = 0) -> Stream:
        """A queue of launches. Those of one stream run one after another; on a machine, streams run side by side.

        CTAs of a stream with a higher `priority` (0 to 3) are dispatched first; its launches come `delay_cycles` after the others.
        """
        if not 0 <= priority <= HIGHEST_PRIORITY or delay_cycles < 0:
            allowed = f"a priority is from 0 to {HIGHEST_PRIORITY}, a delay is at least 0"
            raise SimtlabError(f"a stream of priority {priority} with a delay of {delay_cycles} cycles is impossible: {allowed}")
        with self.memory.lock:
            self._streams += 1
            return Stream(self, self._streams, priority, delay_cycles)

    def synchronize(self) -> None:
        """Run whatever waits in streams. Reading or writing an array does so too."""
        with self.memory.lock:
            if self.machine is None or not self.waiting:
                return
            from simtlab.host.timed import run_waiting  # here, so that functional runs need not load the machine

            waiting, self.waiting = self.waiting, []
            self.memory.settle = nothing_waits
            run_waiting(self.machine, self, waiting)

    def put_in_line(self, launch: Waiting) -> None:
        """Let a launch wait for `synchronize`. Only while something waits does the memory know the GPU: a GPU that nobody uses any
        more is gone at once, with all its memory."""
        self.waiting.append(launch)
        self.memory.settle = self.synchronize


HIGHEST_PRIORITY = 3


@dataclass(frozen=True)
class Stream:
    """Launches that run one after another: `kernel(grid, block, arguments, stream=stream)`."""

    gpu: Gpu = field(repr=False)
    number: int
    priority: int = 0
    delay_cycles: int = 0

    def synchronize(self) -> None:
        """Run whatever waits, in this stream and the others."""
        self.gpu.synchronize()


def refuse_without_machine(*given: object) -> None:
    """Whatever was given that has a meaning for timed runs alone."""
    for what in filter(None, given):
        raise SimtlabError(f"{what} is for timed runs: name a machine, as in Gpu('caps-gtx480')")


def build_machine(
    machine: Any,
    policies: Mapping[str, Any],
    changes: Mapping[str, Any],
    check_policies: bool,
    profile: Iterable[Run],
    sampling: Sampling | None = None,
    threads: int = 1,
    functional_threads: int = 1,
) -> Machine:
    """A machine from a preset's name, a file, or a configuration, with policies by slot; one that samples if that is asked for."""
    from simtlab.machine.config import MachineConfig, load
    from simtlab.machine.facts import profile_of
    from simtlab.machine.hooks import CHOICES
    from simtlab.machine.machine import Machine
    from simtlab.policies.choice import PolicyChoice, read_choice

    for slot in policies:
        if slot not in CHOICES:
            near = get_close_matches(slot, CHOICES)
            hint = f"did you mean '{near[0]}'?" if near else f"there are: {', '.join(CHOICES)}"
            raise SimtlabError(f"no policy slot '{slot}'; {hint}")
    choices = {}
    for slot, given in policies.items():
        try:
            choices[slot] = given if isinstance(given, PolicyChoice) else read_choice(str(given))
        except ValueError as problem:
            raise SimtlabError(f"{slot} = '{given}': {problem}") from None
    config = machine if isinstance(machine, MachineConfig) else load(machine)
    with _building:
        found = profile_of(run._timing() for run in profile)
        given = (config.replace(changes) if changes else config, choices, check_policies, found, threads)
        if sampling is None:
            return Machine(*given)
        from simtlab.sampling.machine import SampledMachine

        return SampledMachine(*given, sampling=sampling, functional_threads=functional_threads)
