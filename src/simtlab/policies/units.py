"""The units that policies sit in, by slot: the record their hooks are given, and what a unit is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simtlab.execute.state import warp_t
from simtlab.machine.core.state import core_t
from simtlab.machine.hooks import MECHANISMS
from simtlab.machine.limits import MAX_SCHEDULERS
from simtlab.machine.memory.dram import channel_t
from simtlab.machine.network.contest import contest_t
from simtlab.machine.state import gpu_t, slice_t

if TYPE_CHECKING:
    from simtlab.policies.load import Policy

RECORDS: dict[str, np.dtype] = {
    "core": core_t, "gpu": gpu_t, "l1": core_t["l1d"], "l2": slice_t["cache"], "slice": slice_t, "warp": warp_t,
    "contest": contest_t, "channel": channel_t,
}  # fmt: skip
NETWORKS = ("request network's crossbar", "request network's mesh", "reply network's crossbar", "reply network's mesh")


def name_of_unit(policy: Policy, number: int) -> str:
    """What a unit is called, by the number of the state that a policy has there (see `attach.PLACES`)."""
    slot = policy.slot
    if slot in MECHANISMS:
        return "the GPU" if policy.is_shared else f"core {number}"
    if slot == "warp_scheduler":
        return f"core {number // MAX_SCHEDULERS}, scheduler {number % MAX_SCHEDULERS}"
    if slot in ("cta_dispatch", "clocks", "divergence"):
        return "the GPU"
    if slot == "network_arbiter":
        return f"the {NETWORKS[number]}"
    return f"{'L2 slice' if slot.startswith('l2_') else 'DRAM channel' if slot == 'dram_scheduler' else 'core'} {number}"
