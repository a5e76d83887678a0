"""Bounded first-in-first-out queues of request numbers. A full queue refuses: whoever pushes must wait."""

import numpy as np

from simtlab.compiled import compiled

NOTHING = -1


def fifo_t(capacity: int) -> np.dtype:
    """A queue record of at most `capacity` entries; `limit` is how many the configuration allows, and where it wraps around."""
    return np.dtype([("limit", "i4"), ("count", "i4"), ("head", "i4"), ("items", "i4", (capacity,))], align=True)


@compiled
def push(queue, item):
    """Append an item; False if the queue is full."""
    if queue.count >= queue.limit:
        return False
    tail = queue.head + queue.count
    if tail >= queue.limit:
        tail -= queue.limit
    queue.items[tail] = item
    queue.count += 1
    return True


@compiled
def front(queue):
    """The oldest item, or NOTHING."""
    if queue.count == 0:
        return np.int64(NOTHING)
    return np.int64(queue.items[queue.head])


@compiled
def pop(queue):
    """Take the oldest item off; the queue must not be empty."""
    item = np.int64(queue.items[queue.head])
    queue.head += 1
    queue.count -= 1
    if queue.head == queue.limit or queue.count == 0:
        queue.head = 0
    return item


@compiled
def is_full(queue):
    return queue.count >= queue.limit


@compiled
def item_at(queue, place):
    """The item that has `place` others before it."""
    index = queue.head + place
    return np.int64(queue.items[index - queue.limit if index >= queue.limit else index])


@compiled
def bring_forward(queue, place):
    """The item that has `place` others before it is the oldest from now on; the order of the others stays."""
    item = item_at(queue, place)
    for k in range(place, 0, -1):
        index = queue.head + k
        queue.items[index - queue.limit if index >= queue.limit else index] = item_at(queue, k - 1)
    queue.items[queue.head] = item


@compiled
def take_out(queue, place):
    """Take the item off that has `place` others before it."""
    bring_forward(queue, place)
    return pop(queue)
