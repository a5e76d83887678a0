"""What the compiler tells the core about an instruction beside what it does: control bits, operand slots, counters to wait for."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simtlab.frontend.sass.text import Control, Register, SassInstruction

N_SLOTS = 3  # operand slots that the reuse cache is kept by
_COUNTER = re.compile(r"DEPBAR\.LE\s+SB(\d)\s*,\s*(0x[0-9a-f]+|\d+)")


@dataclass(frozen=True)
class Slot:
    """A source that is read from the register file, by its place among the operands."""

    register: int
    count: int  # 2: a pair
    reused: bool  # the value stays in the reuse cache for the next instruction


@dataclass(frozen=True)
class Hints:
    control: Control
    slots: tuple[Slot | None, ...]
    counter: int | None = None  # DEPBAR: a dependence barrier, and how many may still be under way
    at_most: int = 0


def hints_of(i: SassInstruction) -> Hints:
    counter = _COUNTER.search(i.text)
    found = (int(counter[1]), int(counter[2], 0)) if counter else (None, 0)
    return Hints(i.control, slots_of(i), *found)


def slots_of(i: SassInstruction) -> tuple[Slot | None, ...]:
    """Registers by slot. What is written comes first; predicates have no slot, other sources that are not registers have one."""
    operands = [one for one in i.operands if not (isinstance(one, Register) and one.file in ("P", "UP", "B"))]
    if i.operands and isinstance(i.operands[0], Register) and i.operands[0].file in ("R", "UR"):
        operands = operands[1:]
    slots: list[Slot | None] = []
    for k, one in enumerate(operands[:N_SLOTS]):
        if isinstance(one, Register) and one.file == "R" and one.number is not None:
            slots.append(Slot(one.number, 2 if is_pair(i, k) else 1, bool(i.control.reuse >> k & 1)))
        else:
            slots.append(None)
    return (*slots, *[None] * (N_SLOTS - len(slots)))


def is_pair(i: SassInstruction, slot: int) -> bool:
    """Whether a source takes two registers: double precision, and what a wide multiply-add adds to."""
    return i.opcode in ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX") or (i.opcode == "IMAD" and "WIDE" in i.parts and slot == 2)
