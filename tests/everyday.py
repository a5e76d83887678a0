"""Parameters of which `make test` tries some, and `make test-full` all."""

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest


def everyday(values: Iterable[Any], is_chosen: Callable[[Any], object]) -> list[Any]:
    """The values, those that are not chosen marked slow. A tuple stands for several parameters."""
    return [value if is_chosen(value) else pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow)
            for value in values]  # fmt: skip


def every(step: int, values: Iterable[Any]) -> list[Any]:
    """Every so many of them, beginning with the first."""
    counted = count()
    return everyday(values, lambda _: next(counted) % step == 0)
