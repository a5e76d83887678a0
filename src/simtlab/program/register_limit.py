"""How many registers a thread may have, by a kernel's `.maxnreg`, `.maxntid`, `.reqntid` and `.minnctapersm`.

CUDA's `__launch_bounds__` comes as these directives. The rules are ptxas's, seen in what it gives for bounds of all sizes; a
kernel that needs more registers spills the rest to local memory there, which simtlab does not.
"""

import math

from simtlab.frontend import ast

REGISTER_FILE = 1 << 16  # 32-bit registers of an SM, on every GPU that NVRTC compiles for
MAX_REGISTERS = 255  # of a thread
FEWEST_REGISTERS = 16
REGISTER_BLOCK = 8  # a thread's registers are given out in blocks
SUB_CORES = 4  # among which warps are spread evenly
MAX_WARPS = {"sm_75": 32, "sm_86": 48, "sm_87": 48, "sm_88": 48, "sm_89": 48, "sm_110": 48, "sm_120": 48, "sm_121": 48}
MOST_WARPS = 64  # of an SM of the others


def register_limit(kernel: ast.Function, target: str) -> int:
    """What `.maxnreg` says, or what the register file leaves each thread of as many CTAs as the directives want in an SM."""
    directives = kernel.directives
    if "maxnreg" in directives:
        return min(max(directives["maxnreg"][0], FEWEST_REGISTERS), MAX_REGISTERS)
    threads = math.prod(directives.get("reqntid") or directives.get("maxntid") or (1,))
    of_cta = max(-(-threads // 32), 1)
    warps = of_cta * max(directives.get("minnctapersm", (1,))[0], 1)
    if warps > MAX_WARPS.get(target.rstrip("abcdef"), MOST_WARPS):
        warps = of_cta  # more CTAs than an SM can have: ptxas leaves that wish alone
    spread = -(-warps // SUB_CORES) * SUB_CORES
    most = REGISTER_FILE // (32 * spread) // REGISTER_BLOCK * REGISTER_BLOCK
    return min(max(most, FEWEST_REGISTERS), MAX_REGISTERS)
