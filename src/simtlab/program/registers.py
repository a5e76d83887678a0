"""Register allocation: virtual PTX registers onto 32-bit physical ones (a pair for 64 bits) and predicate registers.

Occupancy depends on the register count, so it must be close to what is live at once. Registers are coloured greedily in
order of dominance, which is optimal for programs in static single assignment form; NVRTC's PTX nearly is.

Where a register's lanes are stored is another matter: two registers may share storage only if lane l of both lies in the
same bytes, or lanes on different sides of a branch would overwrite each other's values. So each width has its own storage.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from simtlab.program.cfg import ControlFlowGraph
from simtlab.program.liveness import Usage, before, live_out

NOWHERE = -1  # the place of a register that no instruction mentions
LANE_BYTES = {"p": 0, "h": 2, "w": 4, "d": 8}  # of a register, by its operand kind; a predicate is one mask
LANES = 32
ALIGN_BYTES = 128


@dataclass(frozen=True)
class Allocation:
    """Where every virtual register went."""

    place: list[int]  # its (first) physical register, counted apart for predicates
    storage: list[int]  # byte offset of its lanes in the warp's register window
    registers: int  # 32-bit physical registers used
    predicates: int
    window_bytes: int
    most_live: int  # 32-bit registers live at once, the lower bound of any allocation


def allocate(graph: ControlFlowGraph, usages: Sequence[Usage], kinds: Sequence[str]) -> Allocation:
    """`kinds[v]` is the operand kind of virtual register v: "p", "h", "w" or "d"."""
    widths = [{"p": 0, "h": 1, "w": 1, "d": 2}[kind] for kind in kinds]
    after = live_out(graph, usages)
    conflicts = _interference(usages, after, len(widths))
    order = _order_of_definition(graph, usages)
    place = [NOWHERE] * len(widths)
    for v in order:
        place[v] = _lowest_free(v, place, widths, conflicts[v])
    registers = max((place[v] + w for v, w in enumerate(widths) if w and place[v] >= 0), default=0)
    predicates = max((place[v] + 1 for v, w in enumerate(widths) if not w and place[v] >= 0), default=0)
    storage, window_bytes = _store(order, kinds, conflicts)
    return Allocation(place, storage, registers, predicates, window_bytes, _most_live(usages, after, widths))


def _store(order: Sequence[int], kinds: Sequence[str], conflicts: Sequence[set[int]]) -> tuple[list[int], int]:
    """Offsets in the register window: 64-bit registers first, then 32-bit, 16-bit, predicates, each sharing with its own."""
    number = [NOWHERE] * len(kinds)
    used = dict.fromkeys("dwhp", 0)
    for v in order:
        taken = {number[other] for other in conflicts[v] if kinds[other] == kinds[v]}
        number[v] = next(k for k in range(len(taken) + 1) if k not in taken)
        used[kinds[v]] = max(used[kinds[v]], number[v] + 1)
    start, end = {}, 0
    for kind, count in used.items():
        start[kind] = end
        end += count * (LANE_BYTES[kind] * LANES or 4)
    size = {kind: LANE_BYTES[kind] * LANES or 4 for kind in used}
    storage = [start[kind] + max(n, 0) * size[kind] for kind, n in zip(kinds, number, strict=True)]
    return storage, max(-(-end // ALIGN_BYTES) * ALIGN_BYTES, ALIGN_BYTES)


def _interference(usages: Sequence[Usage], after: Sequence[frozenset[int]], count: int) -> list[set[int]]:
    """Two registers conflict where one is written while the other is live, or both are written at once."""
    conflicts: list[set[int]] = [set() for _ in range(count)]
    for usage, live in zip(usages, after, strict=True):
        for v in usage.writes:
            conflicts[v] |= live
            conflicts[v] |= usage.writes
    for v, others in enumerate(conflicts):
        others.discard(v)
    for v in range(count):
        for other in tuple(conflicts[v]):
            conflicts[other].add(v)
    return conflicts


def _order_of_definition(graph: ControlFlowGraph, usages: Sequence[Usage]) -> list[int]:
    """Registers as their first mention comes in reverse post-order; never-mentioned ones are left out."""
    seen: set[int] = set()
    order: list[int] = []
    for number in dict.fromkeys((*graph.order(), *range(len(graph.blocks)))):
        block = graph.blocks[number]
        for k in range(block.first, block.end):
            new = (usages[k].reads | usages[k].writes) - seen
            seen |= new
            order.extend(sorted(new))
    return order


def _lowest_free(v: int, place: Sequence[int], widths: Sequence[int], conflicts: set[int]) -> int:
    """The lowest free place of v's class; single registers fill up half-used pairs first."""
    width = widths[v]
    taken = 0
    for other in conflicts:
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


def _most_live(usages: Sequence[Usage], after: Sequence[frozenset[int]], widths: Sequence[int]) -> int:
    def weight(live: frozenset[int]) -> int:
        return sum(widths[v] for v in live)

    most = 0
    for usage, live in zip(usages, after, strict=True):
        most = max(most, weight(live | usage.writes), weight(before(usage, live)))
    return most
