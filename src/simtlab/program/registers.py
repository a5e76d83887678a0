"""Register allocation: virtual PTX registers onto 32-bit physical ones (a pair for 64 bits) and predicate registers.

Occupancy depends on the register count, so it must be close to what is live at once. Registers are coloured greedily in
order of dominance, which is optimal for programs in static single assignment form; NVRTC's PTX nearly is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simtlab.program.cfg import ControlFlowGraph
from simtlab.program.liveness import Usage, before, live_out


@dataclass(frozen=True)
class Allocation:
    """The first physical register of every virtual one (its number in its own class), and how many there are."""

    place: list[int]
    registers: int
    predicates: int
    most_live: int  # 32-bit registers live at once, the lower bound of any allocation


def allocate(graph: ControlFlowGraph, usages: Sequence[Usage], widths: Sequence[int]) -> Allocation:
    """`widths[v]` is 0 for a predicate, 1 for up to 32 bits, 2 for 64 bits."""
    after = live_out(graph, usages)
    conflicts = _interference(usages, after, len(widths))
    place = [-1] * len(widths)
    for v in _order_of_definition(graph, usages, len(widths)):
        place[v] = _lowest_free(v, place, widths, conflicts[v])
    registers = max((place[v] + w for v, w in enumerate(widths) if w and place[v] >= 0), default=0)
    predicates = max((place[v] + 1 for v, w in enumerate(widths) if not w and place[v] >= 0), default=0)
    return Allocation(place, registers, predicates, _most_live(usages, after, widths))


def bits(word: int) -> list[int]:
    """The positions of the set bits."""
    found = []
    while word:
        low = word & -word
        found.append(low.bit_length() - 1)
        word ^= low
    return found


def _interference(usages: Sequence[Usage], after: Sequence[int], count: int) -> list[int]:
    """Two registers conflict where one is written while the other is live, or both are written at once."""
    conflicts = [0] * count
    for usage, live in zip(usages, after, strict=True):
        if usage.writes:
            together = live | usage.writes
            for v in bits(usage.writes):
                conflicts[v] |= together & ~(1 << v)
    for v in range(count):
        mine = 1 << v
        for other in bits(conflicts[v]):
            conflicts[other] |= mine
    return conflicts


def _order_of_definition(graph: ControlFlowGraph, usages: Sequence[Usage], count: int) -> list[int]:
    """Registers as their first mention comes in reverse post-order; never-mentioned ones are left out."""
    seen = 0
    order: list[int] = []
    reachable = graph.order()
    rest = [n for n in range(len(graph.blocks)) if n not in set(reachable)]
    for number in (*reachable, *rest):
        block = graph.blocks[number]
        for k in range(block.first, block.end):
            new = (usages[k].reads | usages[k].writes) & ~seen
            if new:
                seen |= new
                order.extend(bits(new))
    return order


def _lowest_free(v: int, place: Sequence[int], widths: Sequence[int], conflicts: int) -> int:
    """The lowest free place of v's class; single registers fill up half-used pairs first."""
    width = widths[v]
    taken = 0
    for other in bits(conflicts):
        if place[other] >= 0 and (widths[other] == 0) == (width == 0):
            taken |= ((1 << max(widths[other], 1)) - 1) << place[other]
    if width == 2:
        return next(k for k in range(0, taken.bit_length() + 3, 2) if not (taken >> k) & 3)
    free = [k for k in range(taken.bit_length() + 1) if not (taken >> k) & 1]
    if width == 1:
        for k in free:
            if (taken >> (k ^ 1)) & 1:
                return k
    return free[0]


def _most_live(usages: Sequence[Usage], after: Sequence[int], widths: Sequence[int]) -> int:
    pairs = sum(1 << v for v, w in enumerate(widths) if w == 2)
    singles = sum(1 << v for v, w in enumerate(widths) if w == 1)

    def weight(live: int) -> int:
        return (live & singles).bit_count() + 2 * (live & pairs).bit_count()

    most = 0
    for usage, live in zip(usages, after, strict=True):
        most = max(most, weight(live | usage.writes), weight(before(usage, live)))
    return most
