"""Occupancy of the same kernel with another block size, other registers or other shared memory, by the machine's own rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from simtlab.errors import LaunchError
from simtlab.machine.occupancy import most_shared_bytes, occupancy
from simtlab.program.program import Program
from simtlab.report.profile import LaunchProfile

BLOCK_SIZES = (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
REGISTERS = (16, 24, 32, 40, 48, 64, 96, 128, 168, 255)


@dataclass(frozen=True)
class Needs:
    """What the rule asks of a program."""

    registers: int
    readable_name: str


@dataclass(frozen=True)
class Fit:
    """What a core holds if one number were different."""

    value: int
    ctas: int  # 0: not even one
    warps: int
    limited_by: str
    share: float  # of the warps a core can hold
    current: bool


def fit(profile: LaunchProfile, value: int, **changed: int) -> Fit:
    """With some of threads, registers and shared_bytes changed; `value` is what the row is about."""
    now = {"threads": profile.threads, "registers": profile.registers, "shared_bytes": profile.shared_bytes}
    want = now | changed
    program = cast(Program, Needs(want["registers"], profile.kernel))
    try:
        found = occupancy(profile.machine, program, want["threads"], want["shared_bytes"])
    except LaunchError:
        return Fit(value, 0, 0, "does not fit", 0.0, want == now)
    warps = found.ctas * -(-want["threads"] // 32)
    return Fit(value, found.ctas, warps, found.limited_by, warps / profile.machine.core.max_warps, want == now)


def fits(profile: LaunchProfile, name: str, values: Sequence[int]) -> list[Fit]:
    """A row for each value of threads, registers or shared_bytes, the present one among them."""
    now: dict[str, Any] = {"threads": profile.threads, "registers": profile.registers, "shared_bytes": profile.shared_bytes}
    return [fit(profile, value, **{name: value}) for value in sorted({*values, now[name]})]


def block_sizes(profile: LaunchProfile) -> list[Fit]:
    return fits(profile, "threads", BLOCK_SIZES)


def register_counts(profile: LaunchProfile) -> list[Fit]:
    return fits(profile, "registers", REGISTERS)


def shared_sizes(profile: LaunchProfile) -> list[Fit]:
    """From none to all that a core can have, in powers of two."""
    most = most_shared_bytes(profile.machine)
    return fits(profile, "shared_bytes", [0, *(1 << k for k in range(10, 20) if 1 << k < most), *([most] if most else [])])
