"""What launches took on a machine, for people and for programs: cycles, stalls, caches, DRAM, energy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from simtlab.cli.machine_lists import splits_at_launch
from simtlab.cli.tables import show_bars, show_facts, show_table
from simtlab.lab.machines import MachineChoice

if TYPE_CHECKING:
    from rich.console import Console

    from simtlab.machine.config import MachineConfig
    from simtlab.machine.machine import Machine, TimedRun
    from simtlab.machine.sampled import Sampled
    from simtlab.program.program import Program

Number = TypeVar("Number", int, float)
CACHES = [
    ("L1 data", "l1_hits", "l1_hits_reserved", "l1_misses"),
    ("L1 constant", "l1c_hits", None, "l1c_misses"),
    ("L1 texture", "l1t_hits", None, "l1t_misses"),
    ("L0 instruction", "l0i_hits", None, "l0i_misses"),
    ("L1 instruction", "l1i_hits", None, "l1i_misses"),
    ("L2", "l2_hits", "l2_hits_reserved", "l2_misses"),
]
SMALLEST_SHARE = 0.0005  # of the energy, or of the time, to be shown
OCCUPANCY = ("kernel", "ctas", "limited_by", "l1_bytes", "shared_bytes")
FAILURES = [("tag", "l1_fail_tag"), ("MSHR", "l1_fail_mshr"), ("network", "l1_fail_network")]


@dataclass(frozen=True)
class Timing:
    """Launches on one machine, their counts added up."""

    choice: MachineChoice
    machine: Machine
    runs: Sequence[tuple[Program, TimedRun]]

    @property
    def config(self) -> MachineConfig:
        return self.machine.config

    @property
    def cycles(self) -> int:
        return sum(run.cycles for _, run in self.runs)

    @property
    def instructions(self) -> int:
        return sum(run.instructions for _, run in self.runs)

    @property
    def ipc(self) -> float:
        return ratio(self.instructions, self.cycles)

    @property
    def sampled(self) -> Sampled | None:
        """How much was simulated in detail, on a machine that samples."""
        from simtlab.sampling.marks import mark_of

        return mark_of(run for _, run in self.runs)

    @cached_property
    def stalls(self) -> dict[str, int]:
        """Scheduler cycles by cause, largest first."""
        total = added([run.stalls for _, run in self.runs])
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    @cached_property
    def counters(self) -> dict[str, int]:
        return added([run.counters for _, run in self.runs])

    @cached_property
    def energy(self) -> dict[str, float]:
        """Joules by component, largest first."""
        total = added([run.energy for _, run in self.runs])
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    @property
    def utilisation(self) -> dict[str, float]:
        """The share of its time that each part of the machine worked."""
        from simtlab.machine.utilisation import utilisation

        return utilisation(self.config, self.counters, self.cycles) if self.runs else {}

    @property
    def joules(self) -> float:
        return sum(self.energy.values())

    @property
    def occupancies(self) -> list[dict[str, Any]]:
        """Kernels, the CTAs of each that fit in a core, what stops the next one, how its memory was divided; each once."""
        from simtlab.host.module import plain_name

        rows = (
            (plain_name(program.name), fits.ctas, fits.limited_by, fits.l1_bytes, fits.shared_bytes)
            for program, fits in ((program, run.occupancy) for program, run in self.runs)
        )
        return [dict(zip(OCCUPANCY, row, strict=True)) for row in dict.fromkeys(rows)]

    @property
    def mean_load_latency(self) -> float | None:
        finished = self.counters["loads_finished"]
        return self.counters["load_latency_cycles"] / finished if finished else None

    @property
    def seconds(self) -> float:
        """On the machine, not on the host."""
        return sum(run.seconds for _, run in self.runs)

    @property
    def dram_bandwidth(self) -> float:
        """Bytes a second, in whole bursts."""
        bursts = self.counters["dram_read_accesses"] + self.counters["dram_write_accesses"]
        return ratio(bursts * self.config.dram.burst_bytes, self.seconds)

    # As JSON ----------------------------------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        from simtlab.machine.ratios import RATIOS, dyncta_type
        from simtlab.sampling.marks import as_json

        return {
            **self.choice.as_json(),
            "cycles": self.cycles,
            "seconds_on_the_machine": self.seconds,
            "instructions": self.instructions,
            "thread_instructions": sum(run.thread_instructions for _, run in self.runs),
            "ipc": self.ipc,
            "occupancy": self.occupancies,
            "mean_load_latency_cycles": self.mean_load_latency,
            "dram_bytes_per_second": self.dram_bandwidth,
            "dram_peak_bytes_per_second": self.config.peak_dram_bandwidth,
            "stalls": self.stalls,
            "stalls_by_scheduler": list(self._stalls_by_scheduler()),
            "stalls_by_line": list(self._stalls_by_line()),
            "utilisation": self.utilisation,
            "ratios": {name: ratio.of(self.counters) for name, ratio in RATIOS.items()} if self.runs else {},
            "dyncta_type": dyncta_type(self.counters) if self.runs else None,
            "energy_joules": self.energy,
            "mean_watts": ratio(self.joules, self.seconds),
            "counters": self._counters_explained(),
            **({"sampled": as_json(self.sampled)} if self.sampled else {}),
        }

    def _counters_explained(self) -> dict[str, dict[str, Any]]:
        from simtlab.machine.counters import COUNTERS

        machines = {counter.name: (counter.unit, counter.meaning) for counter in COUNTERS}
        return {
            name: {"value": self.counters[name], "unit": unit, "meaning": meaning}
            for name, (unit, meaning) in {**machines, **self.machine.own_counters}.items()
        }

    @property
    def _causes(self) -> list[str]:
        """In the order in which the machine counts them."""
        return list(self.runs[0][1].stalls) if self.runs else []

    def _stalls_by_scheduler(self) -> Iterator[dict[str, Any]]:
        """The cycles of each scheduler by cause, causes that did not occur left out."""
        if not self.runs:
            return
        for core, schedulers in enumerate(np.sum([run.stalls_by_scheduler for _, run in self.runs], axis=0)):
            for scheduler, cycles in enumerate(schedulers.tolist()):
                by_cause = {name: count for name, count in zip(self._causes, cycles, strict=True) if count}
                yield {"core": core, "scheduler": scheduler, "stalls": by_cause}

    def _stalls_by_line(self) -> Iterator[dict[str, Any]]:
        """Scheduler cycles by cause that instructions of each source line were waited for; those of no line have no file."""
        found: dict[tuple[str, int], Any] = {}
        for program, run in self.runs:
            for lowered, causes in zip(program.lowered, run.stalls_by_instruction, strict=True):
                source = lowered.origin.source
                place = (source.file, source.line) if source else ("", 0)
                found[place] = found[place] + causes if place in found else causes
        for (file, line), causes in sorted(found.items()):
            by_cause = {name: int(count) for name, count in zip(self._causes, causes, strict=True) if count}
            if by_cause:
                yield {"file": file or None, "line": line or None, "stalls": by_cause}

    # As text ----------------------------------------------------------------------------------------------------------

    def show(self, console: Console) -> None:
        show_facts(console, list(self._facts()))
        console.print()
        total = sum(self.stalls.values())
        shares = [(name.replace("_", " "), count / total) for name, count in self.stalls.items() if count]
        show_bars(console, "scheduler cycles", shares)
        caches = list(self._cache_rows())
        if caches:
            console.print()
            show_table(console, ["cache", "loads", "hits", "merged", "misses", "miss rate"], caches, right=range(1, 6))
        console.print()
        show_facts(console, list(self._memory_facts()))
        console.print()
        show_facts(console, list(self._energy_facts()))

    def _facts(self) -> Iterator[tuple[str, str]]:
        yield "gpu", str(self.choice)
        yield "cycles", f"{self.cycles:,} ({self.seconds * 1e6:,.3g} µs at {self.config.clocks.core_mhz:g} MHz)"
        if self.sampled is not None:
            yield "sampling", str(self.sampled)
        yield "ipc", f"{self.ipc:.3g} warp instructions a cycle"
        occupancies = self.occupancies
        for row in occupancies:
            of = f"{row['kernel']}: " if len(occupancies) > 1 else ""
            yield "occupancy", f"{of}{row['ctas']} CTA{'s' * (row['ctas'] != 1)} a core, limited by {row['limited_by']}"
            if splits_at_launch(self.config):
                parts = f"{row['l1_bytes'] / 1024:g} KB of L1, {row['shared_bytes'] / 1024:g} KB of shared memory a core"
                yield "divided", f"{of}{parts}"
        warps = ratio(self.counters["occupied_warp_cycles"], self.cycles * self.config.core.cores)
        yield "resident warps", f"{warps:.3g} of {self.config.core.max_warps} a core on average"
        yield "core time", self._core_time()
        if self.mean_load_latency is not None:
            yield "load latency", f"{self.mean_load_latency:,.0f} cycles on average"
        shares = [f"{part.replace('_', ' ')} {share:.1%}" for part, share in self.utilisation.items() if share >= SMALLEST_SHARE]
        yield "utilisation", ", ".join(shares) or "nothing"

    def _core_time(self) -> str:
        """What the cores did, as DYNCTA looks at it."""
        from simtlab.machine.ratios import RATIOS, dyncta_type

        words = {"active_time": "active", "memory_waiting_time": "waiting for memory", "stall_time": "stalled", "idle_time": "idle"}
        parts = [f"{word} {RATIOS[name].of(self.counters) or 0.0:.1%}" for name, word in words.items()]
        return f"{', '.join(parts)}: Type-{dyncta_type(self.counters)} of DYNCTA"

    def _cache_rows(self) -> Iterator[list[str]]:
        for name, hit_counter, merged_counter, miss_counter in CACHES:
            hits, misses = self.counters[hit_counter], self.counters[miss_counter]
            merged = self.counters[merged_counter] if merged_counter else 0
            loads = hits + merged + misses
            if loads:
                yield [name, f"{loads:,}", f"{hits:,}", f"{merged:,}", f"{misses:,}", f"{misses / loads:.1%}"]

    def _memory_facts(self) -> Iterator[tuple[str, str]]:
        count = self.counters
        failures = [f"{name} {count[counter]:,}" for name, counter in FAILURES if count[counter]]
        yield "L1 reservation failures", f"{', '.join(failures)} (cycles stalled)" if failures else "none"
        written_back = f"{count['l2_write_backs']:,} lines written back"
        yield "L2", f"{count['l2_writes']:,} writes, {count['l2_atomics']:,} atomics, {written_back}"
        requests = count["dram_reads"] + count["dram_writes"]
        hits = f", {count['dram_row_hits'] / requests:.1%} row hits" if requests else ""
        yield "DRAM", f"{count['dram_reads']:,} reads, {count['dram_writes']:,} writes{hits}"
        peak = self.config.peak_dram_bandwidth
        share = f"{self.dram_bandwidth / peak:.1%} of the peak"
        yield "DRAM bandwidth", f"{self.dram_bandwidth / 1e9:.3g} of {peak / 1e9:.4g} GB/s, {share}"

    def _energy_facts(self) -> Iterator[tuple[str, str]]:
        yield "energy", f"{self.joules * 1e6:,.4g} µJ, {ratio(self.joules, self.seconds):.3g} W on average"
        shares = [(name.replace("_", " "), ratio(part, self.joules)) for name, part in self.energy.items()]
        shown = [f"{name} {share:.1%}" for name, share in shares if share >= SMALLEST_SHARE]
        yield "spent in", ", ".join(shown) or "nothing"


def added(counts: Sequence[dict[str, Number]]) -> dict[str, Number]:
    return {name: sum(one[name] for one in counts) for name in counts[0]} if counts else {}


def ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
