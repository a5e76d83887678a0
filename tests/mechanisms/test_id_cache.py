"""ID-cache: a load's pc and divergence say whether the L1 keeps its lines, and how much of a line a miss fetches (BOOK 4.4.3)."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.core.state import core_t
from simtlab.machine.record import new_records
from simtlab.policies.mechanism import id_cache
from tests.mechanisms.test_ctrl_c import again, table_and_stream

ROWS = """
extern "C" __global__ void rows(const float *a, float *out, int pitch) {
    float sum = 0;
    for (int k = threadIdx.x % 4; k < pitch; k += 4) sum += a[threadIdx.x / 4 * pitch + k];
    out[threadIdx.x] = sum;
}
"""
MIXED = """
extern "C" __global__ void mixed(const float *a, float *out, int n) {
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0;
    for (int k = 0; k < n; k++) {
        int place = (k + warp * 4) % 32 * 32 + lane;
        if (warp >= 8) place = ((k * 8 + warp - 7) * 32 + lane) * 32;
        sum += a[place];
    }
    out[threadIdx.x] = sum;
}
"""


def rows(**policies) -> sl.Run:
    """Four lanes read a row together, 16 bytes at a time: a sector in two loads, a line in eight."""
    gpu = sl.Gpu("gtx480", set={"core.cores": 1, "l1d.sector_bytes": 32}, **policies)
    a, out = np.arange(32 * 512, dtype=np.float32).reshape(32, 128, 4) % 7, gpu.zeros(128)
    run = gpu.compile(ROWS)["rows"](1, 128, [gpu.array(a), out, 512])
    assert np.array_equal(out.numpy(), a.sum(1).ravel())
    return run


def mixed(n: int = 32, **policies) -> sl.Run:
    """By one load, eight warps read the 32 lines of a table, and eight others a line for each lane that nobody reads again."""
    gpu = sl.Gpu("gtx480", set={"core.cores": 1}, **policies)
    a, out = np.arange((n + 1) * 8 * 1024, dtype=np.float32) % 7, gpu.zeros(512)
    run = gpu.compile(MIXED)["mixed"](1, 512, [gpu.array(a), out, n])
    warp, lane = np.arange(512) // 32, np.arange(512) % 32
    places = (np.where(warp < 8, (k + warp * 4) % 32 * 32 + lane, ((k * 8 + warp - 7) * 32 + lane) * 32) for k in range(n))
    assert np.array_equal(out.numpy(), sum(a[place] for place in places))
    return run


@pytest.mark.parametrize(("touched", "fetched"), [(16, 1), (17, 2), (32, 2), (33, 4), (48, 4), (64, 4)])
def test_a_miss_fetches_the_power_of_two_of_sectors_that_lines_like_it_had_touched(touched, fetched):
    """Of 16 lines evicted with four sectors each, so many were touched in all."""
    load = np.array([(16, 0, touched)], id_cache.load_t).view(np.recarray)[0]
    assert id_cache.sectors_to_fetch(load, 4) == fetched


def test_a_load_has_an_entry_for_each_class_of_divergence():
    ops, entries = new_records(1, core_t)[0].ops, []
    for accesses in (1, 4, 5, 8, 9, 16, 17, 32):
        ops[0].pc, ops[0].accesses = 33, accesses
        entries.append(id_cache.entry_of(ops[0]))
    assert entries == [4, 4, 5, 5, 6, 6, 7, 7]


def test_rows_come_line_by_line_though_the_l1_fetches_sectors():
    """A miss every two loads becomes one every eight, once the first lines were evicted with all their sectors touched."""
    plain, alone = rows(), rows(mechanism="id-cache,bypass=0")
    assert alone.counters["l1_misses"] < 0.6 * plain.counters["l1_misses"]
    assert alone.counters["mechanism.id-cache.enlarged"] > 1000
    assert alone.cycles < 0.8 * plain.cycles
    assert rows(mechanism="id-cache").cycles < 0.8 * plain.cycles


def test_a_stream_goes_around_the_l1_and_leaves_a_table_in_it():
    """The table is three quarters of the L1; by the time a line of it is wanted again the stream has evicted it."""
    plain, alone = table_and_stream(), table_and_stream(mechanism="id-cache,line_size=0")
    assert alone.counters["l1_hits"] > 3 * plain.counters["l1_hits"]
    assert alone.counters["mechanism.id-cache.bypassed"] > 3000
    assert alone.cycles < 0.9 * plain.cycles


def test_a_load_is_bypassed_where_it_is_divergent_and_kept_where_it_is_not():
    plain, alone = mixed(), mixed(mechanism="id-cache")
    table = 8 * 32  # accesses
    assert plain.counters["l1_hits"] < 0.5 * table
    assert alone.counters["l1_hits"] > 0.7 * table
    assert 0.8 * 8 * 32 * 32 < alone.counters["mechanism.id-cache.bypassed"] <= 8 * 32 * 32


def test_lines_that_fit_are_left_alone():
    plain, mechanism = again(4), again(4, mechanism="id-cache")
    assert mechanism.cycles == plain.cycles
    assert mechanism.counters["mechanism.id-cache.bypassed"] == mechanism.counters["mechanism.id-cache.enlarged"] == 0
