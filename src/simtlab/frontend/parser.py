"""PTX text to a syntax tree: the module, its functions, and the statements in their bodies.

Nested scopes are kept on a stack, not in Python's, so no text can exhaust it. Labels are collected before a body is read,
because a branch may go forward and a label belongs to the scope it stands in.
"""

from collections import defaultdict
from dataclasses import replace

from simtlab.frontend import expressions
from simtlab.frontend.ast import (
    BranchTargets,
    CallPrototype,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    SourceLine,
    Statement,
    Symbol,
    Variable,
)
from simtlab.frontend.declarations import DeclarationReader
from simtlab.frontend.lexer import END, NAME_STARTS, Cursor, Tokens, is_name, shown
from simtlab.frontend.names import Redeclared, Scope
from simtlab.frontend.operands import OperandReader

MAX_SCOPES = 256  # nested braces in a body
LINKAGE = (".visible", ".extern", ".weak", ".common")
MODULE_SPACES = (".global", ".const", ".shared", ".tex")
BODY_SPACES = (".param", ".local", ".shared", ".global", ".const")


def parse(text: str, source_name: str = "PTX") -> Module:
    """The syntax tree of a PTX text. PtxError, with the place and what was expected, if it is not PTX."""
    return Parser(text, source_name).module()


class Parser:
    """Reads one module; used once."""

    def __init__(self, text: str, source_name: str):
        text = text.rstrip("\0")  # the compiler ends its text as C does
        tokens = Tokens(text, source_name)
        self.cursor = Cursor(tokens)
        self.operands = OperandReader(self.cursor)
        self.declarations = DeclarationReader(self.cursor, self.operands)
        self.scope = self.operands.scope  # the module's
        self.result = Module((0, 0), (), 64, {}, {}, {}, text, source_name)
        self.labels = labels_by_scope(tokens)
        self.aliases: list[tuple[str, str, int]] = []
        self.collect_files()

    def collect_files(self) -> None:
        """Reads `.file` directives ahead: the compiler writes them last, and every `.loc` before needs them."""
        texts, files = self.cursor.texts, self.result.files
        for index, text in enumerate(texts):
            if text == ".file" and texts[index + 1].isdigit() and texts[index + 2][:1] == '"':
                files[int(texts[index + 1][:9])] = texts[index + 2][1:-1]

    # Module ----------------------------------------------------------------------------------------------------------

    def module(self) -> Module:
        self.header()
        while self.cursor.peek() != END:
            self.module_statement()
        self.resolve_aliases()
        self.refuse_undeclared()
        return self.result

    def header(self) -> None:
        """`.version 7.8`, `.target sm_75`, `.address_size 64`."""
        cursor, result = self.cursor, self.result
        cursor.expect(".version", "at the start of the module")
        major, point, minor = cursor.peek().partition(".")
        if not (major.isdigit() and minor.isdigit() and point and len(cursor.peek()) < 9):
            cursor.expected("a version such as '7.8'")
        result.version = (int(major), int(minor))
        cursor.index += 1
        cursor.expect(".target", "after the version")
        result.target = (cursor.name("a target such as 'sm_75'"),)
        while cursor.accept(","):
            result.target += (cursor.name("a target option"),)
        if cursor.accept(".address_size"):
            place = cursor.index
            result.address_size = expressions.integer(cursor, "'32' or '64'")
            if result.address_size not in (32, 64):
                cursor.index = place
                cursor.expected("'32' or '64'")

    def module_statement(self) -> None:
        cursor = self.cursor
        text = cursor.peek()
        if text == ".file":
            self.file()
        elif text == ".section":
            self.section()
        elif text == ".loc":
            self.location()
        elif text == ".pragma":
            self.pragma()
        elif text == ".alias":
            self.alias()
        elif text == ";":
            cursor.index += 1
        else:
            self.declaration()

    def declaration(self) -> None:
        cursor = self.cursor
        linkage = set()
        while cursor.peek() in LINKAGE:
            linkage.add(cursor.take())
        extern = ".extern" in linkage
        text = cursor.peek()
        if text in (".entry", ".func"):
            self.function(extern)
        elif text in MODULE_SPACES:
            cursor.index += 1
            place = cursor.index
            for variable in self.declarations.variables(text[1:], self.scope, extern):
                self.declare_module_variable(variable, place)
        else:
            cursor.expected("a variable, a function or a directive")

    def declare_module_variable(self, variable: Variable, place: int) -> None:
        """A name may be declared `.extern` any number of times beside its definition."""
        name, known = variable.name, self.result.variables.get(variable.name)
        if name in self.result.functions or (known is not None and not (known.extern or variable.extern)):
            texts = self.cursor.texts
            self.cursor.fail(f"{shown(name)} is already declared in this module", texts.index(name, place))
        if known is None or known.extern:
            self.result.variables[name] = variable
        self.scope.names[name] = Symbol(name)

    def resolve_aliases(self) -> None:
        functions = self.result.functions
        for alias, target, place in self.aliases:
            known = functions.get(target)
            if known is None:
                self.cursor.fail(f"the function {shown(target)} is not declared", place)
            functions[alias] = replace(known, name=alias)

    def refuse_undeclared(self) -> None:
        for name, place in self.operands.undeclared:
            if name not in self.result.variables and name not in self.result.functions:
                self.cursor.fail(f"{shown(name)} is not declared: no register, variable, function or label", place)

    # Directives ------------------------------------------------------------------------------------------------------

    def file(self) -> None:
        """`.file 1 "kernel.cu"`, perhaps with a time and a size; the table was filled beforehand."""
        cursor = self.cursor
        cursor.index += 1
        expressions.integer(cursor, "the number of the file")
        cursor.string("the name of the file")
        while cursor.accept(","):
            expressions.integer(cursor, "a time or a size")

    def section(self) -> None:
        """Debugging information, which nothing here needs."""
        cursor = self.cursor
        cursor.index += 1
        if cursor.peek()[:1] != "." and not is_name(cursor.peek()):
            cursor.expected("the name of the section")
        cursor.index += 1
        cursor.skip_balanced("{", "}", "the section")

    def location(self) -> SourceLine | None:
        """`.loc 1 12 5`, perhaps with `, function_name f, inlined_at 1 20 3`: the place itself counts, not the caller's."""
        cursor = self.cursor
        cursor.index += 1
        file, line = self.location_triple()
        if cursor.accept(","):
            if cursor.take() != "function_name":
                cursor.index -= 1
                cursor.expected("'function_name'")
            if cursor.peek()[:1] != "." and not is_name(cursor.peek()):
                cursor.expected("a label")
            cursor.index += 1
            self.operands.offset()
            cursor.expect(",", "after the name of the function")
            cursor.expect("inlined_at", "after the name of the function")
            self.location_triple()
        name = self.result.files.get(file)
        return None if name is None else SourceLine(name, line)

    def location_triple(self) -> tuple[int, int]:
        file = expressions.integer(self.cursor, "the number of a file")
        line = expressions.integer(self.cursor, "a line number")
        expressions.integer(self.cursor, "a column number")
        return file, line

    def pragma(self) -> tuple[str, ...]:
        cursor = self.cursor
        cursor.index += 1
        found = [cursor.string("a pragma in quotes")]
        while cursor.accept(","):
            found.append(cursor.string("a pragma in quotes"))
        cursor.expect(";", "after the pragma")
        return tuple(found)

    def alias(self) -> None:
        cursor = self.cursor
        cursor.index += 1
        name = cursor.name("the name of a function")
        cursor.expect(",", "after the alias")
        self.aliases.append((name, cursor.name("the name of a function"), cursor.index - 1))
        cursor.expect(";", "after the alias")

    # Functions -------------------------------------------------------------------------------------------------------

    def function(self, extern: bool) -> None:
        cursor = self.cursor
        is_kernel = cursor.take() == ".entry"
        if cursor.accept(".attribute"):
            cursor.skip_balanced("(", ")", "the attribute list")
        scope = Scope(self.scope)
        returns = self.declarations.parameters(scope) if cursor.peek() == "(" and not is_kernel else ()
        position, place = cursor.position(), cursor.index
        name = cursor.name("the name of the function")
        parameters = self.declarations.parameters(scope) if cursor.peek() == "(" else ()
        function = Function(name, is_kernel, parameters, returns, position, registers=scope.registers, extern=extern)
        self.function_directives(function)
        known = self.result.functions.get(name)
        if name in self.result.variables or (known is not None and known.body is not None and cursor.peek() == "{"):
            cursor.fail(f"{shown(name)} is already declared in this module", place)
        self.scope.names[name] = Symbol(name)
        if cursor.peek() == "{":
            self.result.functions[name] = function
            BodyParser(self, function, scope).read()
        else:
            cursor.expect(";", "or '{' after the head of the function")
            self.result.functions.setdefault(name, function)

    def function_directives(self, function: Function) -> None:
        """`.maxntid 256, 1, 1 .minnctapersm 2 .noreturn` and the like, with their numbers."""
        cursor = self.cursor
        while (text := cursor.peek())[:1] == ".":
            if text == ".pragma":
                function.pragmas += self.pragma()
                continue
            cursor.index += 1
            if text == ".attribute":
                cursor.skip_balanced("(", ")", "the attribute list")
                continue
            numbers = []
            if cursor.peek()[:1].isdigit():
                numbers.append(expressions.integer(cursor, "a number"))
                while cursor.accept(","):
                    numbers.append(expressions.integer(cursor, "a number"))
            function.directives[text[1:]] = tuple(numbers)


class BodyParser:
    """Reads the statements between a function's braces."""

    def __init__(self, parser: Parser, function: Function, scope: Scope):
        self.parser = parser
        self.cursor = parser.cursor
        self.operands = parser.operands
        self.declarations = parser.declarations
        self.function = function
        self.scope = scope
        self.scopes_seen = 1
        self.depth = 0
        self.body: list[Statement] = []
        self.source: SourceLine | None = None
        self.spellings: dict[str, tuple[str, tuple[str, ...]]] = {}

    def read(self) -> None:
        cursor, opening = self.cursor, self.cursor.index
        self.enter(self.scope)
        while self.depth:
            text = cursor.texts[cursor.index]
            first = text[:1]
            if first in NAME_STARTS and first:
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
        self.operands.scope = self.parser.scope
        self.function.body = self.body

    # Scopes ----------------------------------------------------------------------------------------------------------

    def enter(self, scope: Scope) -> None:
        """Opens a scope and declares the labels in it."""
        cursor = self.cursor
        self.depth += 1
        if self.depth > MAX_SCOPES:
            cursor.fail(f"scopes nest more than {MAX_SCOPES} deep")
        for place in self.parser.labels.get(cursor.index, ()):
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
        if text[:1] not in NAME_STARTS or not text:
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
            self.source = self.parser.location()
        elif text == ".reg":
            cursor.index += 1
            self.declarations.registers(self.scope)
        elif text in BODY_SPACES or text == ".extern":
            extern = cursor.accept(".extern")
            if cursor.peek() not in BODY_SPACES:
                cursor.expected("a state space such as '.shared'")
            for variable in self.declarations.variables(cursor.take()[1:], self.scope, extern):
                self.function.variables[variable.name] = variable
        elif text == ".pragma":
            self.function.pragmas += self.parser.pragma()
        elif text == ".file":
            self.parser.file()
        elif text == ".section":
            self.parser.section()
        else:
            cursor.expected("an instruction or a declaration")


def labels_by_scope(tokens: Tokens) -> dict[int, list[int]]:
    """For each opening brace, by its token, the tokens that stand before a colon directly inside it."""
    found: dict[int, list[int]] = defaultdict(list)
    stack: list[int] = []
    previous_kinds = {";", "{", "}", ":"}
    texts = tokens.texts
    for index, text in enumerate(texts):
        if text == "{":
            stack.append(index)
        elif text == "}":
            if stack:
                stack.pop()
        elif text == ":" and stack and is_name(texts[index - 1]):
            before = texts[index - 2]
            if before in previous_kinds or before[:1].isdigit() or before[:1] == '"':
                found[stack[-1]].append(index - 1)
    return found
