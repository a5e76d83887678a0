"""PCAL: only warps with a token take lines of the L1; the others hit there, or go around."""

import numpy as np
import pytest

import simtlab as sl
from tests.mechanisms.walks import ONE_SET, in_turn, rows, wait_for_the_youngest, walk

ONE_CORE = {"core.cores": 1}
COUNTER = "mechanism.pcal"
ONE_AFTER_THE_OTHER = """
extern "C" __global__ void k(const int *x, int *y) {
    int v = 0;
    if (threadIdx.x < 32) v = x[threadIdx.x];
    if (v == 0) __syncthreads();
    if (threadIdx.x >= 32) v = x[threadIdx.x - 32];
    y[threadIdx.x] = v;
}
"""


def pcal(settings: str, changes: dict = ONE_CORE) -> sl.Gpu:
    return sl.Gpu("gtx480", set=changes, mechanism=f"pcal,{settings}")


@pytest.mark.parametrize(("tokens", "hits", "bypassed"), [(0, 0, 4), (1, 2, 0)])
def test_a_warp_without_a_token_takes_no_line(tokens, hits, bypassed):
    """A and B, twice, in an L1 with room for both."""
    run = in_turn(pcal(f"tokens={tokens}", ONE_SET), "ABAB")
    assert (run.counters["l1_hits"], run.counters[f"{COUNTER}.bypassed"]) == (hits, bypassed)


def test_a_warp_without_a_token_hits_what_one_with_a_token_has_brought():
    gpu = pcal("tokens=1", ONE_SET)
    run = gpu.compile(ONE_AFTER_THE_OTHER)["k"](1, 64, [gpu.zeros(32, np.int32), gpu.zeros(64, np.int32)])
    assert (run.counters["l1_hits"], run.counters["l1_misses"], run.counters[f"{COUNTER}.bypassed"]) == (1, 1, 0)


def test_warps_that_pollute_nothing_add_to_the_best_limit():
    """Each warp uses 32 lines of its own again and again, and the L1 has 128: 24 warps find nothing there. Four at a time fit;
    three with tokens and five that go around use the L1 and the bandwidth both."""
    everything, limited, tokens = (rows(gpu, warps=24, threads=192) for gpu in (
        sl.Gpu("gtx480", set=ONE_CORE), pcal("warps=4"), pcal("warps=8,tokens=3"),
    ))  # fmt: skip
    assert everything.counters["l1_hits"] == 0
    assert limited.counters[f"{COUNTER}.bypassed"] == 0
    assert tokens.counters[f"{COUNTER}.bypassed"] > 1000
    assert tokens.cycles < 0.9 * limited.cycles < 0.4 * everything.cycles


def test_tokens_alone_leave_all_warps_running():
    before, after = rows(sl.Gpu("gtx480", set=ONE_CORE), 24, 192), rows(pcal("tokens=3"), 24, 192)
    assert after.counters["l1_hits"] > 10_000
    assert after.cycles < 0.6 * before.cycles


def test_the_number_of_tokens_and_then_of_warps_is_learnt():
    """48 of 96 warps at a time: of 48, 24, 12, 6 and 3 tokens only the last leave lines that fit, and memory stays congested."""
    before, tokens, warps = (rows(gpu, warps=96, threads=192) for gpu in (
        sl.Gpu("gtx480", set=ONE_CORE), pcal("adaptive=1"), pcal("adaptive=2"),
    ))  # fmt: skip
    assert tokens.counters[f"{COUNTER}.best"] == warps.counters[f"{COUNTER}.best"] == 3
    assert tokens.counters[f"{COUNTER}.fewer"] == 0 < warps.counters[f"{COUNTER}.fewer"]
    assert warps.cycles < 0.8 * tokens.cycles < 0.6 * before.cycles


def test_as_many_tokens_as_warps_change_nothing():
    before, after = walk(sl.Gpu("gtx480", set=ONE_CORE), 8, 24, 4), walk(pcal("tokens=8"), 8, 24, 4)
    assert after.cycles == before.cycles
    assert after.counters[f"{COUNTER}.bypassed"] == 0


def test_a_warp_that_all_others_wait_for_is_not_held_back_for_ever():
    """Only the oldest warp may issue, and it spins until the youngest has set a flag: in every 32nd interval all may."""
    gpu = sl.Gpu("gtx480", set=ONE_CORE, mechanism="pcal,warps=1,period=256", stuck_cycles=100_000)
    assert 31 * 256 < wait_for_the_youngest(gpu).cycles < 33 * 256


def test_warps_come_back_where_memory_is_no_longer_congested():
    """Five cores: those whose warps have nearly all ended leave the memory to the others, which may run one more again."""
    run = rows(pcal("adaptive=2", {"core.cores": 5}), warps=240, threads=192)
    assert run.counters[f"{COUNTER}.fewer"] > run.counters[f"{COUNTER}.more"] > 0
