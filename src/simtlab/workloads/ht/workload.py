"""HT, a chained hash table: every thread inserts its items under the lock of their bucket.

Suite: spin locks, a program like one of ElTantawy and Aamodt's (HPCA 2018); BOOK 5.1.4. Irregular.
Threads spin on a compare-and-swap of their bucket's lock. Lanes of a warp that meet in a bucket go one after the other, those of
other warps spin meanwhile, and every try is an atomic at the L2. The fewer buckets, the more of the time is spent spinning. The
order of a chain depends on who came first, what is in it does not. All sizes are ours. In a timed run of `small` on 15 cores
86 of 100 tries for a lock fail, of which a functional run has few.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "HT"
SUITE = "spin locks"
CATEGORY = "irregular"
ALIASES = ("hashtable",)
SIZES = {
    "tiny": {"items": 1024, "buckets": 64, "ctas": 4},
    "small": {"items": 184_320, "buckets": 1024, "ctas": 360},
    "paper": {"items": 1_310_720, "buckets": 1024, "ctas": 480},
}
THREADS = 256
END = -1
HASH = 2654435761  # Knuth's multiplier, 2**32 by the golden ratio


def inputs(*, items: int, buckets: int, ctas: int, seed: int = 0) -> dict[str, Any]:
    """Keys at random, which may be equal."""
    require(items > 0 and buckets > 0 and ctas > 0, "HT: items, buckets and ctas must be at least 1")
    keys = np.random.default_rng(seed).integers(0, 1 << 32, items, dtype=np.uint32)
    return {"keys": keys, "buckets": buckets, "ctas": ctas}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    n, buckets = len(data["keys"]), data["buckets"]
    keys, locks = launcher.array(data["keys"], label="keys"), launcher.zeros(buckets, "i4", label="locks")
    heads = launcher.array(np.full(buckets, END), "i4", label="heads")
    following = launcher.array(np.full(n, END), "i4", label="next")
    launcher.launch("insert", data["ctas"], THREADS, [keys, locks, heads, following, np.int32(n), np.uint32(buckets)])
    return {"bucket": walk(heads.numpy(), following.numpy()), "locks": locks.numpy()}


def walk(heads: np.ndarray, following: np.ndarray) -> np.ndarray:
    """In which bucket's chain each item is; END for one that is in none. An item met twice is in the wrong place."""
    found, met = np.full(len(following), END, np.int32), 0
    places, at = np.arange(len(heads)), heads
    while len(at) and met <= len(following):
        places, at = places[at != END], at[at != END]
        found[at], met = places, met + len(at)
        at = following[at]
    return found if met == len(following) else np.full_like(found, END)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    buckets = data["buckets"]
    hashed = (data["keys"].astype(np.uint64) * np.uint64(HASH) & np.uint64(0xFFFF_FFFF)) % np.uint64(buckets)
    return {"bucket": hashed.astype(np.int32), "locks": np.zeros(buckets, np.int32)}
