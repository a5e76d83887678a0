"""Loads whose addresses come from loaded data leave the L1 alone (LOADS, section V, has the two classes of loads)."""

from simtlab.policies.hook import hook


@hook
def bypass(core, own, op, cycle):
    return core.ops[op].deterministic == 0
