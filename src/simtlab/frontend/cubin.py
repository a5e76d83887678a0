"""How many registers ptxas gives each function: read from the cubin, the ELF file that a GPU would run.

Section `.nv.info` is a list of attributes. Those of kind EIATTR_REGCOUNT are pairs of a symbol's number and a count, in
cubins of every architecture; `cuobjdump -elf` shows them so.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ELF_64_BITS = b"\x7fELF\x02"
SECTION = struct.Struct("<IIQQQQIIQQ")
SYMBOL = struct.Struct("<IBBHQQ")
SYMBOL_TABLE = 2  # a section's type
INFO = ".nv.info"
SIZED = 0x04  # EIFMT_SVAL: the attribute's size in bytes, then so many of them; the other forms have none beyond the four
REGISTER_COUNT = 0x2F  # EIATTR_REGCOUNT


class UnreadableCubin(ValueError):
    """The compiler's cubin is not as described above."""


@dataclass(frozen=True)
class RegisterCounts:
    """Registers of a thread by the function's name in the PTX, as ptxas allocates them; or why there are none."""

    by_name: Mapping[str, int] = field(default_factory=dict)
    architecture: str = ""  # such as sm_75
    why_none: str = ""


def register_counts(cubin: bytes) -> dict[str, int]:
    """The count of every function that the cubin lists one for: kernels, and in relocatable code functions too."""
    try:
        return dict(_counts(cubin))
    except (struct.error, ValueError, IndexError) as problem:
        raise UnreadableCubin(f"no register counts could be read from the cubin: {problem}") from None


def _counts(cubin: bytes) -> Iterator[tuple[str, int]]:
    if not cubin.startswith(ELF_64_BITS):
        raise ValueError("it is no 64-bit ELF file")
    sections = _sections(cubin)
    symbols = next((section for section in sections.values() if section.type == SYMBOL_TABLE), None)
    if INFO not in sections or symbols is None:
        return
    texts = list(sections.values())[symbols.link]
    for value in _attributes(sections[INFO].bytes, REGISTER_COUNT):
        for number, count in struct.iter_unpack("<II", value):
            name = SYMBOL.unpack_from(symbols.bytes, number * SYMBOL.size)[0]
            yield _text(texts.bytes, name), count


@dataclass(frozen=True)
class _Section:
    type: int
    link: int  # for a symbol table the number of the section with its names
    bytes: bytes


def _sections(cubin: bytes) -> dict[str, _Section]:
    """The sections by name, in the file's order. No two that matter here have one name."""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, names = struct.unpack_from("<HHH", cubin, 58)
    headers = [SECTION.unpack_from(cubin, start + k * size) for k in range(count)]
    found: dict[str, _Section] = {}
    for name, type, _, _, offset, length, link, *_ in headers:
        text = _text(cubin, headers[names][4] + name)
        key = text if text not in found else f"{text} {len(found)}"
        found[key] = _Section(type, link, cubin[offset : offset + length])
    return found


def _attributes(info: bytes, kind: int) -> Iterator[bytes]:
    """The values of all attributes of one kind."""
    place = 0
    while place < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, place)
        length = size if form == SIZED else 0
        if attribute == kind and form == SIZED:
            yield info[place + 4 : place + 4 + length]
        place += 4 + length


def _text(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode()
