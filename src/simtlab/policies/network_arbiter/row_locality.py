"""Row-locality-preserving arbitration (Yuan, Bakhoda, Aamodt, MICRO 2009; BOOK 4.4.1): an output goes on with one core or row.

Requests of one core often go to one DRAM row, and lose that order where they mix with those of others. An output that has granted a
packet goes on with the same core as long as that has one ready (hold grant), or with `by_row` with packets to the same row of the
same bank, whose ever they are. Where there is none, the next input in turn is served.

Choices: in a mesh every router's output does so; replies too, where all packets at an output are of its core (so holding changes
nothing) and rows have no meaning any more (`by_row` changes whose turn it is). With a scheduler that finds the row hits of a long
queue itself (FR-FCFS) there is little to gain: it is meant for one that serves requests as they come.
"""

import numpy as np

from simtlab.machine.limits import MAX_PORTS
from simtlab.machine.network.router import MAX_LINKS
from simtlab.policies.hook import hook

source = "Yuan, Bakhoda, Aamodt, MICRO 2009; BOOK 4.4.1"
bytes_a_core = 0  # it is in the network: the last core, or bank and row, of each output
granted_t = np.dtype([("any", "i8"), ("core", "i8"), ("bank", "i8"), ("row", "i8")])
state = np.dtype([("by_row", "i8"), ("granted", granted_t, (MAX_LINKS + MAX_PORTS,)), ("held", "i8")])
parameters = {"by_row": 0}
limits = {"by_row": (0, 1)}
counters = {"held": ("packets", "Packets that were chosen before the one whose turn it was, to go on with a core or a row.")}


@hook
def choose(contest, own, count, cycle):
    last, place = own.granted[contest.output], 0
    for k in range(contest.count):
        is_same = contest.core[k] == last.core
        if own.by_row:
            is_same = contest.bank[k] == last.bank and contest.row[k] == last.row
        if is_same and last.any:
            place = k
            break
    own.held += place > 0
    last.any, last.core, last.bank, last.row = 1, contest.core[place], contest.bank[place], contest.row[place]
    return place
