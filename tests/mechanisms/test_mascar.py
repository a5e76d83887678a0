"""Mascar: the owner warp and the re-execution queue by hand; loads that fill the MSHRs; hits behind a stalled miss."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.kinds import Unit
from tests.mechanisms.records import Example
from tests.mechanisms.test_daws import sums

SCATTERED = r"""
extern "C" __global__ void scattered(const float *in, float *out, int total, int work) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    float x = (in[t * 32] + in[(total + t) * 32]) + (in[(2 * total + t) * 32] + in[(3 * total + t) * 32]);
    for (int w = 0; w < work; w++) x = x * 0.5f + 1.0f;
    out[t] = x;
}
"""
LDST = int(Unit.LDST)
MISS, HIT, OTHER_MISS, OWNERS_MISS = 3, 5, 7, 9  # instructions in a core


def scattered(work, threads=1536, **policies):
    """Each warp loads four times 32 lines, and computes when it has all of them."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1}, **policies)
    data, out, block = gpu.array(np.full(4 * threads * 32, 2, np.float32)), gpu.zeros(threads), min(threads, 256)
    run = gpu.compile(SCATTERED)["scattered"](threads // block, block, [data, out, threads, work])
    assert np.array_equal(out.numpy(), np.full(threads, 2 + 6 * 0.5**work, np.float32))
    return run


def counts(run):
    return [run.counters[f"mechanism.mascar.{name}"] for name in ("owners", "kept", "overtook")]


def test_one_owner_loads_while_memory_is_saturated():
    """Warps 0 to 2 want to load, warp 3 to compute. With room they load first; with the MSHRs full warp 3 goes first, then warp 0,
    the oldest, alone, until its next instruction waits for data: then warp 1 owns."""
    example = Example("mascar", warps=4)
    core, own = example.core, example.own
    core.unit_of_head[LDST] = 0b0111
    assert example.tell("allow", 0b1111) == 0b0111
    core.mshr.used = 28
    assert example.tell("allow", 0b1111) == 0b1000
    assert example.tell("allow", 0b0111) == 0b0001
    assert example.tell("allow", 0b0110) == 0b0000  # the owner is not ready, and keeps the others waiting
    core.long = 0b0001
    assert example.tell("allow", 0b0110) == 0b0010
    assert (own.owner, own.owners, own.kept) == (1, 1, 4)
    core.mshr.used, core.inject.count = 27, 7
    assert example.tell("allow", 0b0110) == 0b0010  # the queue to the network has one place left
    core.inject.count = 6
    assert example.tell("allow", 0b1110) == 0b0110


def queue_of(example, *instructions):
    """A load/store unit with loads of one line: line 5 is in the L1, lines 6, 7 and 8 are not."""
    core, l1d = example.core, example.core.l1d
    core.ldst_queue.count = len(instructions)
    core.ldst_queue["items"][: len(instructions)] = instructions
    for op, warp, line in ((MISS, 2, 6), (HIT, 3, 5), (OTHER_MISS, 1, 7), (OWNERS_MISS, 0, 8)):
        ops = core.ops
        ops["slot"][op], ops["memory"][op], ops["accesses"][op], ops["lines"][op][0] = warp, 1, 1, line * 128
    l1d.tags[2 * (5 % 4)], l1d.line["sectors"][2 * (5 % 4)] = 5, 1


def test_a_hit_overtakes_a_stalled_miss():
    example = Example("mascar", warps=4, mas=0)
    queue_of(example, MISS, OTHER_MISS, HIT)
    assert example.tell("ldst_queue_next", 3) == 0  # not stalled
    example.core.mshr.used = 32
    assert (example.tell("ldst_queue_next", 3), example.own.overtook) == (2, 1)
    queue_of(example, MISS, OTHER_MISS)
    assert example.tell("ldst_queue_next", 2) == 0


def test_while_memory_is_saturated_hits_go_first_then_the_owner_then_the_oldest_warp():
    example = Example("mascar", warps=4)
    example.core.mshr.used, example.own.owner = 30, 0
    queue_of(example, MISS, OTHER_MISS, OWNERS_MISS, HIT)
    assert example.tell("ldst_queue_next", 4) == 3
    queue_of(example, MISS, OTHER_MISS, OWNERS_MISS)
    assert example.tell("ldst_queue_next", 3) == 2
    queue_of(example, MISS, OTHER_MISS)
    assert example.tell("ldst_queue_next", 2) == 1


def test_what_is_no_load_is_not_put_aside():
    """A store or an atomic, which may give a lock back, goes in its turn: neither when it is the oldest nor from behind it does a
    miss of the owner overtake it."""
    example = Example("mascar", warps=4)
    example.core.mshr.used, example.own.owner = 30, 0
    queue_of(example, OTHER_MISS, MISS, OWNERS_MISS)
    example.core.ops["deterministic"][OTHER_MISS] = -1
    assert example.tell("ldst_queue_next", 3) == 0
    queue_of(example, MISS, OTHER_MISS, OWNERS_MISS)
    assert example.tell("ldst_queue_next", 3) == 0


@pytest.mark.parametrize("parts", ["mascar", "mascar,queue_entries=0"])
def test_a_warp_that_has_its_data_early_computes_while_others_load(parts):
    """With loose round robin all warps load their first 32 lines before any has its last, and then all compute."""
    without, run = scattered(1000, warp_scheduler="lrr"), scattered(1000, warp_scheduler="lrr", mechanism=parts)
    assert run.cycles < 0.85 * without.cycles
    assert min(counts(run)[:2]) > 0


@pytest.mark.parametrize("parts", ["mascar", "mascar,mas=0"])
def test_rows_gain_by_re_execution(parts):
    """Each lane walks along a row: behind a load that finds no MSHR are loads whose lines are there still."""
    without, run = sums("rows", warp_scheduler="gto"), sums("rows", warp_scheduler="gto", mechanism=parts)
    assert run.cycles < 0.5 * without.cycles
    assert counts(run)[2] > 0


def test_without_re_execution_rows_do_not_gain():
    run = sums("rows", warp_scheduler="gto", mechanism="mascar,queue_entries=0")
    assert run.cycles > 0.95 * sums("rows", warp_scheduler="gto").cycles
    assert counts(run)[2] == 0


def test_one_warp_has_nobody_to_wait_for():
    without, run = scattered(50, threads=32), scattered(50, threads=32, mechanism="mascar")
    assert run.cycles == without.cycles
    assert counts(run)[1:] == [0, 0]


def test_with_both_parts_left_out_it_does_nothing():
    run = scattered(50, mechanism="mascar,mas=0,queue_entries=0")
    assert run.cycles == scattered(50).cycles
    assert counts(run) == [0, 0, 0]
