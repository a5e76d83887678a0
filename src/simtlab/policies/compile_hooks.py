"""Compile a policy's hooks, each on its own, to C functions that the machine calls by address."""

import ctypes
import re
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np
from numba import cfunc, types
from numba.core.errors import NumbaError

from simtlab.compiled import HOOK_C, UNCOMPILED, as_a_whole, cache_in, checked_indices
from simtlab.errors import ConfigError, PolicyError
from simtlab.machine.answers import ANSWERS
from simtlab.machine.hooks import MECHANISMS, POINTS
from simtlab.policies.check_hook import check_hook
from simtlab.policies.choice import FOLDER
from simtlab.policies.hook import Hook
from simtlab.policies.trouble import kept, tell
from simtlab.policies.units import RECORDS
from simtlab.storage import cache_directory, import_file

ENTRY = FOLDER / "entry.py"
CACHES = ("l1", "l2")  # units whose hooks are given the number of a line
LONGEST_WORDS = 200  # of the compiler's own text in a message


def compile_hooks(
    slot: str, name: str, module: ModuleType, state: np.dtype, digest: str, checked: bool
) -> tuple[dict[str, int], list[Any]]:
    """The addresses of a policy's hooks, and what must live as long as they are called."""
    points = points_of(slot)
    addresses, entries = dict.fromkeys(points, 0), []
    strangers = [key for key, value in vars(module).items() if isinstance(value, Hook) and key not in points]
    if strangers:
        near = get_close_matches(strangers[0], points)
        hint = f"did you mean '{near[0]}'?" if near and slot in MECHANISMS else f"it has: {', '.join(points)}"
        raise ConfigError(f"policy '{name}' has a hook '{strangers[0]}' that {slot} knows nothing of; {hint}")
    for hook, number in points.items():
        found = getattr(module, hook, None)
        unit, point = POINTS[number][2:]
        if found is None:
            if point.required and slot not in MECHANISMS:
                raise ConfigError(f"policy '{name}' lacks the hook '{hook}'")
            continue
        function = found.function if isinstance(found, Hook) else found
        if checked:
            check_hook(function, name, RECORDS[unit], state)
        kept_in = cache_directory() / "hooks" / f"{slot}-{hook}-{digest}"
        entry = Entry(name, hook, number, function, state, checked).made(kept_in)
        entries.append(entry)
        addresses[hook] = address_of(entry)
    return addresses, entries


def points_of(slot: str) -> dict[str, int]:
    """The hooks that a policy may have, each with its number: those of its slot, of a mechanism those of all slots, with the
    slot's name before theirs, and events."""
    if slot in MECHANISMS:
        return {f"{whose}_{hook}" if whose else hook: number for number, (whose, hook, _, _) in enumerate(POINTS)}
    return {hook: number for number, (whose, hook, _, _) in enumerate(POINTS) if whose == slot}


class Entry:
    """The C function of one hook."""

    def __init__(self, policy: str, hook: str, number: int, function: Callable, state: np.dtype, checked: bool):
        self.policy, self.hook, self.function, self.state, self.checked = policy, hook, function, state, checked
        self.number, self.unit, self.point = number, *POINTS[number][2:]

    def made(self, kept_in: Path) -> Any:
        """A C function over record addresses, from the disk if it was compiled before."""
        if UNCOMPILED:
            return HOOK_C(self.uncompiled)
        answer = ANSWERS[self.point.answers]
        module: Any = import_file(ENTRY, f"simtlab_hook_{kept_in.name}")
        module.inner = numba.njit(error_model="numpy")(self.function)
        module.legal, module.instead, module.number = answer.legal, answer.instead, self.number
        unit_type, own_type = (types.CPointer(numba.from_dtype(dtype)) for dtype in (RECORDS[self.unit], self.state))
        signature = types.int64(unit_type, own_type, types.uint64, types.int64)
        try:
            with cache_in(kept_in), checked_indices(self.checked), as_a_whole():
                self.check_answer(module.inner, kept_in)
                return cfunc(signature, cache=True)(module.of_cache if self.unit in CACHES else module.of_record)
        except NumbaError as error:
            raise PolicyError(f"policy '{self.policy}': {self.hook} cannot be compiled: {in_words(error)}") from None

    def check_answer(self, inner: Any, kept_in: Path) -> None:
        """Refuse a hook that answers nothing, or no whole number, where it is asked something. What is on disk was checked."""
        if self.point.answers == "nothing" or kept_in.is_dir():
            return
        record = numba.from_dtype(RECORDS[self.unit])
        argument = types.int64 if self.unit in CACHES else types.uint64
        given = inner.get_call_template((record, numba.from_dtype(self.state), argument, types.int64), {})[0]
        answer = given.cases[0].return_type if hasattr(given, "cases") else None
        if isinstance(answer, types.NoneType | types.Optional):
            way = "nothing" if isinstance(answer, types.NoneType) else "nothing on one of its ways"
            allowed = ANSWERS[self.point.answers].allowed
            raise PolicyError(f"policy '{self.policy}': {self.hook} answers {way}; allowed is {allowed}")
        if answer is not None and not isinstance(answer, types.Integer | types.Boolean):
            raise PolicyError(f"policy '{self.policy}': {self.hook} answers {answer}; allowed is a whole number: "
                              f"{ANSWERS[self.point.answers].allowed}")  # fmt: skip

    def uncompiled(self, record: int, own: int, argument: int, cycle: int) -> int:
        """What `policies.entry` does, in Python."""
        answer = ANSWERS[self.point.answers]
        unit, state = view(record, RECORDS[self.unit])[0], view(own, self.state)[0]
        raised, given = 0, 0
        try:
            result = self.function(unit, state, np.int64(argument) if self.unit in CACHES else np.uint64(argument), cycle)
            given = 0 if result is None else int(result)
            if (result is not None or self.point.answers == "nothing") and answer.legal(unit, np.uint64(argument), given):
                return given
        except Exception as error:
            raised = len(kept) + 1
            kept[raised] = error
        tell(state, self.number, raised, given, argument, cycle)
        return answer.instead


def view(address: int, dtype: np.dtype) -> Any:
    memory: Any = (ctypes.c_uint8 * dtype.itemsize).from_address(address)
    return np.frombuffer(memory, dtype).view(np.recarray)


def address_of(entry: Any) -> int:
    if UNCOMPILED:
        return ctypes.cast(entry, ctypes.c_void_p).value or 0
    return entry.address


def in_words(error: NumbaError) -> str:
    """The compiler's reason in one line: what it says first, types cut short, and the last line of the policy it speaks of."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next((line for line in lines if not line.startswith("Failed in nopython mode")), "no reason given")
    said = re.sub(r"(unaligned )?[Rr]ecord\(.*\)", "a record", said)
    said = said if len(said) <= LONGEST_WORDS else said[: LONGEST_WORDS - 1] + "…"
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    return said + (f" ({Path(places[-1][0]).name}:{places[-1][1]})" if places else "")
