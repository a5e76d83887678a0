"""C's printf, for text that kernels print."""

from __future__ import annotations

import math
import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from simtlab.errors import DeviceFault

if TYPE_CHECKING:
    from simtlab.host.services import Frame

MOST_ARGUMENT_BYTES = 512
MOST_FIELD = 1 << 16  # characters of one field: no kernel means more, and a wrong one must not fill the host's memory
DIRECTIVE = re.compile(r"%([-+ #0]*)(\*|\d+)?(\.(?:\*|-?\d+)?)?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%n])")
BASES = {"o": "o", "x": "x", "X": "X"}
MANTISSA_BITS, BIAS = 52, 1023


@dataclass(frozen=True)
class Field:
    """A conversion of the format: `%#08.3lx` has flags "#0", width 8, precision 3, length "l" and kind "x"."""

    flags: str
    width: int
    precision: int | None
    length: str
    kind: str

    def padded(self, sign: str, body: str, zeros: bool = False) -> str:
        """Sign and text in the field's width; `zeros` allows the flag 0 to fill it between the two."""
        room = self.width - len(sign) - len(body)
        if "-" in self.flags:
            return sign + body + " " * room
        if zeros and "0" in self.flags:
            return sign + "0" * room + body
        return " " * room + sign + body

    def sign(self, negative: bool) -> str:
        """What stands before a signed number."""
        return "-" if negative else "+" if "+" in self.flags else " " if " " in self.flags else ""


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
        if match[5] == "%":
            return "%"
        field = _field(match, packed)
        count += 1
        return _convert(field, packed, frame)

    return DIRECTIVE.sub(convert, template), count


def _field(match: re.Match, packed: _Arguments) -> Field:
    """The conversion that a match spells; `*` takes its number from the arguments."""
    flags, width, precision, length, kind = match.groups()
    columns = int(packed.take(4, "i")) if width == "*" else int(width or 0)
    if columns < 0:
        flags, columns = flags + "-", -columns
    digits = None
    if precision is not None:
        digits = int(packed.take(4, "i")) if precision == ".*" else int(precision[1:] or 0)
    if digits is not None and digits < 0:
        digits = None
    if max(columns, digits or 0) > MOST_FIELD:
        raise DeviceFault(f"printf: '{match[0]}' asks for a field of {max(columns, digits or 0)} characters; "
                          f"at most {MOST_FIELD} are possible")  # fmt: skip
    return Field(flags, columns, digits, length or "", kind)


def _convert(field: Field, packed: _Arguments, frame: Frame) -> str:
    kind = field.kind
    if kind in "fFeEgGaA":
        return floating(field, float(packed.take(8, "d")))
    if kind == "s":
        return field.padded("", frame.read_string(int(packed.take(8, "Q")))[: field.precision])
    if kind == "p":
        address = int(packed.take(8, "Q"))
        return field.padded("", f"{address:#x}" if address else "(nil)")
    if kind == "c":
        return field.padded("", chr(int(packed.take(4, "i")) & 0xFF))
    if kind == "n":  # would write to the kernel's memory: the pointer is taken, nothing is written
        packed.take(8, "Q")
        return ""
    wide = field.length in ("l", "ll", "j", "z", "t")
    return integer(field, int(packed.take(8 if wide else 4, "Q" if wide else "I")))


def integer(field: Field, bits: int) -> str:
    """An integer of the conversions d, i, u, o, x and X, from the bits it was passed in."""
    width = {"hh": 8, "h": 16, "": 32, "L": 32}.get(field.length, 64)
    value = bits & ((1 << width) - 1)
    sign = ""
    if field.kind in "di":
        if value >> (width - 1):
            value -= 1 << width
        sign = field.sign(value < 0)
    digits = format(abs(value), BASES.get(field.kind, "d"))
    if field.precision is not None:
        digits = "" if field.precision == 0 and value == 0 else digits.rjust(field.precision, "0")
    if "#" in field.flags and field.kind == "o" and not digits.startswith("0"):
        digits = "0" + digits
    if "#" in field.flags and field.kind in "xX" and value:
        sign = "0" + field.kind
    return field.padded(sign, digits, zeros=field.precision is None)


def floating(field: Field, value: float) -> str:
    """A number of the conversions f, e, g and a."""
    sign = field.sign(math.copysign(1, value) < 0)
    if not math.isfinite(value):
        text = "nan" if math.isnan(value) else "inf"
        return field.padded(sign, text.upper() if field.kind.isupper() else text)
    if field.kind in "aA":
        digits = hexadecimal(abs(value), field.precision, "#" in field.flags)
        start, body = (digits[:2], digits[2:]) if field.kind == "a" else (digits[:2].upper(), digits[2:].upper())
        return field.padded(sign + start, body, zeros=True)
    places = 6 if field.precision is None else field.precision
    return field.padded(sign, f"%{'#' if '#' in field.flags else ''}.{places}{field.kind}" % abs(value), zeros=True)


def hexadecimal(value: float, places: int | None, point: bool) -> str:
    """A number that is not negative as %a has it, with so many digits after the point, or as many as it needs."""
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    exponent, mantissa = bits >> MANTISSA_BITS, bits & ((1 << MANTISSA_BITS) - 1)
    if exponent:
        mantissa |= 1 << MANTISSA_BITS
    power = max(exponent, 1) - BIAS if value else 0
    digits = MANTISSA_BITS // 4
    if places is not None and places < digits:
        dropped = 4 * (digits - places)
        half, rest = 1 << (dropped - 1), mantissa & ((1 << dropped) - 1)
        mantissa >>= dropped
        mantissa += rest > half or (rest == half and mantissa & 1)  # ties go to the even digit
        digits = places
    whole, fraction = mantissa >> 4 * digits, mantissa & ((1 << 4 * digits) - 1)
    text = f"{fraction:0{digits}x}" if digits else ""
    text = text.rstrip("0") if places is None else text.ljust(places, "0")
    return f"0x{whole:x}{'.' if text or point else ''}{text}p{power:+d}"
