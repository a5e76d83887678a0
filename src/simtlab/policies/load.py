"""Find a policy by its name or its file, compile its hooks, and give every unit a state of its own.

Hooks are compiled on their own and called by address, so that a new policy costs under a second and the machine's compiled
clock loop stays as it is.
"""

import traceback
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from simtlab.compiled import MACHINE_SOURCES
from simtlab.errors import ConfigError, PolicyError
from simtlab.machine.hooks import MECHANISMS, POINTS, own_fields
from simtlab.machine.limits import MAX_SCHEDULERS
from simtlab.policies.choice import FOLDER, available, folder_of
from simtlab.policies.compile_hooks import compile_hooks, points_of
from simtlab.policies.counters import check_counters
from simtlab.policies.guard import code_with_guards
from simtlab.storage import digest_of_sources, import_file

NO_STATE = np.dtype([])


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
    def is_shared(self) -> bool:
        """Whether it has one state for the whole chip: `scope = "chip"` in a mechanism's file; else each core has its own."""
        return getattr(self.module, "scope", "core") == "chip"

    @property
    def filled(self) -> set[str]:
        """The slots whose hooks it has."""
        return {POINTS[number][0] for hook, number in points_of(self.slot).items() if self.addresses[hook]} - {""}

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
        for name, _ in own_fields:
            begun[name] = states[name]
        if getattr(self.module, "outlives_launch", False):
            for name in set(self.state.names or ()) - {*self.counters, *self.energy_pj}:
                begun[name] = states[name]
        return begun


def file_of(slot: str, name: str) -> Path:
    """The file that holds a policy."""
    path = Path(name) if name.endswith(".py") else folder_of(slot) / f"{name.replace('-', '_')}.py"
    if not path.is_file():
        known = available(slot)
        near = get_close_matches(name, known)
        hint = f"; did you mean '{near[0]}'?" if near else "."
        raise ConfigError(
            f"no {slot.replace('_', ' ')} '{name}'{hint} There are: {', '.join(known) or 'none'}, or the path of a file"
        )
    return path


_loaded: dict[tuple[str, str, bool], tuple[ModuleType, np.dtype, dict[str, int], list[Any]]] = {}


def load(slot: str, name: str, check: bool = False, **parameters: Any) -> Policy:
    """A policy by name, or by the path of a file outside the package. The latter are always checked: their indices, their
    loops, what they write to; simtlab's own where `check` is set."""
    path = file_of(slot, name)
    checked = check or not path.resolve().is_relative_to(FOLDER)
    kind = MECHANISMS[0] if slot in MECHANISMS else slot  # in whichever of its places, a mechanism is compiled once
    key = kind, digest_of(path), checked
    if key not in _loaded:
        module = import_policy(name, path, f"simtlab_policy_{key[1]}{'_checked' if checked else ''}", checked)
        state = state_of(name, module)
        check_energy(name, module, state)
        check_counters(name, module, state)
        _loaded[key] = module, state, *compile_hooks(kind, name, module, state, module.__name__.split("_", 2)[2], checked)
    module, state, addresses, _ = _loaded[key]
    values = dict(getattr(module, "parameters", {}))
    for key_given, value in parameters.items():
        check_parameter(name, module, state, key_given, value)
        values[key_given] = value
    if values.get("period", 1) < 1:
        raise ConfigError(f"policy '{name}': period = {values['period']} is impossible: allowed is at least 1 cycle")
    policy = Policy(slot, name, module, state, values, addresses)
    if slot in MECHANISMS:
        check_mechanism(policy)
    if "clocks" in policy.filled and "period" not in values:
        raise ConfigError(f"policy '{name}' sets the clocks and lacks the parameter 'period', in cycles")
    return policy


def check_mechanism(policy: Policy) -> None:
    """A mechanism says what its state is of, has a state where its hooks are called, and a period where it wants the time."""
    if getattr(policy.module, "scope", "core") not in ("core", "chip"):
        raise ConfigError(f"policy '{policy.name}': scope = {policy.module.scope!r} is impossible: allowed is \"core\" or \"chip\"")
    if not any(policy.addresses.values()):
        raise ConfigError(f"policy '{policy.name}' has no hook; it has some of those of docs/write-a-policy.md, marked @hook")
    for hook, number in points_of(policy.slot).items():
        unit = POINTS[number][2]
        if policy.addresses[hook] and unit not in ("core", "l1") and not policy.is_shared:
            raise ConfigError(f"policy '{policy.name}': {hook} is called for the {unit}, which is no core's: add scope = \"chip\"")
    for slot, hook in (("warp_scheduler", "pick"), ("cta_dispatch", "choose")):
        if slot in policy.filled and not policy.addresses[f"{slot}_{hook}"]:
            raise ConfigError(f"policy '{policy.name}' fills {slot} and lacks the hook '{slot}_{hook}'")
    if policy.addresses["on_tick"] and "period" not in policy.parameters:
        raise ConfigError(f"policy '{policy.name}' has the hook 'on_tick' and lacks the parameter 'period', in cycles")


def import_policy(name: str, path: Path, module_name: str, checked: bool) -> ModuleType:
    """Run a policy's file; the module is named by its text alone, for compiled hooks on disk refer to it by that name."""
    try:
        return import_file(path, module_name, code_with_guards if checked else None)
    except Exception as error:
        if isinstance(error, SyntaxError):
            line = error.lineno
        else:
            line = next((f.lineno for f in reversed(traceback.extract_tb(error.__traceback__)) if f.filename == str(path)), None)
        where = f" ({path.name}:{line})" if line else ""
        message = error.msg if isinstance(error, SyntaxError) else error
        raise PolicyError(f"policy '{name}' cannot be read: {type(error).__name__}: {message}{where}") from error


def state_of(name: str, module: ModuleType) -> np.dtype:
    """A policy's state, with what simtlab keeps beside it."""
    try:
        given = np.dtype(getattr(module, "state", NO_STATE))
        fields = [(field, given[field]) for field in given.names or ()]
        if given.itemsize and not fields:
            raise TypeError
    except (TypeError, ValueError):
        raise PolicyError(
            f"policy '{name}': state = {module.state!r} is impossible: allowed is np.dtype([(\"field\", \"i8\"), …])"
        ) from None
    for parameter in getattr(module, "parameters", {}):
        if parameter not in (given.names or ()):
            raise PolicyError(f"policy '{name}': parameter '{parameter}' is no field of its state")
    return np.dtype([*fields, *own_fields], align=True)


def digest_of(path: Path) -> str:
    """A digest of a policy's text and of all it could take code from: the files beside it, the policies here, the machine."""
    beside = [other.read_bytes() for other in sorted(path.parent.glob("*.py")) if other.is_file()]
    return digest_of_sources(also=(_digest_of_package(), path.read_bytes(), beside))


@cache
def _digest_of_package() -> str:
    """Of what a policy can import from here. It is imported once, so an edit counts from the next process on."""
    return digest_of_sources(*MACHINE_SOURCES, "policies", also=numba.__version__)


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
