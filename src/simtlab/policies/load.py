"""Find a policy by its name or its file, compile its hooks, and give every unit a state of its own.

Hooks are compiled on their own and called by address, so that a new policy costs under a second and the machine's compiled
clock loop stays as it is.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import cfunc, types

from simtlab.compiled import HOOK_C, MACHINE_SOURCES, UNCOMPILED, cache_in
from simtlab.errors import ConfigError
from simtlab.execute.state import warp_t
from simtlab.machine.core.state import core_t
from simtlab.machine.hooks import SLOTS
from simtlab.machine.limits import MAX_SCHEDULERS
from simtlab.machine.memory.cache import line_t
from simtlab.machine.memory.dram import channel_t
from simtlab.machine.network.contest import contest_t
from simtlab.machine.state import gpu_t
from simtlab.policies.choice import FOLDER, available
from simtlab.policies.counters import check_counters
from simtlab.policies.hook import Hook
from simtlab.storage import cache_directory, digest_of_sources, import_file

ENTRY = FOLDER / "entry.py"
EMPTY_STATE = np.dtype([("nothing", "i8")])
UNITS = {"core": core_t, "gpu": gpu_t, "lines": line_t, "warp": warp_t, "contest": contest_t, "channel": channel_t}


@dataclass
class Policy:
    """A policy loaded: its module, its state's dtype, its hooks' addresses (0 for those it leaves out)."""

    slot: str
    name: str
    module: ModuleType
    state: np.dtype
    parameters: dict[str, Any]
    addresses: dict[str, int]

    @property
    def energy_pj(self) -> dict[str, float]:
        """What each event costs that a field of the state counts: `energy_pj = {"accesses": 15.07}` in its file."""
        return getattr(self.module, "energy_pj", {})

    @property
    def counters(self) -> dict[str, Any]:
        """Fields of the state to be counted in every run, each with a unit and a sentence: see `simtlab.policies.counters`."""
        return getattr(self.module, "counters", {})

    @property
    def static_watts(self) -> float:
        """Static power of its hardware in one unit: `static_watts = 550e-6` in its file."""
        return getattr(self.module, "static_watts", 0.0)

    def new_state(self, count: int) -> np.ndarray:
        """One zeroed state each, the parameters filled in, and the scheduler's number where there is a field for it."""
        states = np.zeros(count, self.state).view(np.recarray)
        if "scheduler" in (self.state.names or ()):
            states["scheduler"] = np.arange(count) % MAX_SCHEDULERS
        for name, value in self.parameters.items():
            states[name] = value
        return states

    def at_launch(self, states: np.ndarray) -> np.ndarray:
        """What its states become when a launch begins: new ones, or with `outlives_launch` the same, its counts at zero."""
        begun = self.new_state(len(states))
        if getattr(self.module, "outlives_launch", False):
            for name in set(self.state.names or ()) - {*self.counters, *self.energy_pj}:
                begun[name] = states[name]
        return begun


def file_of(slot: str, name: str) -> Path:
    """The file that holds a policy."""
    path = Path(name) if name.endswith(".py") else FOLDER / slot / f"{name.replace('-', '_')}.py"
    if not path.is_file():
        known = available(slot)
        near = get_close_matches(name, known)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        raise ConfigError(
            f"no {slot.replace('_', ' ')} '{name}'{hint} There are: {', '.join(known) or 'none'}, or the path of a file"
        )
    return path


_loaded: dict[tuple[str, str], tuple[ModuleType, np.dtype, dict[str, int], list[Any]]] = {}


def load(slot: str, name: str, **parameters: Any) -> Policy:
    """A policy by name, or by the path of a file outside the package."""
    path = file_of(slot, name)
    key = slot, digest_of(path)
    if key not in _loaded:
        module = import_file(path, f"simtlab_policy_{path.stem}_{key[1]}")
        state = np.dtype(getattr(module, "state", EMPTY_STATE), align=True)
        check_energy(name, module, state)
        check_counters(name, module, state)
        _loaded[key] = module, state, *compile_hooks(slot, name, module, state, key[1])
    module, state, addresses, _ = _loaded[key]
    values = dict(getattr(module, "parameters", {}))
    for key_given, value in parameters.items():
        check_parameter(name, module, state, key_given, value)
        values[key_given] = value
    return Policy(slot, name, module, state, values, addresses)


def digest_of(path: Path) -> str:
    """A digest of a policy's text and of all it could take code from: the files beside it, the policies here, the machine."""
    beside = [other.read_bytes() for other in sorted(path.parent.glob("*.py")) if other.is_file()]
    return digest_of_sources(*MACHINE_SOURCES, "policies", also=(numba.__version__, path.read_bytes(), beside))


def check_parameter(name: str, module: ModuleType, state: np.dtype, key: str, value: Any) -> None:
    known = getattr(module, "parameters", {})
    if key not in known:
        raise ConfigError(f"policy '{name}' has no parameter '{key}'; it has: {', '.join(known) or 'none'}")
    least, most = getattr(module, "limits", {}).get(key, (0, None))
    allowed = f"at least {least}" if most is None else f"from {least} to {most}"
    if state[key].kind in "iu" and not isinstance(value, int | np.integer):
        raise ConfigError(f"policy '{name}': {key} = {value} is impossible: allowed is a whole number, {allowed}")
    if value < least or (most is not None and value > most):
        raise ConfigError(f"policy '{name}': {key} = {value} is impossible: allowed is {allowed}")


def check_energy(name: str, module: ModuleType, state: np.dtype) -> None:
    """Energy is declared for whole-number fields of the state, which the hooks count in, and is never negative."""
    counted = [field for field in state.names or () if state[field].kind in "iu"]
    for field, picojoules in getattr(module, "energy_pj", {}).items():
        if field not in counted:
            known = f"its state counts in: {', '.join(counted)}"
            raise ConfigError(f"policy '{name}': energy_pj names '{field}', which is no whole-number field; {known}")
        if picojoules < 0:
            raise ConfigError(f"policy '{name}': energy_pj of '{field}' = {picojoules} is impossible: allowed is at least 0")
    watts = getattr(module, "static_watts", 0.0)
    if watts < 0:
        raise ConfigError(f"policy '{name}': static_watts = {watts} is impossible: allowed is at least 0")


def compile_hooks(
    slot: str, name: str, module: ModuleType, state: np.dtype, digest: str
) -> tuple[dict[str, int], list[Any]]:
    """The addresses of a policy's hooks, and what must live as long as they are called."""
    points = SLOTS[slot].hooks
    addresses, kept = dict.fromkeys(points, 0), []
    strangers = [key for key, value in vars(module).items() if isinstance(value, Hook) and key not in points]
    if strangers:
        raise ConfigError(f"policy '{name}' has a hook '{strangers[0]}' that {slot} knows nothing of; it has: {', '.join(points)}")
    for hook, point in points.items():
        found = getattr(module, hook, None)
        if found is None:
            if point.required:
                raise ConfigError(f"policy '{name}' lacks the hook '{hook}'")
            continue
        function = found.function if isinstance(found, Hook) else found
        entry = _entry(function, SLOTS[slot].unit, state, cache_directory() / "hooks" / f"{slot}-{hook}-{digest}")
        kept.append(entry)
        addresses[hook] = _address(entry)
    return addresses, kept


def _entry(function: Callable, unit: str, state: np.dtype, kept_in: Path) -> Any:
    """A C function over record addresses that calls the hook, from the disk if it was compiled before."""
    if UNCOMPILED:
        return HOOK_C(_uncompiled_entry(function, unit, state))
    module: Any = import_file(ENTRY, f"simtlab_hook_{kept_in.name}")
    module.inner = numba.njit(error_model="numpy")(function)
    unit_type, own_type = (types.CPointer(numba.from_dtype(dtype)) for dtype in (UNITS[unit], state))
    signature = types.int64(unit_type, own_type, types.uint64, types.int64)
    with cache_in(kept_in):
        return cfunc(signature, cache=True)(module.of_lines if unit == "lines" else module.of_record)


def _uncompiled_entry(function: Callable, unit: str, state: np.dtype) -> Callable:
    def view(address: int, dtype: np.dtype, count: int) -> Any:
        memory: Any = (ctypes.c_uint8 * (dtype.itemsize * count)).from_address(address)
        return np.frombuffer(memory, dtype).view(np.recarray)

    def entry(record: int, own: int, argument: int, cycle: int) -> int:
        lines = unit == "lines"
        place = view(record, UNITS[unit], argument if lines else 1)
        result = function(place if lines else place[0], view(own, state, 1)[0], np.uint64(argument), cycle)
        return 0 if result is None else int(result)

    return entry


def _address(entry: Any) -> int:
    if UNCOMPILED:
        return ctypes.cast(entry, ctypes.c_void_p).value or 0
    return entry.address
