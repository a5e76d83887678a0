"""C++ names as the compiler mangles them (Itanium C++ ABI, section 5.1): which function it is, and its parameters' types.

`_Z5scaleIfEvPT_i` is `scale<float>(float*, int)`. A name that was not mangled (`extern "C"`) says nothing of types.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double", "e": "long double",
    "g": "__float128", "z": "...",
}  # fmt: skip
TWO_LETTER = {"Dn": "decltype(nullptr)", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t", "Dh": "_Float16", "Da": "auto"}
STANDARD = {"t": "std", "a": "std::allocator", "b": "std::basic_string", "s": "std::string", "i": "std::istream",
            "o": "std::ostream", "d": "std::iostream"}  # fmt: skip
QUALIFIERS = {"r": "__restrict__", "V": "volatile", "K": "const"}
POINTERS = {"P": "*", "R": "&", "O": "&&"}
UNNAMED = re.compile(r"_GLOBAL__N_|_INTERNAL_")  # what the compiler calls namespaces that have no name
INTEGER_WORDS = re.compile(r"\b(?:(?:unsigned|signed|long|short|int|char)\b\s*)+")


@dataclass(frozen=True)
class Type:
    """A C++ type: as it is written, its name without qualifiers, and what a pointer points to or an array is made of."""

    text: str
    name: str = ""  # of a type that is neither a pointer nor an array
    pointee: "Type | None" = None
    element: "Type | None" = None
    length: int = 0  # of an array


@dataclass(frozen=True)
class CppName:
    """A function or a variable of C++. `parameters` is None for a variable, and where they could not be read."""

    scope: str  # "ns::" or nothing
    name: str
    template_arguments: str  # "<float, 4>" or nothing
    parameters: tuple[Type, ...] | None = None

    @property
    def readable(self) -> str:
        return self.scope + self.name + self.template_arguments

    @property
    def spellings(self) -> list[str]:
        """All ways to ask for it: with and without namespace, template arguments and parameters."""
        names = [scope + self.name + arguments for scope in ("", self.scope) for arguments in ("", self.template_arguments)]
        if self.parameters is None:
            return names
        given = f"({', '.join(type.text for type in self.parameters)})"
        return [name + parameters for parameters in ("", given) for name in names]


@lru_cache(maxsize=4096)
def demangle(mangled: str) -> CppName | None:
    """What a mangled name stands for; None for a name that is not mangled.

    Of a name with parts that are not read here (a lambda as template argument, say) only the plain name is known.
    """
    if not mangled.startswith("_Z"):
        return None
    try:
        return _Reader(mangled[2:]).encoding()
    except (_Unreadable, RecursionError):
        return _last_name(mangled)


def _last_name(mangled: str) -> CppName | None:
    """The name alone, by the lengths before its parts."""
    start = re.match(r"_Z(N?)[rVK]*(?=L?\d)", mangled)
    if start is None:
        return None
    at, name = start.end(), ""
    while part := re.compile(r"L?(\d+)").match(mangled, at):
        at = part.end() + int(part[1])
        name = mangled[part.end() : at]
        if not start[1]:
            break
    return CppName("", name, "") if at <= len(mangled) else None


def plain_name(mangled: str) -> str:
    """The last part of a C++ name: `saxpy` of `_Z5saxpyifPKfPf`, `f` of `_ZN2ns1fEv`; other names are as they are."""
    known = demangle(mangled)
    return known.name if known else mangled


def readable_name(mangled: str) -> str:
    """A name for a message: `ns::scale<float>` of `_ZN2ns5scaleIfEEvPT_`; other names are as they are."""
    known = demangle(mangled)
    return known.readable if known else mangled


def is_called(mangled: str, asked: str) -> bool:
    """Whether a C++ name as somebody writes it (`scale<unsigned>`) means this one."""
    known = demangle(mangled)
    return known is not None and _uniform(asked) in map(_uniform, known.spellings)


def _uniform(name: str) -> str:
    """One spelling for all of a name: integer types in their shortest words, numbers without suffix, no spaces."""

    def integer(match: re.Match[str]) -> str:
        words = match[0].split()
        if "char" in words:
            return " ".join(word for word in ("unsigned", "signed", "char") if word in words)
        sign, longs = ("unsigned " if "unsigned" in words else ""), " ".join(word for word in words if word in ("long", "short"))
        return sign + (longs or "int")

    name = INTEGER_WORDS.sub(integer, name)
    return re.sub(r"\s+", "", re.sub(r"\b(\d+)[uUlL]+\b", r"\1", name))


class _Unreadable(Exception):
    """A part of the grammar that is not read here, or no mangled name at all."""


class _Reader:
    """Reads a mangled name from left to right. `found` are the parts that a later `S0_` may stand for, in their order."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.found: list[Type] = []
        self.arguments: list[Type] = []  # of the function's template: what `T_` stands for
        self.in_parameters = False

    # Characters -------------------------------------------------------------------------------------------------------

    def peek(self, size: int = 1) -> str:
        return self.text[self.at : self.at + size]

    def takes(self, expected: str) -> bool:
        if not self.text.startswith(expected, self.at):
            return False
        self.at += len(expected)
        return True

    def take(self, expected: str) -> None:
        if not self.takes(expected):
            raise _Unreadable

    def match(self, pattern: str) -> re.Match[str]:
        found = re.compile(pattern).match(self.text, self.at)
        if found is None:
            raise _Unreadable
        self.at = found.end()
        return found

    # Names ------------------------------------------------------------------------------------------------------------

    def encoding(self) -> CppName:
        """A whole name. That of a template's instance also has the type it returns, before its parameters."""
        name = self.nested() if self.peek() == "N" else self.unscoped()
        if self.at == len(self.text) or self.peek() == ".":  # ptxas and NVRTC mark clones and locals after a dot
            return name
        self.in_parameters = True
        try:
            return replace(name, parameters=self.parameters(is_instance=bool(name.template_arguments)))
        except _Unreadable:
            return name

    def parameters(self, is_instance: bool) -> tuple[Type, ...]:
        if is_instance:
            self.type()
        parameters = []
        while self.at < len(self.text) and self.peek() != ".":
            parameters.append(self.type())
        if [type.text for type in parameters] == ["void"]:
            parameters = []
        return tuple(parameters)

    def unscoped(self) -> CppName:
        scope = "std::" if self.takes("St") else ""
        name = CppName(scope, self.source_name(), "")
        if self.peek() == "I":
            self.found.append(Type(name.readable, name.readable))
            name = replace(name, template_arguments=self.template_arguments())
        return name

    def nested(self) -> CppName:
        """`N…E`: every part but the whole may be asked for again."""
        self.take("N")
        self.match("[rVK]*[RO]?")
        name = CppName("", "", "")
        while not self.takes("E"):
            if self.peek() == "S" and self.peek(2) != "St":
                name = CppName("", self.substitution().text, "")
                continue
            if self.peek() == "I":
                name = replace(name, template_arguments=self.template_arguments())
            else:
                scope = name.readable + "::" if name.name else ""
                part = "std" if self.takes("St") else self.source_name()
                name = CppName(name.scope if UNNAMED.match(name.name) else scope, part, "")
                if part == "std":
                    continue
            if self.peek() != "E":
                self.found.append(Type(name.readable, name.readable))
        return name

    def source_name(self) -> str:
        self.takes("L")  # of internal linkage
        length = int(self.match(r"\d+")[0])
        name = self.peek(length)
        if len(name) != length:
            raise _Unreadable
        self.at += length
        return name

    def template_arguments(self) -> str:
        self.take("I")
        given = self.until_end(self.template_argument)
        if not self.in_parameters:
            self.arguments = given
        return f"<{', '.join(one.text for one in given)}>"

    def until_end(self, read: Callable[[], list[Type]]) -> list[Type]:
        found: list[Type] = []
        while not self.takes("E"):
            found += read()
        return found

    def template_argument(self) -> list[Type]:
        if self.takes("J"):  # a pack
            return self.until_end(self.template_argument)
        if self.takes("L"):
            type = self.type()
            value = self.match(r"n?\w*?(?=E)")[0].replace("n", "-", 1)
            self.take("E")
            return [Type({"0": "false", "1": "true"}.get(value, value) if type.text == "bool" else value)]
        return [self.type()]

    def substitution(self) -> Type:
        """`S_`, `S0_`, … for a part that came before; `St` and its like for parts of std."""
        self.take("S")
        if self.peek() in STANDARD:
            self.at += 1
            return Type(STANDARD[self.text[self.at - 1]], STANDARD[self.text[self.at - 1]])
        number = self.match(r"([0-9A-Z]*)_")[1]
        place = int(number, 36) + 1 if number else 0
        if place >= len(self.found):
            raise _Unreadable
        return self.found[place]

    # Types ------------------------------------------------------------------------------------------------------------

    def type(self) -> Type:
        """One type; all but the built-in ones may be asked for again."""
        letter = self.peek()
        if letter in BUILTIN:
            self.at += 1
            return Type(BUILTIN[letter], BUILTIN[letter])
        if self.peek(2) in TWO_LETTER:
            self.at += 2
            name = TWO_LETTER[self.text[self.at - 2 : self.at]]
            return Type(name, name)
        if letter == "S" and self.peek(2) != "St":
            type = self.substitution()
            return self.instance_of(type) if self.peek() == "I" else type
        type = self.compound(letter)
        self.found.append(type)
        return type

    def compound(self, letter: str) -> Type:
        if letter in QUALIFIERS:
            words = " ".join(QUALIFIERS[q] for q in reversed(self.match("r?V?K?")[0]))
            type = self.type()
            text = f"{type.text} {words}" if type.pointee else f"{words} {type.text}"
            return replace(type, text=text)
        if letter in POINTERS:
            self.at += 1
            type = self.type()
            return Type(type.text + POINTERS[letter], pointee=type)
        if letter == "A":
            length = int(self.match(r"A(\d+)_")[1])
            type = self.type()
            base, bracket, inner = type.text.partition("[")
            return Type(f"{base}[{length}]{bracket}{inner}", element=type, length=length)
        if letter == "F":
            return self.function()
        if letter == "T":
            return self.template_parameter()
        name = self.nested() if letter == "N" else self.unscoped()
        return Type(name.readable, name.readable)

    def instance_of(self, template: Type) -> Type:
        """A type made of a template that came before."""
        name = template.text + self.template_arguments()
        type = Type(name, name)
        self.found.append(type)
        return type

    def function(self) -> Type:
        self.match("FY?")
        returned, *parameters = self.until_end(lambda: [self.type()])
        given = ", ".join(type.text for type in parameters if type.text != "void")
        return Type(f"{returned.text}({given})")

    def template_parameter(self) -> Type:
        number = self.match(r"T(\d*)_")[1]
        place = int(number) + 1 if number else 0
        if place >= len(self.arguments):
            raise _Unreadable
        return self.arguments[place]
