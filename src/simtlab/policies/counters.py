"""Counters of a policy's own: fields of its state, added up over all units, beside the machine's in every run.

    counters = {"lookups": ("accesses", "Loads looked up in the tables.")}

in its file is `prefetcher.caps.lookups` in `run.counters`: the slot, the policy and the field, so that no name is ever that of
a counter of the machine, or of another policy. An array is a counter for each element, numbered from 0 or from a third
value: ("loads", "Loads by distance.", 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.errors import ConfigError

if TYPE_CHECKING:
    from simtlab.policies.load import Policy

MOST_ELEMENTS = 64  # of an array: each is a column of every table of results
FORM = '("unit", "sentence"), or ("unit", "sentence", number of the first element)'


def check_counters(name: str, module: ModuleType, state: np.dtype) -> None:
    """Counters are declared for whole-number fields that the hooks count in, with a unit and a sentence."""
    parameters = getattr(module, "parameters", {})
    counted = [f for f in state.names or () if state[f].base.kind in "iu" and f not in parameters]
    declared = getattr(module, "counters", {})
    if not isinstance(declared, Mapping):
        raise ConfigError(f"policy '{name}': counters = {declared!r} is impossible: allowed is a dict of fields, each with {FORM}")
    for field, words in declared.items():
        if field not in counted:
            known = f"its state counts in: {', '.join(counted) or 'none'}"
            raise ConfigError(f"policy '{name}': counters names '{field}', which is no whole-number field; {known}")
        if not _is_explained(words):
            raise ConfigError(f"policy '{name}': counters of '{field}' = {words!r} is impossible: allowed is {FORM}")
        shape = state[field].shape
        if len(shape) > 1 or shape > (MOST_ELEMENTS,):
            allowed = f"allowed is a number, or an array of at most {MOST_ELEMENTS}"
            raise ConfigError(f"policy '{name}': counters names '{field}', an array of {shape}; {allowed}")


def _is_explained(words: Any) -> bool:
    if not isinstance(words, tuple) or [type(word) for word in words] not in ([str, str], [str, str, int]):
        return False
    return all(words[:2])


def prefix_of(slot: str, name: str) -> str:
    """What the names of a policy's counters begin with; that of a file is the file's name."""
    return f"{slot}.{Path(name).stem.replace('_', '-')}"


def names_of(policy: Policy, field: str) -> list[str]:
    """The counters that a field is: one, or one for each element of an array."""
    name = f"{prefix_of(policy.slot, policy.name)}.{field}"
    shape, first = policy.state[field].shape, (*policy.counters[field], 0)[2]
    return [f"{name}.{first + k}" for k in range(shape[0])] if shape else [name]


def explained(policy: Policy) -> dict[str, tuple[str, str]]:
    """Every counter of a policy with its unit and what it counts."""
    return {name: words[:2] for field, words in policy.counters.items() for name in names_of(policy, field)}


def counted(policy: Policy, states: np.ndarray) -> Iterator[tuple[str, int]]:
    """Every counter of a policy with what its states, one for each unit, have counted together."""
    for field in policy.counters:
        yield from zip(names_of(policy, field), np.atleast_1d(states[field].sum(axis=0)).tolist(), strict=True)
