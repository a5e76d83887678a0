"""PTX text to a syntax tree: `parse`, and the outermost level, a module's variables and functions."""

from dataclasses import replace

from simtlab.frontend import expressions
from simtlab.frontend.ast import (
    Function,
    Module,
    Symbol,
    Variable,
)
from simtlab.frontend.declarations import DeclarationReader
from simtlab.frontend.directives import DirectiveReader
from simtlab.frontend.lexer import END, Cursor, Tokens, shown
from simtlab.frontend.names import Scope
from simtlab.frontend.operands import OperandReader
from simtlab.frontend.statements import BodyReader, labels_by_scope

LINKAGE = (".visible", ".extern", ".weak", ".common")
MODULE_SPACES = (".global", ".const", ".shared", ".tex")
# What may stand between the head and the body of a function, and whether numbers follow it.
FUNCTION_DIRECTIVES = {
    ".maxntid": True, ".reqntid": True, ".minnctapersm": True, ".maxnctapersm": True, ".maxnreg": True,
    ".reqnctapercluster": True, ".maxclusterrank": True, ".abi_preserve": True, ".abi_preserve_control": True,
    ".explicitcluster": False, ".blocksareclusters": False, ".noreturn": False, ".unique": False,
}  # fmt: skip
MAX_DIRECTIVE = (1 << 31) - 1  # the largest number after .maxntid and its like


def parse(text: str, source_name: str = "PTX") -> Module:
    """The syntax tree of a PTX text. PtxError, with the place and what was expected, if it is not PTX."""
    return Parser(text, source_name).module()


class Parser:
    """Reads one module; used once."""

    def __init__(self, text: str, source_name: str):
        text = text.rstrip("\0")  # the compiler ends its text as C does
        self.cursor = Cursor(Tokens(text, source_name))
        self.operands = OperandReader(self.cursor)
        self.directives = DirectiveReader(self.cursor, self.operands)
        self.declarations = DeclarationReader(self.cursor, self.operands)
        self.bodies = BodyReader(self.declarations, self.directives, labels_by_scope(self.cursor.texts))
        self.scope = self.operands.scope  # the module's
        self.aliases: list[tuple[str, str, int]] = []
        self.result = Module((0, 0), (), 64, {}, {}, self.directives.files, text, source_name)

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
            self.directives.file()
        elif text == ".section":
            self.directives.section()
        elif text == ".loc":
            self.directives.location()
        elif text == ".pragma":
            self.directives.pragma()
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
            for variable in self.declarations.variables(text[1:], None, extern):
                self.declare_variable(variable)
        else:
            cursor.expected("a variable, a function or a directive")

    def declare_variable(self, variable: Variable) -> None:
        """A name may be declared `.extern` any number of times beside its definition."""
        name, known = variable.name, self.result.variables.get(variable.name)
        if name in self.result.functions or (known is not None and not (known.extern or variable.extern)):
            self.cursor.tokens.fail_at(f"{shown(name)} is already declared in this module", variable.position)
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
            self.bodies.read(function, scope)
        else:
            cursor.expect(";", "or '{' after the head of the function")
            self.result.functions.setdefault(name, function)

    def function_directives(self, function: Function) -> None:
        """`.maxntid 256, 1, 1 .minnctapersm 2 .noreturn` and the like, with their numbers."""
        cursor = self.cursor
        while (text := cursor.peek())[:1] == ".":
            if text == ".pragma":
                function.pragmas += self.directives.pragma()
                continue
            if text == ".attribute":
                cursor.index += 1
                cursor.skip_balanced("(", ")", "the attribute list")
                continue
            if text not in FUNCTION_DIRECTIVES:
                cursor.expected("the body of the function or a directive such as '.maxntid'")
            cursor.index += 1
            function.directives[text[1:]] = self.numbers() if FUNCTION_DIRECTIVES[text] else ()

    def numbers(self) -> tuple[int, ...]:
        found = [self.number()]
        while self.cursor.accept(","):
            found.append(self.number())
        return tuple(found)

    def number(self) -> int:
        place = self.cursor.index
        value = expressions.integer(self.cursor, "a number")
        if value > MAX_DIRECTIVE:
            self.cursor.fail(f"{value} is too large; at most {MAX_DIRECTIVE} is possible", place)
        return value
