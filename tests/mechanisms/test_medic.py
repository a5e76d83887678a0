"""MeDiC: five types of warps by their hits at the L2, and what the L2 and DRAM do for each (BOOK 4.4.4)."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.memory.dram import channel_t
from simtlab.machine.record import new_records
from simtlab.machine.state import slice_t
from simtlab.policies import warp_types
from simtlab.policies.mechanism import medic

TYPES = warp_types.ALL_MISS, warp_types.MOSTLY_MISS, warp_types.BALANCED, warp_types.MOSTLY_HIT, warp_types.ALL_HIT
DEEP_QUEUES = {
    "core.cores": 4, "l1d.bypass_global": True, "l2.slices": 2, "dram.channels": 1, "l2.dram_queue_entries": 512,
    "dram.queue_entries": 256,
}  # fmt: skip
STREAMED = 64, 64, 0, 4  # a table that the other warps, which use it too, evict
KEPT = 16, 256, 1, 0  # one that is always there, and reads of other lines between
MIX = """
extern "C" __global__ void mix(const float *a, float *out, int lines, int hot_n, int hot_fresh, int cold_n, int cold_hits) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, warp = i / 32, lane = i % 32;
    float sum = 0;
    if (warp < 8)
        for (int k = 0; k < hot_n; k++) {
            int line = k % 8 < hot_fresh ? lines + k * 8 + warp : (k + warp * 5) % lines;
            sum += a[line * 32 + lane];
        }
    else
        for (int k = 0; k < cold_n; k++) {
            int fresh = lines + hot_n * 8 + (k * 24 + warp - 8) * 32 + lane;
            sum += a[(lane < cold_hits ? (k + lane * 7 + warp * 3) % lines : fresh) * 32];
        }
    out[i] = sum;
}
"""


def mix(lines: int, kilobytes: int, hot_fresh: int, cold_hits: int, hot_n: int = 400, cold_n: int = 60, **policies) -> sl.Run:
    """Eight warps read the lines of a table, and in `hot_fresh` of eight loads others. 24 warps read 32 lines with each load, of
    which `cold_hits` are the table's; nobody reads any of the others twice. All have one DRAM channel, with long queues."""
    gpu = sl.Gpu("gtx480", set={**DEEP_QUEUES, "l2.bytes": kilobytes * 1024}, **policies)
    a = np.arange((lines + hot_n * 8 + cold_n * 24 * 32) * 32, dtype=np.float32).reshape(-1, 32) % 7
    out, sums = gpu.zeros(1024), np.zeros((32, 32), np.float32)
    run = gpu.compile(MIX)["mix"](4, 256, [gpu.array(a), out, lines, hot_n, hot_fresh, cold_n, cold_hits])
    hot, cold, lane = np.arange(8)[:, None], np.arange(24)[:, None], np.arange(32)
    for k in range(hot_n):
        sums[:8] += a[(lines + k * 8 + hot if k % 8 < hot_fresh else (k + hot * 5) % lines), lane]
    for k in range(cold_n):
        fresh = lines + hot_n * 8 + (k * 24 + cold) * 32 + lane
        sums[8:] += a[np.where(lane < cold_hits, (k + lane * 7 + (cold + 8) * 3) % lines, fresh), 0]
    assert np.array_equal(out.numpy(), sums.ravel())
    return run


def counts(run: sl.Run) -> dict[str, int]:
    """The mechanism's counters, types apart."""
    return {name: run.counters[f"mechanism.medic.{name}"] for name in ("bypassed", "inserted_last", "first")}


def new_state() -> np.record:
    own = np.zeros(1, medic.state).view(np.recarray)[0]
    for name, value in medic.parameters.items():
        own[name] = value
    return own


@pytest.mark.parametrize(
    ("hits", "type"), [(0, 1), (1, 2), (6, 2), (7, 3), (16, 3), (22, 3), (23, 4), (31, 4), (32, 5)]
)  # fmt: skip
def test_the_five_types_by_the_share_of_32_reads_that_hit(hits, type):
    """None; below 20 percent; between; 70 percent or more; all."""
    own, access = new_state(), new_records(1, slice_t)[0].cache.access
    access.core, access.warp = 2, 7
    for k in range(32):
        assert own.warp[2 * 64 + 7].type == 0
        warp_types.note_read(own, access, int(k < hits))
    assert own.warp[2 * 64 + 7].type == type
    assert own.types.tolist() == [int(each == type) for each in TYPES]


def test_what_is_done_for_each_type():
    own, slice, channel = new_state(), new_records(1, slice_t)[0], new_records(1, channel_t)[0]
    slice.cache.ways, slice.cache.access.core, slice.cache.access.warp = 8, 1, 3
    channel.entries[0].core, channel.entries[0].warp = 1, 3
    done = []
    for own.warp[1 * 64 + 3].type in (0, *TYPES):
        own.warp[1 * 64 + 3].reads = 32
        done.append((
            medic.l2_allocation_bypass.function(slice, own, 0, 0), medic.l2_replacement_insert.function(slice.cache, own, 0, 0),
            medic.dram_scheduler_priority.function(channel, own, 0, 0),
        ))  # fmt: skip
        own.warp[1 * 64 + 3].reads = 31
        assert medic.l2_allocation_bypass.function(slice, own, 0, 0) == 0  # it is being counted
    unknown, all_miss, mostly_miss, balanced, mostly_hit, all_hit = done
    assert unknown == balanced == (0, 7, 0)
    assert all_miss == (1, 7, 0)
    assert mostly_miss == (1, 0, 0)
    assert mostly_hit == all_hit == (0, 7, 1)


def test_the_bound_of_mostly_miss_falls_while_the_l2_misses_more():
    own, core = new_state(), sl.Gpu("gtx480", mechanism="medic").machine.records.cores[0]
    found = []
    for misses in (50, 60, 60, 80, 84):
        own.reads, own.misses, own.next = 100, misses, 0
        medic.on_tick.function(core, own, 1, 0)
        found.append(int(own.mostly_miss - own.lowered))
    assert found == [20, 15, 16, 11, 12]


def test_warps_that_hit_gain_where_others_stream_through_the_l2():
    """The table's 64 lines would all be in the L2 of 1,024, but reads of the others evict them and keep DRAM busy, so that a miss
    takes long. That of the eight warps which hit is rare, and goes first."""
    plain, mechanism = mix(*STREAMED), mix(*STREAMED, mechanism="medic")
    assert counts(mechanism)["bypassed"] == mechanism.counters["l2_bypasses"] > 30_000  # of the 40,320 that hit nothing
    assert mechanism.cycles < 0.88 * plain.cycles


@pytest.mark.parametrize(
    ("part", "counter", "kernel", "most"),
    [("bypass", "bypassed", STREAMED, 0.9), ("insertion", "inserted_last", STREAMED, 0.94), ("scheduling", "first", KEPT, 0.98)],
)
def test_each_part_alone_acts_and_gains(part, counter, kernel, most):
    others = ",".join(f"{each}=0" for each in ("bypass", "insertion", "scheduling") if each != part)
    plain, alone = mix(*kernel), mix(*kernel, mechanism=f"medic,{others}")
    assert [name for name, count in counts(alone).items() if count > 0] == [counter]
    assert alone.cycles < most * plain.cycles


def test_without_its_parts_it_only_counts():
    plain, mechanism = mix(*STREAMED), mix(*STREAMED, mechanism="medic,bypass=0,insertion=0,scheduling=0")
    own = {name: count for name, count in mechanism.counters.items() if name.startswith("mechanism")}
    assert mechanism.cycles == plain.cycles
    assert {**plain.counters, **own} == mechanism.counters
    assert own["mechanism.medic.types.2"] > 0


def test_warps_with_few_reads_have_no_type_and_are_left_alone():
    """31 reads of the table, and a single load of 32 lines, which is all-miss when it ends."""
    plain, mechanism = mix(64, 64, 1, 0, 31, 1), mix(64, 64, 1, 0, 31, 1, mechanism="medic")
    assert mechanism.cycles == plain.cycles
    assert [mechanism.counters[f"mechanism.medic.types.{type}"] for type in TYPES] == [24, 0, 0, 0, 0]
    assert not any(counts(mechanism).values())
