"""Rules about memory: accesses that touch too much, bandwidth, and latency that nothing hides."""

from __future__ import annotations

import math

from simtlab.report.profile import InstructionProfile, LaunchProfile
from simtlab.report.rules.access import (
    OFF_CHIP,
    excess_passes,
    excess_sectors,
    is_atomic,
    is_store,
    least_passes,
    least_sectors,
    passes,
    sectors,
)
from simtlab.report.rules.grid import waves
from simtlab.report.rules.ledger import QUEUE, REJECTIONS, Ledger, unit_hold
from simtlab.report.rules.words import (
    Finding,
    by_line,
    instruction_named,
    listed,
    percent,
    place_of,
    share_of_line,
    waits,
    worst,
)

MEMORY = (QUEUE, "long_scoreboard", "drain")
BUSY = 0.6  # of a unit's peak; Nsight Compute, too, calls what is below 60% latency, and what is above the use of a resource
NAMES = {"dram_bus": "DRAM", "l2": "the L2", "request_network": "the network to the L2", "reply_network": "the network from the L2"}


def pressure(profile: LaunchProfile) -> float:
    """How full the fullest part between the load/store unit and DRAM is: how much of a wait for a load can be queueing."""
    return max([unit_hold(profile), *(min(1.0, profile.utilisation.get(part, 0.0)) for part in NAMES)])


def sectors_too_many(profile: LaunchProfile) -> float:
    """The share of all sectors that coalesced accesses would not touch."""
    touched = sum(row.accesses for row in profile.rows if row.memory in OFF_CHIP)
    return sum(row.accesses * excess_sectors(row, profile.machine) for row in profile.rows) / touched if touched else 0.0


def places_of(*rows: InstructionProfile) -> tuple[tuple[str, int], ...]:
    return tuple(dict.fromkeys(place_of(row) for row in rows if row.line))


def local_memory(ledger: Ledger) -> Finding | None:
    """Spilled registers, and arrays of a thread that registers cannot hold."""
    profile = ledger.profile
    taken = ledger.take(MEMORY, lambda row: float(row.memory == "local"))
    if not taken:
        return None
    rows = [row for row in profile.rows if row.memory == "local"]
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"Local memory takes {percent(sum(taken.values()) / ledger.total)} of scheduler cycles"
        + (f"; {share}" if share else "")
        + f". It is touched {sum(row.issued for row in rows):,} times, {sum(row.accesses for row in rows):,} sectors. Arrays that "
        "are indexed with numbers known only at run time lie there: unroll their loops, make them smaller, or keep them in shared "
        "memory."
    )
    return Finding("local-memory", sentence, lines, sum(taken.values()))


def atomics(ledger: Ledger) -> Finding | None:
    """Atomics: those of one address take turns, in shared memory lane by lane, in global memory at one slice of the L2."""
    profile = ledger.profile
    taken = ledger.take((*MEMORY, "short_scoreboard"), lambda row: float(is_atomic(row)))
    if not taken:
        return None
    row, together = worst(profile, taken), sum(taken.values())
    here = [other for other in profile.rows if is_atomic(other) and other.issued and place_of(other) == place_of(row)]
    issued, lanes = sum(other.issued for other in here), sum(other.lanes for other in here)
    shared = row.memory == "shared" or row.passes > row.accesses
    each = sum(other.passes if shared else other.accesses for other in here) / issued
    per = "passes of shared memory, one for each lane on the same word" if shared else "sectors at the L2"
    sentence = (
        f"Atomics take {percent(together / ledger.total)} of scheduler cycles, most of them that of "
        f"{instruction_named(profile, row)}: {issued:,} warps execute it with {lanes / issued:.1f} lanes, {each:.1f} {per}. Add up "
        "within a warp, or within a CTA, first."
    )
    return Finding("atomics", sentence, places_of(row), together)


def uncoalesced(ledger: Ledger) -> Finding | None:
    """Sectors beyond those that the lanes' bytes need. A unit that such accesses keep full would be that much less full. Of
    the waits for loads, as much is queueing as the fullest part of the memory system is in use: of that, the share of sectors too
    many."""
    profile, full = ledger.profile, pressure(ledger.profile)
    too_many = sectors_too_many(profile)
    if not too_many:
        return None
    culprit = max(profile.rows, key=lambda row: row.accesses * excess_sectors(row, profile.machine))
    taken = ledger.take((QUEUE, "drain"), lambda row: excess_sectors(row, profile.machine))
    queueing = ledger.take(["long_scoreboard"], lambda row: full * max(too_many, excess_sectors(row, profile.machine)))
    for pc, cycles in queueing.items():
        to = pc if excess_sectors(profile.rows[pc], profile.machine) else culprit.pc
        taken[to] = taken.get(to, 0.0) + cycles
    if not taken:
        return None
    row, together = worst(profile, taken), sum(taken.values())
    of = "sectors" if profile.machine.l1d.sector_bytes < profile.machine.l1d.line_bytes else "lines"
    bytes_, lanes, least = row.lane_bytes, row.lanes / row.issued, math.ceil(least_sectors(row, profile.machine))
    what, do = ("store", "writes") if is_store(row) else ("load", "reads")
    others = [place for place, cycles in by_line(profile, taken).items() if cycles >= 0.1 * together and place != place_of(row)]
    sentence = (
        f"The {what} of {instruction_named(profile, row)} is not coalesced: it touches {sectors(row):.1f} {of} a request where "
        f"{least} would do ({lanes:.0f} lanes of {bytes_} bytes)"
        + (f"; likewise {listed(profile, others)}" if others else "")
        + f"; the {of} too many are {percent(together / ledger.total)} of scheduler cycles. Let neighbouring threads touch "
        f"neighbouring addresses, or go through shared memory, so that a warp {do} whole {of}."
    )
    return Finding("uncoalesced", sentence, (*places_of(row), *others), together)


def bank_conflicts(ledger: Ledger) -> Finding | None:
    """Passes beyond the least. Where the unit is not full, they are waited for as long as they take beside the latency."""
    profile, machine = ledger.profile, ledger.profile.machine
    full, latency = unit_hold(profile), machine.shared_memory.latency_cycles

    def of_wait(row: InstructionProfile) -> float:
        more = passes(row) - least_passes(row, machine)
        return max(full * excess_passes(row, machine), more / (latency + more)) if excess_passes(row, machine) else 0.0

    taken = ledger.take([QUEUE, "replay"], lambda row: excess_passes(row, machine))
    for pc, cycles in ledger.take(["short_scoreboard"], of_wait).items():
        taken[pc] = taken.get(pc, 0.0) + cycles
    if not taken:
        return None
    row, together = worst(profile, taken), sum(taken.values())
    others = [place for place, cycles in by_line(profile, taken).items() if cycles >= 0.1 * together and place != place_of(row)]
    sentence = (
        f"Shared memory has bank conflicts: an access of {instruction_named(profile, row)} takes {passes(row):.1f} passes where "
        f"{math.ceil(least_passes(row, machine))} would do"
        + (f"; likewise {listed(profile, others)}" if others else "")
        + f"; the passes too many are {percent(together / ledger.total)} of scheduler "
        "cycles. Let the lanes of a warp touch different banks: neighbouring words, or rows padded by a word."
    )
    return Finding("bank-conflicts", sentence, (*places_of(row), *others), together)


def bandwidth(ledger: Ledger) -> Finding | None:
    """A part of the memory system that is in use for most of the time, and would be without the sectors too many."""
    profile = ledger.profile
    used = {part: profile.utilisation.get(part, 0.0) for part in NAMES}
    needed = BUSY / (1 - sectors_too_many(profile))
    part = "dram_bus" if used["dram_bus"] >= needed else max(used, key=lambda name: used[name])
    if used[part] < needed:
        return None
    taken = ledger.take(MEMORY, lambda row: 1.0)
    if not taken:
        return None
    share, lines = share_of_line(profile, taken)
    if part == "dram_bus":
        moved = (profile.counters["dram_read_accesses"] + profile.counters["dram_write_accesses"]) * burst_bytes(profile)
        head = (
            f"The kernel is bound by DRAM bandwidth: its bus is in use for {percent(used[part])} of the time, "
            f"{moved / profile.seconds / 1e9:.0f} GB/s"
        )
        what = "It is near the machine's limit; only fewer bytes help: smaller types, fused kernels, or tiles that are used again."
    else:
        head = f"The kernel is bound by the bandwidth of {NAMES[part]}, which is in use for {percent(used[part])} of the time"
        what = "Fewer sectors help: reuse in the L1, in shared memory or in registers."
    waited = f"; waiting for it is {percent(sum(taken.values()) / ledger.total)} of scheduler cycles{', ' + share if share else ''}"
    rule = "dram-bandwidth" if part == "dram_bus" else "l2-bandwidth"
    return Finding(rule, f"{head}{waited}. {what}", lines, sum(taken.values()))


def burst_bytes(profile: LaunchProfile) -> int:
    return profile.machine.dram.bus_bytes * profile.machine.dram.burst_length


def full_unit(ledger: Ledger) -> Finding | None:
    """The load/store unit is full for what is coalesced and has no conflicts: it waits for the L1 to take misses, or it is simply
    asked for much."""
    profile, counters = ledger.profile, ledger.profile.counters
    taken = ledger.take([QUEUE], lambda row: 1.0)
    if not taken:
        return None
    share, lines = share_of_line(profile, taken)
    cycles, core_cycles = sum(taken.values()), profile.machine.core.cores * profile.cycles
    is_rest = ledger.is_rest(cycles, "lg_throttle", "mio_throttle")
    rejected = {name: counters[name] for name in REJECTIONS}
    why = max(rejected, key=lambda name: rejected[name])
    where = f" ({share})" if share else ""
    head = f"The load/store unit takes no more in {percent(cycles / ledger.total)} of scheduler cycles{where}"
    if sum(rejected.values()) <= counters["busy_ldst"]:
        reason = f"it makes an access or a pass in {percent(counters['busy_ldst'] / core_cycles)} of core cycles"
        what = "Wider accesses, or values kept in registers, need fewer of them."
        return Finding("load-store-unit", f"{head}: {reason}. {what}", lines, cycles, is_rest)
    names = {
        "l1_fail_tag": "every way of the set waits for its data",
        "l1_fail_mshr": f"none of the {profile.machine.l1d.mshr_entries} MSHRs of the L1 is free",
        "l1_fail_network": "the network takes nothing more from the core",
    }
    trip = f"a miss takes {counters['round_trip_cycles'] / counters['round_trips']:.0f} cycles" if counters["round_trips"] else ""
    sentence = (
        f"{head}: in {percent(min(1.0, rejected[why] / core_cycles))} of core cycles "
        f"{names[why]}{' (' + trip + ')' if trip else ''}. More warps would not help; fewer misses would: reuse in the L1, in "
        "shared memory or in registers."
    )
    return Finding("l1-misses-in-flight", sentence, lines, cycles, is_rest)


def load_latency(ledger: Ledger) -> Finding | None:
    """Waits for loads that too few warps hide. Schedulers that have no warp at all have too few of them, too."""
    profile = ledger.profile
    taken = ledger.take(["long_scoreboard"], lambda row: 1.0)
    if not taken:
        return None
    waited = sum(taken.values())
    empty = 0.0
    if waited >= 0.5 * ledger_waits(ledger, waited):
        empty = max(0.0, ledger.left(["empty"]) - ledger.idle)
        ledger.take_share("empty", empty)
    share, lines = share_of_line(profile, taken)
    loads = {profile.rows[pc].memory for pc in taken}
    what = "global loads" if loads <= {"global", "generic", ""} else "textures" if loads == {"texture"} else "loads from memory"
    finished = profile.counters["loads_finished"]
    latency = f", {profile.counters['load_latency_cycles'] / finished:.0f} cycles from issue to result" if finished else ""
    sentence = (
        f"{waits(profile, waited)} for {what}{latency}{'; ' + share if share else ''}. {resident(profile)}"
        + (
            f" A scheduler has no warp at all in {percent(empty / ledger.total)} of its cycles."
            if empty >= 0.05 * ledger.total
            else ""
        )
        + f" {remedy(profile)}"
    )
    return Finding("global-load-latency", sentence, lines, waited + empty, ledger.is_rest(waited, "long_scoreboard"))


def ledger_waits(ledger: Ledger, waited: float) -> float:
    """All cycles in which there were warps and none issued, of those that are not explained yet."""
    return waited + sum(count for (cause, _), count in ledger.cycles.items() if cause not in ("issued", "empty"))


def resident(profile: LaunchProfile) -> str:
    """How many warps there are to hide latency, and what stops more."""
    most = profile.machine.core.max_warps
    warps, fit = profile.resident_warps, profile.ctas_per_core
    there = f"{warps:.1f} of {most} warps are resident on a core ({percent(warps / most)} occupancy)"
    if waves(profile) < 1:
        return f"{there}: the grid has {profile.ctas / profile.machine.core.cores:.1f} CTAs a core, where {fit} fit."
    return f"{there}; the limit of {profile.limited_by} allows {fit} CTA{'s' * (fit > 1)}."


def remedy(profile: LaunchProfile) -> str:
    fitting = profile.ctas_per_core * profile.warps / profile.machine.core.max_warps
    if waves(profile) < 1:
        return "More CTAs, or more independent loads in each thread, would hide it."
    if fitting < HIGH_OCCUPANCY:
        return f"More warps ({MORE_WARPS[profile.limited_by]}), or more independent loads in each thread, would hide it."
    return "Occupancy is high already: load earlier, keep several loads in flight in each thread, or reuse data in shared memory."


HIGH_OCCUPANCY = 0.75  # more would add at most a third
MORE_WARPS = {
    "registers": "fewer registers a thread", "shared memory": "less shared memory a CTA", "CTA slots": "larger CTAs",
    "warps": "CTAs of another size", "threads": "CTAs of another size",
}  # fmt: skip
