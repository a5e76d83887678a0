"""Run a grid: CTAs on all host cores where they are independent, one after another in a fixed order where they are not."""

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures import wait as wait_for
from contextlib import suppress
from enum import IntEnum
from functools import cache

import numpy as np

from simtlab.execute.counting import no_counts, no_lines
from simtlab.execute.cta import run_ctas_at, run_ctas_in_step_at
from simtlab.execute.races import new_watch
from simtlab.execute.state import FaultCode, Outcome, cta_t, field_offset, launch_t, window_t, worker_t
from simtlab.execute.warp_parts import PARTS
from simtlab.program.context import fill_lanes
from simtlab.program.program import Program

MAX_RESIDENT_THREADS = 2048  # of a core; how many CTAs can be under way at once follows from it
MAX_RESIDENT_CTAS = 32  # of a core
N_CORES = 132  # as many as an H200 has
CLOCK_KHZ = 1_000_000  # of functional runs: %globaltimer counts instructions, as %clock64 does
NEVER = -1
LAUNCH, CTA, WORKER = (np.dtype((np.record, fields)) for fields in (launch_t, cta_t, worker_t))  # a recarray would be slow to index
SLACK = 64  # bytes behind host memory, which a vector load of its last ones may read
SMALL_BYTES = 4 << 20
POLL_SECONDS = 0.2  # how often the waiting thread looks for Ctrl-C


def default_threads() -> int:
    """`$SIMTLAB_THREADS`, or one for each core this process may use."""
    chosen = os.environ.get("SIMTLAB_THREADS")
    if not chosen:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
    try:
        return max(1, int(chosen))
    except ValueError:
        raise ValueError(f"SIMTLAB_THREADS is '{chosen}'; it must be a number of host threads, such as 4") from None


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="simtlab")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # its threads stay in the parent


class Slot:
    """Room for one CTA at a time: its record and the memory behind it."""

    def __init__(self, launch: np.ndarray):
        self.record = np.zeros(1, CTA)
        self.address = self.record.ctypes.data
        shape = launch[0]
        warps = int(-(-shape["threads"] // 32))
        self.registers = aligned_bytes(warps * int(shape["register_bytes"]))
        self.shared = aligned_bytes(max(int(shape["shared_bytes"]), 8) + 8)
        self.local = aligned_bytes(32 * warps * int(shape["local_bytes"]) + 8)
        cta, base = self.record[0], self.record.ctypes.data
        cta["registers"], cta["local"] = self.registers.ctypes.data, self.local.ctypes.data
        cta["shared_window"]["host"], cta["shared_window"]["length"] = self.shared.ctypes.data, shape["shared_bytes"]
        cta["shared_window_address"] = base + field_offset(cta_t, "shared_window")
        for name, first, size in PARTS:
            cta["warps"][name][:warps] = base + first + size * np.arange(warps)
        fill_lanes(self.record["context"][:, :warps])
        self.stalled_at = NEVER

    @property
    def cta(self) -> np.record:
        return self.record[0]


class SpareSlots:
    """Slots of launches that have ended, for later ones of the same shape: to make one takes longer than many a launch."""

    def __init__(self, most: int):
        self.most = most
        self._lock = threading.Lock()
        self._slots: list[tuple[tuple[int, ...], Slot]] = []

    def take(self, launch: np.ndarray) -> Slot:
        """One of the launch's shape, used before or new."""
        shape = self._shape(launch)
        with self._lock:
            for place, (known, slot) in enumerate(self._slots):
                if known == shape:
                    del self._slots[place]
                    return slot
        return Slot(launch)

    def give_back(self, launch: np.ndarray, slot: Slot) -> None:
        """A slot whose last CTA has ended as it should."""
        with self._lock:
            self._slots = [*self._slots[1 - self.most :], (self._shape(launch), slot)]

    @staticmethod
    def _shape(launch: np.ndarray) -> tuple[int, ...]:
        return tuple(int(launch[name][0]) for name in ("threads", "register_bytes", "shared_bytes", "local_bytes"))


_spare = SpareSlots(most=8)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _spare.__init__(_spare.most))  # type: ignore[misc]


class Pace(IntEnum):
    """How the warps of a CTA go on."""

    IN_TURNS = 0  # one for many instructions, then the next one: fast
    IN_STEP = 1  # an instruction each, as they nearly do on a GPU: warps that race see of each other what they see there
    WATCHED = 2  # in step, and races are noted


class Worker:
    """One host thread's part: what it has run, its cached memory windows, and where races are noted."""

    def __init__(self, program: Program, pace: Pace = Pace.IN_TURNS, counts: bool = False):
        self.record = np.zeros(1, WORKER)
        self.address = self.record.ctypes.data
        self.watch = None if pace == Pace.IN_TURNS else new_watch(pace == Pace.WATCHED)
        self.windows = np.zeros(len(program.lowered), window_t)
        self.record["windows"] = self.windows.ctypes.data
        self.counts = no_counts(len(program.lowered) if counts else 0)
        self.record["counts"] = self.counts.ctypes.data if counts else 0
        self.lines = no_lines() if counts else no_counts(0)
        self.record["seen"] = self.lines.ctypes.data


class GridRun:
    """One launch under way. `serve(slot, worker)` does what a kernel asks of the host. With `counts` it counts by instruction."""

    def __init__(
        self,
        program: Program,
        launch: np.ndarray,
        serve: Callable[[Slot, Worker], None],
        pace: Pace = Pace.IN_TURNS,
        counts: bool = False,
    ):
        self.program, self.launch, self.serve, self.pace, self.with_counts = program, launch, serve, pace, counts
        self.launch_address = launch.ctypes.data
        self.lock = threading.Lock()
        self.workers: list[Worker] = []
        self.faults: list[tuple[Slot, Worker]] = []
        self.stuck: list[Slot] = []

    @property
    def races(self) -> list[np.record]:
        """Those that were seen, of race_t; the same two instructions may be there once for each host thread."""
        watches = [worker.watch[0] for worker in self.workers if worker.watch is not None]
        return [watch["races"][k] for watch in watches for k in range(int(watch["n_races"]))]

    @property
    def executed(self) -> int:
        return sum(int(worker.record["executed"][0]) for worker in self.workers)

    @property
    def counts(self) -> np.ndarray:
        """What was counted by instruction, of count_t, all host threads together; nothing where it was not asked for."""
        total = no_counts(len(self.program.lowered) if self.with_counts else 0)
        for worker in self.workers:
            total.view(np.int64)[:] += worker.counts.view(np.int64)
        return total

    def run(self, threads: int) -> None:
        """Run the whole grid. Afterwards `faults` and `stuck` say what went wrong, if anything."""
        shape = self.launch[0]
        one_by_one = shape["one_by_one"] = self.program.ctas_communicate
        tasks: list[Callable[[], None]] = [self._one_by_one]
        if not one_by_one:
            tasks = [self._independently] * min(threads, int(shape["n_ctas"]))
        if len(tasks) == 1 and threading.current_thread() is not threading.main_thread():
            tasks[0]()  # nobody presses Ctrl-C here
        else:
            self._run_all(_pool(max(threads, 1)), tasks)
        if not one_by_one:
            self._keep_first_trouble()

    def _keep_first_trouble(self) -> None:
        """Of CTAs that ran side by side and went wrong, the first in the grid counts, as if they had run in order."""
        troubled = [*self.stuck, *(slot for slot, _ in self.faults)]
        if troubled:
            first = min(troubled, key=lambda slot: int(slot.cta.number))
            self.stuck = [slot for slot in self.stuck if slot is first]
            self.faults = [(slot, worker) for slot, worker in self.faults if slot is first]

    def _run_all(self, pool: ThreadPoolExecutor, tasks: list[Callable[[], None]]) -> None:
        futures: list[Future] = []
        try:
            for task in tasks:
                futures.append(pool.submit(task))
            for future in futures:
                while True:
                    try:
                        future.result(timeout=POLL_SECONDS)
                        break
                    except NotYet:
                        continue
        except BaseException:
            self.launch[0].stop = 1
            while not all(future.done() for future in futures):  # they use the launch's memory, whoever presses Ctrl-C again
                with suppress(KeyboardInterrupt):
                    wait_for(futures)
            raise

    def _hire(self) -> Worker:
        worker = Worker(self.program, self.pace, self.with_counts)
        with self.lock:
            self.workers.append(worker)
        return worker

    def _step(self, worker: Worker, slot: Slot) -> Outcome:
        """Run the slot until something other than a request to the host comes up."""
        while True:
            given = (self.launch_address, self.program.addresses[0], worker.address, slot.address)
            if worker.watch is None:
                outcome = Outcome(run_ctas_at(*given))
            else:
                outcome = Outcome(run_ctas_in_step_at(*given, worker.watch.ctypes.data))
            if outcome != Outcome.SERVICE:
                return outcome
            with self.lock:
                self.serve(slot, worker)
                worker.record[0].changes += 1
            if worker.record[0].fault != FaultCode.NONE:
                return Outcome.FAULT
            if self.launch[0].stop:
                return Outcome.STOPPED

    def _independently(self) -> None:
        worker, slot = self._hire(), _spare.take(self.launch)
        outcome = self._step(worker, slot)
        if outcome in (Outcome.FAULT, Outcome.STUCK, Outcome.STALLED):
            self._give_up(outcome, worker, slot)
        elif outcome == Outcome.DONE and small(slot):
            _spare.give_back(self.launch, slot)

    def _give_up(self, outcome: Outcome, worker: Worker, slot: Slot) -> None:
        """Nobody starts another CTA; those under way finish, so that the lowest CTA's trouble is the one reported."""
        with self.lock:
            self.launch[0].next_cta = self.launch[0].n_ctas
            if outcome == Outcome.FAULT:
                self.faults.append((slot, worker))
            else:
                self.stuck.append(slot)

    def _one_by_one(self) -> None:
        """A CTA that stalls (it spins, waiting for another one) is parked while others run, and tried again in turn.

        One that has stalled need not be tried before memory changes; when all have, none will ever go on.
        """
        shape = self.launch[0]
        per_core = max(1, min(MAX_RESIDENT_CTAS, MAX_RESIDENT_THREADS // max(int(shape.threads), 1)))
        resident_limit = N_CORES * per_core
        worker, parked = self._hire(), deque[Slot]()
        slot = Slot(self.launch)
        stalled = 0
        while True:
            changes = worker.record[0].changes
            outcome = Outcome.STALLED if slot.stalled_at == changes else self._step(worker, slot)
            if outcome in (Outcome.FAULT, Outcome.STUCK):
                self._give_up(outcome, worker, slot)
                return
            if outcome == Outcome.STOPPED:
                return
            if outcome == Outcome.DONE:
                stalled = 0
                if not parked:
                    return
                slot = parked.popleft()
                continue
            if worker.record[0].changes != changes:
                stalled = 0
            slot.stalled_at = worker.record[0].changes if outcome == Outcome.STALLED else NEVER
            stalled = stalled + 1 if outcome == Outcome.STALLED else 0
            parked.append(slot)
            if len(parked) < resident_limit and shape.next_cta < shape.n_ctas:
                slot, stalled = Slot(self.launch), 0
            elif stalled >= len(parked):
                self.stuck = list(parked)
                return
            else:
                slot = parked.popleft()


def small(slot: Slot) -> bool:
    """Whether to keep it costs little."""
    return slot.registers.nbytes + slot.shared.nbytes + slot.local.nbytes < SMALL_BYTES


def aligned_bytes(size: int) -> np.ndarray:
    """Host memory at a 64-byte boundary, and some behind it."""
    block = np.empty(size + 64 + SLACK, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size + SLACK]


def new_launch() -> np.ndarray:
    """A launch record, its shared counter in place."""
    launch = np.zeros(1, LAUNCH)
    launch["next_cta_address"] = launch.ctypes.data + field_offset(launch_t, "next_cta")
    return launch
