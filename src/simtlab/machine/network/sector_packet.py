"""Sectors of one line in one packet: reads of a core that stand behind each other in a queue travel together, and so do their
answers, and writes.

A GPU's L1 asks for the sectors of a line with one request and a mask; here each sector is a request of its own, so that others may
wait for it. Where `network.packet_sectors` is more than one, what the GPU would have asked for, or written, at once is one packet:
the sectors of a line come to the L2 side by side, whatever other cores send. Its requests form a list by `follower`.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.fifo import NOTHING, item_at
from simtlab.machine.request import Kind

READ, WRITE = int(Kind.READ), int(Kind.WRITE)


@compiled
def gather(gpu, requests, queue):
    """Make a packet of the first request of a queue and of those behind it that go with it; how many they are."""
    last = item_at(queue, 0)
    size = 1
    if requests.entry[last].kind == READ or requests.entry[last].kind == WRITE:
        for k in range(1, min(queue.count, gpu.packet_sectors)):
            number = item_at(queue, k)
            if not go_together(gpu, requests.entry[last], requests.entry[number]):
                break
            requests.entry[last].follower = number
            requests.entry[number].head = requests.entry[last].head
            last = number
            size += 1
    requests.entry[last].follower = NOTHING
    return size


@compiled
def go_together(gpu, one, other):
    """Whether a request is of the same core and line as the one before it, and may leave now too."""
    same = other.kind == one.kind and other.core == one.core and (one.address ^ other.address) >> gpu.packet_shift == 0
    return same and other.born <= gpu.cycle and other.ready <= gpu.l2.cycle


@compiled
def seal(gpu, requests, number):
    """Note in a packet's requests what they were sent with: which sectors of the line, and which others."""
    sectors, mate = np.int64(0), np.int64(number)
    while mate != NOTHING:
        request = requests.entry[mate]
        within = request.address & ((np.int64(1) << gpu.packet_shift) - 1)
        sectors |= np.int64(1) << (within // gpu.sector_bytes)
        request.head, request.mate, request.sharers, request.shared = number, request.follower, NOTHING, 0
        mate = np.int64(request.follower)
    requests.entry[number].sectors = sectors


@compiled
def following(requests, number):
    """The next request of a packet, or NOTHING; the one before it is on its own then."""
    found = requests.entry[number].follower
    requests.entry[number].follower = NOTHING
    return found
