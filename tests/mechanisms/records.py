"""A core's record and a mechanism's state, to call single hooks on, for worked examples."""

import numpy as np

from simtlab.compiled import HOOK_C
from simtlab.machine.core.state import core_t
from simtlab.machine.facts import NO_LOOP, facts_t
from simtlab.machine.hooks import trouble_t
from simtlab.policies.load import load


class Example:
    """A core of a few warps, the first the oldest, with an L1 of four sets of two lines, and one mechanism in it."""

    def __init__(self, mechanism: str, warps: int, **parameters: int):
        self.policy = load("mechanism", mechanism, **parameters)
        self.cores, self.states = np.zeros(1, core_t).view(np.recarray), self.policy.new_state(1)
        self.core, self.own, self.trouble = self.cores[0], self.states[0], np.zeros(1, trouble_t)
        self.own.simtlab_trouble = self.trouble.ctypes.data
        core, l1d = self.core, self.core.l1d
        core.warp_slots, core.schedulers = warps, 1
        core.occupied = core.mine[0] = (1 << warps) - 1
        self.facts = np.zeros(1, facts_t)
        self.facts["row"]["loop"] = NO_LOOP
        core.slots["age"] = core.slots["warp"] = np.arange(len(core.slots))
        core.slots["facts"] = self.facts.ctypes.data
        l1d.sets, l1d.ways, l1d.line_bytes, l1d.sector_bytes = 4, 2, 128, 128
        l1d.set_shift, l1d.line_shift, l1d.sector_shift, l1d.tags[:] = 2, 7, 7, -1
        core.mshr.entries, core.inject.limit, core.ldst_queue.limit = 32, 8, 8

    def tell(self, hook: str, argument: int, cycle: int = 0) -> int:
        """Call a hook as the machine does; its answer."""
        core, own = self.cores.ctypes.data, self.states.ctypes.data
        unit = core + core_t.fields["l1d"][1] if hook.startswith("l1_replacement") else core
        answer = HOOK_C(self.policy.addresses[hook])(unit, own, argument, cycle)
        assert self.trouble["kind"][0] == 0
        return answer
