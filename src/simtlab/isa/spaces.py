"""The generic address space: where the windows onto shared and local memory lie.

Global, constant and parameter memory have the same address in both. The windows lie beyond any allocation.
"""

SHARED_BASE = 0x0100_0000_0000
SHARED_BYTES = 1 << 24
LOCAL_BASE = 0x0200_0000_0000
LOCAL_BYTES = 1 << 24

WINDOWS = {"shared": (SHARED_BASE, SHARED_BYTES), "local": (LOCAL_BASE, LOCAL_BYTES)}


def space_of(qualifier: str) -> str:
    """The state space of a qualifier with or without a sub-space: `shared::cta` is shared."""
    return qualifier.partition("::")[0]
