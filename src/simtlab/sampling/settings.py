"""What sampling is asked for: how exact, and how alike launches must be to count as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from simtlab.errors import SimtlabError

EXAMPLES = "sample=True, sample=0.05, or sample={'error': 0.05, 'windows': 4}"


@dataclass(frozen=True)
class Sampling:
    """Settings of sampling; the defaults are those of `sample=True`."""

    error: float = 0.05  # share of the mean that the 95% confidence interval of the rate may be wide, to either side
    windows: int = 3  # the fewest that the rate is judged by
    similar: float = 0.1  # by which share functional profiles may differ: of CTAs in one gap, of launches in one cluster

    def __post_init__(self) -> None:
        allowed = {"error": (0.001, 0.5), "windows": (2, 64), "similar": (0.0, 0.5)}
        for name, (least, most) in allowed.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
                raise SimtlabError(f"sampling: {name} is {value!r}; it must lie between {least} and {most}")
        if not isinstance(self.windows, int):
            raise SimtlabError(f"sampling: windows is {self.windows!r}; it must be a whole number")

    def __str__(self) -> str:
        """As `--sample` takes it; the defaults are left out."""
        usual = asdict(Sampling())
        changed = [f"{name}={value:g}" for name, value in asdict(self).items() if value != usual[name]]
        return ",".join(changed) or "on"


def read_sampling(given: Any) -> Sampling | None:
    """Settings as people give them: True, an error, a dict, or the text of `--sample`; None and False are no sampling."""
    if given is None or given is False or isinstance(given, Sampling):
        return given or None
    if given is True:
        return Sampling()
    if isinstance(given, int | float):
        return Sampling(error=float(given))
    if isinstance(given, str):
        return _read_text(given.strip())
    if isinstance(given, Mapping):
        return _of_values(given)
    raise SimtlabError(f"sample is {given!r}; it must be as in {EXAMPLES}")


def _read_text(text: str) -> Sampling | None:
    if text in ("on", "off"):
        return Sampling() if text == "on" else None
    values = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name, value = (name, value) if equals else ("error", name)
        try:
            values[name] = int(value) if name == "windows" else float(value)
        except ValueError:
            raise SimtlabError(f"sample is '{text}'; it must be 'on', an error such as 0.05, or error=0.05,windows=4") from None
    return _of_values(values)


def _of_values(values: Mapping[str, Any]) -> Sampling:
    known = [field.name for field in fields(Sampling)]
    for name in values:
        if name not in known:
            raise SimtlabError(f"sampling has no setting '{name}'; it has {', '.join(known)}")
    return Sampling(**values)
