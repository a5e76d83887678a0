"""Coordinated static and dynamic bypassing (Xie et al., HPCA 2015; BOOK 4.4.5): a profile decides for most loads, CTAs for others.

Of each load an earlier run (the GPU's `profile`) says how often it hit in the L1. At `good` percent or more it always uses the L1,
at `poor` or less it always goes around. In between, all such loads of a CTA do the same, settled as the CTA starts: `share` of
eight CTAs use the L1. That number is adapted: every `window` CTAs a core looks at its hits, less the cycles in which the L1
rejected an access, per cycle; if that has become clearly less, the share moves the other way, else on.

Choices: the two limits in percent, the eighths, the window, that hits and rejections count alike and that an eighth less is clearly
less are ours; the share turns round at its ends; a hit on a pending miss is not a hit; a load that the profile does not have uses
the L1, so that without a profile nothing is done. Where the earlier run thrashes all its loads are poor, and going around gains
little (KM); a load that hits more than `good` with fewer warps is never moderate.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CTAS
from simtlab.policies.accesses import is_another
from simtlab.policies.hook import fact_of, hook

source = "Xie et al., HPCA 2015; BOOK 4.4.5"
bytes_a_core = 1 + 2 + 12  # a bit for each of 8 CTAs; share and direction; hits, rejections and the last score. A load has 2 bits
OF_CTAS, SCALE, CLEARLY = 8, 1024, 8
state = np.dtype([
    ("good", "i8"), ("poor", "i8"), ("window", "i8"), ("adaptive", "i8"), ("share", "i8"), ("direction", "i8"), ("turn", "i8"),
    ("uses_l1", "i1", (MAX_CTAS,)), ("ctas", "i8"), ("hits", "i8"), ("rejected", "i8"), ("began", "i8"), ("score", "i8"),
    ("last", "i8"), ("poor_bypassed", "i8"), ("moderate_bypassed", "i8"), ("moved", "i8"),
])  # fmt: skip
parameters = {"good": 60, "poor": 10, "window": 8, "adaptive": 1, "share": OF_CTAS}
limits = {"good": (0, 101), "poor": (-1, 100), "window": (1, None), "adaptive": (0, 1), "share": (0, OF_CTAS)}
counters = {
    "poor_bypassed": ("accesses", "Accesses of loads with poor locality, which went around the L1."),
    "moderate_bypassed": ("accesses", "Accesses of loads with moderate locality that went around it, as their CTA's did."),
    "moved": ("CTAs", "Times that the share of the CTAs that use the L1 changed."),
}


@hook
def l1_allocation_bypass(core, own, op, cycle):
    load = core.ops[op]
    fact = fact_of(core, load.slot, load.pc)
    if fact.accesses == 0 or 100 * fact.hits >= own.good * fact.accesses:
        return 0
    is_poor = 100 * fact.hits <= own.poor * fact.accesses
    if not is_poor and own.uses_l1[core.slots[load.slot].cta]:
        return 0
    is_new = is_another(own, load)
    own.poor_bypassed += is_poor and is_new
    own.moderate_bypassed += not is_poor and is_new
    return 1


@hook
def on_cta_start(core, own, cta, cycle):
    if own.ctas % own.window == 0:
        look(core, own, cycle)
    own.ctas += 1
    own.turn += own.share
    own.uses_l1[cta] = own.turn >= OF_CTAS
    own.turn -= OF_CTAS * own.uses_l1[cta]


@compiled
def look(core, own, cycle):
    """The share moves a step, in the direction that has not made things worse."""
    hits, rejected = core.l1_hits, core.l1_fail.sum()
    score = SCALE * (hits - own.hits - rejected + own.rejected) // max(cycle - own.began, 1)
    if own.adaptive and own.ctas > 0:
        if own.direction == 0:
            own.direction = -1
        elif score < own.score - abs(own.score) // CLEARLY:
            own.direction = -own.direction
        if not 0 <= own.share + own.direction <= OF_CTAS:
            own.direction = -own.direction
        own.share += own.direction
        own.moved += 1
    own.hits, own.rejected, own.began, own.score = hits, rejected, cycle, score
