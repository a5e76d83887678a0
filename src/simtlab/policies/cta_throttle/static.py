"""A fixed number of CTAs a core, as in the static points of DYNCTA Fig 1."""

import numpy as np

from simtlab.policies.hook import hook

state = np.dtype([("ctas", "i8")])
parameters = {"ctas": 4}
limits = {"ctas": (1, 32)}


@hook
def sample(core, own, most, cycle):
    return own.ctas
