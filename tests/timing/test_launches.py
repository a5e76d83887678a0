"""What stays from one launch to the next: a policy's tables if it says so, and where a program lies in memory."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing.machines import gpu, kernel

COUNTING = """
import numpy as np
from simtlab.policies.hook import hook

state = np.dtype([("seen", "i8"), ("shown", "i8")])
counters = {{"shown": ("loads", "Loads since the state was new.")}}
{attribute}

@hook
def on_load(core, own, op, cycle):
    own.seen += 1
    own.shown = own.seen
"""
LOAD = "ld.param.u64 %d1, [a];\nld.global.u32 %r1, [%d1];\nst.global.u32 [%d1], %r1;"


@pytest.mark.parametrize(("attribute", "expected"), [("", [2, 2, 2]), ("outlives_launch = True", [2, 4, 6])])
def test_a_policys_state_outlives_a_launch_if_it_says_so(tmp_path, attribute, expected):
    policy = tmp_path / "counting.py"
    policy.write_text(COUNTING.format(attribute=attribute))
    device = gpu(prefetcher=str(policy))
    made, values = kernel(device, LOAD), device.zeros(32, "i4")
    seen = [made(2, 32, [values, np.uint64(0)]).counters["prefetcher.counting.shown"] for _ in range(3)]
    assert seen == expected


def test_a_program_lies_where_no_other_does_and_stays_there():
    """The first launch of each kernel brings its code from DRAM; later ones find it in the L2, whatever ran in between."""
    device = gpu()
    first, second = kernel(device, LOAD), kernel(device, "add.u32 %r1, %r2, %r3;\n" + LOAD)
    values = device.zeros(32, "i4")

    def code_from_dram(made) -> int:
        run: sl.Run = made(1, 32, [values, np.uint64(0)])
        return run.counters["dram_reads"]

    cold = [code_from_dram(first), code_from_dram(second)]
    warm = [code_from_dram(first), code_from_dram(second), code_from_dram(first)]
    assert cold[1] >= 1  # the data are in the L2 since the first launch: what it reads is code
    assert warm == [0, 0, 0]
