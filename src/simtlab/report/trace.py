"""What was watched of a core as a trace for Perfetto (ui.perfetto.dev) or chrome://tracing: a microsecond there is a cycle here."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import Any

from simtlab.errors import SimtlabError
from simtlab.frontend.listing import statement_texts
from simtlab.machine.watch import Watch, WatchedCycle, WatchedRequest, WatchedWarp

SCHEDULERS, WARPS, REQUESTS = 1, 1000, 900_000  # first numbers of tracks
LANES = 100  # tracks a warp may need: instructions that are in flight at once have one each


@dataclass
class Flight:
    """An instruction from fetch to write-back, or what the window has of it."""

    slot: int
    pc: int
    kernel: int
    issued: int
    stages: list[tuple[str, int, int]] = field(default_factory=list)  # from which cycle on, and the one after its last

    @property
    def start(self) -> int:
        return self.stages[0][1]

    @property
    def end(self) -> int:
        return self.stages[-1][2]

    def is_in(self, stage: str, cycle: int) -> None:
        """It was in a stage in a cycle, the one after the last."""
        if self.stages and self.stages[-1][0] == stage:
            self.stages[-1] = stage, self.stages[-1][1], cycle + 1
        else:
            self.stages.append((stage, cycle, cycle + 1))


class Buffers:
    """When the instructions in each warp's buffer were fetched: from which cycle on the warp waited for them, when they came."""

    def __init__(self) -> None:
        self._fetched: dict[int, tuple[int, int]] = {}
        self._empty: dict[int, int] = {}
        self._seen: dict[int, WatchedWarp] = {}

    def stages_of(self, slot: int, first: int, issued: int) -> list[tuple[str, int, int]]:
        """The stages before issue of the oldest instruction of a warp's buffer, as far as they are in the window."""
        if slot not in self._fetched:
            return []
        began, came = self._fetched[slot]
        stages = ("fetch", max(began, first), came), ("buffer", max(came, first), issued)
        return [(stage, begin, end) for stage, begin, end in stages if begin < end]

    def look(self, cycle: WatchedCycle) -> None:
        for warp in cycle.warps:
            if self._seen.get(warp.slot) is warp:
                continue
            self._seen[warp.slot] = warp
            if warp.waits == "fetch":
                self._empty.setdefault(warp.slot, cycle.cycle)
                continue
            empty_since = self._empty.pop(warp.slot, None)
            if warp.buffered and warp.fetched is not None and self._fetched.get(warp.slot, (0, 0))[1] != warp.fetched:
                self._fetched[warp.slot] = warp.fetched if empty_since is None else empty_since, warp.fetched


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
    """The events, track by track: schedulers, warps with their instructions, memory requests."""
    yield _named("process_name", watch.core, 0, f"core {watch.core}")
    yield from _scheduler_events(watch)
    yield from _warp_events(watch)
    yield from _request_events(watch)


def _scheduler_events(watch: Watch) -> Iterator[dict[str, Any]]:
    for scheduler in range(len(watch.cycles[0].causes) if watch.cycles else 0):
        track = SCHEDULERS + scheduler
        yield _named("thread_name", watch.core, track, f"scheduler {scheduler}")
        for cause, run in groupby(watch.cycles, key=lambda cycle: cycle.causes[scheduler]):
            first, last = _ends(run)
            yield _slice(watch.core, track, cause.replace("_", " "), "scheduler", first, last + 1)


def _warp_events(watch: Watch) -> Iterator[dict[str, Any]]:
    texts = [statement_texts(p.module.text, (one.origin.position for one in p.lowered)) for p in watch.programs]
    flights, lanes = flights_of(watch), _lanes_of_warps(watch)
    for slot in sorted(lanes.keys() | {one.slot for one in flights}):
        base = WARPS + slot * LANES
        yield _named("thread_name", watch.core, base, f"warp {slot}: lanes")
        yield from (_slice(watch.core, base, name, "lanes", begin, end, args) for name, begin, end, args in lanes.get(slot, ()))
        mine = sorted((one for one in flights if one.slot == slot), key=lambda one: one.start)
        names = (f"warp {slot}: instructions" + f" {lane + 1}" * (lane > 0) for lane in range(LANES - 1))
        tracks = [(base + 1 + lane, name) for lane, name in enumerate(names)]
        for one, track, name in side_by_side(mine, tracks):
            if name:
                yield _named("thread_name", watch.core, track, name)
            yield from _flight_events(watch, one, track, texts)


def side_by_side(spans: Iterable[Any], tracks: Sequence[tuple[int, str]]) -> Iterator[tuple[Any, int, str]]:
    """Spans, in the order of their beginnings, each on the first track that is free then; with the track's name where it is new."""
    free: list[int] = []  # the cycle from which each track is free
    for one in spans:
        lane = next((k for k, end in enumerate(free) if end <= one.start), len(free))
        track, name = tracks[lane]
        if lane < len(free):
            free[lane], name = one.end, ""
        else:
            free.append(one.end)
        yield one, track, name


def _flight_events(watch: Watch, one: Flight, track: int, texts: Sequence[Sequence[str]]) -> Iterator[dict[str, Any]]:
    lowered = watch.programs[one.kernel].lowered[one.pc]
    source = lowered.origin.source
    where = {"pc": one.pc} | ({"line": source.line, "file": source.file} if source else {})
    yield _slice(watch.core, track, texts[one.kernel][one.pc], "instruction", one.start, one.end, where)
    yield from (_slice(watch.core, track, stage, "stage", begin, end) for stage, begin, end in one.stages)


def _lanes_of_warps(watch: Watch) -> dict[int, list[tuple[str, int, int, dict[str, Any]]]]:
    """For each warp slot the lanes that execute and the depth of the SIMT stack, as long as they stay the same."""
    found: dict[int, list[tuple[tuple[int, int, int], int, int]]] = {}
    for cycle in watch.cycles:
        now = cycle.cycle
        for warp in cycle.warps:
            state = warp.cta, warp.mask, len(warp.stack)
            runs = found.setdefault(warp.slot, [])
            if runs and runs[-1][0] == state and runs[-1][2] == now:
                runs[-1] = state, runs[-1][1], now + 1
            else:
                runs.append((state, now, now + 1))
    return {
        slot: [(f"{mask:08x}", begin, end, {"CTA": cta, "lanes": mask.bit_count(), "stack entries": depth})
               for (cta, mask, depth), begin, end in runs]
        for slot, runs in found.items()
    }  # fmt: skip


@dataclass(frozen=True)
class Trip:
    """A request, as far as its way is in the window."""

    request: WatchedRequest
    stages: list[tuple[str, int, int]]

    @property
    def start(self) -> int:
        return self.stages[0][1]

    @property
    def end(self) -> int:
        return self.stages[-1][2]


def trips_of(watch: Watch) -> list[Trip]:
    """Every request of the core that was under way in the window, in the order in which they are seen there."""
    end = watch.cycles[-1].cycle + 1 if watch.cycles else 0
    found = []
    for one in watch.requests:
        spans = [(stage, max(begin, watch.first), min(until, end)) for stage, begin, until in one.stages(end)]
        stages = [span for span in spans if span[1] < span[2]]
        if stages:
            found.append(Trip(one, stages))
    return sorted(found, key=lambda trip: trip.start)


def _request_events(watch: Watch) -> Iterator[dict[str, Any]]:
    """Each request from the core back to it, stage by stage, one beside the other."""
    trips = trips_of(watch)
    for trip, track, name in side_by_side(trips, [(REQUESTS + k, f"request {k + 1}") for k in range(len(trips))]):
        if name:
            yield _named("thread_name", watch.core, track, name)
        one = trip.request
        detail = {"kind": one.kind, "made in cycle": one.born} | ({} if one.slot is None else {"warp": one.slot})
        detail |= {"L2": one.l2} if one.l2 else {}
        yield _slice(watch.core, track, f"{one.address:#x}", "request", trip.start, trip.end, detail)
        yield from (_slice(watch.core, track, stage, "request stage", begin, end) for stage, begin, end in trip.stages)


def flights_of(watch: Watch) -> list[Flight]:
    """Every instruction that was issued in the window or before it and still in flight, in the order of issue."""
    kernels: dict[int, int] = {}
    buffers = Buffers()
    found: dict[tuple[int, int, int], Flight] = {}
    for cycle in watch.cycles:
        now = cycle.cycle
        kernels |= {warp.slot: warp.kernel for warp in cycle.warps}
        for slot, pc in cycle.issued:
            stages = [*buffers.stages_of(slot, watch.first, now), ("issue", now, now + 1)]
            found[slot, pc, now] = Flight(slot, pc, kernels.get(slot, 0), now, stages)
        for one in cycle.instructions:
            key = one.slot, one.pc, one.issued
            if one.issued != now:
                found.setdefault(key, Flight(*key[:2], kernels.get(one.slot, 0), one.issued)).is_in(one.stage, now)
        buffers.look(cycle)
    return sorted(found.values(), key=lambda flight: (flight.issued, flight.slot))


def _ends(run: Iterator[WatchedCycle]) -> tuple[int, int]:
    cycles = [cycle.cycle for cycle in run]
    return cycles[0], cycles[-1]


def _slice(core: int, track: int, name: str, kind: str, first: int, end: int, args: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"ph": "X", "pid": core, "tid": track, "name": name, "cat": kind, "ts": first, "dur": end - first, "args": args or {}}


def _named(what: str, core: int, track: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": core, "tid": track, "name": what, "args": {"name": name}}
