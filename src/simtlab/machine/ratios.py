"""What counters say together: shares of time, means, rates; of a launch, of a whole run, or of each interval of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

ACTIVE, MEMORY, STALLED, IDLE = CORE_CYCLES = (
    "core_active_cycles", "core_memory_cycles", "core_stalled_cycles", "core_idle_cycles",
)  # fmt: skip
CORE_TIME = "share of core cycles"
MOST_IDLE, LEAST_ACTIVE = 0.20, 0.66  # DYNCTA section III-A


@dataclass(frozen=True)
class Ratio:
    """A sum of counters over another."""

    name: str
    unit: str
    meaning: str
    above: tuple[str, ...]
    below: tuple[str, ...]

    def of(self, counters: Mapping[str, Any]) -> Any:
        """Its value: a number, None where nothing was counted; of columns of counters a column, NaN where nothing was."""
        above, below = (sum(counters[name] for name in names) for names in (self.above, self.below))
        if isinstance(below, np.ndarray):
            return np.divide(above, below, out=np.full(len(below), np.nan), where=below != 0)
        return above / below if below else None


RATIOS = {ratio.name: ratio for ratio in [
    Ratio("active_time", CORE_TIME, "A warp went into the pipeline: RACT of DYNCTA.", (ACTIVE,), CORE_CYCLES),
    Ratio("memory_waiting_time", CORE_TIME, "No warp could issue, and some waited for data.", (MEMORY,), CORE_CYCLES),
    Ratio("stall_time", CORE_TIME, "A warp was ready, and its pipeline took nothing.", (STALLED,), CORE_CYCLES),
    Ratio("idle_time", CORE_TIME, "No warp could issue, and none waited for data; or there was none.", (IDLE,), CORE_CYCLES),
    Ratio("core_utilisation", CORE_TIME, "A core had a CTA: util of DYNCTA.", ("core_used_cycles",), CORE_CYCLES),
    Ratio("resident_ctas", "CTAs", "On a core while it has any.", ("resident_cta_cycles",), ("core_used_cycles",)),
    Ratio("running_ctas", "CTAs", "Of these, not paused.", ("running_cta_cycles",), ("core_used_cycles",)),
    Ratio("round_trip", "core cycles", "A request from leaving the L1 until its answer is there: lat_rt of DYNCTA.",
          ("round_trip_cycles",), ("round_trips",)),
    Ratio("network_latency", "core cycles", "Of a round trip: in the networks, there and back.",
          ("latency_request_network_cycles", "latency_reply_network_cycles"), ("round_trips",)),
    Ratio("l1_miss_rate", "share of loads' accesses", "The L1 did not have the data, be it asked for already.",
          ("l1_misses", "l1_hits_reserved"), ("l1_hits", "l1_hits_reserved", "l1_misses")),
    Ratio("dram_queueing", "DRAM cycles", "A request in the memory controller until its first column access.",
          ("dram_queue_cycles",), ("dram_reads", "dram_writes")),
]}  # fmt: skip


def dyncta_type(counters: Mapping[str, Any]) -> str | None:
    """The class that DYNCTA (section III-A) would put a program in: X if its cores are idle for more than 20% of the time, else C
    if they are active for more than 66%, else M; None where no core cycle was counted."""
    idle, active = RATIOS["idle_time"].of(counters), RATIOS["active_time"].of(counters)
    if idle is None:
        return None
    return "X" if idle > MOST_IDLE else "C" if active > LEAST_ACTIVE else "M"
