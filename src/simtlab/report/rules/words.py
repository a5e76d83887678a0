"""How findings are put into words: percentages, lines, and what a rule has found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from simtlab.report.profile import InstructionProfile, LaunchProfile

Place = tuple[str, int]


@dataclass(frozen=True)
class Finding:
    """What a rule says, and how many scheduler cycles that explains."""

    rule: str
    sentence: str
    lines: tuple[Place, ...]
    cycles: float
    is_rest: bool = False  # other rules have explained a part of what its sentence is about before


def percent(share: float) -> str:
    return f"{100 * share:.0f}%" if share >= 0.095 or share == 0 else f"{100 * share:.1f}%"


def place_of(row: InstructionProfile) -> Place:
    return row.file, row.line


def by_line(profile: LaunchProfile, taken: Mapping[int, float]) -> dict[Place, float]:
    """Cycles by source line, the most first; instructions of no line are left out."""
    found: dict[Place, float] = defaultdict(float)
    for pc, cycles in taken.items():
        if pc >= 0 and profile.rows[pc].line:
            found[place_of(profile.rows[pc])] += cycles
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def named(profile: LaunchProfile, place: Place) -> str:
    """`line 27`, with its file where the kernel has several."""
    files = {row.file for row in profile.rows if row.line}
    return f"line {place[1]}" if len(files) < 2 else f"{place[0].split('/')[-1]}:{place[1]}"


def listed(profile: LaunchProfile, places: Iterable[Place]) -> str:
    """`lines 16, 17 and 20`, in their order."""
    names = [named(profile, place) for place in sorted(places)]
    if len(names) < 2:
        return "".join(names)
    if names[0].startswith("line "):
        names = [f"lines {names[0][5:]}", *(name.removeprefix("line ") for name in names[1:])]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def instruction_named(profile: LaunchProfile, row: InstructionProfile) -> str:
    """An instruction by its line; by its text where it has none, as in a kernel written in PTX."""
    return named(profile, place_of(row)) if row.line else f"`{row.text.rstrip(';')}`"


def share_of_line(profile: LaunchProfile, taken: Mapping[int, float]) -> tuple[str, tuple[Place, ...]]:
    """`83% of that is line 27`: the line with the most of the cycles taken."""
    lines, together = by_line(profile, taken), sum(taken.values())
    if not lines or not together:
        return "", ()
    place, cycles = next(iter(lines.items()))
    share = percent(cycles / together)
    return f"{'all' if share == '100%' else share} of that is {named(profile, place)}", (place,)


def worst(profile: LaunchProfile, taken: Mapping[int, float]) -> InstructionProfile:
    """The instruction with the most of the cycles taken."""
    return profile.rows[max(taken, key=lambda pc: taken[pc])]


def waits(profile: LaunchProfile, cycles: float) -> str:
    """`Each warp waits 41 of 58 cycles between instructions`: those of a warp that belong to so many scheduler cycles. It is an
    estimate, as schedulers' cycles are counted, not warps'."""
    with_warps = profile.scheduler_cycles - profile.stalls["empty"]
    between = profile.cycles_between_instructions
    waited = between * cycles / with_warps if with_warps else 0.0
    digits = 0 if waited >= 10 else 1
    return f"Each warp waits {waited:.{digits}f} of {between:.{digits}f} cycles between instructions"
