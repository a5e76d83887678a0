"""How a policy is written and found.

A policy file has a docstring (what it is, from which paper), its hardware state as a NumPy dtype called `state`, its
parameters as a dict called `parameters` (each is a field of the state, with its default), and hooks:

    @hook
    def pick(core, own, ready, cycle): ...      # the slot of a ready warp, or NO_WARP
    @hook
    def on_issue(core, own, warp, cycle): ...   # optional: a warp has issued

`ready` is a 64-bit set of warp slots. Hooks are compiled on their own and called by address, so that a new policy costs
under a second and the machine's compiled clock loop stays as it is.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import carray, cfunc, types

from simtlab.compiled import HOOK_C, UNCOMPILED, compiled
from simtlab.errors import ConfigError
from simtlab.machine.core.inflight import count_bits, lowest_bit
from simtlab.machine.core.scoreboard import bit_of
from simtlab.machine.core.state import MAX_SCHEDULERS, core_t

__all__ = ["NO_WARP", "Policy", "attach", "available", "bit_of", "count_bits", "hook", "load", "next_after", "oldest"]

NO_WARP = -1
FOLDER = Path(__file__).parent
EMPTY_STATE = np.dtype([("nothing", "i8")])


@compiled
def oldest(core, ready):
    """The warp of a set that came to the core first."""
    best = lowest_bit(ready)
    rest = np.uint64(ready & ~bit_of(best))
    while rest != 0:
        w = lowest_bit(rest)
        rest = np.uint64(rest & ~bit_of(w))
        if core.slots[w].age < core.slots[best].age:
            best = w
    return best


@compiled
def next_after(ready, w):
    """The next warp slot of a set after w, going round."""
    later = np.uint64(ready & ~np.uint64(bit_of(w) | np.uint64(bit_of(w) - np.uint64(1))))
    return lowest_bit(later if later != 0 else ready)


@dataclass(frozen=True)
class Hook:
    """A function marked as a hook; it is compiled when its policy is used."""

    function: Callable


def hook(function: Callable) -> Hook:
    return Hook(function)


@dataclass
class Policy:
    """A policy loaded: its module, its state's dtype, its hooks' addresses."""

    name: str
    module: ModuleType
    state: np.dtype
    parameters: dict[str, Any]
    addresses: dict[str, int] = field(default_factory=dict)
    kept: list[Any] = field(default_factory=list)

    def new_state(self, count: int) -> np.ndarray:
        """One zeroed state each, the parameters filled in, and the scheduler's number where there is a field for it."""
        states = np.zeros(count, self.state).view(np.recarray)
        if "scheduler" in (self.state.names or ()):
            states["scheduler"] = np.arange(count) % MAX_SCHEDULERS
        for name, value in self.parameters.items():
            states[name] = value
        return states


def available(slot: str) -> list[str]:
    """The policies that come with simtlab for a slot."""
    return sorted(path.stem.replace("_", "-") for path in (FOLDER / slot).glob("*.py") if path.stem != "__init__")


def load(slot: str, name: str, **parameters: Any) -> Policy:
    """A policy by name, or by the path of a file outside the package."""
    path = Path(name) if name.endswith(".py") else FOLDER / slot / f"{name.replace('-', '_')}.py"
    if not path.is_file():
        known = available(slot)
        near = get_close_matches(name, known)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        raise ConfigError(f"no {slot.replace('_', ' ')} '{name}'{hint} There are: {', '.join(known)}, or the path of a file")
    specification = importlib.util.spec_from_file_location(f"simtlab_policy_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    state = getattr(module, "state", EMPTY_STATE)
    known_parameters = dict(getattr(module, "parameters", {}))
    for key in parameters:
        if key not in known_parameters:
            raise ConfigError(f"policy '{name}' has no parameter '{key}'; it has: {', '.join(known_parameters) or 'none'}")
    policy = Policy(name, module, np.dtype(state, align=True), known_parameters | parameters)
    compile_hooks(policy)
    return policy


HOOKS = {"pick": True, "on_issue": False}  # name: must be there


def compile_hooks(policy: Policy) -> None:
    for name, required in HOOKS.items():
        found = getattr(policy.module, name, None)
        if found is None and required:
            raise ConfigError(f"policy '{policy.name}' lacks the hook '{name}'")
        function = found.function if isinstance(found, Hook) else found or _nothing
        entry = _entry(function, policy.state)
        policy.kept.append(entry)
        policy.addresses[name] = _address(entry)


def _nothing(core: Any, own: Any, argument: Any, cycle: Any) -> int:
    return 0


def _entry(function: Callable, state: np.dtype) -> Any:
    """A C function over record addresses that calls the hook."""
    if UNCOMPILED:
        return HOOK_C(_uncompiled_entry(function, state))
    core_type = types.CPointer(numba.from_dtype(core_t))
    own_type = types.CPointer(numba.from_dtype(state))
    inner = numba.njit(function)

    @cfunc(types.int64(core_type, own_type, types.uint64, types.int64))
    def entry(core, own, argument, cycle):
        result = inner(carray(core, 1)[0], carray(own, 1)[0], argument, cycle)
        return 0 if result is None else result

    return entry


def _uncompiled_entry(function: Callable, state: np.dtype) -> Callable:
    import ctypes

    def entry(core: int, own: int, argument: int, cycle: int) -> int:
        def view(address: int, dtype: np.dtype) -> Any:
            memory: Any = (ctypes.c_uint8 * dtype.itemsize).from_address(address)
            return np.frombuffer(memory, dtype).view(np.recarray)[0]

        result = function(view(core, core_t), view(own, state), np.uint64(argument), cycle)
        return 0 if result is None else int(result)

    return entry


def _address(entry: Any) -> int:
    if UNCOMPILED:
        import ctypes

        return ctypes.cast(entry, ctypes.c_void_p).value or 0
    return entry.address


def attach(policy: Policy, cores: np.ndarray) -> np.ndarray:
    """Give every scheduler of every core a state of its own; keep the returned array as long as the machine runs."""
    states = policy.new_state(len(cores) * MAX_SCHEDULERS)
    base, size = states.ctypes.data, policy.state.itemsize
    for c in range(len(cores)):
        for s in range(MAX_SCHEDULERS):
            cores[c]["own"][s] = base + (c * MAX_SCHEDULERS + s) * size
    return states
