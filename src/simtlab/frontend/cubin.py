"""How many registers ptxas gives each function: read from the cubin, the ELF file that a GPU would run.

Section `.nv.info` is a list of attributes. Those of kind EIATTR_REGCOUNT are pairs of a symbol's number and a count, in
cubins of every architecture; `cuobjdump -elf` shows them so.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simtlab.frontend.sass.elf import BadCubin, Elf

INFO = ".nv.info"
REGISTER_COUNT = 0x2F  # EIATTR_REGCOUNT
PAIR = struct.Struct("<II")


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
        return dict(_counts(Elf(cubin)))
    except (BadCubin, struct.error, IndexError) as problem:
        raise UnreadableCubin(f"no register counts could be read from the cubin: {problem}") from None


def _counts(elf: Elf) -> Iterator[tuple[str, int]]:
    for kind, value in elf.attributes(INFO):
        if kind == REGISTER_COUNT:
            for number, count in PAIR.iter_unpack(value):
                yield elf.symbols[number].name, count
