"""The places where a policy decides, by slot: each hook's name, what it is asked, and what it answers.

Every hook has the same form, `hook(unit, own, argument, cycle)`: the record of the unit it sits in, the policy's own state
there, one number, and the cycle. A slot without a policy, and a hook that a policy leaves out, costs a comparison.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class HookPoint:
    """A question the machine asks a policy, or an event it tells it of."""

    argument: str
    meaning: str
    required: bool = False


@dataclass(frozen=True)
class Slot:
    """A decision that can be replaced. `unit` is what the hooks are given: a record of the machine."""

    unit: str
    meaning: str
    hooks: dict[str, HookPoint]


SLOTS = {
    "warp_scheduler": Slot("core", "which ready warp issues next; one state for each scheduler", {
        "pick": HookPoint("ready: a set of warp slots", "the slot of one of them, or NO_WARP", required=True),
        "on_issue": HookPoint("warp", "a warp has issued"),
        "on_cta": HookPoint("cta", "a CTA has moved into this CTA slot"),
        "on_data": HookPoint("warp", "data prefetched for a warp have come"),
    }),
    "prefetcher": Slot("core", "what to fetch into the L1 before it is asked for", {
        "on_load": HookPoint("op", "a global load begins its accesses: core.ops[op] holds its warp slot, pc and lines"),
        "on_miss": HookPoint("op", "the access core.ops[op].lines[core.ops[op].served] has missed"),
        "on_fill": HookPoint("address", "data of a prefetch have come"),
        "on_cta": HookPoint("cta", "a CTA has moved into this CTA slot"),
    }),
    "cta_dispatch": Slot("gpu", "which core takes the next CTA", {
        "choose": HookPoint("kernel", "a core c with gpu.room[c], or NO_CORE; asked until it says so", required=True),
    }),
    "cta_throttle": Slot("core", "how many CTAs of a core may run", {
        "sample": HookPoint("most", "called every `period` cycles: how many; those beyond, youngest first, pause", required=True),
    }),
    "l1_allocation": Slot("core", "which loads leave the L1 alone", {
        "bypass": HookPoint("op", "whether the next access of core.ops[op] goes around the L1", required=True),
    }),
    "l1_replacement": Slot("lines", "which line of an L1 set makes room", {
        "victim": HookPoint("ways", "the way to replace, among those that `may_go`, or NO_WAY", required=True),
    }),
    "l2_replacement": Slot("lines", "which line of an L2 set makes room", {
        "victim": HookPoint("ways", "the way to replace, among those that `may_go`, or NO_WAY", required=True),
    }),
    "divergence": Slot("warp", "which side of a branch runs first", {
        "first": HookPoint("taken: a set of lanes", "1 for the lanes that take the branch, 0 for the others", required=True),
    }),
    "network_arbiter": Slot("contest", "which waiting packet crosses to an output next", {
        "choose": HookPoint("count", "a place below `count` in the contest's tables", required=True),
    }),
    "dram_scheduler": Slot("channel", "which bank's next command a channel sends", {
        "choose": HookPoint("could: a set of banks whose command can go now", "one of them, or NO_BANK", required=True),
    }),
}  # fmt: skip

hooks_t = np.dtype([(f"{slot}_{hook}", "i8") for slot, entry in SLOTS.items() for hook in entry.hooks], align=True)
