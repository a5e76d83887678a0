"""The h200 preset on an idle machine takes the cycles that an H200 takes for a step of one thread's dependent chain.

`record_chains_on_gpu.py` measured them: chases over rings that are in the L1, in the L2 and nowhere, arithmetic. Here it executes
PTX; `test_h200_core.py` and `test_h200_memory.py` have its machine code, to which latencies are fitted.
"""

import json
from pathlib import Path

import pytest

import simtlab as sl
from tests.timing.machines import loop, step
from tests.timing.test_latencies import CHASE, START, ring

MEASURED = json.loads((Path(__file__).parents[1] / "data" / "hardware" / "h200_chains.json").read_text())
LINES_A_KILOBYTE = 8
LOOP = 0.12  # cycles a step that the measured loop's own instructions take, once in 64 steps
COLLECTED = 1  # cycle that PTX takes longer: its operands are collected, those of machine code read on a schedule
SPECIAL = ("ex2", "rsq")
ONES = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1;\n"
WIDE_ONES = "mov.f64 %e1, 0d3FF0000000000000; mov.f64 %e2, %e1; mov.f64 %e3, %e1;\n"
CHAINS = {
    "ffma": "fma.rn.f32 %f1, %f1, %f2, %f3;", "fadd": "add.rn.f32 %f1, %f1, %f2;", "fmul": "mul.rn.f32 %f1, %f1, %f2;",
    "imad": "mad.lo.s32 %r1, %r1, %r2, %r3;", "hfma2": "fma.rn.f16x2 %r1, %r1, %r2, %r3;",
    "dadd": "add.rn.f64 %e1, %e1, %e2;", "dmul": "mul.rn.f64 %e1, %e1, %e2;", "dfma": "fma.rn.f64 %e1, %e1, %e2, %e3;",
    "ex2": "ex2.approx.ftz.f32 %f1, %f1;", "rsq": "rsqrt.approx.ftz.f32 %f1, %f1;",
}  # fmt: skip


@pytest.fixture(scope="module")
def device():
    """It executes PTX: ptxas would leave out of machine code what nobody asks for."""
    return sl.Gpu("h200", isa="ptx", memory_bytes=1 << 30)


@pytest.mark.parametrize("kilobytes", [8, 64, 128])
def test_a_chase_through_the_l1(device, kilobytes):
    """A kernel without shared memory has nearly all of the 256 KB for its L1."""
    lines = kilobytes * LINES_A_KILOBYTE
    pointers = ring(device, lines)
    chased(device, pointers, lines)
    few, many = (chased(device, pointers, lines + steps) for steps in (512, 1024))
    assert (many - few) / 512 == pytest.approx(MEASURED[f"chase_{kilobytes}k"] + COLLECTED, abs=0.5)


def test_a_chase_through_the_l2(device):
    """Each launch begins with an empty L1; the L2 has what the one before it read."""
    pointers = ring(device, 1024 * LINES_A_KILOBYTE)
    chased(device, pointers, 8192)
    few, many = (chased(device, pointers, steps) for steps in (1024, 8192))
    assert (many - few) / 7168 == pytest.approx(MEASURED["chase_1024k"], abs=4)


def test_a_chase_through_dram(device):
    """Measured again, an H200 takes 628 to 689 cycles: where pages lie and when banks are refreshed is not the same twice."""
    chased(device, ring(device, 8), 16)  # the instructions
    few, many = (chased(device, ring(device, steps), steps) for steps in (1024, 4096))
    assert (many - few) / 3072 == pytest.approx((628 + MEASURED["chase_262144k"]) / 2, abs=30)


def test_a_chase_through_shared_memory(device):
    own = "mov.u32 %r1, s; st.shared.u32 [%r1], %r1;\n"
    found = step(device, "ld.shared.u32 %r1, [%r1];\n", before=own, threads=1)
    assert found == pytest.approx(MEASURED["shared"] + COLLECTED, abs=0.5)


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_arithmetic(device, name):
    """The latencies of fixed pipes leave the operand collector out, that of the special function unit does not."""
    before = ".reg .f64 %e<4>;\n" + ONES + WIDE_ONES
    found = step(device, CHAINS[name] + "\n", before=before, threads=1)
    assert found == pytest.approx(MEASURED[name] - LOOP + (COLLECTED if name in SPECIAL else 0), abs=0.2)


def chased(device, pointers, steps: int) -> int:
    """Cycles of a launch that follows so many pointers; `kernel` has shared memory, which a chase must not."""
    body = START + loop(CHASE, steps)
    text = f".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a) {{ .reg .b32 %r<40>; " \
           f".reg .b64 %d<4>; .reg .pred %p<4>;\n{body}\nret; }}"  # fmt: skip
    return device.load(text)["k"](1, 1, [pointers]).cycles
