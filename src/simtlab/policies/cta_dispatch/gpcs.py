"""CTAs side by side in one GPC, as an H200 has them (observed by %smid, grids of 1 to 2,112 CTAs): cores take one CTA each, GPC by
GPC. What does not fill all cores is dealt over the GPCs in turn, first one CTA a TPC, and the CTAs of a GPC are side by side in the
grid. Where a core has no room, the next one in turn takes the CTA."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CORES, MAX_GROUPS
from simtlab.policies.hook import NO_CORE, hook

parameters = {"gpc_cores": 18, "first_cores": 0}
limits = {"gpc_cores": (8, 256), "first_cores": (0, 256)}
state = np.dtype([
    ("gpc_cores", "i8"),  # the most that a GPC has
    ("first_cores", "i8"),  # of the first GPC, that have a CTA each before any other core has one
    ("turn", "i8"), ("planned", "i8"),  # so many CTAs of a last round are in the plan
    ("share", "i8", (MAX_GROUPS,)),  # of each GPC, in CTAs; the first two are parts of one where there are `first_cores`
    ("core", "i8", (MAX_CORES,)),  # of each CTA of the last round
])  # fmt: skip
TPC = 2  # cores


@hook
def choose(gpu, own, kernel, cycle):
    launch = gpu.kernel[np.int64(kernel)].launch
    last_round = launch.n_ctas % gpu.cores
    place = launch.next_cta - (launch.n_ctas - last_round)
    if place >= 0 and gpu.cores % TPC == 0:
        if own.planned != last_round:
            deal(own, gpu.cores, last_round)
            line_up(own, gpu.cores)
        if gpu.room[own.core[place]]:
            return own.core[place]
    own.turn = own.turn if launch.next_cta > 0 else 0
    for k in range(gpu.cores):
        c = (own.turn + k) % gpu.cores
        if gpu.room[c]:
            own.turn = (c + 1) % gpu.cores
            return c
    return NO_CORE


@compiled
def deal(own, cores, ctas):
    """How many CTAs of the last round each GPC has."""
    own.planned = ctas
    own.share[0] = min(ctas, TPC * tpcs_of(own, cores, 0)) if own.first_cores > 0 else 0
    left = ctas - own.share[0]
    first, end = np.int64(own.first_cores > 0), parts(own, cores)
    own.share[first:end] = 0
    for most in range(1, TPC + 1):
        for _ in range(own.gpc_cores):
            for g in range(first, end):
                if left > 0 and own.share[g] < most * tpcs_of(own, cores, g):
                    own.share[g] += 1
                    left -= 1


@compiled
def line_up(own, cores):
    """Which core each CTA of the last round goes to."""
    cta, first = 0, 0
    for g in range(parts(own, cores)):
        tpcs = tpcs_of(own, cores, g)
        for tpc in range(tpcs):
            for k in range((own.share[g] > tpc) + (own.share[g] > tpcs + tpc)):
                own.core[cta] = first + TPC * tpc + k
                cta += 1
        first += TPC * tpcs


@compiled
def parts(own, cores):
    return -(-cores // own.gpc_cores) + (own.first_cores > 0)


@compiled
def tpcs_of(own, cores, part):
    """TPCs are dealt evenly, the last GPCs have one more. The first may be in two parts."""
    gpcs, tpcs = -(-cores // own.gpc_cores), cores // TPC
    is_split = own.first_cores > 0
    gpc = part - 1 if is_split and part > 0 else part
    its = tpcs // gpcs + (gpc >= gpcs - tpcs % gpcs)
    if not is_split or part > 1:
        return its
    first = min(own.first_cores // TPC, its)
    return first if part == 0 else its - first
