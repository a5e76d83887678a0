"""A cubin is an ELF file: its sections, symbols, relocations, and the attributes of its `.nv.info` sections.

`cuobjdump -elf` shows the same. Facts about the attributes are NVIDIA's names of them in that listing.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from simtlab.errors import SimtlabError

HEADER = b"\x7fELF\x02"
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
RELOCATION, PLAIN_RELOCATION = struct.Struct("<QQq"), struct.Struct("<QQ")
SYMBOL_TABLE, RELOCATIONS_WITH_ADDEND, NO_BITS, RELOCATIONS = 2, 4, 8, 9  # types of sections
SIZED = 0x04  # a form of attribute: its size in bytes, then so many of them


class BadCubin(SimtlabError):
    """Bytes that are no cubin that can be read."""


@dataclass(frozen=True)
class Section:
    name: str
    type: int
    bytes: bytes  # none of a section that is only room
    size: int
    link: int
    info: int


@dataclass(frozen=True)
class Symbol:
    name: str
    section: int
    value: int
    size: int
    info: int
    other: int

    @property
    def is_function(self) -> bool:
        return self.info & 15 == 2


@dataclass(frozen=True)
class Relocation:
    """A place in a section that wants a symbol's address."""

    offset: int
    type: int
    symbol: Symbol
    addend: int


@dataclass
class Elf:
    """A parsed file."""

    content: bytes
    sections: list[Section] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.content.startswith(HEADER):
            raise BadCubin("this is no cubin: it is no 64-bit ELF file")
        try:
            self.sections = list(self._sections())
        except (struct.error, ValueError, IndexError, UnicodeDecodeError):
            raise BadCubin("this cubin is damaged: its sections cannot be read") from None

    def _sections(self) -> Iterator[Section]:
        (start,) = struct.unpack_from("<Q", self.content, 40)
        size, count, names = struct.unpack_from("<HHH", self.content, 58)
        headers = [SECTION.unpack_from(self.content, start + k * size) for k in range(count)]
        for name, type, _, _, offset, length, link, info, *_ in headers:
            content = b"" if type == NO_BITS else self.content[offset : offset + length]
            if len(content) != length and type != NO_BITS:
                raise ValueError
            yield Section(text_at(self.content, headers[names][4] + name), type, content, length, link, info)

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    @cached_property
    def symbols(self) -> list[Symbol]:
        table = next((section for section in self.sections if section.type == SYMBOL_TABLE), None)
        if table is None:
            return []
        try:
            names = self.sections[table.link].bytes
            rows = struct.iter_unpack(SYMBOL.format, table.bytes)
            return [Symbol(text_at(names, name), section, value, size, info, other)
                    for name, info, other, section, value, size in rows]  # fmt: skip
        except (struct.error, ValueError, IndexError, UnicodeDecodeError):
            raise BadCubin("this cubin is damaged: its symbols cannot be read") from None

    def relocations(self, name: str) -> list[Relocation]:
        """What a section wants filled in."""
        found: list[Relocation] = []
        number = next((k for k, section in enumerate(self.sections) if section.name == name), -1)
        for section in self.sections:
            if section.type not in (RELOCATIONS, RELOCATIONS_WITH_ADDEND) or section.info != number:
                continue
            shape = RELOCATION if section.type == RELOCATIONS_WITH_ADDEND else PLAIN_RELOCATION
            try:
                for offset, info, *addend in shape.iter_unpack(section.bytes):
                    found.append(Relocation(offset, info & 0xFFFFFFFF, self.symbols[info >> 32], *(addend or [0])))
            except (struct.error, IndexError):
                raise BadCubin(f"this cubin is damaged: the relocations of {name} cannot be read") from None
        return found

    def attributes(self, name: str) -> Iterator[tuple[int, bytes]]:
        """Kind and value of each attribute of a section, if its form has a value."""
        section = self.section(name)
        info, place = section.bytes if section else b"", 0
        try:
            while place < len(info):
                form, kind, size = struct.unpack_from("<BBH", info, place)
                place += 4
                if form == SIZED:
                    yield kind, info[place : place + size]
                    place += size
        except struct.error:
            raise BadCubin(f"this cubin is damaged: {name} cannot be read") from None


def text_at(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()
