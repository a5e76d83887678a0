"""STO, StoreGPU: MD5 of windows that slide over a buffer, by which storage systems find the borders of blocks that are alike.

Suite: ISPASS 2009 (`STO`, the sliding-window MD5 that the ISPASS paper ran). Regular.
Each thread copies its window to shared memory, in a bank of its lane's own, and hashes it there: hundreds of integer instructions
for 13 loads, which overlap with those of its neighbours. A CTA takes 16 KB of shared memory, so that a core has few.
"""

import hashlib
from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "STO"
SUITE = "ISPASS 2009"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("StoreGPU",)
SIZES = {
    "tiny": {"buffer_bytes": 1_622, "chunk": 52, "offset": 4},
    "small": {"buffer_bytes": 288 * 128 * 4 + 48, "chunk": 52, "offset": 4},
    "paper": {"buffer_bytes": 384 * 128 * 4 + 48, "chunk": 52, "offset": 4},  # 192 KB in 384 CTAs, as in the ISPASS paper
}
THREADS = 128
HASH_BYTES = 4  # of the sixteen; StoreGPU brings back no more
LAST_BYTES = 52  # of a window in its last pass of 64: the mark of the end and the length need the others


def inputs(*, buffer_bytes: int, chunk: int, offset: int, seed: int = 0) -> dict[str, Any]:
    """Random bytes, a multiple of four as words are read: hashing takes as long for any."""
    require(chunk >= 4 and chunk % 4 == 0, f"STO: chunk is {chunk}; it must be a multiple of 4")
    require(chunk % 64 <= LAST_BYTES, f"STO: chunk is {chunk}; what it has over a multiple of 64 must not be above {LAST_BYTES}")
    require(offset >= 4 and offset % 4 == 0, f"STO: offset is {offset}; it must be a multiple of 4")
    size = buffer_bytes - buffer_bytes % 4
    require(size >= chunk, f"STO: buffer_bytes is {buffer_bytes}; it must be that of a chunk ({chunk}) at least")
    windows = 1 + -(-(size - chunk) // offset)
    missing = (windows - 1) * offset + chunk - size
    last = chunk - missing
    fits = last > 0 and last % 64 <= LAST_BYTES
    require(fits, f"STO: the last window would have {last} bytes, which do not fit its last pass; change buffer_bytes")
    buffer = np.random.default_rng([seed, size]).integers(0, 256, size, dtype=np.uint8)
    return {"buffer": buffer, "chunk": chunk, "offset": offset, "windows": windows, "missing": missing}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    windows = data["windows"]
    buffer = launcher.array(data["buffer"], label="buffer")
    hashes = launcher.zeros((windows, HASH_BYTES), "u1", label="hashes")
    sizes = [np.int32(data[name]) for name in ("chunk", "offset", "windows", "missing")]
    launcher.launch("md5_overlap", -(-windows // THREADS), THREADS, [buffer, *sizes, hashes])
    return {"hashes": hashes.numpy()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """By Python's own MD5. The last window ends with the buffer."""
    buffer, chunk = data["buffer"].tobytes(), data["chunk"]
    places = range(0, data["windows"] * data["offset"], data["offset"])
    digests = b"".join(hashlib.md5(buffer[k : k + chunk], usedforsecurity=False).digest()[:HASH_BYTES] for k in places)
    return {"hashes": np.frombuffer(digests, np.uint8).reshape(-1, HASH_BYTES)}
