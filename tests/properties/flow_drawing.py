"""Draws programs of `flow`: any graph at all, in which every way back costs fuel, so that every thread ends."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.properties.flow import (
    FUEL,
    INDEX,
    OPERATIONS,
    SLOTS,
    THREAD,
    Branch,
    Call,
    Compute,
    Exchange,
    Function,
    Graph,
    Guard,
    Instruction,
    Leave,
    Program,
    Register,
    Source,
    Store,
    Switch,
)

KERNEL_REGISTERS = ("r3", "r4", "r5", "r6", "d0", "d1", "d2", "h0", "h1", "h2", "p0", "p1", "p2")
FUNCTION_REGISTERS = ("r3", "r4", "d0", "d1", "h0", "h1", "p0", "p1")
FIRST_FRESH = 10  # number of the first register that lives in one graph or one block only
IMMEDIATES = (0, 1, 2, 5, 31, 33, 77, -1, -3, 1000)
OPERATION_NAMES = tuple(OPERATIONS)


class Scope:
    """What may be read and written at a place of a graph. Blocks have scopes of their own with registers of their own."""

    def __init__(self, draw: st.DrawFn, registers: tuple[Register, ...], counts: dict[str, int] | None = None):
        self.draw = draw
        self.writable = registers
        self.readable = [*registers, THREAD, FUEL]
        self.counts = counts or dict.fromkeys("rdhp", FIRST_FRESH)

    def block(self) -> Scope:
        inner = Scope(self.draw, self.writable, self.counts)
        inner.readable = list(self.readable)
        return inner

    def integer(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def chance(self, one_in: int) -> bool:
        return self.integer(1, one_in) == one_in

    def fresh(self, kind: str) -> Register:
        self.counts[kind] += 1
        return f"{kind}{self.counts[kind]}"

    def read(self, kind: str) -> Register:
        return self.draw(st.sampled_from([register for register in self.readable if register[0] == kind]))

    def write(self, kind: str) -> Register:
        return self.draw(st.sampled_from([register for register in self.writable if register[0] == kind]))

    def source(self, kind: str, immediates: bool = True) -> Source:
        if immediates and kind != "p" and self.chance(5):
            return self.draw(st.sampled_from(IMMEDIATES))
        return self.read(kind)

    def guard(self) -> Guard:
        return Guard(self.read("p"), self.chance(2))

    # Instructions -----------------------------------------------------------------------------------------------------

    def compute(self, destination: Register = "", guard: Guard | None = None) -> Compute:
        """Into a given register, into one that lives on, or into one that nothing outside the block sees."""
        names = [name for name in OPERATION_NAMES if not destination or OPERATIONS[name][0] == destination[0]]
        name = self.draw(st.sampled_from(names))
        kind, classes, _ = OPERATIONS[name]
        sources = tuple(self.source(each, immediates=len(classes) > 1) for each in classes)
        if destination:
            return Compute(name, destination, sources, guard)
        if self.chance(3):
            fresh = self.fresh(kind)
            self.readable.append(fresh)
            return Compute(name, fresh, sources)
        return Compute(name, self.write(kind), sources, self.guard() if self.chance(3) else guard)

    def guarded_pair(self) -> list[Instruction]:
        """A register that only some lanes ever write, read by the same lanes."""
        guard, kind = self.guard(), self.draw(st.sampled_from("rdh"))
        half = self.fresh(kind)
        end = {"r": "xor.b32", "d": "add.s64", "h": "sub.s16"}[kind]
        return [self.compute(half, guard), Compute(end, self.write(kind), (half, self.read(kind)), guard)]


class GraphDrawing:
    """One graph. `callable` are the functions it may call; `own` is its function's number, for recursion."""

    def __init__(self, scope: Scope, callable: list[int], result: str, own: int | None, may_exit: bool):
        self.scope, self.callable, self.result, self.own, self.may_exit = scope, callable, result, own, may_exit
        self.recursions_left = 0 if own is None else 1

    def draw(self, prelude: list[Instruction]) -> Graph:
        scope = self.scope
        for _ in range(scope.integer(0, 3)):
            fresh = scope.fresh(scope.draw(st.sampled_from("rdhp")))
            prelude.append(scope.compute(fresh))
            scope.readable.append(fresh)
        count = scope.integer(2, 8)
        return (tuple(prelude), *(self.block(number, count) for number in range(1, count)))

    def block(self, number: int, count: int) -> tuple[Instruction, ...]:
        scope = self.scope.block()
        instructions: list[Instruction] = []
        for _ in range(scope.integer(0, 5)):
            instructions += self.step(scope, number, count)
        return (*instructions, *self.ending(scope, number, count))

    def step(self, scope: Scope, number: int, count: int) -> list[Instruction]:
        kind = scope.integer(0, 13)
        if kind == 13 and (self.callable or self.recursions_left):
            return self.call(scope, number)
        if kind == 12:
            return [Branch(scope.integer(number + 1, count), scope.guard())]
        if kind == 11:
            return scope.guarded_pair()
        if kind == 10 and self.own is None:
            register = scope.read(scope.draw(st.sampled_from("rdh")))
            return [Store(scope.integer(0, SLOTS - 1), register, scope.guard() if scope.chance(3) else None)]
        if kind == 9 and (self.may_exit or self.own is not None) and scope.chance(2):
            return [self.leave(scope, scope.guard())]
        return [scope.compute()]

    def leave(self, scope: Scope, guard: Guard | None) -> Leave:
        exits = self.own is None or (self.may_exit and scope.chance(3))
        return Leave("" if exits else scope.read(self.result), guard)

    def ending(self, scope: Scope, number: int, count: int) -> list[Instruction]:
        kind = scope.integer(0, 7)
        if kind == 0:
            return []
        if kind == 1:
            return [Branch(scope.integer(number + 1, count))]
        if kind <= 4:
            return self.branch(scope, number, scope.integer(1, count))
        if kind == 7 and (self.may_exit or self.own is not None):
            return [self.leave(scope, None)]
        return self.switch(scope, number, count)

    def branch(self, scope: Scope, number: int, target: int) -> list[Instruction]:
        guard = scope.guard()
        if target > number:
            return [Branch(target, guard)]
        again = scope.fresh("p")
        return [
            Compute("sub.s32", FUEL, (FUEL, 1)),
            Compute("setp.ge.and.s32", again, (FUEL, 1, guard.predicate)),
            Branch(target, Guard(again)),
        ]

    def switch(self, scope: Scope, number: int, count: int) -> list[Instruction]:
        targets = [scope.integer(1, count) for _ in range(scope.integer(1, 4))]
        instructions: list[Instruction] = [
            Compute("and.b32", INDEX, (scope.read("r"), 3)), Compute("min.s32", INDEX, (INDEX, len(targets) - 1)),
        ]  # fmt: skip
        if min(targets) <= number:
            targets[0] = scope.integer(number + 1, count)
            again = scope.fresh("p")
            instructions += [
                Compute("sub.s32", FUEL, (FUEL, 1)), Compute("setp.ge.s32", again, (FUEL, 1)),
                Compute("selp.b32", INDEX, (INDEX, 0, again)),
            ]  # fmt: skip
        return [*instructions, Switch(INDEX, tuple(targets), scope.guard() if scope.chance(3) else None)]

    def call(self, scope: Scope, number: int) -> list[Instruction]:
        fuel = scope.fresh("r")
        instructions: list[Instruction] = [Compute("sub.s32", fuel, (FUEL, 1))]
        arguments = (scope.source("r"), fuel, scope.source("d"), scope.source("h"))
        destination, memory = scope.write(self.result), scope.chance(2)
        if self.recursions_left and (not self.callable or scope.chance(2)):
            self.recursions_left -= 1
            enough = scope.fresh("p")
            instructions.append(Compute("setp.ge.s32", enough, (FUEL, 1)))
            guard = Guard(enough) if scope.chance(2) else None
            if guard is None:
                instructions.append(Branch(number + 1, Guard(enough, negated=True)))
            assert self.own is not None
            return [*instructions, Call((self.own,), destination, arguments, guard, through_memory=memory)]
        instructions.append(Compute("shr.s32", fuel, (fuel, 1)))
        several = scope.chance(3)
        functions = tuple(scope.draw(st.sampled_from(self.callable)) for _ in range(1 + several))
        chooser = scope.read("p") if several else ""
        guard = scope.guard() if scope.chance(3) else None
        return [*instructions, Call(functions, destination, arguments, guard, chooser, memory)]


def first_values(draw: st.DrawFn, registers: tuple[Register, ...]) -> list[Instruction]:
    """Different numbers in every thread."""
    start: list[Instruction] = []
    for register in registers:
        factor, addend = ((draw(st.integers(1, 1 << 20)) * 2654435761 + 305419896) % (1 << 32) for _ in range(2))
        if register[0] == "r":
            start.append(Compute("mad.lo.s32", register, (THREAD, factor, addend)))
        elif register[0] == "d":
            start.append(Compute("mul.wide.u32", register, ("r3", factor)))
        elif register[0] == "h":
            start.append(Compute("cvt.u16.u32", register, ("r4",)))
        else:
            start.append(Compute("setp.lt.s32", register, ("r3", addend)))
    return start


def draw_function(draw: st.DrawFn, own: int, count: int, result: str, may_exit: bool) -> Function:
    scope = Scope(draw, FUNCTION_REGISTERS)
    prelude = first_values(draw, tuple(register for register in FUNCTION_REGISTERS if register not in ("d0", "h0")))
    drawing = GraphDrawing(scope, list(range(own + 1, count)), result, own, may_exit)
    return Function(drawing.draw(prelude), scope.read(result))


def draw_exchange(scope: Scope, threads: int) -> Exchange:
    kind = scope.draw(st.sampled_from(("barrier", "shared", "shuffle", "ballot") if threads % 32 == 0 else ("shared",)))
    if kind == "barrier":
        return Exchange(kind)
    distance = scope.integer(1, threads - 1 if kind == "shared" else 31)
    return Exchange(kind, scope.write("r"), scope.read("p" if kind == "ballot" else "r"), distance)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    threads = draw(st.sampled_from((64, 96, 80)))
    result = draw(st.sampled_from("rdh"))
    n_graphs, n_functions = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    functions = tuple(draw_function(draw, k, n_functions, result, n_graphs == 1) for k in range(n_functions))
    outer = Scope(draw, KERNEL_REGISTERS)
    start = [Compute("mov.b32", INDEX, (0,)), *first_values(draw, KERNEL_REGISTERS)]
    graphs, exchanges = [], []
    for number in range(n_graphs):
        fuel = draw(st.integers(0, 5))
        prelude = [Compute("and.b32", FUEL, (THREAD, 3)), Compute("add.s32", FUEL, (FUEL, fuel))]
        last = number == n_graphs - 1
        drawing = GraphDrawing(outer.block(), list(range(n_functions)), result, None, may_exit=last)
        graphs.append(drawing.draw(prelude))
        if not last:
            exchanges.append(tuple(draw_exchange(outer, threads) for _ in range(draw(st.integers(1, 3)))))
    kept = draw(st.lists(st.sampled_from((*KERNEL_REGISTERS, FUEL)), unique=True, min_size=1))
    return Program(threads, functions, tuple(start), tuple(graphs), tuple(exchanges), tuple(kept))
