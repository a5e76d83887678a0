"""PTX with convergence barriers in place of the SIMT stack (BOOK 3.1.2): a function's branches become those of machine code.

A barrier stands around each region (`program/regions.py`): MEET (BSSY) where it begins, CONVERGE (BSYNC) where it ends. `.sync`
operations wait for the lanes they name. What begins or ends where a block does stands before it in a chain, and every way into the
block joins the chain where its part begins: a way that stays inside a loop goes past what is only for lanes that enter it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from simtlab.isa.shape import ABSENT, IMMEDIATE, WORD
from simtlab.program.action import N_CONVERGENCE, Action, Condition, Members
from simtlab.program.cfg import ControlFlowGraph
from simtlab.program.lower import FunctionLowering, Lowered
from simtlab.program.operand import Operand, immediate
from simtlab.program.regions import Region, regions_of

EVERY_LANE = 0xFFFFFFFF
NAMES_LANES = ("shfl", "vote", "match", "redux", "elect")


def add_barriers(
    lowering: FunctionLowering, graph_of: Callable[[FunctionLowering], ControlFlowGraph], yield_after: int
) -> None:
    """Give a kernel without calls convergence barriers, before its registers are allocated. After `yield_after` backward branches
    its splits give way."""
    graph = graph_of(lowering)
    branches = [graph.block_of[k] for k, one in enumerate(lowering.lowered) if may_part(one)]
    layout = Layout(lowering, graph, regions_of(graph, branches), yield_after)
    for block in range(len(graph.blocks)):
        layout.lay(block)
    lowering.lowered[:] = layout.laid
    lowering.labels.update(layout.labels)
    tire_backward_branches(lowering, yield_after)
    number_barriers(lowering, graph_of(lowering), layout)


def may_part(one: Lowered) -> bool:
    """Whether lanes may disagree about where to go."""
    if "uni" in one.origin.modifiers:
        return False
    return one.action == Action.INDIRECT_BRANCH or (one.action == Action.BRANCH and one.guard is not None)


@dataclass
class Layout:
    """The instructions as they are laid out anew, block by block."""

    lowering: FunctionLowering
    graph: ControlFlowGraph
    regions: list[Region]
    yield_after: int
    laid: list[Lowered] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    barriers: list[tuple[int, int]] = field(default_factory=list)  # where a MEET or CONVERGE stands, and its region's number

    def __post_init__(self) -> None:
        self.constants = constants_of(self.lowering.lowered)
        self.names: dict[int, list[str]] = {}
        for name, k in self.lowering.labels.items():
            self.names.setdefault(k, []).append(name)
        self.loops: dict[int, list[int]] = {}  # regions by the blocks of loops they begin with, by the branch, by where they end
        self.parting: dict[int, list[int]] = {}
        self.ending: dict[int, list[int]] = {}
        for number, region in enumerate(self.regions):
            self.ending.setdefault(region.end, []).append(number)
            for block in region.begin:
                (self.loops if region.is_loop else self.parting).setdefault(block, []).append(number)

    def loops_entered(self, block: int) -> list[int]:
        """Regions that are loops and that some way into a block enters, the outermost first."""
        ways = self.graph.blocks[block].predecessors
        found = [number for number in self.loops.get(block, ()) if block == 0 or not self.regions[number].begin.issuperset(ways)]
        return sorted(found, key=lambda number: -len(self.regions[number].begin))

    def level(self, come_from: int, loops: list[int]) -> int:
        """How many of these loops a way into a block stays inside of."""
        return sum(come_from in self.regions[number].begin for number in loops)

    def lay(self, number: int) -> None:
        """A block: the chain before it, then its instructions."""
        block = self.graph.blocks[number]
        first = self.lowering.lowered[block.first]
        loops = self.loops_entered(number)
        ends = self.ending.get(number, [])
        if number > 0 and self.level(number - 1, loops) and number in self.graph.blocks[number - 1].successors:
            self.laid.append(branch_to(entry_label(number, self.level(number - 1, loops)), first))
        last_level = {k: max(self.level(way, loops) for way in block.predecessors if way in self.regions[k].inside) for k in ends}
        for level in range(len(loops) + 1):
            self.labels[entry_label(number, level)] = len(self.laid)
            for k in reversed(ends):
                if last_level[k] == level:
                    self.barrier(Action.CONVERGE, k, first)
            if level < len(loops):
                self.barrier(Action.MEET, loops[level], first)
        self.lay_instructions(number)

    def barrier(self, action: Action, region: int, beside: Lowered) -> None:
        self.barriers.append((len(self.laid), region))
        self.laid.append(Lowered(action, "", [immediate(0)], beside.origin))

    def lay_instructions(self, number: int) -> None:
        block = self.graph.blocks[number]
        together: set[int] = set()  # lanes that have been waited for
        for k in range(block.first, block.end):
            one = self.lowering.lowered[k]
            for name in self.names.get(k, ()):
                self.labels[name] = len(self.laid)
            if k == block.end - 1:
                for region in self.parting.get(number, ()):
                    self.barrier(Action.MEET, region, one)
            members = members_of(one)
            if members is not None:
                self.wait_for(members, one, together)
            self.laid.append(self.converted(one, number))

    def wait_for(self, members: Operand, one: Lowered, together: set[int]) -> None:
        """Wait for the lanes that an instruction names, unless the block has just done so."""
        if members.kind == ABSENT or members.register in self.constants:
            members = self.constants.get(members.register, immediate(EVERY_LANE))
        if members.kind == IMMEDIATE:
            if members.value in together or (one.action == Action.WARP_BARRIER and members.value == EVERY_LANE):
                return
            if one.guard is None:
                together.add(members.value)
        elif members.kind != WORD:
            moved = self.lowering.temporary("b32")
            self.laid.append(Lowered(Action.COMPUTE, "mov.b32", [moved, members], one.origin, one.guard))
            members = replace(moved, written=False)
        how = Members.NUMBER if members.kind == IMMEDIATE else Members.REGISTER
        self.laid.append(Lowered(Action.WARP_SYNC, "", [members], one.origin, one.guard, values=(how,)))

    def converted(self, one: Lowered, number: int) -> Lowered:
        """An instruction as splits have it."""
        if one.action in (Action.BRANCH, Action.INDIRECT_BRANCH):
            targets = tuple(self.way_to(self.graph.block_of[self.lowering.labels[name]], number) for name in one.targets)
            if one.action == Action.BRANCH:
                return replace(one, action=Action.SPLIT, targets=targets, values=(Condition.NONE,))
            operands = [one.operands[0], immediate(0), immediate(self.yield_after)]
            return replace(one, action=Action.JUMP, targets=targets, operands=operands, values=(Members.INDEX,))
        if one.action == Action.WARP_BARRIER and one.operands[0].kind == IMMEDIATE and one.operands[0].value == EVERY_LANE:
            return replace(one, action=Action.WARP_SYNC, spelling="", operands=[immediate(0)], values=(Members.ALL,))
        if one.action == Action.NOTHING and one.origin.opcode == "nanosleep":
            return replace(one, action=Action.YIELD, operands=[immediate(self.yield_after)], values=())
        action = {Action.EXIT: Action.END, Action.BARRIER: Action.CTA_BARRIER}.get(one.action, one.action)
        return one if action == one.action else replace(one, action=action)

    def way_to(self, block: int, come_from: int) -> str:
        return entry_label(block, self.level(come_from, self.loops_entered(block)))


def entry_label(block: int, level: int) -> str:
    """Where a way into a block joins the chain before it."""
    return f"%block{block}.{level}"


def branch_to(label: str, beside: Lowered) -> Lowered:
    return Lowered(Action.SPLIT, "", [], beside.origin, targets=(label,), values=(Condition.NONE,))


def members_of(one: Lowered) -> Operand | None:
    """The membermask of a .sync operation: its last operand."""
    opcode, *parts = one.spelling.split(".")
    if one.action == Action.WARP_BARRIER or (opcode in NAMES_LANES and "sync" in parts):
        return one.operands[-1]
    return None


def constants_of(lowered: list[Lowered]) -> dict[int, Operand]:
    """Registers that only ever hold one number: compilers put membermasks into them."""
    writes = Counter(operand.register for one in lowered for operand in one.operands if operand.written)
    return {one.operands[0].register: one.operands[1] for one in lowered if one.spelling in ("mov.u32", "mov.b32", "mov.s32")
            and one.guard is None and one.operands[1].kind == IMMEDIATE and writes[one.operands[0].register] == 1}  # fmt: skip


def tire_backward_branches(lowering: FunctionLowering, yield_after: int) -> None:
    """Say at each branch that goes back after how many of them a split gives way."""
    for k, one in enumerate(lowering.lowered):
        if one.action == Action.SPLIT and lowering.labels[one.targets[0]] <= k:
            one.operands = [immediate(0), immediate(0), immediate(yield_after)]


def number_barriers(lowering: FunctionLowering, graph: ControlFlowGraph, layout: Layout) -> None:
    """Give each region a barrier that no other has which begins or ends inside it: as many as regions are nested deep."""
    at = dict(layout.barriers)
    begins = held_at_begin(lowering, graph, at)
    others: dict[int, set[int]] = {region: set() for region in at.values()}
    for number, block in enumerate(graph.blocks):
        held = begins[number]
        for k in range(block.first, block.end):
            if k in at:
                for other in bits_of(held & ~(1 << at[k])):
                    others[at[k]].add(other)
                    others[other].add(at[k])
                held = after(lowering.lowered[k], at[k], held)
    chosen: dict[int, int] = {}
    for k, region in layout.barriers:
        if region not in chosen:
            taken = {chosen[other] for other in others[region] if other in chosen}
            chosen[region] = next(b for b in range(len(taken) + 1) if b not in taken)
            if chosen[region] >= N_CONVERGENCE:
                limit = f"branches are nested more than {N_CONVERGENCE} deep here: a warp has no more convergence barriers"
                raise lowering.error(lowering.lowered[k].origin, f"{limit}; reconvergence = 'stack' has no such limit")
        lowering.lowered[k].operands = [immediate(chosen[region])]


def bits_of(number: int) -> Iterator[int]:
    while number:
        yield (number & -number).bit_length() - 1
        number &= number - 1


def held_at_begin(lowering: FunctionLowering, graph: ControlFlowGraph, at: dict[int, int]) -> list[int]:
    """For each block, the regions that lanes may be in as it begins, as a set of bits."""
    by_block: dict[int, list[int]] = {}
    for k in sorted(at):
        by_block.setdefault(graph.block_of[k], []).append(k)
    begins = [0] * len(graph.blocks)
    pending = graph.order()[::-1]
    waiting = set(pending)
    while pending:
        number = pending.pop()
        waiting.discard(number)
        held = begins[number]
        for k in by_block.get(number, ()):
            held = after(lowering.lowered[k], at[k], held)
        for successor in graph.blocks[number].successors:
            if held & ~begins[successor]:
                begins[successor] |= held
                if successor not in waiting:
                    waiting.add(successor)
                    pending.append(successor)
    return begins


def after(barrier: Lowered, region: int, held: int) -> int:
    return held | 1 << region if barrier.action == Action.MEET else held & ~(1 << region)
