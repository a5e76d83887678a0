"""The packet that was sent first crosses first: age-based arbitration (Abts and Weisser, SC 2007, for fairness)."""

from simtlab.policies.hook import hook


@hook
def choose(contest, own, count, cycle):
    best = 0
    for k in range(1, contest.count):
        if contest.entered[k] < contest.entered[best]:
            best = k
    return best
