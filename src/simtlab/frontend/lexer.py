"""PTX text to tokens, and a cursor over them.

A token is plain text: what it is shows in its first character. An opcode keeps its modifiers (`ld.global.v4.u32`) and a
special register its component (`%tid.x`), so a typical instruction is a handful of tokens. Lines and columns are worked
out from offsets only when someone asks, because most tokens are never asked about.
"""

import re
from bisect import bisect_right
from typing import NoReturn

from simtlab.errors import PtxError
from simtlab.frontend.ast import Position

END = ""  # the token after the last one

# Possessive repetition (`*+`) and the catch-all alternatives keep this linear in the length of any text, PTX or not. Groups need
# none, for whatever follows them matches; and Python up to 3.11.4 goes on in mid-air after one whose last round broke off.
TOKEN = re.compile(
    r"""
    (?: \s++ | //[^\n]*+ | /\*.*?\*/ )*                      # space and comments
    (
        [,;\[\]{}():]
      | [A-Za-z_$%][\w$]*+ (?: \.\w++ (?: ::\w++ )* )*       # name, opcode with modifiers, special register
      | \.[A-Za-z_]\w*+ (?: ::\w++ )*                        # directive, type
      | \d++\.\d*+ (?: [eE][+-]?\d++ )?
      | \.\d++ (?: [eE][+-]?\d++ )?
      | \d++[eE][+-]?\d++
      | \d\w*+                                               # integers, 0f and 0d literals; checked when converted
      | "[^"\n]*+"
      | << | >> | <= | >= | == | != | && | \|\|
      | /\*.*+                                               # a comment nobody closed
      | .
      | \Z
    )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
PUNCTUATION = frozenset(",;:()[]{}+-*/%&|^~!?<>=@.")
NAME_STARTS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_$%")
SHOWN_CHARACTERS = 40


def shown(text: str) -> str:
    """A token as an error message shows it."""
    if text == END:
        return "the end of the text"
    return f"'{text}'" if len(text) <= SHOWN_CHARACTERS else f"'{text[:SHOWN_CHARACTERS]}…'"


def is_name(text: str) -> bool:
    """Whether a token can name a register, a variable, a function or a label."""
    return text[:1] in NAME_STARTS and "." not in text and text != "%"


def stray_problem(text: str) -> str:
    """What is wrong with a text the regular expression only caught to stop at it; nothing for a good token."""
    if text.startswith("/*"):
        return "this comment is not closed: expected '*/'"
    if text == '"':
        return "this string is not closed: expected '\"' on the same line"
    if len(text) == 1 and text not in PUNCTUATION and text not in NAME_STARTS and text not in "0123456789":
        return f"unexpected character {text!r}"
    return ""


class Tokens:
    """The tokens of one PTX text with the place of each."""

    def __init__(self, text: str, source_name: str):
        self.source_name = source_name
        matches = list(TOKEN.finditer(text))
        self.texts = [match[1] for match in matches]
        self.starts = [match.start(1) for match in matches]
        self.line_starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.texts.append(END)
        self.starts.append(len(text))
        self.refuse_stray_characters()

    def refuse_stray_characters(self) -> None:
        """Finds what no token can be; looking at the distinct texts only keeps this cheap."""
        stray = {text for text in set(self.texts) if stray_problem(text)}
        if stray:
            first = next(index for index, text in enumerate(self.texts) if text in stray)
            self.fail(stray_problem(self.texts[first]), first)

    def position(self, index: int) -> Position:
        start = self.starts[index]
        line = bisect_right(self.line_starts, start)
        return Position(line, start - self.line_starts[line - 1] + 1)

    def fail(self, problem: str, index: int) -> NoReturn:
        self.fail_at(problem, self.position(index))

    def fail_at(self, problem: str, place: Position) -> NoReturn:
        raise PtxError(problem, place.line, place.column, self.source_name)


class Cursor:
    """A place in the tokens that moves forward."""

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        self.texts = tokens.texts
        self.index = 0

    def peek(self) -> str:
        return self.texts[self.index]

    def take(self) -> str:
        text = self.texts[self.index]
        if text != END:
            self.index += 1
        return text

    def accept(self, text: str) -> bool:
        if self.texts[self.index] == text:
            self.index += 1
            return True
        return False

    def expect(self, text: str, where: str) -> None:
        if self.texts[self.index] != text:
            self.expected(f"'{text}' {where}")
        self.index += 1

    def name(self, what: str) -> str:
        """Takes a name; `what` says what it names."""
        text = self.texts[self.index]
        if not is_name(text) or text == "_":
            self.expected(what)
        self.index += 1
        return text

    def string(self, what: str) -> str:
        text = self.texts[self.index]
        if text[:1] != '"':
            self.expected(what)
        self.index += 1
        return text[1:-1]

    def skip_balanced(self, opening: str, closing: str, what: str) -> None:
        """Passes over a bracketed stretch whose contents do not matter here."""
        start = self.index
        self.expect(opening, f"to open {what}")
        depth = 1
        while depth:
            text = self.take()
            if text == END:
                self.tokens.fail(f"{what} is not closed: expected '{closing}'", start)
            depth += (text == opening) - (text == closing)

    def position(self) -> Position:
        return self.tokens.position(self.index)

    def expected(self, what: str) -> NoReturn:
        self.fail(f"expected {what}, found {shown(self.peek())}")

    def fail(self, problem: str, index: int | None = None) -> NoReturn:
        self.tokens.fail(problem, self.index if index is None else index)
