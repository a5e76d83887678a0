"""Many mutants in worker processes: which ended badly, and how."""

import gc
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path

from simtlab.errors import SimtlabError
from simtlab.frontend.sass import disassemble
from tests.fuzz import machine_code
from tests.fuzz.corpus import every_seed
from tests.fuzz.guarded import guard_memory, keep_native_code_to_itself, provide_at_once, watch_launches
from tests.fuzz.mutate import mutant
from tests.fuzz.trial import SECONDS, Mutant, Result, Trials

HANG_SECONDS = 30
ONE_IN_TIMED = 8  # mutants of which one runs on a machine
MEMORY_LIMIT = 6 << 30  # beyond what the process has when it starts
PROGRAMS_KEPT = 20  # at most, of those that nobody needs any more
A_BATCH = 500  # mutants that a worker tries before another takes its place
MACHINE_CODE_SECONDS, NVDISASM_SECONDS = 20, 5  # for a mutant that nvdisasm reads, and for nvdisasm, which does not end with some
Make = Callable[[int], Mutant]


@dataclass
class Worker:
    """A process at work on some of the numbers, and what it was last heard to do."""

    process: multiprocessing.process.BaseProcess
    channel: Connection
    left: deque[int]
    current: int | None = None
    since: float = field(default_factory=time.monotonic)


@dataclass
class Report:
    """What came of the mutants: how many ended in which way, and those that ended badly."""

    outcomes: Counter = field(default_factory=Counter)
    findings: list[tuple[int, str]] = field(default_factory=list)


def is_timed(number: int) -> bool:
    return number % ONE_IN_TIMED == 0


def prepare(seeds: tuple[str, ...]) -> None:
    """Load all native code that the seeds need, and check that they are clean themselves: workers are forks of this process."""
    guard_memory()
    provide_at_once(seeds)
    keep_native_code_to_itself()
    trials = Trials(seconds=0)  # it may compile
    problems = []
    for number, seed in enumerate(seeds):
        result = trials.run(seed, is_timed(number))
        if result.finding:
            problems.append(f"{result.finding}\n{seed}")
    if problems:
        raise SimtlabError("seeds that are not clean: " + "\n".join(problems))


def prepare_machine_code() -> None:
    """The same for the cubin that mutants of machine code are made of."""
    guard_memory()
    machine_code.answer()
    disassemble.keep = lambda *_: None  # type: ignore[assignment]
    disassemble.SECONDS = NVDISASM_SECONDS
    trials = Trials(seconds=0)
    for finding in (trials.run(machine_code.cubin(), False).finding, trials.run(machine_code.as_it_is(), False).finding):
        if finding:
            raise SimtlabError(f"the cubin is not clean itself: {finding}")
    keep_native_code_to_itself()


def address_space() -> int:
    """Bytes of address space that this process has: threads of libraries reserve more the more cores there are."""
    pages = Path("/proc/self/statm").read_text().split()[0]
    return int(pages) * resource.getpagesize()


def work(channel: Connection, other_end: Connection, numbers: list[int], make: Make, seconds: float) -> None:
    """What a worker process does. It ends with its parent: nobody holds the other end of its channel then."""
    other_end.close()
    limit = address_space() + MEMORY_LIMIT
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115  for as long as the process lives
    watch_launches()
    trials = Trials(seconds)
    for number in numbers:
        if number % PROGRAMS_KEPT == 0:
            gc.collect()  # a program's table takes much of the address space until it is let go
        channel.send(number)
        channel.send(trials.run(make(number), is_timed(number)))
    channel.send(None)


class Campaign:
    """A range of mutants, tried in some processes at a time."""

    def __init__(self, numbers: range, make: Make, processes: int, seconds: float = SECONDS):
        self.report = Report()
        self.make, self.processes, self.seconds = make, processes, seconds
        self.batches = deque(deque(numbers[k : k + A_BATCH]) for k in range(0, len(numbers), A_BATCH))
        self.workers: list[Worker] = []

    def run(self, progress: Callable[[Report], None]) -> Report:
        while self.batches or self.workers:
            while self.batches and len(self.workers) < self.processes:
                self.workers.append(self.start(self.batches.popleft()))
            ready = wait([worker.channel for worker in self.workers], timeout=1)
            for worker in list(self.workers):
                self.hear(worker, worker.channel in ready)
            progress(self.report)
        return self.report

    def start(self, numbers: deque[int]) -> Worker:
        context = multiprocessing.get_context("fork")
        mine, theirs = context.Pipe()
        process = context.Process(target=work, args=(theirs, mine, list(numbers), self.make, self.seconds), daemon=True)
        process.start()
        theirs.close()
        return Worker(process, mine, numbers)

    def hear(self, worker: Worker, has_something: bool) -> None:
        if not has_something:
            if time.monotonic() - worker.since > HANG_SECONDS:
                worker.process.kill()
                self.lose(worker, f"no answer within {HANG_SECONDS} seconds")
            return
        try:
            while worker.channel.poll():
                self.note(worker, worker.channel.recv())
        except (EOFError, ConnectionResetError):
            worker.process.join()
            code = worker.process.exitcode or 0
            self.lose(worker, signal.Signals(-code).name if code < 0 else f"exit status {code}")

    def note(self, worker: Worker, message: int | Result | None) -> None:
        worker.since = time.monotonic()
        if isinstance(message, int):
            worker.current = message
            worker.left.popleft()
        elif message is None:
            worker.process.join()
            self.workers.remove(worker)
        else:
            self.report.outcomes[message.outcome] += 1
            if message.finding and worker.current is not None:
                self.report.findings.append((worker.current, message.finding))
            worker.current = None

    def lose(self, worker: Worker, how: str) -> None:
        """A worker is gone: what it was at is a finding, the rest goes back in line."""
        if worker not in self.workers:
            return
        worker.process.join()
        self.workers.remove(worker)
        if worker.current is not None:
            self.report.outcomes["lost"] += 1
            self.report.findings.append((worker.current, how))
        if worker.left:
            self.batches.append(worker.left)


def campaign(
    first: int, count: int, processes: int, seeds: tuple[str, ...], progress: Callable[[Report], None] = lambda _: None
) -> Report:
    """Try mutants `first` up to `first + count` of some seeds."""
    prepare(seeds)
    return Campaign(range(first, first + count), lambda number: mutant(number, seeds), processes).run(progress)


def machine_code_campaign(
    first: int, count: int, processes: int, make: Make, progress: Callable[[Report], None] = lambda _: None
) -> Report:
    """Try mutants of machine code: `make` is one of machine_code's."""
    prepare_machine_code()
    return Campaign(range(first, first + count), make, processes, MACHINE_CODE_SECONDS).run(progress)


def keep(number: int, finding: str, folder: Path, make: Make | None = None) -> Path:
    """Write a mutant to a file, with what it did."""
    folder.mkdir(parents=True, exist_ok=True)
    made = make(number) if make else None
    if isinstance(made, bytes | machine_code.Answer):
        path = folder / f"{number}.{'cubin' if isinstance(made, bytes) else 'json'}"
        path.write_bytes(made if isinstance(made, bytes) else made.text.encode())
        path.with_suffix(".txt").write_text(finding)
        return path
    path = folder / f"{number}.ptx"
    kind = "timed" if is_timed(number) else "functional"
    said = finding.replace("\n", " ")
    path.write_text(mutant(number, every_seed()) + f"\n// {kind}: {said}\n")
    return path
