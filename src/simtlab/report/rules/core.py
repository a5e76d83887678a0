"""Rules about what happens in a core: pipes, results, barriers, fetch."""

from __future__ import annotations

from collections.abc import Mapping

from simtlab.machine.config import PHYSICAL_UNITS
from simtlab.report.profile import InstructionProfile, LaunchProfile
from simtlab.report.rules.ledger import NOWHERE, SPECIAL, Ledger
from simtlab.report.rules.memory import BUSY, resident
from simtlab.report.rules.words import Finding, by_line, cycles_of_warp, named, percent, place_of, share_of_line

PIPES = ("math_pipe_throttle", "dispatch")
UNIT_NAMES = {"sp": "SP", "int": "integer", "dp": "double-precision", "sfu": "special function", "tensor": "tensor"}
INSTRUCTION_BYTES = 8  # as the machine fetches them


def everything(row: InstructionProfile) -> float:
    return 1.0


def compute(ledger: Ledger) -> Finding | None:
    """A warp is ready in most cycles: it issues, or finds its pipe or all operand collectors taken. Then instructions are the limit."""
    profile = ledger.profile
    issued, stalled = ledger.left(["issued"]), ledger.left(PIPES)
    if issued + stalled < BUSY * ledger.total:
        return None
    taken = ledger.take(["issued", *PIPES], everything)
    unit, used = busiest_unit(profile)
    share, lines = share_of_line(profile, taken)
    conflicts = profile.counters["register_bank_conflicts"] / profile.instructions
    sentence = (
        f"The kernel is bound by its instructions: in {percent(profile.stalls['issued'] / ledger.total)} of scheduler cycles a warp issues"
        f", in {percent(stalled / ledger.total)} one is ready and its pipe or all operand collectors are taken; the busiest units are "
        f"the {UNIT_NAMES[unit]} units with {percent(used)}"
        + (f". {share[0].upper()}{share[1:]}" if share else "")
        + (f". Operand reads find their register bank taken {conflicts:.1f} times an instruction" if conflicts >= 1 else "")
        + ". Only fewer or cheaper instructions make it faster."
    )
    return Finding("compute-bound", sentence, lines, sum(taken.values()))


def pipes(ledger: Ledger) -> Finding | None:
    """Warps that are ready find their pipe taken, though a core is not bound by its instructions as a whole."""
    profile = ledger.profile
    taken = ledger.take(PIPES, everything)
    if not taken:
        return None
    unit, used = busiest_unit(profile)
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"A ready warp finds its pipe or all operand collectors taken in {percent(sum(taken.values()) / ledger.total)} of scheduler cycles"
        + (f"; {share}" if share else "")
        + f". The {UNIT_NAMES[unit]} units are busy for {percent(used)} of the time: warps want them at the same moments. Mixing "
        "instructions of other units in between would spread that."
    )
    return Finding("pipe-throttle", sentence, lines, sum(taken.values()))


def busiest_unit(profile: LaunchProfile) -> tuple[str, float]:
    used = {unit: profile.utilisation.get(unit, 0.0) for unit in PHYSICAL_UNITS}
    unit = max(used, key=lambda name: used[name])
    return unit, used[unit]


def special_functions(ledger: Ledger) -> Finding | None:
    profile = ledger.profile
    taken = ledger.take([SPECIAL], everything)
    if not taken:
        return None
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"Special functions (square roots, exponentials, sines, divisions) take {percent(sum(taken.values()) / ledger.total)} of scheduler "
        f"cycles{'; ' + share if share else ''}; their units are busy for {percent(profile.utilisation.get('sfu', 0.0))} of the time. Fewer "
        "of them, or independent work between one and the use of its result, would help."
    )
    return Finding("special-functions", sentence, lines, sum(taken.values()))


def shared_latency(ledger: Ledger) -> Finding | None:
    profile = ledger.profile
    taken = ledger.take(["short_scoreboard"], everything)
    if not taken:
        return None
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"Each warp waits {cycles_of_warp(profile, sum(taken.values())):.0f} of {profile.cycles_between_instructions:.0f} cycles between "
        f"instructions for loads from shared memory, without bank conflicts{'; ' + share if share else ''}. {resident(profile)} Load "
        "several values before the first is used."
    )
    return Finding("shared-load-latency", sentence, lines, sum(taken.values()))


def arithmetic_latency(ledger: Ledger) -> Finding | None:
    """Chains of dependent instructions that too few warps hide."""
    profile = ledger.profile
    taken = ledger.take(["wait"], everything)
    waited = sum(taken.values())
    if not waited:
        return None
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"Each warp waits {cycles_of_warp(profile, waited):.0f} of {profile.cycles_between_instructions:.0f} cycles between instructions "
        f"for results of arithmetic{'; ' + share if share else ''}. {resident(profile)} More warps, or several independent chains in each "
        "thread, would hide it."
    )
    return Finding("arithmetic-latency", sentence, lines, waited)


def few_warps(ledger: Ledger) -> Finding | None:
    """Schedulers without a warp, on cores that have some."""
    profile = ledger.profile
    cycles = ledger.take_all(["empty"])
    sentence = (
        f"A scheduler has no warp at all in {percent(cycles / ledger.total)} of its cycles. {resident(profile)} A CTA has {profile.warps} "
        f"warp{'s' * (profile.warps > 1)} for the {profile.machine.issue.schedulers} schedulers of a core. Larger or more CTAs would "
        "give them work."
    )
    return Finding("few-warps", sentence, (), cycles)


def barrier(ledger: Ledger) -> Finding | None:
    """Warps that have come to a barrier wait for the last one of their CTA."""
    profile = ledger.profile
    taken = ledger.take(["barrier"], everything)
    if not taken:
        return None
    lines, together = by_line(profile, taken), sum(taken.values())
    place = next(iter(lines), None)
    where = f"the barrier of {named(profile, place)}" if place else "a barrier"
    late = work_before(profile, max(taken, key=lambda pc: taken[pc]))
    others = f": {percent(late[1])} of the cycles before it go to {named(profile, late[0])}" if late else ""
    sentence = (
        f"Warps wait at {where} for the others of their CTA in {percent(together / ledger.total)} of scheduler cycles{others}. The "
        f"{profile.warps} warps of a CTA come there at different times: share the work before it out evenly, or use smaller CTAs."
    )
    return Finding("barrier", sentence, tuple(p for p in (place, late[0] if late else None) if p), together)


def work_before(profile: LaunchProfile, pc: int) -> tuple[tuple[str, int], float] | None:
    """Between the barrier before and this one: the line with the most scheduler cycles, and its share of them."""
    barriers = [row.pc for row in profile.rows[:pc] if row.text.startswith(("bar.", "barrier.")) and row.issued]
    first = barriers[-1] + 1 if barriers else 0
    spent = {row.pc: float(row.issued + row.stalled) for row in profile.rows[first:pc]}
    lines = by_line(profile, spent)
    if not lines:
        return None
    place, cycles = next(iter(lines.items()))
    return place, cycles / sum(spent.values())


def fetch(ledger: Ledger) -> Finding | None:
    """No warp has an instruction: its line is not in the instruction cache."""
    profile = ledger.profile
    cycles = ledger.left(["no_instruction"])
    taken = ledger.take(["no_instruction"], everything)
    ledger.take_all(["no_instruction"])
    machine, misses = profile.machine, profile.counters["l1i_misses"]
    code = len(profile.rows) * INSTRUCTION_BYTES
    cold = -(-code // machine.l1i.line_bytes) * min(machine.core.cores, profile.ctas * profile.launches)
    share, lines = share_of_line(profile, taken)
    head = (
        f"Warps have no instruction in {percent(cycles / ledger.total)} of scheduler cycles: {misses:,} lines of instructions were fetched "
        f"from the L2"
    )
    if code > machine.l1i.bytes and misses > 2 * cold:
        why = f"the kernel has {code:,} bytes of them, the instruction cache {machine.l1i.bytes:,}. Smaller or less unrolled loops would fit"
    elif misses >= cold / 2:
        why = f"the code is cold, and the kernel too short ({profile.cycles:,} cycles) to make up for it. A longer kernel would"
    else:
        why = f"most fetches hit, and {percent(profile.stalls['issued'] / ledger.total)} of the cycles issue. Longer straight code would help"
    return Finding("instruction-fetch", f"{head}{', ' + share if share else ''}; {why}.", lines, cycles)


def constants(ledger: Ledger) -> Finding | None:
    profile, counters = ledger.profile, ledger.profile.counters
    taken = ledger.take(["imc_miss"], everything)
    if not taken:
        return None
    share, lines = share_of_line(profile, taken)
    looked = counters["l1c_hits"] + counters["l1c_misses"]
    rate = f"{percent(counters['l1c_misses'] / looked)} of {looked:,} accesses miss" if looked else "no access is counted"
    sentence = (
        f"Warps wait for constants in {percent(sum(taken.values()) / ledger.total)} of scheduler cycles{'; ' + share if share else ''}. In "
        f"the constant cache of {profile.machine.l1c.bytes:,} bytes {rate}. Lanes that read different constants take turns: let a warp "
        "read one, or use global memory."
    )
    return Finding("constant-misses", sentence, lines, sum(taken.values()))


SIMPLE: Mapping[str, tuple[str, str, str]] = {
    "membar": ("fences", "Warps wait at fences for their stores", "Fewer fences, or fences of a CTA only, would help."),
    "branch_resolving": ("branches", "Warps wait for branches to resolve", "Unroll short loops, or let both ways be computed."),
    "drain": ("store-drain", "Warps that have ended wait for their last stores", "Store earlier, or less at the end."),
    "tex_throttle": ("texture-unit", "The texture unit takes no more", "Fewer fetches, or fetches nearer to one another, would help."),
    "replay": ("replays", "Issue slots go to further passes of memory instructions", "Fewer lines or conflicts an access would help."),
    "held_back": ("held-back", "The warp scheduler or the CTA throttle holds warps back that could issue", "Another policy may not."),
}  # fmt: skip


def simple(ledger: Ledger) -> list[Finding]:
    """Causes that need no more than their share and their line."""
    profile, found = ledger.profile, []
    for cause, (rule, head, what) in SIMPLE.items():
        taken = ledger.take([cause], everything) | {NOWHERE: ledger.cycles.get((cause, NOWHERE), 0.0)}
        cycles = sum(taken.values())
        if cycles:
            share, lines = share_of_line(profile, taken)
            where = f"; {share}" if share else ""
            found.append(Finding(rule, f"{head} in {percent(cycles / ledger.total)} of scheduler cycles{where}. {what}", lines, cycles))
    return found


__all__ = [
    "arithmetic_latency", "barrier", "compute", "constants", "fetch", "few_warps", "pipes", "place_of", "shared_latency", "simple",
    "special_functions",
]  # fmt: skip
