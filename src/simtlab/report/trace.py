"""What was watched of a core as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing: a microsecond there is a cycle here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.frontend.listing import statement_texts
from simtlab.machine.watch import Watch, WatchedCycle

SCHEDULERS, WARPS, MSHRS = 1, 1000, 900_000  # first numbers of tracks
LANES = 100  # tracks a warp may need: instructions that are in flight at once have one each


@dataclass
class Flight:
    """An instruction from issue to write-back, with the stage it was in after each cycle."""

    slot: int
    pc: int
    kernel: int
    start: int
    stages: list[tuple[int, str]]

    @property
    def end(self) -> int:
        return self.stages[-1][0] + 1 if self.stages else self.start + 1


def write_trace(watch: Watch, path: str | PathLike) -> int:
    """Writes the trace, compressed if the name ends in .gz, and gives the number of its events."""
    events = list(events_of(watch))
    text = json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"unit": "1 us is 1 core cycle"}})
    try:
        Path(path).write_bytes(gzip.compress(text.encode()) if str(path).endswith(".gz") else text.encode())
    except OSError as error:
        raise SimtlabError(f"cannot write {path}: {error.strerror}") from None
    return len(events)


def events_of(watch: Watch) -> Iterator[dict[str, Any]]:
    """The events, track by track: schedulers, warps with their instructions, missed lines."""
    yield _named("process_name", watch.core, 0, f"core {watch.core}")
    yield from _scheduler_events(watch)
    yield from _warp_events(watch)
    yield from _mshr_events(watch)


def _scheduler_events(watch: Watch) -> Iterator[dict[str, Any]]:
    for scheduler in range(len(watch.cycles[0].causes) if watch.cycles else 0):
        track = SCHEDULERS + scheduler
        yield _named("thread_name", watch.core, track, f"scheduler {scheduler}")
        for cause, run in groupby(watch.cycles, key=lambda cycle: cycle.causes[scheduler]):
            first, last = _ends(run)
            yield _slice(watch.core, track, cause.replace("_", " "), "scheduler", first, last + 1)


def _warp_events(watch: Watch) -> Iterator[dict[str, Any]]:
    texts = [statement_texts(p.module.text, (one.origin.position for one in p.lowered)) for p in watch.programs]
    flights = flights_of(watch)
    for slot in sorted({warp.slot for cycle in watch.cycles for warp in cycle.warps} | {one.slot for one in flights}):
        base = WARPS + slot * LANES
        yield _named("thread_name", watch.core, base, f"warp {slot}: lanes")
        yield from _mask_events(watch, slot, base)
        free: list[int] = []  # the cycle from which each lane of the warp's tracks is free
        for one in [flight for flight in flights if flight.slot == slot]:
            lane = next((k for k, end in enumerate(free) if end <= one.start), len(free))
            if lane == len(free):
                free.append(0)
                yield _named("thread_name", watch.core, base + 1 + lane, f"warp {slot}: instructions" + f" {lane + 1}" * (lane > 0))
            free[lane] = one.end
            yield from _flight_events(watch, one, base + 1 + lane, texts)


def _flight_events(watch: Watch, one: Flight, track: int, texts: Sequence[Sequence[str]]) -> Iterator[dict[str, Any]]:
    lowered = watch.programs[one.kernel].lowered[one.pc]
    source = lowered.origin.source
    where = {"pc": one.pc} | ({"line": source.line, "file": source.file} if source else {})
    yield _slice(watch.core, track, texts[one.kernel][one.pc], "instruction", one.start, one.end, where)
    for stage, run in groupby(one.stages, key=lambda pair: pair[1]):
        cycles = [cycle for cycle, _ in run]
        yield _slice(watch.core, track, stage, "stage", max(cycles[0], one.start), cycles[-1] + 1)


def _mask_events(watch: Watch, slot: int, track: int) -> Iterator[dict[str, Any]]:
    """The lanes that execute and the depth of the SIMT stack, as long as they stay the same."""

    def state(cycle: WatchedCycle) -> tuple[int, int, int] | None:
        warp = next((warp for warp in cycle.warps if warp.slot == slot), None)
        return None if warp is None else (warp.cta, warp.mask, len(warp.stack))

    for key, run in groupby(watch.cycles, key=state):
        first, last = _ends(run)
        if key is not None:
            cta, mask, depth = key
            detail = {"CTA": cta, "lanes": mask.bit_count(), "stack entries": depth}
            yield _slice(watch.core, track, f"{mask:08x}", "lanes", first, last + 1, detail)


def _mshr_events(watch: Watch) -> Iterator[dict[str, Any]]:
    """Each line from its miss to its fill, one beside the other."""
    free: list[int] = []
    for address, first, last in sorted(_misses(watch), key=lambda miss: miss[1]):
        lane = next((k for k, end in enumerate(free) if end <= first), len(free))
        if lane == len(free):
            free.append(0)
            yield _named("thread_name", watch.core, MSHRS + lane, f"MSHR {lane}")
        free[lane] = last + 1
        yield _slice(watch.core, MSHRS + lane, f"{address:#x}", "miss", first, last + 1)


def _misses(watch: Watch) -> Iterator[tuple[int, int, int]]:
    begun: dict[int, int] = {}
    for cycle in watch.cycles:
        now = set(cycle.mshrs)
        for address in [address for address in begun if address not in now]:
            yield address, begun.pop(address), cycle.cycle - 1
        for address in now - begun.keys():
            begun[address] = cycle.cycle
    yield from ((address, first, watch.cycles[-1].cycle) for address, first in begun.items())


def flights_of(watch: Watch) -> list[Flight]:
    """Every instruction that was issued in the window or before it and still in flight, in the order of issue."""
    kernels: dict[int, int] = {}
    found: dict[tuple[int, int, int], Flight] = {}
    for cycle in watch.cycles:
        kernels |= {warp.slot: warp.kernel for warp in cycle.warps}
        for slot, pc in cycle.issued:
            found.setdefault((slot, pc, cycle.cycle), Flight(slot, pc, kernels.get(slot, 0), cycle.cycle, []))
        for one in cycle.instructions:
            key = one.slot, one.pc, one.issued
            flight = found.setdefault(key, Flight(*key[:2], kernels.get(one.slot, 0), max(one.issued, watch.first), []))
            flight.stages.append((cycle.cycle, one.stage))
    return sorted(found.values(), key=lambda flight: (flight.start, flight.slot))


def _ends(run: Iterator[WatchedCycle]) -> tuple[int, int]:
    cycles = [cycle.cycle for cycle in run]
    return cycles[0], cycles[-1]


def _slice(core: int, track: int, name: str, kind: str, first: int, end: int, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"ph": "X", "pid": core, "tid": track, "name": name, "cat": kind, "ts": first, "dur": end - first, "args": args or {}}


def _named(what: str, core: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": core, "tid": track, "name": what, "args": {"name": name}}
