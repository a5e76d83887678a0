"""A core of the h200 preset takes the cycles that an H200 takes for micro-benchmarks of shared memory, barriers, constants, loads,
stores and atomics.

They are those of `h200_probes`. Cycles a step are within 3% of the H200's except for what KNOWN lists, which says why.
"""

import pytest

from tests.everyday import every
from tests.timing.probed_core import ProbedCore, of_files


def loads_over(lines: int) -> list[str]:
    """The probes whose warps touch so many lines with each load."""
    return [f"loads_of_{bits}_bits {apart} apart" for bits in (32, 64, 128) for apart in (0, 1, 2, 4, 8, 16, 32)
            if min(max(apart * bits // 32, 1), 32) == lines]  # fmt: skip


KNOWN = {
    "A load keeps the address unit of its sub-core for 4 cycles on an H200 (here there is none), and a load by itself keeps the L1 "
    "for 2 cycles a line, loads of several warps together for 1: here always 1, 2 at least": {
        **{name: {1: -13, 4: -6} for name in loads_over(1)},
        **{name: {1: -12, 4: -14, 16: -6} for name in loads_over(2)},
        **{name: {1: -20} for name in loads_over(4)},
        **{name: {1: -34, 4: -23} for name in loads_over(8)},
        **{name: {1: -42, 4: -24} for name in loads_over(16)},
        **{name: {1: -46, 4: -24} for name in loads_over(32)},
        "loads_of_128_bits 32 apart": {1: -46, 4: -24, 16: -6, 32: -7},
        "shared_stores": {1: -16, 4: -17, 8: -7, 16: -7},
        "shared_reductions": {1: -15, 4: -16, 8: -5},
    },
    "Not understood: loads of four lines by many warps": {
        **{name: {16: 8, 32: 8} for name in loads_over(4)},
    },
    "Not understood: loads of shared memory, and of constants that the first cache has, by one warp": {
        "constant_loads over 64 words": {1: -6, 4: -6},
        "shared_loads": {1: 6, 4: 6, 8: 5},
        "constant_loads over 512 words": {1: 6, 4: 6},
    },
    "Not understood: 32 lanes that add to one word, which are shuffles, a vote and one atomic": {
        "shared_atomic_one_address": {1: -11, 4: -12, 8: -12, 16: -13, 32: -21},
    },
    "A fence goes to the L2 and back by itself after the store it waits for has, and fences of several warps wait for each other; "
    "a store that was combined with an earlier one counts as done": {
        "fence": {1: -54, 4: -56, 8: -64, 16: -66, 32: -70},
    },
    "32 lines of constants fill the cache: on an H200 one access in nine misses, as if something else had a line of it": {
        "constant_chase over 512 words": {1: -15, 4: -15, 16: -10},
    },
    "Four warps of a sub-core that read the same constants: on an H200 three in ten find a line that another has brought": {
        **{f"constant_chase over {words} words": {16: 26} for words in (1024, 4096, 16384)},
    },
    "Constants of the second cache for several sub-cores take an H200 longer than for one": {
        **{f"constant_loads over {words} words": {4: -10, 16: -7} for words in (1024, 4096, 16384)},
    },
    "Lanes that want different constants take an H200 2 cycles for each that hits, 4.5 to 11 for each that misses: here always 2": {
        "constant_by_lane 1 words apart": {1: -22, 16: -7},
        "constant_by_lane 2 words apart": {1: -25, 16: -13},
        "constant_by_lane 4 words apart": {1: -48, 4: -19, 16: -24},
        "constant_by_lane 16 words apart": {1: -79, 4: -60, 16: -57},
        "constant_by_lane 64 words apart": {1: -78, 4: -49, 16: -72},
    },
    "32-byte sectors that are written leave a core of an H200 every 1.27 cycles, here every cycle": {
        "stores 8 apart": {1: -14, 4: -22, 16: -23},
        "reductions 8 apart": {1: -20, 4: -24, 16: -24},
        "atomic_chain 8 apart": {1: -5, 4: -6, 16: -22},
        "atomic_chain 32 apart": {4: -6},
    },
    "The address unit as for loads, and the fence at the end": {
        "stores 0 apart": {1: -25, 4: -22, 16: -18},
        "stores 1 apart": {1: -24, 4: -10},
    },
    "Not understood: a warp's reductions of 32 words take an H200 70 cycles each, and those of other warps 2 beside them": {
        "reductions 1 apart": {1: -24, 4: -26, 16: -32},
    },
    "A store's registers can be written again when its last line is served, of 32; on an H200 presumably when it is in the queue": {
        "stores 32 apart": {1: 8},
        "reductions 0 apart": {1: 12},
        "reductions 32 apart": {1: 13},
    },
}


@pytest.fixture(scope="module")
def core():
    return ProbedCore()


@pytest.mark.parametrize("name", of_files("shared_memory"))
def test_shared_memory_and_barriers_take_the_cycles_of_an_h200(core, name):
    assert core.outside(name, KNOWN) == {}


@pytest.mark.parametrize("name", of_files("constants"))
def test_constants_take_the_cycles_of_an_h200(core, name):
    """2 KB of them are in the first cache, 64 KB in the second."""
    assert core.outside(name, KNOWN) == {}


@pytest.mark.parametrize("name", every(3, of_files("global_memory")))
def test_global_memory_takes_the_cycles_of_an_h200(core, name):
    """Loads that hit in the L1 by the lines they touch, stores and atomics by the sectors."""
    assert core.outside(name, KNOWN) == {}


def test_sub_cores_share_the_load_store_unit_equally(core):
    """Each has its own queue (Huerta et al., MICRO 2025). The slowest of 32 warps takes an H200 32.9 cycles for a SHFL, so that the
    unit is never idle; how long the quickest takes was not recorded."""
    core.cycles_of("independent_shfl", 32)
    cycles = core.cycles.numpy().reshape(8, 4)  # a column is a sub-core
    assert cycles.min() == pytest.approx(cycles.max(), rel=0.1)


def test_known_differences_are_of_probes_that_there_are():
    assert {name for names in KNOWN.values() for name in names} <= set(of_files("shared_memory", "constants", "global_memory"))
