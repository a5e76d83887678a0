"""Address translation: what a TLB has, what it evicts, and how long a core waits."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from simtlab.machine.config import load
from simtlab.machine.memory.tlb import NOT_THERE, find, take, tlb_t
from simtlab.machine.record import new_records

PAGE = 4096
KEYS = {"core.cores": 2, "tlb.page_bytes": PAGE, "tlb.core_entries": 4, "tlb.entries": 8, "tlb.hit_cycles": 50,
        "tlb.walk_cycles": 400}  # fmt: skip
LOADS = """
extern "C" __global__ void loads(const char *in, int *cycles, int count, int pages)
{
    long at = blockIdx.x * 64;
    for (int k = 0; k < count; k++) {
        unsigned begin = clock();
        int value;
        asm volatile("ld.global.cg.b32 %0, [%1];" : "=r"(value) : "l"(in + at + (long)(k % pages) * 4096 + k * 128));
        at += value;
        cycles[blockIdx.x * count + k] = clock() + (at == 12345) - begin;
    }
}"""


def new_tlb(entries: int):
    tlb = new_records(1, tlb_t)[0]
    tlb.entries = entries
    return tlb


def test_the_least_recently_used_page_is_evicted():
    tlb = new_tlb(3)
    for page in (7, 8, 9):
        assert find(tlb, page) == NOT_THERE
        take(tlb, page)
    assert find(tlb, 7) != NOT_THERE
    assert find(tlb, 10) == NOT_THERE
    take(tlb, 10)
    assert [find(tlb, page) != NOT_THERE for page in (7, 8, 9, 10)] == [True, False, True, True]


def launched(pages: int, count: int = 8, ctas: int = 1, **changes):
    """Cycles of each CTA's loads, which go round so many pages, and the counters. All caches have none of the sectors."""
    keys = KEYS | {key.replace("__", "."): value for key, value in changes.items()}
    gpu = sl.Gpu(load("caps-gtx480").replace(keys | {"l1d.sector_bytes": 32, "l2.sector_bytes": 32}), memory_bytes=1 << 22)
    data, cycles = gpu.zeros(1 << 18, "u1"), gpu.zeros(count * ctas, "i4")
    run = gpu.compile(LOADS)["loads"](ctas, 1, [data, cycles, np.int32(count), np.int32(pages)])
    return cycles.numpy().reshape(ctas, count), run.counters


def longer(pages: int, count: int = 8, **changes) -> list[int]:
    """How much longer each load takes than on a machine without translation, to the nearest ten cycles."""
    there, without = (launched(pages, count, **also)[0][0] for also in (changes, {**changes, "tlb__page_bytes": 0}))
    return [int(round(cycles, -1)) for cycles in there - without]


def test_the_first_load_of_a_page_waits_for_a_walk_and_later_ones_for_nothing():
    assert longer(3, tlb__core_entries=8)[2:] == [450, 0, 0, 0, 0, 0]  # before that code is walked for too


def test_what_only_the_shared_tlb_has_takes_its_time():
    """Of six pages in turn, a core's TLB of four has none when it comes back to it."""
    found = longer(6, 12)
    assert found[2:6] == 4 * [450]
    assert found[7:] == 5 * [50]


def test_what_neither_has_is_walked_for_again():
    assert longer(10, 20)[11:] == 9 * [450]


def test_two_cores_wait_for_the_same_walk():
    _, counters = launched(3, ctas=2)
    _, alone = launched(3)
    assert counters["tlb_misses"] == 2 * alone["tlb_misses"]
    assert counters["tlb_walks"] == pytest.approx(alone["tlb_walks"], abs=1)  # what they write is on two pages, or one


def test_warm_tlbs_have_what_there_is_room_for():
    assert longer(3, tlb__warm=True, tlb__core_entries=8) == 8 * [0]
    assert launched(3, tlb__warm=True, tlb__core_entries=8)[1]["tlb_misses"] == 0
    assert longer(20, 40, tlb__warm=True, tlb__entries=64)[24:] == 16 * [50]  # more pages than a core has entries


def test_a_larger_page_needs_fewer_walks():
    counts = [launched(8, tlb__page_bytes=size)[1]["tlb_walks"] for size in (4096, 16384, 1 << 20)]
    assert counts[0] > counts[1] > counts[2] >= 1


def test_hits_in_the_l1_need_no_translation():
    source = """extern "C" __global__ void again(const int *in, int *out) {
        int sum = 0;
        for (int k = 0; k < 8; k++) sum += in[(threadIdx.x + sum) & 31];
        out[threadIdx.x] = sum;
    }"""
    gpu = sl.Gpu(load("caps-gtx480").replace(KEYS), memory_bytes=1 << 22)
    run = gpu.compile(source)["again"](1, 32, [gpu.zeros(32, "i4"), gpu.zeros(32, "i4")])
    assert run.counters["l1_hits"] >= 7
    assert run.counters["tlb_misses"] <= 4


@pytest.mark.parametrize("size", [3000, 64])
def test_an_impossible_page_is_refused(size):
    with pytest.raises(ConfigError, match=rf"tlb\.page_bytes = {size} is impossible"):
        load("caps-gtx480").replace({"tlb.page_bytes": size})
