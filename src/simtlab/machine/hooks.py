"""The places where a policy decides, by slot: each hook's name, what it is asked, and what it answers; and the events.

Every hook has the same form, `hook(unit, own, argument, cycle)`: the record of the unit it sits in, the policy's own state
there, one number, and the cycle. A slot without a policy, and a hook that a policy leaves out, costs a comparison at most.

A policy fills one slot. A mechanism fills any number of them with one state for each core (or for the chip), and is told of
events; of those there can be several listeners, of a slot there is one.
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


@dataclass(frozen=True)
class Event(HookPoint):
    """What happens in a unit, for mechanisms to know of."""

    unit: str = "core"


REPLACEMENT = {
    "victim": HookPoint(
        "first: of the set's lines, cache.line[first] to cache.line[first + cache.ways - 1]",
        "the line to replace, one that `may_go`, or NO_WAY; cache.access is the access that wants it", required=True,
        answers="way",
    ),
    "insert": HookPoint(
        "way", "cache.line[way] is filled: its place in the set's order of use, 0 the next to go", answers="position",
    ),
}  # fmt: skip
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
    "ldst_queue": Slot("core", "which memory instruction the load/store unit serves next", {
        "next": HookPoint(
            "count: instructions in the queue",
            "the place of one of them, 0 for the oldest; core.ops[waiting(core, place)] is an instruction", required=True,
            answers="place",
        ),
    }),
    "l1_allocation": Slot("core", "which loads leave the L1 alone", {
        "bypass": HookPoint("op", "whether the next access of core.ops[op] goes around the L1", required=True, answers="yes or no"),
        "bypass_stall": HookPoint(
            "op", "the L1 has no line, MSHR or room for the next access of core.ops[op] (core.ldst_blocked says which): whether "
            "it goes around the L1 instead of waiting", answers="yes or no",
        ),
    }),
    "l1_replacement": Slot("l1", "which line of an L1 set is evicted, and how recent a filled line is", REPLACEMENT),
    "l2_allocation": Slot("slice", "which reads leave the L2 alone", {
        "bypass": HookPoint(
            "request", "whether the read slice.cache.access, which has just arrived, goes to DRAM at once and leaves no line here",
            required=True, answers="yes or no",
        ),
    }),
    "l2_queue": Slot("slice", "which requests go first at an L2 slice", {
        "priority": HookPoint(
            "request", "of slice.cache.access, which has just arrived: it goes before all that wait with a lower one",
            required=True, answers="priority",
        ),
    }),
    "l2_replacement": Slot("l2", "which line of an L2 set is evicted, and how recent a filled line is", REPLACEMENT),
    "preemption": Slot("core", "which CTA makes room for a kernel of higher priority, and how", {
        "choose": HookPoint(
            "could: a set of CTA slots whose CTA has a lower priority",
            "`stop(cta, how)` for one of them, SWITCH, DRAIN or FLUSH (where it `can_flush`), or NOTHING", required=True,
            answers="stop",
        ),
    }),
    "clocks": Slot("gpu", "how fast cores and memory run", {
        "choose": HookPoint(
            "level: as they run now",
            "as a launch begins and every `period` cycles, a parameter: `clocks(core, memory)`, each LOW, USUAL or HIGH",
            required=True, answers="level",
        ),
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
        "priority": HookPoint(
            "position", "of channel.entries[position], a request that joins the queue: it goes before all with a lower one, "
            "row hits too", answers="priority",
        ),
    }),
}  # fmt: skip

# Events: a mechanism listens to any of them. `allow` is one that answers: listeners narrow the set one after the other.
EVENTS = {
    "allow": Event(
        "ready: a set of warp slots", "one of a scheduler's warps (core.scheduler) is about to issue: those of the set that "
        "may; the scheduler picks among them, and issues nothing if there are none", answers="subset",
    ),
    "on_issue": Event("warp", "a warp has issued"),
    "on_branch": Event("warp", "a warp has executed the branch at core.slots[warp].head; `next_pc` says where it goes on"),
    "on_loop": Event("warp", "a warp has gone back to the start of a loop, by the branch at core.slots[warp].head"),
    "on_compare": Event("warp", "a warp sets a predicate, by the instruction at core.slots[warp].head; see `compared`"),
    "on_barrier": Event("warp", "a warp has come to a barrier"),
    "on_cta_start": Event("cta", "a CTA has moved into this CTA slot"),
    "on_cta_end": Event("cta", "a CTA leaves this CTA slot"),
    "on_warp_end": Event("warp", "a warp has ended and leaves its slot"),
    "on_load": Event("op", "a global load begins its accesses: core.ops[op] holds its warp slot, pc and lines"),
    "on_load_end": Event("op", "a global load has all its data"),
    "on_l1_hit": Event("op", "the access of a load has hit: core.ops[op].lines[core.ops[op].served]"),
    "on_l1_miss": Event("op", "the access of a load has missed, and was sent on or merged with one that was"),
    "on_l1_fill": Event("way", "data have come into core.l1d.line[way]"),
    "on_l1_evict": Event("way", "core.l1d.line[way] makes room; core.l1d.owner[way] says whose it was and how often used"),
    "on_l2_hit": Event("request", "a read, slice.cache.access, has hit", unit="slice"),
    "on_l2_miss": Event("request", "a read, slice.cache.access, has missed, or its line was in flight", unit="slice"),
    "on_l2_evict": Event("way", "slice.cache.line[way] makes room; slice.cache.owner[way] says whose it was", unit="slice"),
    "on_tick": Event("count", "every `period` cycles, a parameter of the mechanism; 0 as a launch begins"),
}  # fmt: skip
EVENT_NUMBERS = {event: number for number, event in enumerate(EVENTS)}
# Every hook as it is called by the name of its field above, and what it is called with: of a policy, and of a mechanism.
POINTS: list[tuple[str, str, str, HookPoint]] = [
    *((slot, hook, entry.unit, point) for slot, entry in SLOTS.items() for hook, point in entry.hooks.items()),
    *(("", name, event.unit, event) for name, event in EVENTS.items()),
]
MECHANISMS = ("mechanism", "mechanism_2", "mechanism_3")  # beside the slots: what may fill several of them
CHOICES = (*SLOTS, *MECHANISMS)  # by which a policy or a mechanism is named
MAX_LISTENERS = len(MECHANISMS)  # to one event

listener_t = np.dtype([("address", "i8"), ("place", "i8")])  # of a hook, and of its state among the unit's
hooks_t = np.dtype(
    [(f"{slot}_{hook}", "i8") for slot, entry in SLOTS.items() for hook in entry.hooks]
    + [("listening", "u8"), ("listeners", listener_t, (len(EVENTS), MAX_LISTENERS))],
    align=True,
)

# What a policy has done that it may not: the first time, all the rest of the run stops. One for each machine.
trouble_t = np.dtype(
    [
        ("stop", "i8"),  # where the machine looks at the end of each cycle whether to go on: the address of its outcome
        ("kind", "i8"),  # a Trouble
        ("hook", "i8"),  # its number among the fields of hooks_t
        ("unit", "i8"),  # the number of the state it had
        ("policy", "i8"),  # … and of the policy, in the machine's order
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


# What simtlab adds to every policy's state: where trouble is told, the number of the unit it sits in, and which policy it is of.
own_fields = [("simtlab_trouble", "i8"), ("simtlab_unit", "i8"), ("simtlab_policy", "i8")]
