"""Programs as control-flow graphs in an abstract form, and what each thread of one computes.

Registers are named by class and number: r 32 bits, d 64, h 16, p a predicate. `flow_text` writes a program as PTX,
`flow_drawing` draws one at random; neither is needed to say what it means.
"""

from collections.abc import Callable
from dataclasses import dataclass

WIDTH = {"r": 32, "d": 64, "h": 16, "p": 1}
BYTES = {"r": 4, "d": 8, "h": 2, "p": 4}  # as stored; a predicate as 0 or 1
THREAD, FUEL, INDEX = "r0", "r1", "r2"  # never written by drawn arithmetic
PARAMETERS = ("r0", "r1", "d0", "h0")  # of every function
SLOTS = 24  # 64-bit words a thread may store to
Register = str
Source = Register | int


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) else value


def s16(value: int) -> int:
    return signed(value, 16)


def s32(value: int) -> int:
    return signed(value, 32)


def s64(value: int) -> int:
    return signed(value, 64)


def clamped(amount: int, width: int) -> int:
    return min(amount, width)


# Spelling: class of the destination, classes of the sources, meaning before it is cut to the destination's width.
OPERATIONS: dict[str, tuple[str, str, Callable]] = {
    "add.s32": ("r", "rr", lambda a, b: a + b),
    "sub.s32": ("r", "rr", lambda a, b: a - b),
    "mul.lo.s32": ("r", "rr", lambda a, b: a * b),
    "mul.hi.u32": ("r", "rr", lambda a, b: a * b >> 32),
    "mad.lo.s32": ("r", "rrr", lambda a, b, c: a * b + c),
    "xor.b32": ("r", "rr", lambda a, b: a ^ b),
    "and.b32": ("r", "rr", lambda a, b: a & b),
    "not.b32": ("r", "r", lambda a: ~a),
    "shl.b32": ("r", "rr", lambda a, n: a << clamped(n, 32)),
    "shr.s32": ("r", "rr", lambda a, n: s32(a) >> clamped(n, 32)),
    "min.s32": ("r", "rr", lambda a, b: min(s32(a), s32(b))),
    "max.u32": ("r", "rr", max),
    "popc.b32": ("r", "r", int.bit_count),
    "selp.b32": ("r", "rrp", lambda a, b, p: a if p else b),
    "mov.b32": ("r", "r", lambda a: a),
    "cvt.u32.u64": ("r", "d", lambda a: a),
    "cvt.u32.u16": ("r", "h", lambda a: a),
    "cvt.s32.s16": ("r", "h", s16),
    "mul.wide.s16": ("r", "hh", lambda a, b: s16(a) * s16(b)),
    "add.s64": ("d", "dd", lambda a, b: a + b),
    "sub.s64": ("d", "dd", lambda a, b: a - b),
    "mul.lo.s64": ("d", "dd", lambda a, b: a * b),
    "xor.b64": ("d", "dd", lambda a, b: a ^ b),
    "shl.b64": ("d", "dr", lambda a, n: a << clamped(n, 64)),
    "shr.u64": ("d", "dr", lambda a, n: a >> clamped(n, 64)),
    "min.s64": ("d", "dd", lambda a, b: min(s64(a), s64(b))),
    "selp.b64": ("d", "ddp", lambda a, b, p: a if p else b),
    "mul.wide.u32": ("d", "rr", lambda a, b: a * b),
    "mad.wide.s32": ("d", "rrd", lambda a, b, c: s32(a) * s32(b) + c),
    "cvt.s64.s32": ("d", "r", s32),
    "cvt.u64.u16": ("d", "h", lambda a: a),
    "mov.b64": ("d", "d", lambda a: a),
    "add.s16": ("h", "hh", lambda a, b: a + b),
    "sub.s16": ("h", "hh", lambda a, b: a - b),
    "mul.lo.s16": ("h", "hh", lambda a, b: a * b),
    "xor.b16": ("h", "hh", lambda a, b: a ^ b),
    "shr.s16": ("h", "hr", lambda a, n: s16(a) >> clamped(n, 16)),
    "selp.b16": ("h", "hhp", lambda a, b, p: a if p else b),
    "cvt.u16.u32": ("h", "r", lambda a: a),
    "cvt.u16.u64": ("h", "d", lambda a: a),
    "setp.lt.s32": ("p", "rr", lambda a, b: s32(a) < s32(b)),
    "setp.gt.u32": ("p", "rr", lambda a, b: a > b),
    "setp.ne.s32": ("p", "rr", lambda a, b: a != b),
    "setp.ge.s32": ("p", "rr", lambda a, b: s32(a) >= s32(b)),
    "setp.ge.and.s32": ("p", "rrp", lambda a, b, p: s32(a) >= s32(b) and p),
    "setp.lt.s64": ("p", "dd", lambda a, b: s64(a) < s64(b)),
    "setp.gt.u64": ("p", "dd", lambda a, b: a > b),
    "setp.le.s16": ("p", "hh", lambda a, b: s16(a) <= s16(b)),
    "and.pred": ("p", "pp", lambda a, b: a & b),
    "xor.pred": ("p", "pp", lambda a, b: a ^ b),
    "not.pred": ("p", "p", lambda a: a ^ 1),
}


@dataclass(frozen=True)
class Guard:
    predicate: Register
    negated: bool = False


@dataclass(frozen=True)
class Compute:
    name: str
    destination: Register
    sources: tuple[Source, ...]
    guard: Guard | None = None


@dataclass(frozen=True)
class Store:
    """A register into one of the thread's own words of the output."""

    slot: int
    register: Register
    guard: Guard | None = None


@dataclass(frozen=True)
class Call:
    """Of `functions[0]`, or (with two) of the one `chooser` picks, through a pointer."""

    functions: tuple[int, ...]
    destination: Register
    arguments: tuple[Source, ...]
    guard: Guard | None = None
    chooser: Register = ""
    through_memory: bool = True  # arguments in .param variables rather than named in the call


@dataclass(frozen=True)
class Leave:
    """A thread's end, or a function's return with the value of a register."""

    value: Register = ""
    guard: Guard | None = None


@dataclass(frozen=True)
class Branch:
    target: int
    guard: Guard | None = None


@dataclass(frozen=True)
class Switch:
    index: Register
    targets: tuple[int, ...]
    guard: Guard | None = None


Instruction = Compute | Store | Call | Leave | Branch | Switch
Graph = tuple[tuple[Instruction, ...], ...]  # blocks; a branch to their number leads past the last one


@dataclass(frozen=True)
class Function:
    blocks: Graph
    result: Register  # returned where control falls off the end


@dataclass(frozen=True)
class Exchange:
    """All threads together: `barrier` and `shared` memory of a neighbour, `shuffle` or `ballot` within a warp."""

    kind: str
    destination: Register = ""
    source: Register = ""
    distance: int = 0


@dataclass(frozen=True)
class Program:
    """Graphs one after another, all threads meeting between them."""

    threads: int
    functions: tuple[Function, ...]
    start: tuple[Compute, ...]
    graphs: tuple[Graph, ...]
    exchanges: tuple[tuple[Exchange, ...], ...]  # after each graph but the last
    kept: tuple[Register, ...]  # stored at the end


class TooLong(Exception):
    """The program runs for longer than a test should."""


ENDED = object()


class Interpreter:
    """Runs a program one thread at a time between the points where all threads meet."""

    def __init__(self, program: Program, most_steps: int):
        self.program, self.steps_left = program, most_steps
        self.out = [bytearray(8 * SLOTS) for _ in range(program.threads)]

    def run(self) -> bytes:
        threads: list[dict[Register, int] | None] = []
        for number in range(self.program.threads):
            registers = {THREAD: number}
            for instruction in self.program.start:
                self.compute(instruction, registers)
            threads.append(registers)
        for graph, exchanges in zip(self.program.graphs, (*self.program.exchanges, ()), strict=True):
            for number, registers in enumerate(threads):
                if self.walk(graph, registers, self.out[number]) is ENDED:
                    threads[number] = None
            for exchange in exchanges:
                self.exchange(exchange, threads)
        for number, registers in enumerate(threads):
            if registers is not None:
                for slot, register in enumerate(self.program.kept):
                    store(self.out[number], slot, register, registers[register])
        return b"".join(self.out)

    def walk(self, graph: Graph, registers: dict[Register, int], out: bytearray | None) -> object:
        """To the end of a graph (None), a return (its value) or the thread's end."""
        block = 0
        while block < len(graph):
            next_block = block + 1
            for instruction in graph[block]:
                self.steps_left -= 1
                if self.steps_left < 0:
                    raise TooLong
                guard = instruction.guard
                if guard is not None and registers[guard.predicate] == guard.negated:
                    continue
                match instruction:
                    case Compute():
                        self.compute(instruction, registers)
                    case Store(slot, register):
                        store(out, slot, register, registers[register])
                    case Branch(target):
                        next_block = target
                        break
                    case Switch(index, targets):
                        next_block = targets[registers[index]]
                        break
                    case Leave(value):
                        return registers[value] if value else ENDED
                    case Call():
                        if self.call(instruction, registers) is ENDED:
                            return ENDED
            block = next_block
        return None

    def compute(self, instruction: Compute, registers: dict[Register, int]) -> None:
        _, classes, meaning = OPERATIONS[instruction.name]
        sources = [value_of(source, kind, registers) for source, kind in zip(instruction.sources, classes, strict=True)]
        destination = instruction.destination
        registers[destination] = int(meaning(*sources)) & ((1 << WIDTH[destination[0]]) - 1)

    def call(self, call: Call, registers: dict[Register, int]) -> object:
        chosen = 0 if not call.chooser or registers[call.chooser] else 1
        function = self.program.functions[call.functions[chosen]]
        given = zip(PARAMETERS, call.arguments, strict=True)
        inner = {formal: value_of(actual, formal[0], registers) for formal, actual in given}
        result = self.walk(function.blocks, inner, None)
        if result is not ENDED:
            registers[call.destination] = inner[function.result] if result is None else result
        return result

    def exchange(self, exchange: Exchange, threads: list) -> None:
        if exchange.kind == "barrier":
            return
        before = [registers[exchange.source] for registers in threads]
        for number, registers in enumerate(threads):
            first = number // 32 * 32
            if exchange.kind == "shared":
                registers[exchange.destination] = before[(number + exchange.distance) % len(threads)]
            elif exchange.kind == "shuffle":
                registers[exchange.destination] = before[number ^ exchange.distance]
            else:
                registers[exchange.destination] = sum(before[first + lane] << lane for lane in range(32))


def value_of(source: Source, kind: str, registers: dict[Register, int]) -> int:
    return source & ((1 << WIDTH[kind]) - 1) if isinstance(source, int) else registers[source]


def store(out: bytearray | None, slot: int, register: Register, value: int) -> None:
    assert out is not None, "functions do not store"
    size = BYTES[register[0]]
    out[8 * slot : 8 * slot + size] = value.to_bytes(size, "little")
