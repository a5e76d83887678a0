"""What a policy did that it may not: noted where it happens, told in a sentence when the machine has stopped."""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from simtlab.compiled import compiled, reader_of, store_i64
from simtlab.errors import PolicyError
from simtlab.execute.state import Outcome, field_offset
from simtlab.machine.answers import ANSWERS
from simtlab.machine.hooks import MECHANISMS, POINTS, Trouble, trouble_t
from simtlab.machine.state import gpu_t
from simtlab.policies.guard import ENDLESS, MOST_TURNS
from simtlab.policies.units import name_of_unit

if TYPE_CHECKING:
    from simtlab.machine.build import Records
    from simtlab.policies.load import Policy

NONE, ANSWER, RAISED = int(Trouble.NONE), int(Trouble.ANSWER), int(Trouble.RAISED)
MISLED = int(Outcome.MISLED)
SETS = {"warp", "bank", "split", "subset"}  # answers that are chosen from a set of bits
trouble_at = reader_of(trouble_t)


@compiled
def tell(own, hook, raised, answer, argument, cycle):
    """Note the first trouble and have the machine stop at the end of this cycle."""
    trouble = trouble_at(own.simtlab_trouble)
    if trouble.kind == NONE:
        trouble.kind = RAISED if raised != 0 else ANSWER
        trouble.hook, trouble.unit, trouble.answer, trouble.raised = hook, own.simtlab_unit, answer, raised
        trouble.argument, trouble.cycle, trouble.policy = np.uint64(argument), cycle, own.simtlab_policy
        store_i64(trouble.stop, MISLED)


def new_trouble(records: Records) -> np.ndarray:
    """Where the policies of a machine tell what goes wrong: nothing so far."""
    trouble = np.zeros(1, trouble_t)
    trouble["stop"] = records.gpu.ctypes.data + field_offset(gpu_t, "outcome")
    return trouble


def raise_if_any(trouble: Any, policies: Mapping[str, Policy]) -> None:
    """Raise what the machine's policies have done wrong, if they have."""
    if trouble["kind"] == Trouble.NONE:
        return
    slot, hook, _, point = POINTS[int(trouble["hook"])]
    policy = list(policies.values())[int(trouble["policy"])]
    if policy.slot in MECHANISMS:
        hook = f"{slot}_{hook}" if slot else hook
    where = f"in {name_of_unit(policy, int(trouble['unit']))}, cycle {int(trouble['cycle'])}"
    whose = f"policy '{policy.name}': {hook}"
    if trouble["kind"] == Trouble.RAISED:
        raise PolicyError(f"{whose} {exception_at(int(trouble['raised']))}, {where}")
    kind = point.answers
    raise PolicyError(
        f"{whose} answered {int(trouble['answer'])} {where}; allowed is {ANSWERS[kind].allowed}"
        + asked(kind, int(trouble["argument"]))
    )


def asked(kind: str, argument: int) -> str:
    """The question's own numbers: the set it chose from, or the limit it was given."""
    if kind in SETS:
        members = [str(k) for k in range(64) if argument >> k & 1]
        return f"; the set was {{{', '.join(members)}}}"
    name = {"way": "first", "contestant": "count", "place": "count"}.get(kind)
    return f"; `{name}` was {argument}" if name else ""


kept: dict[int, BaseException] = {}  # exceptions of hooks that were not compiled, by the number told for them


def exception_at(address: int) -> str:
    """What an exception says and where it was raised. The compiler keeps that pickled: its class, its arguments, its place."""
    if address in kept:
        error = kept.pop(address)
        place = error.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f" ({place.tb_frame.f_code.co_filename}:{place.tb_lineno})" if place else ""
        return in_words(type(error), error.args) + where
    text = ctypes.c_void_p.from_address(address).value
    size = ctypes.c_int32.from_address(address + ctypes.sizeof(ctypes.c_void_p)).value
    kind, arguments, place = pickle.loads(ctypes.string_at(text or 0, size))
    return in_words(kind, arguments or ()) + (f" ({place[1]}:{place[2]})" if place else "")


def in_words(kind: type, arguments: tuple) -> str:
    if arguments == (ENDLESS,):
        return f"has gone round its loops {MOST_TURNS:,} times without an end"
    if kind is IndexError:
        return "used an index beyond the end of a table"
    said = ", ".join(str(part) for part in arguments if part is not None)
    return f"raised {kind.__name__}" + (f": {said}" if said else "")
