"""The sectors that an atomic wants, once for each of its passes, beside what `ncu` counted on an H200 (`h200_reductions.json`)."""

import json
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl

REDUCTIONS = json.loads((Path(__file__).parents[1] / "data" / "hardware" / "h200_reductions.json").read_text())["reductions"]
CODE = """
extern "C" __global__ void add(int *to, const int *words)
{
    int word = words[threadIdx.x];
    if (word >= 0) atomicAdd(to + word, 1);
}
extern "C" __global__ void exchange(int *to, const int *words, int *out)
{
    int word = words[threadIdx.x];
    if (word >= 0) out[threadIdx.x] = atomicAdd(to + word, 1);
}
"""
SPAN = 1 << 26  # bytes, a multiple of which the array begins at: more than it has
WORDS = 4  # sectors of the load of the words


@pytest.fixture(scope="module")
def device():
    return sl.Gpu("h200", set={"core.cores": 1})


@pytest.fixture(scope="module")
def array(device):
    return np.uint64(-(-device.zeros(2 * SPAN, "u1").address // SPAN) * SPAN)


def lanes_of(words: list) -> np.ndarray:
    return np.array([-1 if word is None else word for word in words] + [-1] * (32 - len(words)), "i4")


def test_a_reduction_has_the_sectors_of_an_h200(device, array):
    kernel = device.compile(CODE)["add"]
    wrong = []
    for number, one in enumerate(REDUCTIONS):
        found = kernel(1, 32, [array, device.array(lanes_of(one["words"]))]).counters["l1_accesses"] - WORDS
        if found != one["sectors"]:
            wrong.append((number, found, one["sectors"]))
    assert wrong == []


def test_an_atomic_has_those_of_a_reduction(device, array):
    kernel = device.compile(CODE)["exchange"]
    for one in REDUCTIONS[20::9]:
        lanes = lanes_of(one["words"])
        stored = len({lane // 8 for lane in range(32) if lanes[lane] >= 0})
        found = kernel(1, 32, [array, device.array(lanes), device.zeros(32, "i4")]).counters["l1_accesses"]
        assert found == WORDS + one["sectors"] + stored


def test_a_lane_waits_behind_one_of_another_line_that_waits_itself(device, array):
    """Lines 5 and 0 lie in one bank of tags. The third lane has the word of its line that the second has of the other one, and goes
    a pass after the first, though that is of its sector; it does not if the second is of line 6, in another bank."""
    kernel = device.compile(CODE)["add"]

    def sectors(*words: int) -> int:
        return kernel(1, 32, [array, device.array(lanes_of(list(words)))]).counters["l1_accesses"] - WORDS

    assert sectors(5 * 32 + 14, 0 * 32 + 9, 5 * 32 + 9) == 3
    assert sectors(5 * 32 + 14, 6 * 32 + 9, 5 * 32 + 9) == 2
    assert sectors(0 * 32 + 9, 5 * 32 + 14, 5 * 32 + 9) == 2
