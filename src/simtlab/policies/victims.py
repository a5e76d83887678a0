"""Victim tags: of each warp the lines evicted last (Rogers et al., MICRO 2012), in sets of 8, replaced first in, first out."""

import numpy as np

from simtlab.compiled import compiled

WAYS, MOST_TAGS = 8, 32
victims_t = np.dtype([("tag", "i8", (MOST_TAGS,)), ("next", "i8", (MOST_TAGS // WAYS,))])


@compiled
def remember(victims, tags, line):
    """The tag of an evicted line takes the place of the oldest in its set."""
    row = line % (tags // WAYS)
    victims.tag[row * WAYS + victims.next[row] % WAYS] = line + 1
    victims.next[row] += 1


@compiled
def recall(victims, tags, line):
    """Whether a line is among the victims; it is no more."""
    row = line % (tags // WAYS)
    for k in range(row * WAYS, (row + 1) * WAYS):
        if victims.tag[k] == line + 1:
            victims.tag[k] = 0
            return True
    return False


@compiled
def forget(victims):
    for k in range(MOST_TAGS):
        victims.tag[k] = 0
