"""What a core's load/store and texture units note of accesses under way, as records."""

import numpy as np

from simtlab.machine.limits import MAX_FRAGMENTS, MAX_PREFETCHES

MAX_SENT_STORES = 256  # under way, that others may be combined with
# The sector of a store that is under way, its request, how many lines were written to before it, and when it was.
sent_store_t = np.dtype([("address", "i8"), ("number", "i8"), ("order", "i8"), ("born", "i8")], align=True)

TAG_BANKS, NO_LINE = 4, -1
atomic_pass_t = np.dtype([("line", "i8"), ("words", "u4")], align=True)  # of a bank of tags: its line, and which words lanes want

# A line somebody expects to be wanted: for which warp slot, which load predicted it, and when.
prefetch_t = np.dtype([("address", "i8"), ("warp", "i8"), ("pc", "i8"), ("asked", "i8")], align=True)
prefetch_queue_t = np.dtype(
    [("limit", "i8"), ("count", "i8"), ("head", "i8"), ("items", prefetch_t, (MAX_PREFETCHES,))], align=True
)

MAX_FRAGMENT_LINES = 256  # 32 lanes with 8 texels each
# A texture fetch in the fragment FIFO: the lines it touches, how many were looked up, how many are in flight.
fragment_t = np.dtype(
    [
        ("op", "i8"),
        ("ready", "i8"),  # its operands are read
        ("lines", "i8"),
        ("served", "i8"),
        ("outstanding", "i8"),
        ("line", "i8", (MAX_FRAGMENT_LINES,)),
    ],
    align=True,
)
fragment_fifo_t = np.dtype([("limit", "i8"), ("count", "i8"), ("head", "i8"), ("items", fragment_t, (MAX_FRAGMENTS,))], align=True)
