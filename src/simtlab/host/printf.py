"""C's printf, for text that kernels print."""

from __future__ import annotations

import math
import re
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simtlab.host.services import Frame

MOST_ARGUMENT_BYTES = 512
DIRECTIVE = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%n])")


class _Arguments:
    """The packed arguments: each at its own alignment."""

    def __init__(self, raw: bytes):
        self.raw, self.at = raw, 0

    def take(self, size: int, code: str) -> int | float:
        self.at = -(-self.at // size) * size
        chunk = self.raw[self.at : self.at + size]
        self.at += size
        return struct.unpack(f"<{code}", chunk.ljust(size, b"\0"))[0]


def format_printf(template: str, frame: Frame, arguments: int) -> tuple[str, int]:
    """The printed text, and what vprintf returns: how many arguments it took."""
    packed = _Arguments(frame.read(arguments, MOST_ARGUMENT_BYTES) if arguments else b"")
    count = 0

    def convert(match: re.Match) -> str:
        nonlocal count
        flags, width, precision, length, kind = match.groups()
        if kind == "%":
            return "%"
        if width == "*":
            width = str(packed.take(4, "i"))
        if precision == "*":
            precision = str(packed.take(4, "i"))
        if precision is not None and int(precision) < 0:
            dot = ""
        else:
            dot = "" if "." not in match[0] else f".{precision or 0}"
        count += 1
        return _one(f"%{flags or ''}{width or ''}{dot}", length or "", kind, packed, frame)

    return DIRECTIVE.sub(convert, template), count


def _one(start: str, length: str, kind: str, packed: _Arguments, frame: Frame) -> str:
    if kind in "fFeEgG":
        value = float(packed.take(8, "d"))
        text = (start + kind) % value
        negative = math.isnan(value) and math.copysign(1, value) < 0
        return re.sub(" ?nan", "-nan", text, flags=re.IGNORECASE, count=1) if negative else text
    if kind in "aA":
        text = _hexadecimal(float(packed.take(8, "d")))
        return (start.split(".")[0] + "s") % (text.upper() if kind == "A" else text)
    if kind == "s":
        return (start + "s") % frame.read_string(int(packed.take(8, "Q")))
    if kind == "p":
        address = int(packed.take(8, "Q"))
        return (start + "s") % (f"{address:#x}" if address else "(nil)")
    if kind == "c":
        return (start + "c") % chr(int(packed.take(4, "i")) & 0xFF)
    wide = length in ("l", "ll", "j", "z", "t")
    signed = kind in "di"
    value = packed.take(8 if wide else 4, ("q" if signed else "Q") if wide else ("i" if signed else "I"))
    if length in ("h", "hh"):
        value = _narrow(int(value), 16 if length == "h" else 8, signed)
    text = (start + ("d" if kind in "diu" else kind)) % value
    return text.replace("0o", "0") if kind == "o" else text  # C marks octal with a 0 alone


def _hexadecimal(value: float) -> str:
    """A number as %a has it: Python's own notation without the zeros at the end."""
    mantissa, p, exponent = value.hex().partition("p")
    return mantissa.rstrip("0").rstrip(".") + p + exponent if p else mantissa


def _narrow(value: int, bits: int, signed: bool) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if signed and value >> (bits - 1) else value
