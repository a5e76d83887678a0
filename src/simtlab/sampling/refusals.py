"""Launches that are simulated in full, and why: where what is left out could change a result, or cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence

from simtlab.isa.shape import UNIFORM, UNIFORM_64, VARYING
from simtlab.machine.kernels import Launch
from simtlab.machine.machine import Machine
from simtlab.machine.run_ahead import calls_host
from simtlab.program.action import Action
from simtlab.program.load_classes import DECIDED_AT_RUN_TIME
from simtlab.program.program import Program


def why_launches_in_full(machine: Machine, launches: Sequence[Launch]) -> str:
    """Empty if there is one launch whose CTAs begin in order and need one another for nothing."""
    gpu = machine.records.gpu[0]
    if len(launches) > 1:
        return "launches run side by side in streams"
    if gpu.hooks.cta_dispatch_which:
        return "the policy of CTA dispatch chooses which CTA is next"
    if gpu.hooks.clocks_choose:
        return "a policy changes the clocks"
    if machine.watch is not None:
        return "a core is watched"
    if int(launches[0].record[0]["workspace"]):
        return "its CTAs meet at grid barriers"
    return ""


def why_program_in_full(program: Program) -> str:
    """Empty if what a CTA computes depends neither on time, nor on its place, nor on other CTAs under way."""
    if program.depends_on_order:
        return "its CTAs communicate: by atomics whose results are used or are floats, volatile or ordered accesses"
    if calls_host(program):
        return "it calls what the host provides"
    if any(one.action == Action.TIME for one in program.lowered):
        return "it reads the clock"
    operands = (operand for one in program.lowered for operand in one.operands)
    if any(one.kind in (UNIFORM, UNIFORM_64, VARYING) and one.value in DECIDED_AT_RUN_TIME for one in operands):
        return "it asks on which core it runs, or in which place"
    return ""
