"""Make a machine ready for launches: the kernel table, memory for the CTAs that can be resident, everything at the start."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from simtlab.address_space import untouched_bytes
from simtlab.execute.state import window_t
from simtlab.machine.build import Records, choose_dependences
from simtlab.machine.config import MachineConfig
from simtlab.machine.core.kinds import Activity, Stall
from simtlab.machine.core.stall import N_COLUMNS, NO_WARP
from simtlab.machine.core.timing import timing_table
from simtlab.machine.facts import Profile, facts_of
from simtlab.machine.hooks import EVENT_NUMBERS
from simtlab.machine.load_figures import Loads, Places, none_of, places_of
from simtlab.machine.memory.l1 import forget_first_level
from simtlab.machine.occupancy import Occupancy, occupancy, registers_of_cta, split
from simtlab.machine.request import share_out
from simtlab.machine.run_ahead import calls_host, is_allowed, note_least_trips
from simtlab.machine.state import NO_KERNEL
from simtlab.machine.threads import deal_out
from simtlab.program.program import Program
from simtlab.program.sass.constants import LAUNCH

FAR_FUTURE = 1 << 62
CODE_BASE = 0x5000_0000_0000  # where the kernels' instructions lie, for the caches
CODE_STEP = 1 << 24
PTX_BYTES, SASS_BYTES = 8, 16  # of an instruction; PTX has no encoding, and gets that of the GPUs before Volta


@dataclass
class Launch:
    """A grid to run. `serve(cta, kernel)` does what a kernel asks of the host; `give_up(kind, ctas, worker)` raises."""

    program: Program
    record: np.ndarray
    serve: Callable
    give_up: Callable
    stream: int = 0
    priority: int = 0
    delay_cycles: int = 0  # from the beginning of the run


@dataclass
class Prepared:
    """What must live as long as the launches run."""

    fits: list[Occupancy] = field(default_factory=list)
    threads: int = 1  # of the host, that run them
    counts_by_thread: list[np.ndarray] = field(default_factory=list)  # of each launch: by thread, instruction and cause
    loads_by_thread: list[list[Loads]] = field(default_factory=list)  # of each launch
    kept: list[Any] = field(default_factory=list)
    fixed: list[dict[str, np.ndarray]] = field(default_factory=list)  # of each launch: its tables that no run changes

    @property
    def counts(self) -> list[np.ndarray]:
        """Of each launch: a row for each instruction, as it stands."""
        return [counts.sum(axis=0) if self.threads > 1 else counts[0] for counts in self.counts_by_thread]

    @property
    def loads(self) -> list[Loads]:
        """Of each launch: what its global loads did."""
        return [reduce(add, loads) for loads in self.loads_by_thread]


@dataclass(frozen=True)
class Loaded:
    """What a machine keeps of a program from its first launch on."""

    program: Program
    base: int  # where it lies in the machine's memory: a place of its own
    timing: np.ndarray
    calls_host: bool
    loads: Places
    facts: np.ndarray | None  # for mechanisms, where there are any


class Programs:
    """The programs a machine has run."""

    def __init__(self, config: MachineConfig, with_facts: bool = False, profile: Profile | None = None) -> None:
        self._config, self._with_facts, self._profile = config, with_facts, profile or {}
        self._loaded: dict[int, Loaded] = {}  # by the program's identity, which holds while it is kept

    def load(self, program: Program) -> Loaded:
        if id(program) not in self._loaded:
            base = CODE_BASE + len(self._loaded) * CODE_STEP
            timing = timing_table(program, self._config.units, self._config.issue, 32 // self._config.core.simd_width)
            facts = facts_of(program, self._profile) if self._with_facts else None
            self._loaded[id(program)] = Loaded(program, base, timing, calls_host(program), places_of(program), facts)
        return self._loaded[id(program)]


def prepare(
    config: MachineConfig,
    records: Records,
    launches: Sequence[Launch],
    programs: Programs,
    memory: dict[str, np.ndarray],
    threads: int = 1,
) -> Prepared:
    """Fill the kernel table and bring every core to its start; so many host threads run the launches. The memory of CTA slots is
    kept for the next ones, for the host takes its time to give it."""
    gpu = records.gpu[0]
    prepared = Prepared(threads=threads)
    for launch in launches:
        row = launch.record[0]
        prepared.fits.append(occupancy(config, launch.program, int(row.threads), int(row.shared_bytes)))
    last_in_stream: dict[int, int] = {}
    for k, launch in enumerate(launches):
        _fill(gpu.kernel[k], config, launch, programs.load(launch.program), prepared)
        if launch.program.constants is not None:
            gpu.kernel[k].parameter_bytes = launch.program.constants.sizes[LAUNCH]
        if gpu.hooks.cta_dispatch_which or gpu.hooks.preemption_choose:
            _let_choose(gpu.kernel[k], prepared)
        gpu.kernel[k].launch.divergence_hook = gpu.hooks.divergence_first
        gpu.kernel[k].launch.turn_hook = gpu.hooks.divergence_turn
        gpu.kernel[k].launch.divergence_own = gpu.own_divergence
        gpu.kernel[k].launch.n_cores, gpu.kernel[k].launch.clock_khz = config.core.cores, gpu.core_khz
        gpu.kernel[k].priority, gpu.kernel[k].arrival = launch.priority, gpu.cycle + launch.delay_cycles
        gpu.kernel[k].parked = 0
        gpu.kernel[k].after = last_in_stream.get(launch.stream, NO_KERNEL)
        last_in_stream[launch.stream] = k
    gpu.kernels, gpu.finished_kernels = len(launches), 0
    gpu.highest_priority = max(launch.priority for launch in launches)
    gpu.dispatching, gpu.last_progress = 1, gpu.cycle
    gpu.room_changed[:] = 1
    gpu.launch_at, gpu.next_cta_start, gpu.wrote, gpu.finish_at = FAR_FUTURE, 0, 0, 0
    asks_host = any(programs.load(launch.program).calls_host for launch in launches)
    gpu.may_run_ahead = gpu.jump and len(launches) == 1 and not asks_host and is_allowed(gpu, config.issue.dual_issue)
    note_least_trips(gpu)
    asked = gpu.hooks.l1_allocation_bypass or gpu.hooks.l1_allocation_bypass_stall or gpu.hooks.ldst_queue_next
    asks_nobody = config.l1d.enabled and not config.l1d.bypass_global and not asked
    records.cores["looks_ahead"] = asks_nobody & (records.cores["l1d"]["victim_hook"] == 0)
    _allocate(gpu, int(records.cores["cta_slots"].sum()), launches, memory, prepared)
    wanted = (fits.ctas * int(launch.record[0].shared_bytes) for fits, launch in zip(prepared.fits, launches, strict=True))
    l1_bytes, shared_bytes = split(config, max(wanted))
    _empty(records.cores, config, l1_bytes, shared_bytes)
    choose_dependences(records.cores, config, all(launch.program.is_machine_code for launch in launches))
    records.cores["most_ctas"] = max(fits.ctas for fits in prepared.fits)
    for fits in prepared.fits:
        fits.l1_bytes, fits.shared_bytes = l1_bytes, shared_bytes
    records.cores["ticked"] = records.cores["judged"] = gpu.cycle
    records.cores["cause_since"] = gpu.cycle + 1
    gpu.wake[:] = FAR_FUTURE
    gpu.next_clocks = gpu.cycle + 1 if gpu.hooks.clocks_choose else FAR_FUTURE
    ticking = int(gpu.hooks.listening) >> EVENT_NUMBERS["on_tick"] & 1
    records.cores["next_throttle"] = gpu.cycle + 1 if gpu.hooks.cta_throttle_sample else FAR_FUTURE
    records.cores["next_tick"], records.cores["ticks"] = gpu.cycle + 1, 0
    if gpu.hooks.cta_throttle_sample or ticking:
        records.cores["next_sample"] = gpu.cycle + 1
        gpu.wake[: len(records.cores)] = gpu.cycle + 1
    return prepared


def _fill(kernel: Any, config: MachineConfig, launch: Launch, loaded: Loaded, prepared: Prepared) -> None:
    program = launch.program
    length = len(program.code)
    counts = np.zeros((prepared.threads, length, N_COLUMNS), np.int64)
    windows = np.zeros(length, window_t)
    loads = [none_of(loaded.loads) for _ in range(prepared.threads)]
    prepared.counts_by_thread.append(counts)
    prepared.loads_by_thread.append(loads)
    prepared.kept += [windows, program]
    kernel.launch = launch.record[0]
    kernel.launch.next_cta = 0
    kernel.worker = np.zeros((), kernel.worker.dtype)
    kernel.worker.windows = windows.ctypes.data
    kernel.code, kernel.timing, kernel.pc_counts = program.table.ctypes.data, loaded.timing.ctypes.data, counts.ctypes.data
    kernel.loads, kernel.count_bytes = loads[0].counted.ctypes.data, counts[0].nbytes
    kernel.facts = 0 if loaded.facts is None else loaded.facts.ctypes.data
    tables = {"code": program.table, "timing": loaded.timing, "facts": loaded.facts}
    prepared.fixed.append({name: one for name, one in tables.items() if one is not None})
    kernel.instructions, kernel.code_base, kernel.constants = length, loaded.base, loaded.base + CODE_STEP // 2
    kernel.instruction_bytes = SASS_BYTES if program.is_machine_code else PTX_BYTES
    kernel.warps = -(-int(kernel.launch.threads) // 32)
    kernel.registers = registers_of_cta(config, program, int(kernel.warps))
    kernel.shared_bytes = kernel.launch.shared_bytes
    kernel.finished_ctas = kernel.issued = kernel.issued_threads = 0
    kernel.start = kernel.end = kernel.last_cta_end = -1
    kernel.started = kernel.first_waiting = 0


def share(records: Records, prepared: Prepared) -> None:
    """Give each host thread its part of the chip, and what it counts by itself."""
    gpus: Any = np.asarray(records.gpu)
    deal_out(gpus, np.asarray(records.cores), np.asarray(records.slices), np.asarray(records.channels), prepared.threads)
    share_out(np.asarray(records.requests), prepared.threads)
    for t in range(1, prepared.threads):
        for k, loads in enumerate(prepared.loads_by_thread):
            windows = np.zeros(int(gpus[0]["kernel"][k]["instructions"]), window_t)
            prepared.kept.append(windows)
            gpus[t]["kernel"][k]["worker"]["windows"] = windows.ctypes.data
            gpus[t]["kernel"][k]["loads"] = loads[t].counted.ctypes.data


def _let_choose(kernel: Any, prepared: Prepared) -> None:
    """A policy chooses which CTA begins: note those that have."""
    started = np.zeros(-(-int(kernel.launch.n_ctas) // 64), np.uint64)
    prepared.kept.append(started)
    kernel.started = started.ctypes.data


def _allocate(gpu: Any, slots: int, launches: Sequence[Launch], memory: dict[str, np.ndarray], prepared: Prepared) -> None:
    """Registers, shared and local memory of every CTA slot, which clears them; memory that is never touched costs nothing."""
    rows = [launch.record[0] for launch in launches]
    gpu.local_bytes = max(int(row.local_bytes) for row in rows)
    warps = [-(-int(row.threads) // 32) for row in rows]
    sizes = {
        "register": max(w * int(row.register_bytes) for w, row in zip(warps, rows, strict=True)),
        "shared": max(int(row.shared_bytes) for row in rows) + 16,
        "local": max(32 * w * int(row.local_bytes) for w, row in zip(warps, rows, strict=True)) + 16,
    }
    for name, size in sizes.items():
        stride = -(-size // 64) * 64
        if name not in memory or len(memory[name]) < slots * stride:
            memory[name] = untouched_bytes(slots * stride)
        prepared.kept.append(memory[name][: slots * stride])
        gpu["registers" if name == "register" else name] = memory[name].ctypes.data
        gpu[f"{name}_stride"] = stride


def _empty(cores: Any, config: MachineConfig, l1_bytes: int, shared_bytes: int) -> None:
    """Cores with no CTAs, their L1 caches cold."""
    slots = cores["cta_slots"]
    cores["free_ctas"] = (np.uint64(1) << slots.astype(np.uint64)) - np.uint64(1)
    cores["cta_limit"], cores["resident"] = config.core.max_ctas, 0
    cores["frozen"], cores["stopping"], cores["parked"], cores["broken"], cores["reserved"], cores["how"] = 0, 0, 0, 0, 0, 0
    cores["drains"] = 0
    cores["stop_event"] = FAR_FUTURE
    bytes_a_cycle = config.peak_dram_bandwidth / (config.clocks.core_mhz * 1e6 * config.core.cores)
    cores["context_hundredths"] = max(int(100 * bytes_a_cycle), 1)
    cores["registers_left"], cores["threads_left"] = config.core.registers, config.core.max_threads
    cores["shared_left"] = shared_bytes
    ways = l1_bytes // (config.l1d.line_bytes * config.l1d.sets)  # more memory, more ways
    forget_first_level(cores)
    if (cores["l1d"]["ways"] != ways).any():
        cores["l1d"]["ways"] = ways
        forget_first_level(cores)
    cores["prefetches"]["count"], cores["replays"] = 0, 0
    cores["next_sample"], cores["samples"], cores["quiet"], cores["begun"] = FAR_FUTURE, 0, 0, 0
    cores["turn"], cores["chosen"] = 0, NO_WARP
    cores["stream_first"], cores["stream_end"] = 0, 0
    cores["l0"]["stream_first"], cores["l0"]["stream_end"] = 0, 0
    cores["cause"], cores["cause_place"], cores["activity"] = Stall.EMPTY, 0, Activity.IDLE
