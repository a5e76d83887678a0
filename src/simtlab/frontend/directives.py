"""Directives that may stand in a module and in a body alike: files, source lines, sections, pragmas."""

from simtlab.frontend import expressions
from simtlab.frontend.ast import SourceLine
from simtlab.frontend.lexer import Cursor, is_name
from simtlab.frontend.operands import OperandReader

LONGEST_FILE_NUMBER = 9  # digits


class DirectiveReader:
    """Reads directives, each from its own token on."""

    def __init__(self, cursor: Cursor, operands: OperandReader):
        self.cursor = cursor
        self.operands = operands
        self.files = collect_files(cursor.texts)

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
        """`.loc 1 12 5`, perhaps with `, function_name f, inlined_at 1 20 3`: what counts is the place itself."""
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
        name = self.files.get(file)
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


def collect_files(texts: list[str]) -> dict[int, str]:
    """Reads `.file` directives ahead: the compiler writes them last, and every `.loc` before needs them."""
    files = {}
    for index in (index for index, text in enumerate(texts) if text == ".file"):
        number, name = texts[index + 1 : index + 3] if index + 3 < len(texts) else ("", "")
        if number.isdigit() and len(number) <= LONGEST_FILE_NUMBER and name[:1] == '"':
            files[int(number)] = name[1:-1]
    return files
