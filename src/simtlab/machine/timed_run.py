"""What a launch on a machine took."""

from dataclasses import dataclass, field

import numpy as np

from simtlab.machine.core.stall import Work
from simtlab.machine.core.state import N_STALLS
from simtlab.machine.load_figures import Loads
from simtlab.machine.occupancy import Occupancy
from simtlab.machine.ratios import RATIOS, dyncta_type
from simtlab.machine.sampled import Sampled


@dataclass(repr=False)
class TimedRun:
    """What a launch on a machine took. What ran beside it in other streams is in the stalls, counters and energy too."""

    cycles: int
    elapsed: int  # of all launches that ran together; `cycles` where it ran alone
    instructions: int
    thread_instructions: int
    stalls: dict[str, int]  # scheduler cycles by cause; together they are all scheduler cycles
    counters: dict[str, int]
    occupancy: Occupancy
    counts_by_instruction: np.ndarray = field(repr=False)  # a row for each instruction: cycles by cause, and what it did
    energy: dict[str, float]  # joules by component, see machine/energy.py
    utilisation: dict[str, float]  # the share of its time each part worked, see machine/utilisation.py
    stalls_by_scheduler: np.ndarray = field(repr=False)  # cycles by core, scheduler and cause, in the order of `stalls`
    loads: Loads = field(repr=False)  # what its global loads did
    start: int  # the machine's cycle in which it began
    seconds: float  # on the machine; where a policy changes the clocks, of all that ran with it
    sampled: Sampled | None = None  # on a machine that samples: what of it was simulated in detail

    def __repr__(self) -> str:
        return f"<TimedRun: {self.cycles:,} cycles, {self.instructions:,} warp instructions>"

    @property
    def stalls_by_instruction(self) -> np.ndarray:
        """Scheduler cycles: a row for each instruction, a column for each cause."""
        return self.counts_by_instruction[:, :N_STALLS]

    @property
    def work_by_instruction(self) -> dict[str, np.ndarray]:
        """What each instruction did beside: lanes that took part, lines or sectors touched, passes of shared memory."""
        return {work.name.lower(): self.counts_by_instruction[:, work] for work in Work}

    @property
    def ipc(self) -> float:
        """Warp instructions a core cycle, the whole GPU together."""
        return self.instructions / self.cycles if self.cycles else 0.0

    @property
    def active_time(self) -> float:
        """RACT of DYNCTA: the share of core cycles in which a warp went into a core's pipeline."""
        return RATIOS["active_time"].of(self.counters) or 0.0

    @property
    def ratios(self) -> dict[str, float | None]:
        """Shares of time, means and rates, see machine/ratios.py; None where nothing was counted."""
        return {name: ratio.of(self.counters) for name, ratio in RATIOS.items()}

    @property
    def dyncta_type(self) -> str | None:
        """C, M or X by the rules of DYNCTA."""
        return dyncta_type(self.counters)

    @property
    def latency(self) -> dict[str, float]:
        """The mean round trip of a request in core cycles, part by part; the parts add up to `round_trip`."""
        trips = max(1, self.counters["round_trips"])
        parts = ("inject", "request_network", "l2", "dram", "reply_network")
        found = {part: self.counters[f"latency_{part}_cycles"] / trips for part in parts}
        return found | {"round_trip": self.counters["round_trip_cycles"] / trips}
