"""A contest for an output: the packets that could cross to it now, laid out for an arbitration policy.

Without a policy nobody fills this in: the switch and the routers serve their inputs round robin.
"""

import numpy as np

from simtlab.compiled import call_hook, compiled, reader_of
from simtlab.machine.fifo import NOTHING
from simtlab.machine.request import requests_t

MAX_CONTESTANTS = 192
requests_at = reader_of(requests_t)

contest_t = np.dtype(
    [
        ("hook", "i8"),  # addresses: of the policy's hook (0: none), of its state,
        ("own", "i8"),
        ("address", "i8"),  # of this record,
        ("pool", "i8"),  # and of the requests
        ("output", "i8"),
        ("last", "i8"),  # the input served last
        ("count", "i8"),
        ("input", "i8", (MAX_CONTESTANTS,)),  # ports of a crossbar, lanes (port and virtual channel) of a router
        ("entered", "i8", (MAX_CONTESTANTS,)),  # when each packet was sent
        ("flits", "i8", (MAX_CONTESTANTS,)),
        ("request", "i8", (MAX_CONTESTANTS,)),  # numbers of the requests,
        ("core", "i8", (MAX_CONTESTANTS,)),  # … whose they are,
        ("bank", "i8", (MAX_CONTESTANTS,)),  # … and where in the DRAM channel of the output they go
        ("row", "i8", (MAX_CONTESTANTS,)),
    ],
    align=True,
)


@compiled
def open_contest(contest, output, last):
    contest.output, contest.last, contest.count = output, last, 0


@compiled
def enter(contest, port, packet):
    """A packet (or a flit of one) that could cross."""
    place = contest.count
    contest.input[place], contest.entered[place] = port, packet.entered
    contest.flits[place], contest.request[place] = packet.flits, packet.number
    request = requests_at(contest.pool).entry[packet.number]
    contest.core[place], contest.bank[place], contest.row[place] = request.core, request.bank, request.row
    contest.count += 1


@compiled
def settle_contest(contest, cycle):
    """The input whose packet the policy lets cross, or NOTHING if there is none."""
    if contest.count == 0:
        return np.int64(NOTHING)
    place = call_hook(contest.hook, contest.address, contest.own, np.uint64(contest.count), cycle)
    return contest.input[place]
