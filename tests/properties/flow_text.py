"""Writes a program of `flow` as PTX."""

from collections.abc import Iterable

from tests.properties.flow import (
    PARAMETERS,
    SLOTS,
    WIDTH,
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

MOST = 400  # registers declared of each class; unused ones cost nothing
DECLARATIONS = "".join(f"  .reg .{'pred' if k == 'p' else f'b{WIDTH[k]}'} %{k}<{MOST}>;\n" for k in WIDTH)
FULL = "0xffffffff"


def parameter_list(names: Iterable[str]) -> str:
    return ", ".join(f".param .b{WIDTH[kind[0]]} {name}" for kind, name in zip(PARAMETERS, names, strict=True))


FORMALS = [f"formal{k}" for k in range(len(PARAMETERS))]


class Writer:
    """One function's text."""

    def __init__(self, result_class: str):
        self.result_class = result_class
        self.lines: list[str] = []
        self.tables = 0
        self.calls = 0

    def line(self, text: str, guard: Guard | None = None) -> None:
        prefix = f"@{'!' if guard.negated else ''}%{guard.predicate} " if guard else ""
        self.lines.append(f"  {prefix}{text};")

    def graph(self, graph: Graph, name: str) -> None:
        for number, block in enumerate(graph):
            self.lines.append(f"{name}_{number}:")
            for instruction in block:
                self.instruction(instruction, name)
        self.lines.append(f"{name}_{len(graph)}:")

    def instruction(self, instruction: Instruction, graph_name: str) -> None:
        guard = instruction.guard
        match instruction:
            case Compute(name, destination, sources):
                self.line(f"{name} %{destination}, {', '.join(map(operand, sources))}", guard)
            case Store(slot, register):
                self.line(f"st.global.b{WIDTH[register[0]]} [%out+{8 * slot}], %{register}", guard)
            case Branch(target):
                self.line(f"bra {graph_name}_{target}", guard)
            case Switch(index, targets):
                table = f"{graph_name}_table{self.tables}"
                self.tables += 1
                self.lines.append(f"{table}: .branchtargets {', '.join(f'{graph_name}_{t}' for t in targets)};")
                self.line(f"brx.idx %{index}, {table}", guard)
            case Leave(value):
                self.leave(value, guard)
            case Call():
                self.call(instruction)

    def leave(self, value: Register, guard: Guard | None = None) -> None:
        if value:
            self.line(f"st.param.b{WIDTH[value[0]]} [result], %{value}", guard)
        self.line("ret" if value else "exit", guard)

    def call(self, call: Call) -> None:
        number, guard, width = self.calls, call.guard, WIDTH[self.result_class]
        self.calls += 1
        callee, after = f"f{call.functions[0]}", ""
        self.lines.append("  {")
        if call.chooser:
            self.lines.append("  .reg .b64 %callee<3>;")
            self.line(f"mov.b64 %callee1, f{call.functions[0]}")
            self.line(f"mov.b64 %callee2, f{call.functions[1]}")
            self.line(f"selp.b64 %callee0, %callee1, %callee2, %{call.chooser}")
            prototype = f"proto{number}"
            parameters = parameter_list("_" for _ in PARAMETERS)
            self.lines.append(f"{prototype}: .callprototype (.param .b{width} _) _ ({parameters});")
            callee, after = "%callee0", f", {prototype}"
        result, arguments = f"%{call.destination}", [operand(argument) for argument in call.arguments]
        if call.through_memory:
            self.lines.append(f"  .param .b{width} back;")
            for k, (kind, argument) in enumerate(zip(PARAMETERS, arguments, strict=True)):
                self.lines.append(f"  .param .b{WIDTH[kind[0]]} given{k};")
                self.line(f"st.param.b{WIDTH[kind[0]]} [given{k}], {argument}", guard)
            result, arguments = "back", [f"given{k}" for k in range(len(arguments))]
        self.line(f"call ({result}), {callee}, ({', '.join(arguments)}){after}", guard)
        if call.through_memory:
            self.line(f"ld.param.b{width} %{call.destination}, [back]", guard)
        self.lines.append("  }")

    def exchange(self, exchange: Exchange, threads: int) -> None:
        destination, source = exchange.destination, exchange.source
        if exchange.kind == "shuffle":
            self.line(f"shfl.sync.bfly.b32 %{destination}, %{source}, {exchange.distance}, 31, {FULL}")
        elif exchange.kind == "ballot":
            self.line(f"vote.sync.ballot.b32 %{destination}, %{source}, {FULL}")
        elif exchange.kind == "barrier":
            self.line("bar.sync 0")
        else:
            self.line(f"st.shared.b32 [%mine], %{source}")
            self.line("bar.sync 0")
            self.line(f"add.u32 %other, %r0, {exchange.distance % threads}")
            self.line(f"rem.u32 %other, %other, {threads}")
            self.line("mad.lo.u32 %other, %other, 4, %buffer")
            self.line(f"ld.shared.b32 %{destination}, [%other]")
            self.line("bar.sync 0")


def operand(source: Source) -> str:
    return str(source) if isinstance(source, int) else f"%{source}"


def header(number: int, result_class: str) -> str:
    return f".func (.param .b{WIDTH[result_class]} result) f{number} ({parameter_list(FORMALS)})"


def function_text(number: int, function: Function) -> str:
    writer = Writer(function.result[0])
    for register, name in zip(PARAMETERS, FORMALS, strict=True):
        writer.line(f"ld.param.b{WIDTH[register[0]]} %{register}, [{name}]")
    writer.graph(function.blocks, "B")
    writer.leave(function.result)
    return "\n".join([header(number, function.result[0]), "{", DECLARATIONS, *writer.lines, "}"])


def program_text(program: Program) -> str:
    result_class = program.functions[0].result[0] if program.functions else "r"
    writer = Writer(result_class)
    for line in (
        "ld.param.u64 %out, [pointer]", "mov.u32 %r0, %tid.x", f"mad.wide.u32 %out, %r0, {8 * SLOTS}, %out",
        "mov.u32 %buffer, shared_words", "mad.lo.u32 %mine, %r0, 4, %buffer",
    ):  # fmt: skip
        writer.line(line)
    for instruction in program.start:
        writer.instruction(instruction, "")
    for number, graph in enumerate(program.graphs):
        writer.graph(graph, f"G{number}")
        for exchange in program.exchanges[number] if number < len(program.exchanges) else ():
            writer.exchange(exchange, program.threads)
    for slot, register in enumerate(program.kept):
        if register[0] == "p":
            writer.line(f"selp.b32 %other, 1, 0, %{register}")
            writer.line(f"st.global.b32 [%out+{8 * slot}], %other")
        else:
            writer.instruction(Store(slot, register), "")
    writer.line("ret")
    special = "  .reg .b64 %out; .reg .b32 %buffer, %mine, %other; .shared .align 4 .b32 shared_words[128];"
    return "\n".join([
        ".version 8.0\n.target sm_90\n.address_size 64",
        *(header(k, f.result[0]) + ";" for k, f in enumerate(program.functions)),
        *(function_text(k, f) for k, f in enumerate(program.functions)),
        ".visible .entry k(.param .u64 pointer)\n{", DECLARATIONS, special, *writer.lines, "}\n",
    ])  # fmt: skip
