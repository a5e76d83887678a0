"""A core of the h200 preset takes the cycles that an H200 takes for micro-benchmarks of its units, registers and code.

They are those of `h200_probes`, with 1 to 32 warps of one CTA: up to 8 a sub-core. Cycles a step are within 3% of the H200's except
for what KNOWN lists, which says why.
"""

import pytest

from tests.everyday import every
from tests.timing.probed_core import ProbedCore, of_files

KNOWN = {
    "A taken branch costs a sub-core of an H200 3 to 10 cycles, however many warps it has (a loop of 34 NOP takes it 44): here "
    "it costs its warp 15, and other warps issue meanwhile. The loops have 10 to 36 instructions": {
        "chain_fadd": {8: -5, 16: -5, 32: -10},
        "chain_hfma2": {16: -9},
        "chain_imad_uniform": {8: -6, 16: -7, 32: -6},
        "chain_lea_imad": {4: -5, 8: -9, 16: -8},
        "chain_lop3_iadd": {32: -4},
        "chain_prmt": {16: -5},
        "chain_nop": {1: -7, 4: -9, 8: -12, 16: -23, 32: -19},
        "independent_ffma": {4: -6, 8: -10},
        "independent_fmnmx": {16: -4},
        "independent_hfma2": {4: -5},
        "independent_dfma": {16: -5},
        "independent_imad": {1: -4, 4: -5, 8: -5, 16: -7, 32: -5},
        "independent_lea_imad": {1: -7, 4: -10, 8: -7, 16: -7, 32: -13},
        "independent_lop3": {1: -8, 4: -10, 8: -13, 16: -14, 32: -8},
        "independent_prmt": {4: -5, 16: -6},
        "independent_ffma_lop3": {32: -5},
        "code_64": {8: -6, 16: -5},
        "chain_shf": {8: -5, 16: -4},
        "some_lanes": {8: -6, 16: -7, 32: -8},
        "two_ways": {32: -5},
        "loop_by_lane": {8: -6},
    },
    "How fast many warps issue depends on where their code lies, on an H200: 32 warps took 14.6 cycles a step for this loop of "
    "FFMA in one module, 9.7 in another": {
        "independent_ffma": {16: -5, 32: -5},
        "independent_hfma2": {16: -7, 32: -17},
        "independent_fadd": {32: -41},
        "independent_fmul": {32: -41},
        "independent_ffma_of_three": {16: -12, 32: -24},
    },
    "Alone in its sub-core a warp loses 10 to 15 cycles at a branch of these loops on an H200, here 15": {
        "independent_fmnmx": {1: 6, 4: 6, 8: 4},
        "independent_dfma": {1: 8, 4: 7, 8: 4},
        "independent_i2f": {1: 11, 4: 10},
        "chain_i2f": {1: 7, 4: 6, 8: 5},
        "independent_fadd": {1: 10, 4: 9},
        "independent_fmul": {4: 9},
        "independent_shf": {1: 6, 4: 6, 8: 4},
        "independent_f2i": {1: 4},
        "independent_ex2": {1: 4},
        "independent_vote": {1: 5, 4: 4},
        "independent_s2r": {1: 5, 4: 5},
    },
    "IMAD.HI after IMAD.HI takes a warp of an H200 9.3 cycles, though its stall count is 6": {
        "chain_imad_hi": {1: -32, 4: -32, 8: -21, 16: -5, 32: -7},
    },
    "The special function unit of an H200 takes 8.5 cycles and not 8 for instructions with an addition between": {
        "chain_popc": {16: -5, 32: -7},
        "chain_flo": {16: -5, 32: -7},
        "chain_brev": {16: -5, 32: -7},
        "chain_sin": {16: -6, 32: -6},
    },
    "Conversions between float and double take an H200 a cycle longer than other conversions": {
        "chain_f2f": {1: -5, 4: -5, 8: -6, 16: -9, 32: -9},
    },
    "Not understood: a loop of 482 instructions with calls that are not made": {
        "chain_square_root": {1: -5, 4: -5, 16: -13, 32: -6},
    },
    "Not understood: several warps that MATCH at once take an H200 up to 8% longer": {
        "chain_match": {16: -7},
        "match_any of 4": {8: -7, 16: -4},
        "match_any of 8": {16: -8},
    },
    "NANOSLEEP of no time sleeps for 70 cycles on an H200; here it does nothing": {
        "chain_nanosleep": {1: -89, 4: -90, 8: -90, 16: -92, 32: -96},
    },
    "FFMA of three registers, two or three of one bank, takes an H200 1.7 cycles on average, here 2 and 3": {
        "independent_ffma_of_three": {1: 41, 4: 39, 8: 35},
    },
    "IMAD whose factor is a uniform register takes an H200 3.1 cycles (with a uniform addend 2.2), here 2": {
        "independent_imad_by_uniform": {1: -16, 4: -17, 8: -22, 16: -36, 32: -31},
    },
    "A load keeps the address unit of its sub-core for 4 cycles on an H200, and the L1 for 2.1 with many warps (here there is "
    "no such unit)": {
        "independent_shfl": {1: 6, 4: 5},
    },
    "By where the code lies 8 warps take an H200 2.0 or 2.9 cycles a step for the same code (1,024 instructions one day, 1,536 "
    "another), and code beyond 32 KB 16.1 or 17.7 cycles a line: here 17": {
        "code_1024": {4: -7, 8: -31, 16: -18},
        "code_1536": {4: -7, 16: -19},
        "code_4096": {1: 7, 4: 7, 8: 6},
        "code_6144": {1: 7, 4: 7, 8: 6, 16: 6},
    },
    "33.4 KB of code in L0 caches of 32 KB: an H200 loses a tenth of its cycles, the sets and the prefetcher here hardly any": {
        "code_2048": {1: -8, 4: -9, 8: -19, 16: -9},
    },
    "131 KB of code in an L1 of 128 KB: an H200 reads most of it from the L2, at 20.4 cycles a line": {
        "code_8192": {1: -10, 4: -9, 8: -9, 16: -9},
    },
    "A branch to code ahead, and half of the loops', takes an H200 11 cycles: here every branch takes 15, as it takes those "
    "loops on average": {
        "branch_uniform": {1: 6, 4: 6, 8: 8, 32: 5},
        "two_calls": {1: 8, 4: 8, 8: 5},
        "leave_by_lane": {1: 7, 4: 7, 8: 7, 16: 7},
        "calls": {1: 7, 4: 7, 16: 4},
    },
    "A return keeps a sub-core of an H200 from other warps for about 3 cycles": {
        "two_calls": {32: -7},
        "calls": {32: -11},
    },
    "How the steps of a WARPSYNC.COLLECTIVE share its time on an H200 is not known; they keep the sub-core's other warps "
    "waiting too": {
        "syncwarp_of_halves": {1: -6, 4: -6, 8: -9, 16: -13, 32: -29},
        "ballot_of_halves": {1: -6, 4: -6, 8: -9, 16: -12, 32: -26},
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


@pytest.mark.parametrize("name", of_files("divergence"))
def test_lanes_that_part_and_meet_take_the_cycles_of_an_h200(core, name):
    """By branches, calls, loops and barriers of the warp; and a match by how many values there are."""
    assert core.outside(name, KNOWN) == {}


def test_two_sources_of_one_register_bank_take_a_cycle_more_unless_one_is_reused(core):
    """FFMA R12, R12, R2, R3 has two even registers, FADD R13, R13, R2 one of each kind. With 8 warps a sub-core an H200 takes 17.3
    cycles a step for the one, 9.8 for the other; four chains of FFMA with a and b in the reuse cache take 1 a step and warp."""
    conflict, none = (core.cycles_of(name, 32) for name in ("chain_ffma", "chain_fadd"))
    assert conflict / none == pytest.approx(17.29 / 9.83, rel=0.1)
    assert core.cycles_of("code_256", 1) == pytest.approx(1.04, abs=0.02)


def test_known_differences_are_of_probes_that_there_are():
    assert {name for names in KNOWN.values() for name in names} <= set(of_files("chains", "independent", "code", "divergence"))
