"""A core with CTAs in it and a prefetcher, to which loads are told one by one; and a record of a real run's loads."""

from collections.abc import Sequence
from typing import NamedTuple

from simtlab.compiled import HOOK_C
from simtlab.machine.build import build
from simtlab.policies.attach import attach
from simtlab.policies.load import load as load_policy
from simtlab.policies.trouble import new_trouble
from tests.timing.machines import one_core

LINE = 128
A, B, C = 0, 1, 2  # CTA slots
LONGEST = 4096

RECORDER = f'''
"""Prefetches nothing; keeps the order of the loads."""
import numpy as np
from simtlab.policies.hook import hook

state = np.dtype([("count", "i8"), ("log", "i8", ({LONGEST}, 4))])


@hook
def on_load(core, own, op, cycle):
    if own.count < {LONGEST}:
        load = core.ops[op]
        warp = core.slots[load.slot]
        row = own.log[own.count]
        row[0], row[1], row[2], row[3] = core.ctas[warp.cta].number, warp.warp, load.first[0], cycle
        own.count += 1
'''


class Prefetch(NamedTuple):
    """What a prefetcher asked for: a line, for a warp of a CTA slot."""

    cta: int
    warp: int
    address: int


class Bench:
    """CTAs of some warps each in the slots of one core."""

    def __init__(self, prefetcher: str, ctas: Sequence[int] = (3, 3, 3), **parameters):
        self.policy = load_policy("prefetcher", prefetcher, **parameters)
        self.records = build(one_core())
        self.core = self.records.cores[0]
        self.trouble = new_trouble(self.records)
        self._states = attach(self.policy, self.records, self.trouble)
        self.own = self._states[0]
        self.core.prefetches.limit = 64
        self.cycle = 0
        for slot, warps in enumerate(ctas):
            self.move_in(slot, warps)

    def move_in(self, cta: int, warps: int) -> None:
        """A CTA takes a slot, its warps the slots that go with it: sixteen for each CTA slot."""
        core = self.core
        core.free_ctas = int(core.free_ctas) & ~(1 << cta)
        core.ctas[cta].n_warps = warps
        core.ages += 1
        core.cta_age[cta] = core.ages
        for warp in range(warps):
            w = cta * 16 + warp
            core.slots[w].cta, core.slots[w].warp = cta, warp
            core.slot_of[cta, warp] = w
            core.occupied = int(core.occupied) | 1 << w
        self._call("on_cta", cta)

    def end(self, cta: int, warp: int) -> None:
        """A warp has ended."""
        self.core.occupied = int(self.core.occupied) & ~(1 << int(self.core.slot_of[cta, warp]))

    def load(self, cta: int, warp: int, *addresses: int, pc: int = 7, deterministic: int = 1) -> list[Prefetch]:
        """A warp's load goes to the L1 with these accesses: what is prefetched upon it, in order."""
        self._set_op(cta, warp, addresses, pc)
        self.core.ops[0].deterministic = deterministic
        self._call("on_load", 0)
        return self._asked()

    def miss(self, cta: int, warp: int, address: int, pc: int = 7) -> list[Prefetch]:
        """A warp's load misses."""
        self._set_op(cta, warp, [address], pc)
        self._call("on_miss", 0)
        return self._asked()

    def _set_op(self, cta: int, warp: int, addresses: Sequence[int], pc: int) -> None:
        op = self.core.ops[0]
        op.slot, op.pc, op.accesses, op.served = self.core.slot_of[cta, warp], pc, len(addresses), 0
        for k, address in enumerate(addresses):
            op.lines[k], op.first[k] = address // LINE * LINE, address

    def _call(self, hook: str, argument: int) -> None:
        self.cycle += 1
        address = self.policy.addresses[hook]
        if address:
            HOOK_C(address)(int(self.core.address), int(self.core.own_prefetcher), argument, self.cycle)

    def _asked(self) -> list[Prefetch]:
        """What waits at the prefetch port, which is then empty."""
        queue, asked = self.core.prefetches, []
        for k in range(int(queue.count)):
            item = queue.items[(int(queue.head) + k) % len(queue.items)]
            slot = self.core.slots[int(item.warp)]
            asked.append(Prefetch(int(slot.cta), int(slot.warp), int(item.address)))
        queue.count = 0
        return asked


def loads_of(gpu) -> list[tuple[int, ...]]:
    """CTA, warp, address and cycle of the loads of the last launch on core 0, in order, from a recorder."""
    own = gpu.machine._own["prefetcher"][0]
    assert own["count"] < LONGEST
    return [tuple(map(int, row)) for row in own["log"][: own["count"]]]
