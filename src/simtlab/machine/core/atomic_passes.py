"""The passes of an atomic: which of its lanes go to the L2 together.

In a pass each of the four banks of tags (wavefronts.py) serves one line, that of the first lane left that is its own. The lanes of
these lines go, but for those before which, among the lanes left, one of the same bank has the same word of its line: of several
lanes on one address one goes a pass, and a lane may have to wait for one of another line that waits itself. An H200 was given
reductions of 952 patterns of addresses; what `ncu` counted of sectors of the L1, each once for each pass in which it is wanted, is
what these rules come to in all of them (`tests/data/hardware/h200_reductions.json` has a part).
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.execute.memory import lane_address
from simtlab.machine.core.access_records import NO_LINE
from simtlab.machine.core.wavefronts import LINE_BYTES, tag_bank, words_at


@compiled
def next_pass(core, warp, ins, left):
    """Of the lanes that are left, those of the next pass."""
    pass_of = core.atomic_pass
    for bank in range(len(pass_of)):
        pass_of[bank].line, pass_of[bank].words = NO_LINE, 0
    going = np.uint32(0)
    for lane in range(32):
        bit = np.uint32(np.uint32(1) << np.uint32(lane))
        if left & bit:
            address = lane_address(warp, ins, lane)
            line = address // LINE_BYTES
            own = pass_of[tag_bank(line)]
            words = np.uint32(words_at(address % LINE_BYTES, ins.access_bytes))
            is_taken = own.words & words != 0
            own.words = np.uint32(own.words | words)
            if own.line == NO_LINE:
                own.line = line
            if own.line == line and not is_taken:
                going = np.uint32(going | bit)
    return going
