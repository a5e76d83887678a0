"""Counters: each declared once with its unit and a sentence; what the units count is added up over the chip."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from simtlab.compiled import compiled, load_i64
from simtlab.machine.build import Records
from simtlab.machine.config.energy import LANES
from simtlab.machine.core.kinds import Stall, Unit
from simtlab.machine.core.state import LANE_CLASSES, N_STALLS
from simtlab.machine.limits import MAX_SCHEDULERS
from simtlab.machine.network.network import NetworkKind

NETWORKS = {"requests": 0, "replies": 1}


@dataclass(frozen=True)
class Counter:
    """A counter of the whole chip: the sum of a field over the records of one kind."""

    name: str
    unit: str
    meaning: str
    of: str  # cores, slices, channels, requests (the network to memory), replies (the network back)
    field: str
    index: int | None = None


COUNTERS = [
    Counter("instructions", "warp instructions", "Issued, guarded-off ones included.", "cores", "instructions"),
    Counter("thread_instructions", "instructions", "Lanes that took part in issued instructions.", "cores", "thread_instructions"),
    Counter("register_reads", "operands", "Operands read from register banks.", "cores", "operands_read"),
    Counter("register_reuses", "operands", "Operands found in the reuse cache.", "cores", "operands_reused"),
    Counter("register_writes", "operands", "Results written to register banks.", "cores", "operands_written"),
    Counter("register_bank_conflicts", "tries", "Operand reads that found their register bank taken.", "cores",
            "register_bank_conflicts"),
    Counter("write_conflicts", "tries", "Write-backs that found their register bank taken.", "cores", "write_conflicts"),
    Counter("occupied_warp_cycles", "warp cycles", "Warps resident, summed over cycles.", "cores", "occupied_warp_cycles"),
    Counter("resident_cta_cycles", "CTA cycles", "CTAs resident, summed over cycles.", "cores", "resident_cta_cycles"),
    Counter("running_cta_cycles", "CTA cycles", "Of these, CTAs that were not paused.", "cores", "running_cta_cycles"),
    Counter("core_used_cycles", "core cycles", "A core had a CTA (of all its cycles: DYNCTA's util).", "cores", "used_cycles"),
    Counter("shared_passes", "cycles", "Passes of shared memory; conflicts make an access take several.", "cores", "shared_passes"),
    Counter("l1_tag_wavefronts", "wavefronts", "Cycles that accesses take to look their lines up (`l1d.banked_tags`).", "cores",
            "tag_wavefronts"),
    Counter("l1_data_wavefronts", "wavefronts", "Cycles that banks of data take to give their words, or to take them.", "cores",
            "data_wavefronts"),
    Counter("shared_words", "words", "Words that banks of shared memory read or wrote.", "cores", "shared_words"),
    Counter("l1_accesses", "accesses", "Lines or sectors that the load/store units took to memory.", "cores", "accesses"),
    Counter("l1_hits", "accesses", "Loads that found their data in the L1.", "cores", "l1_hits"),
    Counter("l1_hits_reserved", "accesses", "Loads that merged with a pending miss.", "cores", "l1_hits_reserved"),
    Counter("l1_misses", "accesses", "Loads that went to the L2.", "cores", "l1_misses"),
    Counter("l1_lookups", "accesses", "Accesses that looked into the tags of the L1.", "cores", "l1_lookups"),
    Counter("l1_data_reads", "accesses", "Reads of its data: hits, later reads, dirty lines sent off.", "cores", "l1_data_reads"),
    Counter("l1_data_writes", "accesses", "Writes of its data: sectors that came, and stores.", "cores", "l1_data_writes"),
    Counter("l1_fail_tag", "cycles", "Accesses stalled because every way of the set was in flight.", "cores", "l1_fail", 1),
    Counter("l1_fail_mshr", "cycles", "Accesses stalled because no MSHR was free.", "cores", "l1_fail", 2),
    Counter("l1_fail_network", "cycles", "Accesses stalled because nothing more could leave the core.", "cores", "l1_fail", 3),
    Counter("l0i_hits", "fetches", "Instruction fetches that an L0 instruction cache had.", "cores", "l0.hits"),
    Counter("l0i_misses", "fetches", "… and that it had to read from the L1.", "cores", "l0.misses"),
    Counter("l1i_hits", "fetches", "Instruction fetches that hit; behind L0s, lines that these read.", "cores", "l1i_hits"),
    Counter("l1i_misses", "fetches", "Instruction lines asked for.", "cores", "l1i_misses"),
    Counter("l1c_hits", "accesses", "Constant loads that hit.", "cores", "l1c_hits"),
    Counter("l1c_misses", "accesses", "Constant loads that missed.", "cores", "l1c_misses"),
    Counter("l1c_second_hits", "accesses", "… and that the second constant cache had.", "cores", "l15_hits"),
    Counter("l1t_hits", "accesses", "Texture lines that hit.", "cores", "l1t_hits"),
    Counter("l1t_misses", "accesses", "Texture lines asked for.", "cores", "l1t_misses"),
    Counter("replays", "issue slots", "Slots that further passes of an instruction took.", "cores", "n_replays"),
    Counter("dual_issued", "warp instructions", "Issued beside another one of the same warp.", "cores", "dual_issued"),
    Counter("core_active_cycles", "core cycles", "A warp went into a core's pipeline (RACT).", "cores", "n_activity", 0),
    Counter("core_memory_cycles", "core cycles", "No warp could issue, some waited for data (C_mem).", "cores", "n_activity", 1),
    Counter("core_idle_cycles", "core cycles", "No warp could issue, none waited for data (C_idle).", "cores", "n_activity", 2),
    Counter("core_stalled_cycles", "core cycles", "A core's pipes took nothing of what was ready.", "cores", "n_activity", 3),
    Counter("loads_finished", "instructions", "Loads and atomics whose results came back.", "cores", "loads_finished"),
    Counter("load_latency_cycles", "core cycles", "From issue to result, summed over those.", "cores", "load_latency"),
    Counter("shared_loads", "instructions", "Loads from shared memory.", "cores", "shared_loads"),
    Counter("round_trips", "requests", "Reads and atomics answered by the L2 or DRAM.", "cores", "round_trips"),
    Counter("round_trip_cycles", "core cycles", "From leaving the L1 to the answer, summed.", "cores", "round_trip_cycles"),
    Counter("load_wait_cycles", "core cycles", "Of a load's latency, from issue to its first access.", "cores", "load_wait"),
    Counter("latency_inject_cycles", "core cycles", "Of the round trips: waiting to leave the core.", "cores", "trip_inject"),
    Counter("latency_request_network_cycles", "core cycles", "Of the round trips: to the L2.", "cores", "trip_request"),
    Counter("latency_l2_cycles", "core cycles", "Of the round trips: in the L2 slice, DRAM apart.", "cores", "trip_l2"),
    Counter("latency_dram_cycles", "core cycles", "Of the round trips: to DRAM and back to the slice.", "cores", "trip_dram"),
    Counter("latency_reply_network_cycles", "core cycles", "Of the round trips: back to the core.", "cores", "trip_reply"),
    Counter("prefetches_asked", "lines", "Prefetches a policy asked for.", "cores", "prefetch_asked"),
    Counter("prefetches_issued", "lines", "Prefetches that left the L1 for memory.", "cores", "prefetch_issued"),
    Counter("prefetches_dropped_present", "lines", "Dropped: the line was in the L1.", "cores", "prefetch_dropped", 0),
    Counter("prefetches_dropped_pending", "lines", "Dropped: the line was in flight.", "cores", "prefetch_dropped", 1),
    Counter("prefetches_dropped_full", "lines", "Dropped: the prefetch queue was full.", "cores", "prefetch_dropped", 2),
    Counter("prefetches_dropped_overtaken", "lines", "Dropped: the demand came first.", "cores", "prefetch_dropped", 3),
    Counter("prefetches_dropped_outside", "lines", "Dropped: no memory has such an address.", "cores", "prefetch_dropped", 4),
    Counter("prefetches_filled", "lines", "Prefetches whose data came.", "cores", "prefetch_filled"),
    Counter("prefetches_used", "lines", "Prefetched lines that a demand found or merged with.", "cores", "prefetch_used"),
    Counter("prefetches_late", "lines", "Of these, lines that were still in flight.", "cores", "prefetch_late"),
    Counter("prefetches_evicted", "lines", "Prefetched lines evicted before use.", "cores", "l1d.unused_evicted"),
    Counter("prefetches_early", "lines", "Of these, asked for by a demand soon after.", "cores", "prefetch_early"),
    Counter("prefetch_distance_cycles", "core cycles", "From prefetch to demand, summed.", "cores", "prefetch_distance"),
    Counter("stores_combined", "sectors", "Stores that left with another to their sector.", "cores", "stores_combined"),
    Counter("tlb_misses", "translations", "Pages that a core's TLB did not have.", "cores", "tlb.misses"),
    Counter("tlb_walks", "walks", "Of these, what the shared TLB did not have either.", "cores", "tlb.walks"),
    Counter("request_packets", "packets", "Sent from cores to memory.", "requests", "packets"),
    Counter("request_flits", "flits", "Of these packets.", "requests", "flits"),
    Counter("request_flit_hops", "flits", "Flits that crossed a switch or router on the way to memory.", "requests", "flit_hops"),
    Counter("reply_packets", "packets", "Sent from memory to cores.", "replies", "packets"),
    Counter("reply_flits", "flits", "Of these packets.", "replies", "flits"),
    Counter("reply_flit_hops", "flits", "Flits that crossed a switch or router on the way back.", "replies", "flit_hops"),
    Counter("l2_accesses", "accesses", "Requests the L2 slices have served.", "slices", "accesses"),
    Counter("l2_code_accesses", "accesses", "… of instructions and constants.", "slices", "code_accesses"),
    Counter("l2_bypasses", "accesses", "Reads that a policy sent to DRAM without a look into the L2.", "slices", "bypasses"),
    Counter("l2_hits", "accesses", "Reads that hit in the L2.", "slices", "hits"),
    Counter("l2_hits_reserved", "accesses", "Reads that merged with a pending miss in the L2.", "slices", "hits_reserved"),
    Counter("l2_misses", "accesses", "Reads that went to DRAM.", "slices", "misses"),
    Counter("l2_coalesced", "accesses", "Reads that were looked up with another of their sector.", "slices", "coalesced"),
    Counter("l2_writes", "accesses", "Writes the L2 took.", "slices", "writes"),
    Counter("l2_atomics", "accesses", "Atomics carried out at the L2.", "slices", "atomics"),
    Counter("l2_write_backs", "lines", "Dirty lines the L2 sent to DRAM.", "slices", "write_backs"),
    Counter("l2_write_back_sectors", "sectors", "Of these, from the first dirty one to the last.", "slices", "write_back_sectors"),
    Counter("l2_stalls", "L2 cycles", "Slices whose oldest request had to wait.", "slices", "stalls"),
    Counter("dram_reads", "requests", "Reads the DRAM has finished.", "channels", "reads"),
    Counter("dram_writes", "requests", "Writes the DRAM has finished.", "channels", "writes"),
    Counter("dram_read_accesses", "bursts", "Column reads.", "channels", "read_accesses"),
    Counter("dram_write_accesses", "bursts", "Column writes.", "channels", "write_accesses"),
    Counter("dram_activates", "commands", "Rows opened.", "channels", "activates"),
    Counter("dram_row_hits", "requests", "Requests that found their row open.", "channels", "row_hits"),
    Counter("dram_row_misses", "requests", "Requests for which a closed bank was activated.", "channels", "row_misses"),
    Counter("dram_row_conflicts", "requests", "Requests for which another row was closed first.", "channels", "row_conflicts"),
    Counter("dram_precharges", "commands", "Rows closed.", "channels", "precharges"),
    Counter("dram_refreshes", "commands", "Refreshes, each of the banks that are refreshed together.", "channels", "refreshes"),
    Counter("dram_turnarounds", "turns", "Changes between reading and writing.", "channels", "turnarounds"),
    Counter("dram_queue_cycles", "DRAM cycles", "From a request's coming to its first column access, summed.", "channels",
            "wait_cycles"),
    Counter("dram_bus_cycles", "DRAM cycles", "Cycles in which data moved on the bus of a channel.", "channels", "bus_cycles"),
    *(Counter(f"busy_{unit.name.lower()}", "unit cycles", f"Cycles the {unit.name} units were taken.", "cores", "unit_busy", unit)
      for unit in (Unit.SP, Unit.INT, Unit.DP, Unit.SFU, Unit.TENSOR, Unit.HEAVY, Unit.UNIFORM)),
    Counter("busy_ldst", "unit cycles", "Cycles the load/store units made an access or a pass.", "cores", "unit_busy", Unit.LDST),
    Counter("busy_tex", "unit cycles", "Cycles the texture units looked up a line.", "cores", "unit_busy", Unit.TEX),
    *(Counter(f"lanes_{name}", "lane operations", f"Lanes that took part: {what}.", "cores", "lanes", LANE_CLASSES.index(name))
      for name, what in LANES.items()),
]  # fmt: skip


# A counter in the records of one kind: which it is, and where it stands in the first of them, as a host address.
part_t = np.dtype([("counter", "i8"), ("first", "i8"), ("stride", "i8"), ("records", "i8")], align=True)


@compiled
def add_up(parts, sums):
    """All counters as they stand, summed over the chip."""
    for k in range(len(sums)):
        sums[k] = 0
    for k in range(len(parts)):
        part = parts[k]
        for number in range(part.records):
            sums[part.counter] += load_i64(part.first + number * part.stride)


class Tally:
    """Reads all counters of a machine; where they stand in its records is found once."""

    def __init__(self, records: Records):
        self.names = [*(counter.name for counter in COUNTERS), *(f"stall_{cause.name.lower()}" for cause in Stall)]
        tables = _tables(records)
        parts = [(k, tables[counter.of], counter.field, counter.index or 0) for k, counter in enumerate(COUNTERS)]
        for place in range(MAX_SCHEDULERS * N_STALLS):
            parts.append((len(COUNTERS) + place % N_STALLS, records.cores, "n_stall", place))
        self.parts = np.array([_part(*part) for part in parts], np.dtype((np.record, part_t)))

    def read(self) -> np.ndarray:
        """All counters as they stand; the difference of two readings is what happened in between."""
        sums = np.empty(len(self.names), np.int64)
        add_up(self.parts, sums)
        return sums

    def named(self, readings: np.ndarray) -> dict[str, Any]:
        """What was read, by name: numbers, or columns of many readings."""
        return dict(zip(self.names, readings.T.tolist() if readings.ndim == 1 else readings.T, strict=True))


def _tables(records: Records) -> dict[str, np.ndarray]:
    """The records that count something, by what they are called in COUNTERS."""
    units = {"cores": records.cores, "slices": records.slices, "channels": records.channels}
    for of, direction in NETWORKS.items():
        network = records.networks[direction : direction + 1]
        kind = NetworkKind(int(network["kind"][0])).name.lower()
        units[of] = network[kind]["counters"]
    return units


def _part(counter: int, table: np.ndarray, field: str, index: int) -> tuple[int, int, int, int]:
    """Where a field, perhaps of a record in the record, stands."""
    dtype, place = table.dtype, table.ctypes.data
    for name in field.split("."):
        assert dtype.fields is not None
        dtype, offset = dtype.fields[name][:2]
        place += offset
    assert dtype.base == np.int64
    return counter, place + 8 * index, table.strides[0], len(table)
