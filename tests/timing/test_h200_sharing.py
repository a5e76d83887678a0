"""Reads that cores share, beside what an H200's L2 was asked for (`h200_sharing.json`): cores by number read the same 16 lines
after a delay, all at once or some cycles apart."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl

ROOT = Path(__file__).parents[2]
RECORDED = json.loads((ROOT / "tests" / "data" / "hardware" / "h200_sharing.json").read_text())
LINES, SECTORS = RECORDED["lines"], 4
CORES, BEGIN, EVERY = 132, 8000, 15
FIRST_OF_A_GPC = 16  # the second one's: it has 16 cores
SHARING = """
struct Roles { int sectors[132]; int cycle[132]; };
extern "C" __global__ void sharing(const int *data, int *out, Roles roles)
{
    unsigned core;
    asm volatile("mov.u32 %0, %smid;" : "=r"(core));
    int lane = threadIdx.x, sectors = roles.sectors[core], cycle = roles.cycle[core], sum = 0;
    while (clock64() < cycle) ;
    if (sectors >> (lane >> 3) & 1)
        #pragma unroll
        for (int k = 0; k < 16; k++) {
            int got;
            asm volatile("ld.global.ca.s32 %0, [%1];" : "=r"(got) : "l"(data + 32 * k + lane));
            sum += got;
        }
    if (sum == 12345) out[0] = sum;
}"""


Roles = dict[int, tuple[int, int]]  # of each core that reads: which sectors of each line, in which cycle
DELAYS_OF_MISSES, DELAYS_OF_HITS = (0, 64, 128, 192, 256, 416, 512, 640, 1024), (0, 16, 32, 96, 128, 256)
OTHERS = {"mate": 1, "near": 2, "far": 15}
CORES_OF_A_GPC = (2, 4, 5, 8, 9, 16)
MASKS = sorted(RECORDED["sectors_by_masks_of_two_cores"])


def at_once(cores: int) -> Roles:
    return {FIRST_OF_A_GPC + k: (EVERY, 0) for k in range(cores)}


def apart(other: str, delay: int) -> Roles:
    return {FIRST_OF_A_GPC: (EVERY, 0), FIRST_OF_A_GPC + OTHERS[other]: (EVERY, delay)}


def after_another_gpc(delay: int) -> Roles:
    roles = {FIRST_OF_A_GPC: (EVERY, 4000), FIRST_OF_A_GPC + 2: (EVERY, 4000 + delay)}
    return roles | {FIRST_OF_A_GPC + 16: (EVERY, 0)}


def of_sectors(masks: str) -> Roles:
    one, other = map(int, masks.split(","))
    return {FIRST_OF_A_GPC: (one, 0), FIRST_OF_A_GPC + 2: (other, 0)}


WHOLE_CHIP: Roles = dict.fromkeys(range(CORES), (EVERY, 0))
TWO_GPCS: Roles = {FIRST_OF_A_GPC: (EVERY, 0), FIRST_OF_A_GPC + 16: (EVERY, 0)}
ALL = [
    *map(at_once, CORES_OF_A_GPC), *(apart(other, delay) for other in OTHERS for delay in DELAYS_OF_MISSES),
    *map(after_another_gpc, DELAYS_OF_HITS), *map(of_sectors, MASKS), WHOLE_CHIP, TWO_GPCS,
]  # fmt: skip


def measure() -> list[int]:
    """The sectors read of the L2 in each of these cases."""
    device, found = sl.Gpu("h200", memory_bytes=1 << 24), []
    for roles in ALL:
        given = np.zeros((2, CORES), "i4")
        for core, (sectors, cycle) in roles.items():
            given[:, core] = sectors, BEGIN + cycle
        device.machine.reset()
        arguments = [device.zeros(LINES * 32, "i4"), device.zeros(1, "i4"), given.tobytes()]
        counters = device.compile(SHARING)["sharing"](CORES, 32, arguments).counters
        found.append(counters["l2_accesses"] - counters["l2_code_accesses"])
    return found


@pytest.fixture(scope="module")
def read() -> Callable[[Roles], int]:
    """What was read in a case; all of them are measured in a process of their own."""
    code = "import json; from tests.timing.test_h200_sharing import measure; print(json.dumps(measure()))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    return lambda roles: found[ALL.index(roles)]


@pytest.mark.parametrize("cores", CORES_OF_A_GPC)
def test_so_many_cores_of_a_gpc_read_the_same_at_once(read, cores):
    """Four share an answer; the H200 differs from itself by a few sectors in the hundred."""
    assert read(at_once(cores)) == RECORDED["sectors_by_cores_of_a_gpc"][str(cores)]


def test_all_cores_of_the_chip_read_the_same_at_once(read):
    """34 times each line: 6 GPCs of 16 and 2 of 18, by fours. The H200 had up to 36.4, as its cores were not all at once."""
    assert read(WHOLE_CHIP) == 34 * LINES * SECTORS
    assert read(WHOLE_CHIP) == pytest.approx(RECORDED["sectors_of_the_first_cores"][-1], rel=0.07)


@pytest.mark.parametrize("delay", DELAYS_OF_MISSES)
@pytest.mark.parametrize("other", OTHERS)
def test_two_cores_share_what_the_l2_has_not_for_a_while(read, other, delay):
    assert read(apart(other, delay)) == RECORDED["sectors_of_two_cores_by_delay"][other]["miss"][str(delay)]


@pytest.mark.parametrize("delay", DELAYS_OF_HITS)
def test_two_cores_share_what_the_l2_has_for_a_shorter_while(read, delay):
    """A core of another GPC has read the lines before."""
    found = read(after_another_gpc(delay))
    assert found - LINES * SECTORS == RECORDED["sectors_of_two_cores_by_delay"]["near"]["hit"][str(delay)]


@pytest.mark.parametrize("masks", MASKS)
def test_two_cores_share_a_line_if_they_want_the_same_sectors(read, masks):
    assert read(of_sectors(masks)) == RECORDED["sectors_by_masks_of_two_cores"][masks]


def test_cores_of_two_gpcs_share_nothing(read):
    assert read(TWO_GPCS) == 2 * LINES * SECTORS
