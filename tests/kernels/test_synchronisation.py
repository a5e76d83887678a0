"""Kernels whose threads wait for each other."""

import numpy as np
import pytest

from tests.kernels.library import source

FAR = 0x7FFFFFFF


@pytest.fixture(scope="module")
def synchronisation(gpu):
    return gpu.compile(source("synchronisation"))


def random_graph(nodes, edges, rng):
    ends = np.sort(rng.integers(0, nodes, edges))
    start = np.searchsorted(ends, np.arange(nodes + 1)).astype(np.int32)
    return start, rng.integers(0, nodes, edges).astype(np.int32), rng.integers(1, 20, edges).astype(np.int32)


def test_a_lock_for_each_element(gpu, synchronisation):
    n, elements = 500, 13
    element = np.random.default_rng(1).integers(0, elements, n).astype(np.int32)
    locks, total, largest = gpu.zeros(elements, "i4"), gpu.zeros(elements, "i4"), gpu.array(np.full(elements, -1, "i4"))
    synchronisation["lock_each"](5, 100, [gpu.array(element), n, locks, total, largest])
    np.testing.assert_array_equal(total.numpy(), np.bincount(element, np.arange(n), elements))
    np.testing.assert_array_equal(largest.numpy(), [np.flatnonzero(element == e).max() for e in range(elements)])
    assert not locks.numpy().any()


def test_a_hundred_blocks_meet_five_times(gpu, synchronisation):
    n, count = 7000, 5
    values = np.random.default_rng(2).integers(0, 10, n).astype(np.int32)
    a, b, arrived = gpu.array(values), gpu.zeros(n, "i4"), gpu.zeros(1, "u4")
    synchronisation["phases"](100, 64, [n, count, a, b, arrived])
    expected = values
    for _ in range(count):
        expected = expected + np.roll(expected, -(n // 2 + 1))
    np.testing.assert_array_equal(b.numpy(), expected)
    assert arrived[0] == 500


def test_blocks_wait_for_blocks_that_start_later(gpu, synchronisation):
    blocks = 100
    flags, order, following = gpu.zeros(blocks, "i4"), gpu.zeros(blocks, "i4"), gpu.zeros(1, "i4")
    synchronisation["backward_chain"](blocks, 32, [flags, order, following])
    np.testing.assert_array_equal(order.numpy(), np.arange(blocks)[::-1])


def test_shortest_paths_by_atomic_minimum(gpu, synchronisation):
    nodes = 200
    start, to, weight = random_graph(nodes, 900, np.random.default_rng(3))
    expected = np.full(nodes, FAR, np.int64)
    expected[0] = 0
    source_of = np.repeat(np.arange(nodes), np.diff(start))
    for _ in range(nodes):
        reached = expected[source_of] < FAR
        np.minimum.at(expected, to[reached], expected[source_of[reached]] + weight[reached])
    distance = gpu.array(np.where(np.arange(nodes) == 0, 0, FAR).astype(np.int32))
    graph, changed = list(map(gpu.array, (start, to, weight))), gpu.array([1], "i4")
    rounds = 0
    while changed[0]:
        changed[0] = 0
        synchronisation["shortest_paths"](2, 128, [nodes, *graph, distance, changed])
        rounds += 1
    np.testing.assert_array_equal(distance.numpy(), expected)
    assert 1 < rounds < nodes


def test_breadth_first_search_with_a_queue(gpu, synchronisation):
    nodes = 300
    start, to, _ = random_graph(nodes, 1000, np.random.default_rng(4))
    level = gpu.array(np.where(np.arange(nodes) == 5, 0, -1).astype(np.int32))
    frontier, following, length = gpu.array(np.full(nodes, 5, np.int32)), gpu.zeros(nodes, "i4"), 1
    graph, depth = [gpu.array(start), gpu.array(to)], 0
    while length:
        depth += 1
        next_length = gpu.zeros(1, "i4")
        arguments = [*graph, frontier, length, depth, level, following, next_length]
        synchronisation["breadth_first"](-(-length // 64), 64, arguments)
        frontier, following, length = following, frontier, int(next_length[0])
    expected = np.full(nodes, -1)
    front, expected[5], away = {5}, 0, 0
    while front:
        away += 1
        front = {t for n in front for t in to[start[n] : start[n + 1]] if expected[t] == -1}
        expected[list(front)] = away
    np.testing.assert_array_equal(level.numpy(), expected)


@pytest.mark.parametrize("threads", [32, 64, 100])
def test_barriers_that_count_and_combine(gpu, synchronisation, threads):
    values = np.random.default_rng(5).integers(0, 12, 3 * threads).astype(np.int32)
    values[:threads], values[threads : 2 * threads] = 9, 1
    out = [gpu.empty(3 * threads, "i4") for _ in range(3)]
    synchronisation["block_votes"](3, threads, [gpu.array(values), *out])
    holds = (values > 5).reshape(3, threads)
    for found, expected in zip(out, (holds.sum(1), holds.all(1), holds.any(1)), strict=True):
        np.testing.assert_array_equal(found.numpy().reshape(3, threads), np.repeat(expected, threads).reshape(3, threads))


def test_named_barriers_between_a_producer_and_consumers(gpu, synchronisation):
    rounds = 6
    values = np.random.default_rng(6).integers(0, 1000, (rounds, 32)).astype(np.int32)
    out = gpu.empty((rounds, 2, 32), "i4")
    synchronisation["producer_and_consumers"](1, 96, [gpu.array(values), out, rounds])
    rolled = np.roll(values, -1, axis=1)
    np.testing.assert_array_equal(out.numpy(), np.stack([rolled, 2 * rolled], axis=1))


def test_warps_that_have_ended_no_longer_count_for_a_barrier(gpu, synchronisation):
    out = gpu.zeros(128, "i4")
    synchronisation["shrinking_block"](1, 128, [out])
    shared, expected = np.arange(128), np.zeros(128, int)
    for left in (128, 96, 64):
        shared[:left] = shared[(np.arange(left) + 32) % left] + 1
        expected[left - 32 : left] = shared[left - 32 : left]
    expected[:32] = shared[:32]
    np.testing.assert_array_equal(out.numpy(), expected)
