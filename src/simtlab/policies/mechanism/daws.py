"""Divergence-aware warp scheduling: the loops of so many warps load as the L1 can hold (Rogers et al., MICRO 2013; BOOK 5.1.2).

What a warp in a loop wants of the L1 is predicted at each branch, before it thrashes (policies/footprints.py). The oldest warps
whose predictions fit into the L1 together may issue the loop's loads, one at least; the others may issue anything else.

Choices: `share` is the percentage of the L1's lines to be filled: sets conflict before all is full. The set is made every `period`
cycles; warps at a barrier are not in it. One that does not fit goes before the oldest for `relief` periods, each in turn, so that
nobody waits for ever for a lock. What a load touches is measured, where the paper has two kinds of loads.
"""

import numpy as np

from simtlab.policies import footprints
from simtlab.policies.footprints import begin_turn, forget, learn, predict
from simtlab.policies.hook import NO_LOOP, bit_of, count_bits, fact_of, hook, next_after, oldest
from simtlab.policies.looks import next_loads
from simtlab.policies.sets import added, each, removed, whole_numbers

source = "Rogers, O'Connor, Aamodt, MICRO 2013; BOOK 5.1.2"
bytes_a_core = footprints.BYTES + 9  # the set of those held back; the one that goes first
parameters = {"share": 75, "relief": 256, "period": 32}
limits = {"share": (1, 1000), "relief": (1, None), "period": (1, None)}
counters = {
    "predicted": ("branches", "After which a warp was in a loop whose lines are used again."),
    "throttled": ("warp cycles", "Of warps whose loop did not fit, looked at every `period` cycles."),
}
state = np.dtype([*whole_numbers(parameters, counters, ["guest"]), *footprints.fields, ("held", "u8")])
patient = True  # whom it holds back it holds back until the next tick


@hook
def on_load(core, own, op, cycle):
    learn(core, own, core.ops[op])


@hook
def on_branch(core, own, warp, cycle):
    own.lines[warp] = predict(core, own, warp)
    own.predicted += own.lines[warp] > 0


@hook
def on_loop(core, own, warp, cycle):
    begin_turn(own, warp)


@hook
def on_warp_end(core, own, warp, cycle):
    forget(own, warp)


@hook
def on_tick(core, own, count, cycle):
    if count % own.relief == 0 and own.held != 0:
        own.guest = next_after(own.held, own.guest)
    room, none_yet = own.share * core.l1d.sets * core.l1d.ways // 100, True
    rest, own.held = np.uint64(core.occupied & ~core.barrier), np.uint64(0)
    while rest != 0:
        w = own.guest if rest & bit_of(own.guest) else oldest(core, rest)
        rest = removed(rest, w)
        if own.lines[w] <= room or none_yet:
            room -= own.lines[w]
            none_yet = none_yet and own.lines[w] == 0
        else:
            own.held = added(own.held, w)
    own.throttled += own.period * count_bits(own.held)


@hook
def allow(core, own, ready, cycle):
    """Those whose loop does not fit may issue anything but the loop's global loads."""
    for w in each(next_loads(core, np.uint64(ready & own.held))):
        if fact_of(core, w, core.slots[w].head).loop != NO_LOOP and own.lines[w] > 0:
            ready = removed(ready, w)
    return ready
