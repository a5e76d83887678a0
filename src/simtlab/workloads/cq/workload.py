"""CQ, concurrent queues: half of the warps put items into rings, the other half take them out.

Suite: spin locks, for scheduling as in BOOK 5.1.4; here with tickets instead of a lock. Irregular.
A thread takes a ticket, which names a place of the ring and its turn there, and spins until the turn has come: to put, until
the item a round before was taken; to take, until there is one. Every look is an atomic at the L2. Nobody holds a lock; a warp that
waits needs another warp to get on. A CTA puts as many items as it takes, so that a machine that holds only some of the CTAs
does not wait for the others. All sizes are ours.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "CQ"
SUITE = "spin locks"
CATEGORY = "irregular"
ALIASES = ("queue",)
SIZES = {
    "tiny": {"ctas": 4, "queues": 2, "capacity": 64, "per_thread": 2},
    "small": {"ctas": 360, "queues": 30, "capacity": 512, "per_thread": 8},
    "paper": {"ctas": 480, "queues": 30, "capacity": 512, "per_thread": 16},
}
THREADS = 256


def inputs(*, ctas: int, queues: int, capacity: int, per_thread: int, seed: int = 0) -> dict[str, Any]:
    """Items with numbers of their own, in a random order."""
    require(queues > 0 and ctas % queues == 0, f"CQ: {ctas} CTAs cannot share {queues} queues evenly")
    items = np.random.default_rng(seed).permutation(per_thread * ctas * THREADS // 2).astype(np.int32)
    return {"sent": items.reshape(per_thread, -1), "ctas": ctas, "queues": queues, "capacity": capacity}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    sent, queues, capacity = launcher.array(data["sent"], label="sent"), data["queues"], data["capacity"]
    received = launcher.array(np.full(data["sent"].shape, -1), "i4", label="received")
    tails, heads = (launcher.zeros(queues, "u4", label=name) for name in ("tails", "heads"))
    turns, rings = launcher.zeros(queues * capacity, "u4", label="turns"), launcher.zeros(queues * capacity, "i4", label="rings")
    numbers = [np.int32(len(data["sent"])), np.int32(queues), np.uint32(capacity)]
    launcher.launch("pass_on", data["ctas"], THREADS, [sent, received, tails, heads, turns, rings, *numbers])
    return {"received": by_queue(received.numpy(), data["ctas"], queues)}


def by_queue(items: np.ndarray, ctas: int, queues: int) -> np.ndarray:
    """What went through each queue, in the order of the items' numbers: who took which depends on who came first."""
    cta = np.arange(items.shape[1]) // (items.shape[1] // ctas)
    return np.array([np.sort(items[:, cta % queues == queue].ravel()) for queue in range(queues)])


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"received": by_queue(data["sent"], data["ctas"], data["queues"])}
