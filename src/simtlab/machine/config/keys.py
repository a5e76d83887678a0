"""What a configuration key may hold. Each kind of value knows its words for "allowed", its check, and how to read text."""

from dataclasses import MISSING, dataclass, field
from typing import Any

REQUIRED = MISSING  # a key with no default: every preset, or the one it builds on, must give it


@dataclass(frozen=True)
class Whole:
    """A whole number in a range."""

    low: int
    high: int | None = None
    power_of_two: bool = False

    @property
    def allowed(self) -> str:
        if self.low == self.high:
            return f"{self.low}"
        noun = "a power of two" if self.power_of_two else "a whole number"
        return f"{noun}, at least {self.low}" if self.high is None else f"{noun} from {self.low} to {self.high}"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        if value < self.low or (self.high is not None and value > self.high):
            return False
        return not self.power_of_two or value & (value - 1) == 0

    def read(self, text: str) -> Any:
        return int(text, 0)


@dataclass(frozen=True)
class Real:
    """A positive number, or zero where that makes sense."""

    or_zero: bool = False

    @property
    def allowed(self) -> str:
        return "a number, at least 0" if self.or_zero else "a number greater than 0"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        return 0 < value < float("inf") or (self.or_zero and value == 0)

    def read(self, text: str) -> Any:
        return float(text)


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.words)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def read(self, text: str) -> Any:
        return text


@dataclass(frozen=True)
class Flag:
    """True or false."""

    allowed = "true or false"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool)

    def read(self, text: str) -> Any:
        return {"true": True, "false": False}[text.lower()]


@dataclass(frozen=True)
class Text:
    """Words for the reader."""

    allowed = "text, not empty"

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and bool(value.strip())

    def read(self, text: str) -> Any:
        return text


@dataclass(frozen=True)
class Splits:
    """Ways to part one memory in two: pairs of L1 bytes and shared-memory bytes."""

    allowed = "a list of [L1 bytes, shared bytes] pairs"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, tuple | list):
            return False
        return all(
            isinstance(pair, tuple | list) and len(pair) == 2 and all(Whole(0).accepts(part) for part in pair) for pair in value
        )

    def read(self, text: str) -> Any:
        """`16384:49152,49152:16384`"""
        return tuple(tuple(int(part, 0) for part in pair.split(":")) for pair in text.split(","))


Kind = Whole | Real | Choice | Flag | Text | Splits


def _key(kind: Kind, unit: str, meaning: str, default: Any) -> Any:
    metadata = {"unit": unit, "meaning": meaning, "allowed": kind.allowed, "kind": kind}
    return field(metadata=metadata) if default is REQUIRED else field(default=default, metadata=metadata)


def count(
    unit: str, meaning: str, low: int = 1, high: int | None = None, power_of_two: bool = False, default: Any = REQUIRED
) -> Any:
    """A whole number of something."""
    return _key(Whole(low, high, power_of_two), unit, meaning, default)


def real(unit: str, meaning: str) -> Any:
    return _key(Real(), unit, meaning, REQUIRED)


def amount(unit: str, meaning: str, default: Any = REQUIRED) -> Any:
    """A number that may be zero."""
    return _key(Real(or_zero=True), unit, meaning, default)


def choice(meaning: str, *words: str, default: Any = REQUIRED) -> Any:
    return _key(Choice(words), "", meaning, default)


def flag(meaning: str, default: Any = REQUIRED) -> Any:
    return _key(Flag(), "", meaning, default)


def text(meaning: str, default: Any = REQUIRED) -> Any:
    return _key(Text(), "", meaning, default)


def splits(meaning: str) -> Any:
    return _key(Splits(), "bytes", meaning, ())
