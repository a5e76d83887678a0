"""A core of the h200 preset takes the cycles that an H200 takes for micro-benchmarks of its units, registers and code.

They are those of `h200_probes`, with 1 to 32 warps of one CTA: up to 8 a sub-core. Cycles a step are within 3% of the H200's except
for what KNOWN lists, which says why.
"""

import pytest

from tests.everyday import every
from tests.timing.probed_core import ProbedCore, of_files

KNOWN = {
    "A taken branch costs a sub-core of an H200 3 to 10 cycles, however many warps it has (a loop of 34 NOP takes it 44): here it "
    "costs its warp 15, and other warps issue meanwhile. The loops have 10 to 36 instructions": {
        "chain_ffma": {32: -5},
        "chain_fadd": {4: -5, 8: -6, 16: -6, 32: -11},
        "chain_hfma2": {16: -9, 32: -4},
        "chain_imad_uniform": {8: -6, 16: -8, 32: -7},
        "chain_lea_imad": {1: -5, 4: -7, 8: -10, 16: -9, 32: -4},
        "chain_lop3_iadd": {32: -5},
        "chain_prmt": {16: -5},
        "chain_isetp": {16: -5},
        "chain_nop": {1: -9, 4: -10, 8: -13, 16: -22, 32: -20},
        "independent_ffma": {1: -5, 4: -7, 8: -11},
        "independent_hfma2": {1: -5, 4: -7},
        "independent_imad": {1: -5, 4: -6, 8: -5, 16: -7, 32: -6},
        "independent_lea_imad": {1: -9, 4: -11, 8: -8, 16: -13, 32: -13},
        "independent_lop3": {1: -10, 4: -11, 8: -15, 16: -17, 32: -11},
        "independent_prmt": {1: -5, 4: -6, 16: -7, 32: -6},
        "independent_fmnmx": {16: -5},
        "independent_dfma": {16: -5},
        "independent_i2f": {16: -4},
        "independent_ffma_lop3": {32: -5},
        "code_64": {8: -7, 16: -6},
    },
    "Alone in its sub-core a warp loses 10 to 15 cycles at a branch of these loops on an H200": {
        "chain_i2f": {1: 7, 4: 6, 8: 4},
        "independent_fadd": {1: 11, 4: 9},
        "independent_fmul": {4: 9},
        "independent_fmnmx": {1: 7, 4: 6, 8: 5},
        "independent_dfma": {1: 8, 4: 7},
        "independent_shf": {1: 8, 4: 7, 8: 6},
        "independent_isetp_sel": {1: 4},
        "independent_i2f": {1: 10, 4: 9},
        "independent_f2i": {1: 4},
        "independent_ex2": {1: 4},
        "independent_vote": {1: 5, 4: 5},
        "independent_s2r": {1: 5, 4: 5},
    },
    "Not understood: 6 or 8 warps a sub-core (not 5 or 7) issue FADD, FMUL and FFMA at 1.8 cycles each on an H200, 4 FFMA at 1.4": {
        "independent_ffma": {16: -20, 32: -38},
        "independent_ffma_of_three": {16: -12, 32: -25},
        "independent_fadd": {32: -41},
        "independent_fmul": {32: -41},
        "independent_hfma2": {16: -7, 32: -17},
    },
    "FFMA of three registers, two or three of one bank, takes an H200 1.7 cycles on average, here 2 and 3": {
        "independent_ffma_of_three": {1: 39, 4: 38, 8: 34},
    },
    "IMAD whose factor is a uniform register takes an H200 3.1 cycles (with a uniform addend 2.2), here 2": {
        "independent_imad_by_uniform": {1: -17, 4: -17, 8: -23, 16: -37, 32: -30},
    },
    "IMAD.HI after IMAD.HI takes a warp of an H200 9.3 cycles, though its stall count is 6": {
        "chain_imad_hi": {1: -32, 4: -33, 8: -22, 16: -6, 32: -7},
    },
    "The special function unit of an H200 takes 8.5 cycles and not 8 for instructions with an addition between": {
        "chain_popc": {16: -5, 32: -7},
        "chain_flo": {16: -5, 32: -8},
        "chain_brev": {16: -5, 32: -7},
        "chain_sin": {16: -6, 32: -6},
    },
    "Conversions between float and double take an H200 a cycle longer than other conversions": {
        "chain_f2f": {1: -6, 4: -6, 8: -6, 16: -10, 32: -8},
    },
    "Not understood: loops of 1,056 instructions with calls": {
        "chain_division": {8: -6, 32: 11},
        "chain_square_root": {1: -6, 4: -6, 16: -15},
    },
    "Room in the queue of the load/store unit goes to the first sub-core that wants it (see test_h200_memory)": {
        "independent_shfl": {1: 5, 4: 5, 8: 15, 16: 6, 32: 6},
    },
    "Not understood: MATCH takes an H200 64 cycles a warp with 8 warps and with 32, 68 with 16": {
        "chain_match": {16: -8},
    },
    "NANOSLEEP of no time sleeps for 70 cycles on an H200; here it does nothing": {
        "chain_nanosleep": {1: -90, 4: -90, 8: -90, 16: -93, 32: -96},
    },
    "Not understood: 8 warps take an H200 2.0 cycles a step for 256, 768 and 1,024 instructions, and 2.9 for 512 and 1,536; 16 "
    "take 4.6 for most, here 4.0": {
        "code_1024": {4: -7, 16: -14},
        "code_1536": {4: -7, 8: -32, 16: -14},
        "code_4096": {16: -14},
        "code_6144": {8: 12, 16: -13},
    },
    "33.4 KB of code in L0 caches of 32 KB: an H200 loses a tenth of its cycles, the sets and the prefetcher here hardly any": {
        "code_2048": {1: -10, 4: -11, 8: -11},
    },
    "131 KB of code in an L1 of 128 KB: an H200 reads most of it from the L2, at 20.4 cycles a line": {
        "code_8192": {1: -13, 4: -13, 8: -6, 16: -16},
    },
}


@pytest.fixture(scope="module")
def core():
    return ProbedCore()


@pytest.mark.parametrize("name", of_files("chains"))
def test_a_dependent_chain_takes_the_cycles_of_an_h200(core, name):
    """The latency of a unit with few warps, how many instructions it takes with many."""
    assert core.outside(name, KNOWN) == {}


@pytest.mark.parametrize("name", of_files("independent"))
def test_independent_instructions_take_the_cycles_of_an_h200(core, name):
    """`independent_ffma` has both constants in the reuse cache, as long as no other warp comes between."""
    assert core.outside(name, KNOWN) == {}


@pytest.mark.parametrize("name", every(3, of_files("code")))
def test_code_of_a_length_takes_the_cycles_of_an_h200(core, name):
    """Up to 32 KB are in the L0 caches, up to 128 KB in the L1; FFMA on four chains issue at a cycle each."""
    assert core.outside(name, KNOWN) == {}


def test_two_sources_of_one_register_bank_take_a_cycle_more_unless_one_is_reused(core):
    """FFMA R12, R12, R2, R3 has two even registers, FADD R13, R13, R2 one of each kind. With 8 warps a sub-core an H200 takes 17.3
    cycles a step for the one, 9.8 for the other; four chains of FFMA with a and b in the reuse cache take 1 a step and warp."""
    conflict, none = (core.cycles_of(name, 32) for name in ("chain_ffma", "chain_fadd"))
    assert conflict / none == pytest.approx(17.29 / 9.83, rel=0.1)
    assert core.cycles_of("code_256", 1) == pytest.approx(1.04, abs=0.02)


def test_known_differences_are_of_probes_that_there_are():
    assert {name for names in KNOWN.values() for name in names} <= set(of_files("chains", "independent", "code"))
