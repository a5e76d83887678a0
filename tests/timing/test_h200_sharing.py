"""Reads that cores share, beside what an H200's L2 was asked for (`h200_sharing.json`): cores by number read the same 16 lines
after a delay, all at once or some cycles apart."""

import json
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "hardware" / "h200_sharing.json").read_text())
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


@pytest.fixture(scope="module")
def device() -> sl.Gpu:
    return sl.Gpu("h200", memory_bytes=1 << 24)


def sectors_read(device: sl.Gpu, roles: dict[int, tuple[int, int]]) -> int:
    """Of the L2, where these cores read these sectors of each line in these cycles."""
    given = np.zeros((2, CORES), "i4")
    for core, (sectors, cycle) in roles.items():
        given[:, core] = sectors, BEGIN + cycle
    device.machine.reset()
    arguments = [device.zeros(LINES * 32, "i4"), device.zeros(1, "i4"), given.tobytes()]
    found = device.compile(SHARING)["sharing"](CORES, 32, arguments).counters
    return found["l2_accesses"] - found["l2_code_accesses"]


@pytest.mark.parametrize("cores", [2, 4, 5, 8, 9, 16])
def test_so_many_cores_of_a_gpc_read_the_same_at_once(device, cores):
    """Four share an answer; the H200 differs from itself by a few sectors in the hundred."""
    found = sectors_read(device, {FIRST_OF_A_GPC + k: (EVERY, 0) for k in range(cores)})
    assert found == RECORDED["sectors_by_cores_of_a_gpc"][str(cores)]


def test_all_cores_of_the_chip_read_the_same_at_once(device):
    """34 times each line: 6 GPCs of 16 and 2 of 18, by fours. The H200 had up to 36.4, as its cores were not all at once."""
    found = sectors_read(device, dict.fromkeys(range(CORES), (EVERY, 0)))
    assert found == 34 * LINES * SECTORS
    assert found == pytest.approx(RECORDED["sectors_of_the_first_cores"][-1], rel=0.07)


@pytest.mark.parametrize("delay", [0, 64, 128, 192, 256, 416, 512, 640, 1024])
@pytest.mark.parametrize("other", ["mate", "near", "far"])
def test_two_cores_share_what_the_l2_has_not_for_a_while(device, other, delay):
    mate = FIRST_OF_A_GPC + {"mate": 1, "near": 2, "far": 15}[other]
    found = sectors_read(device, {FIRST_OF_A_GPC: (EVERY, 0), mate: (EVERY, delay)})
    assert found == RECORDED["sectors_of_two_cores_by_delay"][other]["miss"][str(delay)]


@pytest.mark.parametrize("delay", [0, 16, 32, 96, 128, 256])
def test_two_cores_share_what_the_l2_has_for_a_shorter_while(device, delay):
    """A core of another GPC has read the lines before."""
    roles = {FIRST_OF_A_GPC: (EVERY, 4000), FIRST_OF_A_GPC + 2: (EVERY, 4000 + delay)}
    found = sectors_read(device, roles | {FIRST_OF_A_GPC + 16: (EVERY, 0)})
    assert found - LINES * SECTORS == RECORDED["sectors_of_two_cores_by_delay"]["near"]["hit"][str(delay)]


@pytest.mark.parametrize("masks", sorted(RECORDED["sectors_by_masks_of_two_cores"]))
def test_two_cores_share_a_line_if_they_want_the_same_sectors(device, masks):
    one, other = map(int, masks.split(","))
    found = sectors_read(device, {FIRST_OF_A_GPC: (one, 0), FIRST_OF_A_GPC + 2: (other, 0)})
    assert found == RECORDED["sectors_by_masks_of_two_cores"][masks]


@pytest.mark.parametrize("cores_sectors", sorted(RECORDED["sectors_of_cores_with_different_ones"]))
def test_cores_that_read_different_sectors_of_a_line_share_hardly_any(device, cores_sectors):
    """So many cores of a GPC read so many sectors of each line, each core one of them, by turns: measured three times."""
    cores, sectors = map(int, cores_sectors.split(","))
    found = sectors_read(device, {FIRST_OF_A_GPC + k: (1 << k % sectors, 0) for k in range(cores)})
    measured = RECORDED["sectors_of_cores_with_different_ones"][cores_sectors]
    assert 0.93 * min(measured) <= found <= 1.03 * max(measured)


def test_cores_of_two_gpcs_share_nothing(device):
    found = sectors_read(device, {FIRST_OF_A_GPC: (EVERY, 0), FIRST_OF_A_GPC + 16: (EVERY, 0)})
    assert found == 2 * LINES * SECTORS
