"""The youngest CTA that could makes room, always in the way `how`: 1 switch, 2 drain, 3 flush (where it can, else it drains)."""

import numpy as np

from simtlab.policies.hook import DRAIN, FLUSH, bit_of, can_flush, hook, lowest_bit, stop

state = np.dtype([("how", "i8")])
parameters = {"how": 1}
limits = {"how": (1, 3)}


@hook
def choose(core, own, could, cycle):
    youngest = lowest_bit(could)
    while could != 0:
        cta = lowest_bit(could)
        could = np.uint64(could & ~bit_of(cta))
        if core.cta_age[cta] > core.cta_age[youngest]:
            youngest = cta
    return stop(youngest, DRAIN if own.how == FLUSH and not can_flush(core, youngest) else own.how)
