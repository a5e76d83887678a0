"""The body of a function: instructions, labels, and what is declared between them.

Nested scopes are kept on a chain of their own, not on Python's stack, so no text can exhaust it. Labels are collected
before a body is read, because a branch may go forward and a label belongs to the scope it stands in.
"""

from collections import defaultdict

from simtlab.frontend.ast import (
    BranchTargets,
    CallPrototype,
    Function,
    Guard,
    Instruction,
    Label,
    SourceLine,
    Statement,
    Variable,
)
from simtlab.frontend.declarations import DeclarationReader
from simtlab.frontend.directives import DirectiveReader
from simtlab.frontend.lexer import END, NAME_STARTS, is_name, shown
from simtlab.frontend.names import Scope

MAX_SCOPES = 256  # nested braces in a body
SPACES = (".param", ".local", ".shared", ".global", ".const")
BEFORE_LABEL = (";", "{", "}", ":")


class BodyReader:
    """Reads the statements between a function's braces."""

    def __init__(self, declarations: DeclarationReader, directives: DirectiveReader, labels: dict[int, list[int]]):
        self.cursor = declarations.cursor
        self.operands = declarations.reader
        self.declarations = declarations
        self.directives = directives
        self.labels = labels

    def read(self, function: Function, scope: Scope) -> None:
        """Takes the body; `scope` has the parameters."""
        outside = self.operands.scope
        self.function = function
        self.scope = scope
        self.scopes_seen = 1
        self.depth = 0
        self.body: list[Statement] = []
        self.source: SourceLine | None = None
        self.spellings: dict[str, tuple[str, tuple[str, ...]]] = {}
        opening = self.cursor.index
        self.enter(scope)
        while self.depth:
            self.statement(opening)
        self.operands.scope = outside
        function.body = self.body

    def statement(self, opening: int) -> None:
        cursor = self.cursor
        text = cursor.texts[cursor.index]
        first = text[:1]
        if first in NAME_STARTS:
            self.named_statement(text)
        elif first == "@":
            self.guarded_instruction()
        elif first == ".":
            self.directive(text)
        elif text == "}":
            cursor.index += 1
            self.leave()
        elif text == "{":
            self.scopes_seen += 1
            self.enter(Scope(self.scope, f"@{self.scopes_seen}", self.function.registers))
        elif text == ";":
            cursor.index += 1
        elif text == END:
            cursor.fail(f"the body of {shown(self.function.name)} is not closed: expected '}}'", opening)
        else:
            cursor.expected("an instruction")

    # Scopes ----------------------------------------------------------------------------------------------------------

    def enter(self, scope: Scope) -> None:
        """Opens a scope and declares the labels in it."""
        cursor = self.cursor
        self.depth += 1
        if self.depth > MAX_SCOPES:
            cursor.fail(f"scopes nest more than {MAX_SCOPES} deep")
        for place in self.labels.get(cursor.index, ()):
            self.declarations.declare(scope, cursor.texts[place], place)
        cursor.index += 1
        self.scope = self.operands.scope = scope

    def leave(self) -> None:
        self.depth -= 1
        if self.depth:
            assert self.scope.outer is not None
            self.scope = self.operands.scope = self.scope.outer

    # Statements ------------------------------------------------------------------------------------------------------

    def named_statement(self, text: str) -> None:
        """A label, a table of targets, or an instruction without a guard."""
        cursor = self.cursor
        if cursor.texts[cursor.index + 1] != ":":
            self.instruction(text, None, cursor.index)
            return
        position = cursor.position()
        unique = self.operands.symbol_name()
        cursor.index += 1
        following = cursor.peek()
        if following in (".branchtargets", ".calltargets"):
            targets = self.targets()
            self.function.branch_targets[unique] = BranchTargets(unique, targets, following[1:-7], position)
        elif following == ".callprototype":
            returns, parameters = self.prototype()
            self.function.prototypes[unique] = CallPrototype(unique, returns, parameters, position)
        else:
            self.body.append(Label(unique, position))

    def targets(self) -> tuple[str, ...]:
        cursor = self.cursor
        cursor.index += 1
        found = [self.operands.symbol_name()]
        while cursor.accept(","):
            found.append(self.operands.symbol_name())
        cursor.expect(";", "after the targets")
        return tuple(found)

    def prototype(self) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
        """`.callprototype (.param .b32 _) _ (.param .b64 _);`"""
        cursor = self.cursor
        cursor.index += 1
        returns = self.declarations.parameters(None) if cursor.peek() == "(" else ()
        if not is_name(cursor.peek()):
            cursor.expected("'_' in the prototype")
        cursor.index += 1
        parameters = self.declarations.parameters(None) if cursor.peek() == "(" else ()
        while cursor.peek()[:1] == ".":  # .noreturn, .abi_preserve 4
            cursor.index += 1
            if cursor.peek().isdigit():
                cursor.index += 1
        cursor.expect(";", "after the prototype")
        return returns, parameters

    def guarded_instruction(self) -> None:
        cursor = self.cursor
        place = cursor.index
        cursor.index += 1
        negated = cursor.accept("!")
        guard = Guard(self.operands.register("a predicate register"), negated)
        text = cursor.peek()
        if text[:1] not in NAME_STARTS:
            cursor.expected("an instruction after the guard")
        self.instruction(text, guard, place)

    def instruction(self, text: str, guard: Guard | None, place: int) -> None:
        cursor = self.cursor
        spelling = self.spellings.get(text)
        if spelling is None:
            spelling = self.spellings[text] = self.opcode(text)
        cursor.index += 1
        opcode, modifiers = spelling
        while cursor.texts[cursor.index][:1] == "." and cursor.texts[cursor.index][1:2] not in "0123456789":
            modifiers += (cursor.take()[1:],)
        operands = self.operands.call_operands() if opcode == "call" else self.operands.operands()
        position = cursor.tokens.position(place)
        self.body.append(Instruction(opcode, modifiers, operands, guard, position, self.source))

    def opcode(self, text: str) -> tuple[str, tuple[str, ...]]:
        if text[0] in "%$_":
            self.cursor.expected("an instruction")
        opcode, *modifiers = text.split(".")
        return opcode, tuple(modifiers)

    def directive(self, text: str) -> None:
        cursor = self.cursor
        if text == ".loc":
            self.source = self.directives.location()
        elif text == ".reg":
            cursor.index += 1
            self.declarations.registers(self.scope)
        elif text in SPACES or text == ".extern":
            extern = cursor.accept(".extern")
            if cursor.peek() not in SPACES:
                cursor.expected("a state space such as '.shared'")
            for variable in self.declarations.variables(cursor.take()[1:], self.scope, extern):
                self.function.variables[variable.name] = variable
        elif text == ".pragma":
            self.function.pragmas += self.directives.pragma()
        elif text == ".file":
            self.directives.file()
        elif text == ".section":
            self.directives.section()
        else:
            cursor.expected("an instruction or a declaration")


def labels_by_scope(texts: list[str]) -> dict[int, list[int]]:
    """For each opening brace, by its token, the tokens that stand before a colon directly inside it."""
    found: dict[int, list[int]] = defaultdict(list)
    stack: list[int] = []
    for index, text in enumerate(texts):
        if text == "{":
            stack.append(index)
        elif text == "}":
            if stack:
                stack.pop()
        elif text == ":" and stack and is_name(texts[index - 1]):
            before = texts[index - 2]
            if before in BEFORE_LABEL or before[:1].isdigit() or before[:1] == '"':
                found[stack[-1]].append(index - 1)
    return found
