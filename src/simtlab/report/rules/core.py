"""Rules about what happens in a core: pipes, results, barriers, fetch."""

from __future__ import annotations

from collections.abc import Mapping

from simtlab.machine.config import PHYSICAL_UNITS
from simtlab.report.profile import InstructionProfile, LaunchProfile
from simtlab.report.rules.grid import waves
from simtlab.report.rules.ledger import NOWHERE, QUEUE, SPECIAL, Ledger
from simtlab.report.rules.memory import BUSY, resident
from simtlab.report.rules.words import Finding, by_line, named, percent, share_of_line, waits

PIPES = ("math_pipe_throttle", "dispatch")
UNIT_NAMES = {
    "sp": "SP", "heavy": "multiply-add", "int": "integer", "dp": "double-precision", "sfu": "special function", "tensor": "tensor",
}  # fmt: skip
INSTRUCTION_BYTES = {"PTX": 8, "SASS": 16}  # as the machine fetches them


def everything(row: InstructionProfile) -> float:
    return 1.0


def compute(ledger: Ledger) -> Finding | None:
    """A warp is ready in most cycles: it issues, or finds its pipe or all operand collectors taken. Then instructions are the "
    "limit."""
    profile = ledger.profile
    issued, stalled = ledger.left(["issued"]), ledger.left(PIPES)
    if issued + stalled < BUSY * ledger.total:
        return None
    taken = ledger.take(["issued", *PIPES], everything)
    unit, used = busiest_unit(profile)
    share, lines = share_of_line(profile, taken)
    conflicts = profile.counters["register_bank_conflicts"] / profile.instructions
    ready = f", in {percent(stalled / ledger.total)} one is ready and its pipe or all operand collectors are taken"
    sentence = (
        f"The kernel is bound by its instructions: in {percent(profile.stalls['issued'] / ledger.total)} of scheduler cycles a "
        "warp issues"
        + (ready if stalled >= 0.005 * ledger.total else "")
        + (f"; {share}" if share else "")
        + f". The busiest units are the {UNIT_NAMES[unit]} units with {percent(used)}"
        + (f", and operand reads find their register bank taken {conflicts:.1f} times an instruction" if conflicts >= 1 else "")
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
        f"A ready warp finds its pipe or all operand collectors taken in {percent(sum(taken.values()) / ledger.total)} of "
        "scheduler cycles"
        + (f"; {share}" if share else "")
        + f". The {UNIT_NAMES[unit]} units are busy for {percent(used)} of the time: warps want them at the same moments. Mixing "
        "instructions of other units in between would spread that."
    )
    cycles = sum(taken.values())
    return Finding("pipe-throttle", sentence, lines, cycles, ledger.is_rest(cycles, *PIPES))


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
        f"Special functions (square roots, exponentials, sines, divisions) take {percent(sum(taken.values()) / ledger.total)} of "
        f"scheduler cycles{'; ' + share if share else ''}; their units are busy for {percent(profile.utilisation.get('sfu', 0.0))} "
        "of the time. Fewer of them, or independent work between one and the use of its result, would help."
    )
    return Finding("special-functions", sentence, lines, sum(taken.values()))


def shared_latency(ledger: Ledger) -> Finding | None:
    profile = ledger.profile
    taken = ledger.take(["short_scoreboard"], everything)
    if not taken:
        return None
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"{waits(profile, sum(taken.values()))} for loads from shared memory, without bank "
        f"conflicts{'; ' + share if share else ''}. {resident(profile)} Load several values before the first is used."
    )
    cycles = sum(taken.values())
    return Finding("shared-load-latency", sentence, lines, cycles, ledger.is_rest(cycles, "short_scoreboard"))


def arithmetic_latency(ledger: Ledger) -> Finding | None:
    """Chains of dependent instructions that too few warps hide."""
    profile = ledger.profile
    taken = ledger.take(["wait"], everything)
    waited = sum(taken.values())
    if not waited:
        return None
    share, lines = share_of_line(profile, taken)
    sentence = (
        f"{waits(profile, waited)} for results of arithmetic{'; ' + share if share else ''}. {resident(profile)} More warps, or "
        "several independent chains in each thread, would hide it."
    )
    return Finding("arithmetic-latency", sentence, lines, waited, ledger.is_rest(waited, "wait"))


def few_warps(ledger: Ledger) -> Finding | None:
    """Schedulers without a warp: of cores that have run out of CTAs, or of cores that have too few warps."""
    profile = ledger.profile
    cycles = ledger.take_all(["empty"])
    head = f"A scheduler has no warp at all in {percent(cycles / ledger.total)} of its cycles"
    if ledger.idle > cycles / 2:
        sentence = (
            f"{head}, mostly on cores that have no CTA yet or no more: {profile.ctas} CTAs are {waves(profile):.2f} waves of "
            f"{profile.machine.core.cores * profile.ctas_per_core}. More and smaller CTAs would spread the work."
        )
        return Finding("idle-cores", sentence, (), cycles, ledger.is_rest(cycles, "empty"))
    sentence = (
        f"{head}. {resident(profile)} A CTA has {profile.warps} warp{'s' * (profile.warps > 1)}, a core "
        f"{profile.machine.issue.schedulers} scheduler{'s' * (profile.machine.issue.schedulers > 1)}. Larger or more CTAs would "
        "give them work."
    )
    return Finding("few-warps", sentence, (), cycles, ledger.is_rest(cycles, "empty"))


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
    barriers = [row.pc for row in profile.rows[:pc] if row.role == "barrier" and row.issued]
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
    code = len(profile.rows) * INSTRUCTION_BYTES[profile.language]
    cold = -(-code // machine.l1i.line_bytes) * min(machine.core.cores, profile.ctas * profile.launches)
    share, lines = share_of_line(profile, taken)
    head = (
        f"Warps have no instruction in {percent(cycles / ledger.total)} of scheduler cycles{' (' + share + ')' if share else ''}: "
        f"{misses:,} line{'s' * (misses != 1)} of instructions came from the L2"
    )
    if code > machine.l1i.bytes and misses > 2 * cold:
        why = (
            f"the kernel has {code:,} bytes, the instruction cache {machine.l1i.bytes:,}. Smaller or less unrolled loops would fit"
        )
    elif misses >= cold / 2:
        why = f"each core reads its code for the first time, and {profile.cycles:,} cycles are too few to make up for that"
    else:
        why = "most fetches hit, but each takes its time. Longer pieces of code without branches would help"
    return Finding("instruction-fetch", f"{head}; {why}.", lines, cycles, ledger.is_rest(cycles, "no_instruction"))


def constants(ledger: Ledger) -> Finding | None:
    """Constants that their cache does not hold, and lanes that read different lines of it, one after the other."""
    profile, counters = ledger.profile, ledger.profile.counters
    taken = ledger.take(["imc_miss", "long_scoreboard", QUEUE], lambda row: float(row.memory == "constant"))
    for pc, cycles in ledger.take(["imc_miss"], everything).items():
        taken[pc] = taken.get(pc, 0.0) + cycles
    loads = [row for row in profile.rows if row.memory == "constant" and row.issued]
    if not taken or not loads:
        return None
    share, lines = share_of_line(profile, taken)
    looked, cache = max(1, counters["l1c_hits"] + counters["l1c_misses"]), profile.machine.l1c.bytes
    each = sum(row.accesses for row in loads) / sum(row.issued for row in loads)
    if each > 1:
        what = "Lanes that read different lines take turns: let a warp read one constant, or use global memory."
    elif counters["l1c_misses"] * profile.machine.l1c.line_bytes > profile.machine.core.cores * profile.machine.l1c.bytes:
        what = "They do not fit: read fewer of them, or through shared memory."
    else:
        what = "Each core reads them for the first time, and the kernel is too short to make up for that."
    sentence = (
        f"Constants take {percent(sum(taken.values()) / ledger.total)} of scheduler cycles{'; ' + share if share else ''}. A load "
        f"touches {each:.1f} lines, and {percent(counters['l1c_misses'] / looked)} of {looked:,} accesses miss in the constant "
        f"cache of {cache:,} bytes. {what}"
    )
    return Finding("constant-misses", sentence, lines, sum(taken.values()))


SIMPLE: Mapping[str, tuple[str, str, str]] = {
    "membar": ("fences", "Warps wait at fences for their stores", "Fewer fences, or fences of a CTA only, would help."),
    "branch_resolving": ("branches", "Warps wait for branches to resolve", "Unroll short loops, or let both ways be computed."),
    "drain": ("store-drain", "Warps that have ended wait for their last stores", "Store earlier, or less at the end."),
    "tex_throttle": ("texture-unit", "The texture unit takes no more", "Fewer fetches, or nearer ones, would help."),
    "replay": ("replays", "Issue slots go to further passes of memory instructions", "Fewer lines or conflicts would help."),
}  # fmt: skip


def held_back(ledger: Ledger) -> Finding | None:
    """Warps that could issue, kept back while the policy's own choice could not; what the load/store unit explains is not in it."""
    cycles = ledger.take_all(["held_back"])
    sentence = (
        f"The policy that schedules warps, or one that throttles CTAs, holds back warps that could issue in "
        f"{percent(cycles / ledger.total)} of scheduler cycles. Another policy may not."
    )
    return Finding("held-back", sentence, (), cycles)


def simple(ledger: Ledger) -> list[Finding]:
    """Causes that need no more than their share and their line."""
    profile, found = ledger.profile, []
    for cause, (rule, head, what) in SIMPLE.items():
        taken = ledger.take([cause], everything) | {NOWHERE: ledger.cycles.get((cause, NOWHERE), 0.0)}
        cycles = sum(taken.values())
        if cycles:
            share, lines = share_of_line(profile, taken)
            sentence = f"{head} in {percent(cycles / ledger.total)} of scheduler cycles{'; ' + share if share else ''}. {what}"
            found.append(Finding(rule, sentence, lines, cycles))
    return found
