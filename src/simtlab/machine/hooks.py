"""The places where a policy decides, by slot: each hook's name, what it is asked, and what it answers.

Every hook has the same form, `hook(unit, own, argument, cycle)`: the record of the unit it sits in, the policy's own state
there, one number, and the cycle. A slot without a policy, and a hook that a policy leaves out, costs a comparison.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np


@dataclass(frozen=True)
class HookPoint:
    """A question the machine asks a policy, or an event it tells it of. `answers` is a kind of `machine.answers.ANSWERS`."""

    argument: str
    meaning: str
    required: bool = False
    answers: str = "nothing"


@dataclass(frozen=True)
class Slot:
    """A decision that can be replaced. `unit` is what the hooks are given: a record of the machine."""

    unit: str
    meaning: str
    hooks: dict[str, HookPoint]


SLOTS = {
    "warp_scheduler": Slot("core", "which ready warp issues next; one state for each scheduler", {
        "pick": HookPoint("ready: a set of warp slots", "the slot of one of them, or NO_WARP", required=True, answers="warp"),
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
    "cta_dispatch": Slot("gpu", "which core takes the next CTA, and which one that is", {
        "choose": HookPoint(
            "kernel", "a core c with gpu.room[c], or NO_CORE; asked until it says so", required=True, answers="core",
        ),
        "which": HookPoint(
            "core", "for that core, a CTA of gpu.kernel[gpu.placing] that `waits(gpu, cta)`, or NEXT_CTA", answers="cta",
        ),
    }),
    "cta_throttle": Slot("core", "how many CTAs of a core may run", {
        "sample": HookPoint(
            "most: that fit", "called every `period` cycles: how many; those beyond, youngest first, pause", required=True,
            answers="ctas",
        ),
    }),
    "l1_allocation": Slot("core", "which loads leave the L1 alone", {
        "bypass": HookPoint("op", "whether the next access of core.ops[op] goes around the L1", required=True, answers="yes or no"),
    }),
    "l1_replacement": Slot("lines", "which line of an L1 set is evicted", {
        "victim": HookPoint("ways", "the way to replace, among those that `may_go`, or NO_WAY", required=True, answers="way"),
    }),
    "l2_replacement": Slot("lines", "which line of an L2 set is evicted", {
        "victim": HookPoint("ways", "the way to replace, among those that `may_go`, or NO_WAY", required=True, answers="way"),
    }),
    "divergence": Slot("warp", "which lanes of a warp that have parted run first", {
        "first": HookPoint("taken: a set of lanes", "1 for the lanes that take the branch, 0 for the others", answers="yes or no"),
        "turn": HookPoint(
            "could: a set of places in the warp's table of splits",
            "the split that ran waits or has ended, and several can go on (machine code, or core.reconvergence = barriers): the "
            "place of one of them, or NO_SPLIT for the one that has waited longest",
            answers="split",
        ),
    }),
    "network_arbiter": Slot("contest", "which waiting packet crosses to an output next", {
        "choose": HookPoint("count", "a place below `count` in the contest's tables", required=True, answers="contestant"),
    }),
    "dram_scheduler": Slot("channel", "which bank's next command a channel sends", {
        "choose": HookPoint(
            "could: a set of banks whose command can go now", "one of them, or NO_BANK", required=True, answers="bank",
        ),
    }),
}  # fmt: skip

hooks_t = np.dtype([(f"{slot}_{hook}", "i8") for slot, entry in SLOTS.items() for hook in entry.hooks], align=True)

# What a policy has done that it may not: the first time, all the rest of the run stops. One for each machine.
trouble_t = np.dtype(
    [
        ("stop", "i8"),  # where the machine looks at the end of each cycle whether to go on: the address of its outcome
        ("kind", "i8"),  # a Trouble
        ("hook", "i8"),  # its number among the fields of hooks_t
        ("unit", "i8"),  # the number of the state it had
        ("answer", "i8"),
        ("argument", "u8"),
        ("cycle", "i8"),
        ("raised", "i8"),  # the address of what the compiler keeps of an exception
    ],
    align=True,
)


class Trouble(IntEnum):
    """What went wrong in a hook."""

    NONE = 0
    ANSWER = 1  # no such answer is allowed
    RAISED = 2


# What simtlab adds to every policy's state: where trouble is told, and the number of the unit it sits in.
own_fields = [("simtlab_trouble", "i8"), ("simtlab_unit", "i8")]
