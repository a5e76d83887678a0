"""The backward search against a forward one: random programs in which loaded values spread until nothing changes."""

import random
from dataclasses import dataclass

import pytest

from tests.program.load_programs import REGISTERS, kernel_program

VALUES, PREDICATES = [f"%d{k}" for k in range(20, 26)], [f"%p{k}" for k in range(1, 5)]
FUNCTIONS = f"""
.func (.reg .u64 %result) first(.reg .u64 %x, .reg .u64 %y) {{{REGISTERS} add.s64 %result, %x, 1; add.s64 %d1, %y, 1; ret; }}
.func (.reg .u64 %result) both(.reg .u64 %x, .reg .u64 %y) {{{REGISTERS} add.s64 %result, %x, %y; ret; }}
"""


@dataclass
class Step:
    """One instruction: what it reads and writes, whether it loads, where it may go."""

    text: str
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    loads: bool = False  # its result was read at run time, its first source is an address
    guard: str | None = None
    target: int | None = None


def draw(rng: random.Random, length: int) -> list[Step]:
    """Straight moves, arithmetic, choices, guarded writes, calls, loads, and branches both ways."""
    steps = []
    for _ in range(length):
        a, b, c = (rng.choice(VALUES) for _ in range(3))
        p, q = rng.choice(PREDICATES), rng.choice(PREDICATES)
        guard = rng.choice(PREDICATES) if rng.random() < 0.3 else None
        kind = rng.choice(["add", "add", "mov", "set", "thread", "choose", "compare", "first", "both", "load", "branch"])
        step = {
            "add": Step(f"add.s64 {a}, {b}, {c};", (b, c), (a,)),
            "mov": Step(f"mov.b64 {a}, {b};", (b,), (a,)),
            "set": Step(f"mov.b64 {a}, 7;", (), (a,)),
            "thread": Step(f"mov.b64 {a}, %d1;", (), (a,)),
            "choose": Step(f"selp.b64 {a}, {b}, {c}, {p};", (b, c, p), (a,)),
            "compare": Step(f"setp.lt.s64 {p}|{q}, {a}, {b};", (a, b), (p, q)),
            "first": Step(f"call ({a}), first, ({b}, {c});", (b,), (a,)),
            "both": Step(f"call ({a}), both, ({b}, {c});", (b, c), (a,)),
            "load": Step(f"ld.global.u64 {a}, [{b}];", (b,), (a,), loads=True),
            "branch": Step("bra", target=rng.randrange(length)),
        }[kind]
        if p == q and kind == "compare":
            continue
        step.guard = rng.choice(PREDICATES) if kind == "branch" and rng.random() < 0.9 else guard
        steps.append(step)
        if guard and kind != "branch":  # set anew: what two instructions under one guard share is not followed here
            steps.append(Step(f"setp.lt.s64 {guard}, {b}, {c};", (b, c), (guard,)))
    for step in steps:
        if step.target is not None:
            step.target = min(step.target, len(steps) - 1)
    return steps


def as_text(steps: list[Step]) -> str:
    lines = []
    for k, step in enumerate(steps):
        guard = f"@{step.guard} " if step.guard else ""
        text = f"bra L{step.target};" if step.target is not None else step.text
        lines.append(f"L{k}: {guard}{text}")
    return "\n".join(lines)


def spread(steps: list[Step]) -> list[bool | None]:
    """For each load that can run, whether a loaded value may be in its address."""
    before: list[set[str] | None] = [None] * len(steps)
    before[0] = set()
    pending = [0]
    while pending:
        k = pending.pop()
        step, held = steps[k], before[k]
        after = set(held)
        unknown = step.loads or bool({*step.reads, *([step.guard] if step.guard else [])} & held)
        if unknown:
            after |= set(step.writes)
        elif not step.guard:
            after -= set(step.writes)
        following = [] if step.target is None else [step.target]
        if step.target is None or step.guard:
            following.append(k + 1)
        for successor in following:
            if successor < len(steps) and (before[successor] is None or not after <= before[successor]):
                before[successor] = after | (before[successor] or set())
                pending.append(successor)
    loads = [(step, held) for step, held in zip(steps, before, strict=True) if step.loads]
    return [None if held is None else step.reads[0] in held for step, held in loads]


@pytest.mark.parametrize("seed", range(60))
def test_backwards_and_forwards_agree(seed):
    rng = random.Random(seed)
    steps = draw(rng, rng.randint(5, 60))
    program = kernel_program(as_text(steps), FUNCTIONS)
    found = [not load.deterministic for load in program.loads][1:]
    expected = spread(steps)
    assert [a for a, b in zip(found, expected, strict=True) if b is not None] == [b for b in expected if b is not None]


def test_the_programs_have_loads_of_both_classes():
    drawn = [spread(draw(random.Random(seed), 40)) for seed in range(60)]
    assert sum(loads.count(True) for loads in drawn) > 50
    assert sum(loads.count(False) for loads in drawn) > 50
