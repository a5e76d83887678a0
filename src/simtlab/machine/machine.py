"""A machine: a configured GPU that runs launches one after another, and what it counts."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from simtlab.errors import Deadlock, LaunchError
from simtlab.execute.cta import look_for_cycles
from simtlab.execute.grid import aligned_bytes
from simtlab.execute.state import FaultCode, Outcome, cta_t, field_offset, warp_t, window_t
from simtlab.machine.build import Records, build
from simtlab.machine.clock import run as run_clock
from simtlab.machine.config import MachineConfig
from simtlab.machine.core.core import close_account
from simtlab.machine.core.instruction_buffer import advance
from simtlab.machine.core.state import MAX_CTAS, N_STALLS, Stall, core_t
from simtlab.machine.core.timing import timing_table
from simtlab.machine.memory.cache import forget_all
from simtlab.policies import hook as policies
from simtlab.program.program import Program

STRETCH = 200_000  # cycles between looks at whether warps only repeat themselves
FEWEST_CYCLES = 256  # between looks at Ctrl-C; from here on as many as take the time below, whatever the machine
LOOK_SECONDS = 0.1, 0.3
STUCK_CYCLES = 2_000_000  # no instruction issued and no answer come for so long: something is wrong
FAR_FUTURE = 1 << 62


@dataclass
class Occupancy:
    """How many CTAs of a kernel fit in a core, and what stops the next one."""

    ctas: int
    limited_by: str


@dataclass
class TimedRun:
    """What a launch on a machine took."""

    cycles: int
    instructions: int
    thread_instructions: int
    stalls: dict[str, int]  # scheduler cycles by cause; together they are all scheduler cycles
    counters: dict[str, int]
    occupancy: Occupancy
    stalls_by_instruction: np.ndarray = field(repr=False)

    @property
    def ipc(self) -> float:
        """Warp instructions a core cycle, the whole GPU together."""
        return self.instructions / self.cycles if self.cycles else 0.0


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during a launch; `run` is what the machine counted until then, after the earlier launches' cycles."""

    def __init__(self, program: Program, run: TimedRun, earlier_cycles: int):
        self.program, self.run, self.earlier_cycles = program, run, earlier_cycles
        super().__init__(f"kernel '{program.name}' was stopped after {run.cycles} cycles")


def occupancy(config: MachineConfig, program: Program, threads: int, shared_bytes: int) -> Occupancy:
    """The CTAs of a core: the smallest of what warps, threads, CTA slots, registers and shared memory allow."""
    warps = -(-threads // 32)
    unit = config.core.register_allocation_unit
    registers = warps * -(-max(program.registers, 1) * 32 // unit) * unit
    limits = {
        "CTA slots": config.core.max_ctas,
        "warps": config.core.max_warps // warps,
        "threads": config.core.max_threads // (32 * warps),
        "registers": config.core.registers // registers,
    }
    if shared_bytes:
        limits["shared memory"] = config.shared_memory.bytes // shared_bytes
    needs = {
        "warps": (warps, config.core.max_warps),
        "threads": (threads, config.core.max_threads),
        "registers": (registers, config.core.registers),
        "shared memory": (shared_bytes, config.shared_memory.bytes),
    }
    name = min(limits, key=lambda key: limits[key])
    if limits[name] < 1:
        wanted, there = needs[name]
        raise LaunchError(f"a CTA of kernel '{program.name}' fits in no core of {config.name}: it needs {wanted} {name}, "
                          f"a core has {there}, {wanted - there} too few")  # fmt: skip
    return Occupancy(min(limits[name], MAX_CTAS), name)


class Machine:
    """The records of a GPU and the launches that have run on it; its caches keep what they hold from one to the next."""

    def __init__(self, config: MachineConfig, warp_scheduler: str = "lrr", **parameters: Any):
        self.config = config
        self.policy = policies.load("warp_scheduler", warp_scheduler, **parameters)
        self._reset()

    def _reset(self) -> None:
        """A machine at rest, its caches empty."""
        self.records: Records = build(self.config)
        self._own = policies.attach(self.policy, self.records.cores)
        gpu = self.records.gpu[0]
        gpu.pick, gpu.on_issue = self.policy.addresses["pick"], self.policy.addresses["on_issue"]
        self._unfinished = False

    def run(
        self,
        program: Program,
        launch: np.ndarray,
        serve: Callable,
        give_up: Callable,
        progress: Callable[[int], None] | None = None,
    ) -> TimedRun:
        """Run a grid. `serve(cta, worker)` does what a kernel asks of the host; `give_up(kind, ctas, worker)` raises.

        `progress` is told the cycles so far, every now and then. Ctrl-C raises Interrupted. After a launch
        that did not end, the next one finds the machine as new: what was under way never will be.
        """
        if self._unfinished:
            self._reset()
        gpu = self.records.gpu[0]
        fits = occupancy(self.config, program, int(launch[0].threads), int(launch[0].shared_bytes))
        timing = timing_table(program, self.config.units, 32 // self.config.core.simd_width)
        kept = self._prepare(program, launch, fits)
        stalls = np.zeros((len(program.code), N_STALLS), np.int64)
        gpu.pc_stalls, gpu.n_instructions = stalls.ctypes.data, len(program.code)
        first, before = int(gpu.cycle), self._counters()
        self._unfinished = True
        try:
            self._run_grid(program, timing, serve, give_up, progress)
        except KeyboardInterrupt:
            raise Interrupted(program, self._result(first, before, fits, stalls), first) from None
        self._unfinished = False
        del kept
        return self._result(first, before, fits, stalls)

    def _run_grid(self, program: Program, timing: Any, serve: Callable, give_up: Callable, progress: Callable | None) -> None:
        """Stretch after stretch until the grid is done; in between, what needs the host."""
        gpu, seen = self.records.gpu[0], (-1, -1)
        first, part = int(gpu.cycle), FEWEST_CYCLES
        while True:
            outcome, end = Outcome.SPENT, gpu.cycle + STRETCH
            while outcome == Outcome.SPENT and gpu.cycle < end:
                begin = perf_counter()
                outcome = self._run_clock(program, timing, min(gpu.cycle + part, end))
                part = next_part(part, perf_counter() - begin)
                if progress is not None:
                    progress(int(gpu.cycle) - first)
            if outcome == Outcome.DONE:
                return
            if outcome == Outcome.SERVICE:
                self._serve(serve, timing[0])
                outcome = Outcome.FAULT if gpu.worker.fault != FaultCode.NONE else Outcome.SPENT
            if outcome == Outcome.FAULT:
                give_up(outcome, [self._cta_at_fault()], gpu.worker)
            seen = self._look_for_progress(program, seen, give_up)

    def _run_clock(self, program: Program, timing: Any, until: int) -> Outcome:
        records, gpu = self.records, self.records.gpu[0]
        gpu.until, gpu.outcome = until, Outcome.SPENT
        return Outcome(
            run_clock(gpu, records.cores, records.slices, records.channels, records.networks, program.table[0], timing[0],
                      records.requests[0])
        )  # fmt: skip

    def _prepare(self, program: Program, launch: np.ndarray, fits: Occupancy) -> list[np.ndarray]:
        """Memory for the CTAs that can be resident, and everything back to the start."""
        gpu, cores = self.records.gpu[0], self.records.cores
        gpu.launch = launch[0]
        gpu.launch.next_cta = 0
        gpu.worker = np.zeros((), gpu.worker.dtype)
        windows = np.zeros(len(program.code), window_t)
        gpu.worker.windows = windows.ctypes.data
        gpu.finished_ctas, gpu.dispatching, gpu.dispatch_turn, gpu.last_progress = 0, 1, 0, gpu.cycle
        kept = [windows]
        for number in range(len(cores)):
            kept += _settle_ctas(cores[number], self.records.cores.ctypes.data + number * core_t.itemsize, gpu.launch, fits)
            forget_all(cores[number].l1d)
            forget_all(cores[number].l1i)
            gpu.wake[number] = FAR_FUTURE
            cores[number].ticked = gpu.cycle
            cores[number].cause[:] = Stall.EMPTY
            cores[number].cause_pc[:] = -1
        self._own[...] = self.policy.new_state(len(self._own))
        return kept

    def _serve(self, serve: Callable, timing: Any) -> None:
        gpu = self.records.gpu[0]
        core = self.records.cores[int(gpu.where_core)]
        slot = core.slots[int(gpu.where_slot)]
        serve(core.ctas[int(slot.cta)], gpu.worker)
        if gpu.worker.fault == FaultCode.NONE:
            advance(core, timing, int(gpu.where_slot))

    def _cta_at_fault(self) -> Any:
        gpu = self.records.gpu[0]
        core = self.records.cores[int(gpu.where_core)]
        return core.ctas[int(core.slots[int(gpu.where_slot)].cta)]

    def _resident(self) -> list[Any]:
        found = []
        for core in self.records.cores:
            free = int(core.free_ctas)
            found += [core.ctas[c] for c in range(int(core.cta_limit)) if not free >> c & 1]
        return found

    def _look_for_progress(self, program: Program, seen: tuple[int, int], give_up: Callable) -> tuple[int, int]:
        """Stop a run that can never end: warps that all repeat themselves, or a machine in which nothing moves."""
        gpu = self.records.gpu[0]
        now = int(gpu.worker.changes), int(gpu.finished_ctas)
        looks = [look_for_cycles(cta, gpu.worker.changes) for cta in self._resident()] if now == seen else [False]
        if all(looks):
            give_up(Outcome.STUCK, self._resident(), gpu.worker)
        if gpu.cycle - gpu.last_progress > STUCK_CYCLES:
            raise Deadlock(f"kernel '{program.name}': nothing moved for {STUCK_CYCLES} cycles\n{self.who_waits()}")
        return now

    def who_waits(self) -> str:
        """Every queue, table and warp that holds something up."""
        lines = []
        for core in self.records.cores:
            if core.occupied:
                lines.append(
                    f"core {core.number}: warps {int(core.occupied):#x}, waiting for memory {int(core.long):#x}, at barriers "
                    f"{int(core.barrier):#x}; {int(core.mshr.used)} MSHRs, {int(core.inject.count)} requests to send, "
                    f"{int(core.ldst_queue.count)} in the load/store unit"
                )
        for piece in self.records.slices:
            if piece.input.count or piece.mshr.used or piece.to_dram.count or piece.output.count:
                lines.append(f"L2 slice {piece.number}: {int(piece.input.count)} in, {int(piece.output.count)} out, "
                             f"{int(piece.mshr.used)} MSHRs, {int(piece.to_dram.count)} for DRAM")  # fmt: skip
        return "\n".join(lines)

    def _counters(self) -> dict[str, int]:
        from simtlab.machine.counters import collect

        return collect(self.records)

    def _result(self, first: int, before: dict[str, int], fits: Occupancy, stalls: np.ndarray) -> TimedRun:
        """What was counted since `before`, up to and including this cycle."""
        for core in self.records.cores:
            close_account(self.records.gpu[0], core)
        after = self._counters()
        counters = {name: after[name] - before[name] for name in after}
        causes = {cause.name.lower(): counters.pop(f"stall_{cause.name.lower()}") for cause in Stall}
        cycles = int(self.records.gpu[0].cycle) - first
        return TimedRun(
            cycles, counters["instructions"], counters["thread_instructions"], causes, counters, fits, stalls
        )


def next_part(cycles: int, seconds: float) -> int:
    """How many cycles to run before the next look at Ctrl-C, if so many took so long. What is counted does not depend on it."""
    if seconds < LOOK_SECONDS[0]:
        return min(2 * cycles, STRETCH)
    return max(cycles // 2, FEWEST_CYCLES) if seconds > LOOK_SECONDS[1] else cycles


def _settle_ctas(core: Any, address: int, launch: Any, fits: Occupancy) -> list[np.ndarray]:
    """Point a core's CTA slots at memory of their own."""
    core.cta_limit, core.resident = fits.ctas, 0
    core.free_ctas = np.uint64((1 << fits.ctas) - 1)
    kept = []
    warps = int(-(-launch.threads // 32))
    for c in range(fits.ctas):
        cta = core.ctas[c]
        registers = aligned_bytes(warps * int(launch.register_bytes))
        shared, local = aligned_bytes(int(launch.shared_bytes) + 16), aligned_bytes(32 * warps * int(launch.local_bytes) + 16)
        kept += [registers, shared, local]
        cta.registers, cta.local, cta.shared_window.host = registers.ctypes.data, local.ctypes.data, shared.ctypes.data
        cta.shared_window.length = launch.shared_bytes
        base = address + field_offset(core_t, "ctas") + c * cta_t.itemsize
        cta.shared_window_address = base + field_offset(cta_t, "shared_window")
        for w in range(warps):
            place = base + field_offset(cta_t, "warps") + w * warp_t.itemsize
            cta.warps[w].context_address = place + field_offset(warp_t, "context")
            cta.warps[w].local_window_address = place + field_offset(warp_t, "local_window")
    return kept
