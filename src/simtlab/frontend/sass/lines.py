"""The CUDA line that each instruction came from: the line programs (DWARF, version 2) of a cubin's `.debug_line`."""

import os
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from simtlab.frontend.ast import SourceLine
from simtlab.frontend.sass.elf import Elf

SECTION = ".debug_line"
COPY, ADVANCE_PC, ADVANCE_LINE, SET_FILE, CONST_ADD_PC, FIXED_ADVANCE_PC = 1, 2, 3, 4, 8, 9  # standard opcodes
END_SEQUENCE, SET_ADDRESS = 1, 2  # extended ones; others say which function was inlined where, and are passed over


@dataclass
class Reader:
    """Bytes read one after the other."""

    content: bytes
    place: int = 0

    def number(self, shape: str) -> int:
        (value,) = struct.unpack_from(f"<{shape}", self.content, self.place)
        self.place += struct.calcsize(shape)
        return int(value)

    def leb(self, signed: bool = False) -> int:
        value = shift = 0
        while True:
            byte = self.number("B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                return value - (1 << shift) if signed and byte & 0x40 else value

    def text(self) -> str:
        end = self.content.index(b"\0", self.place)
        found = self.content[self.place : end].decode("utf-8", "replace")
        self.place = end + 1
        return found


@dataclass
class LineTable:
    """Where lines begin, by function: addresses in order, and the line from each on."""

    starts: dict[str, list[int]] = field(default_factory=dict)
    lines: dict[str, list[SourceLine]] = field(default_factory=dict)

    def add(self, function: str, address: int, line: SourceLine) -> None:
        self.starts.setdefault(function, []).append(address)
        self.lines.setdefault(function, []).append(line)

    def at(self, function: str, address: int) -> SourceLine | None:
        """The line of an instruction; None if nobody said."""
        place = bisect_right(self.starts.get(function, []), address)
        return self.lines[function][place - 1] if place else None


def lines_of(elf: Elf) -> LineTable:
    """The table of a cubin; empty if it was compiled without line information, or it cannot be read."""
    table, section = LineTable(), elf.section(SECTION)
    if section is None:
        return table
    symbols = {one.offset: (one.symbol.name, one.addend) for one in elf.relocations(SECTION)}
    try:
        reader = Reader(section.bytes)
        while reader.place + 4 < len(section.bytes):
            for function, address, line in _program(reader, symbols):
                table.add(function, address, line)
    except (struct.error, ValueError, IndexError):
        return LineTable()
    return table


def _program(reader: Reader, symbols: dict[int, tuple[str, int]]) -> Iterator[tuple[str, int, SourceLine]]:
    """The rows of one line program."""
    length = reader.number("I")
    end = reader.place + length
    reader.number("H")  # version
    after_header = reader.number("I") + reader.place
    minimum, _, line_base, line_range, opcode_base = (reader.number(shape) for shape in ("B", "B", "b", "B", "B"))
    arguments = [reader.number("B") for _ in range(opcode_base - 1)]
    files = _files(reader)
    reader.place = after_header
    function, address, file, line = "", 0, 1, 1
    while reader.place < end:
        opcode = reader.number("B")
        if opcode >= opcode_base:
            step = opcode - opcode_base
            address += step // line_range * minimum
            line += line_base + step % line_range
        elif opcode == 0:
            size, start = reader.leb(), reader.place
            kind = reader.number("B")
            if kind == SET_ADDRESS:
                function, address = symbols.get(reader.place, ("", 0))
            elif kind == END_SEQUENCE:
                function, address, file, line = "", 0, 1, 1
            reader.place = start + size
            continue
        elif opcode == ADVANCE_PC:
            address += reader.leb() * minimum
            continue
        elif opcode == ADVANCE_LINE:
            line += reader.leb(signed=True)
            continue
        elif opcode == SET_FILE:
            file = reader.leb()
            continue
        elif opcode == CONST_ADD_PC:
            address += (255 - opcode_base) // line_range * minimum
            continue
        elif opcode == FIXED_ADVANCE_PC:
            address += reader.number("H")
            continue
        elif opcode != COPY:
            for _ in range(arguments[opcode - 1]):
                reader.leb()
            continue
        if function and file in files:
            yield function, address, SourceLine(files[file], line)
    reader.place = end


def _files(reader: Reader) -> dict[int, str]:
    """Names by number; the compiler completes relative ones, which is undone here as in the PTX."""
    folders, here = [""], os.path.join(os.getcwd(), "")
    while name := reader.text():
        folders.append(name)
    files: dict[int, str] = {}
    while name := reader.text():
        folder, _, _ = reader.leb(), reader.leb(), reader.leb()
        path = f"{folders[folder]}/{name}" if 0 < folder < len(folders) else name
        files[len(files) + 1] = path.removeprefix(here)
    return files
