"""Kernels that can never finish are stopped with a word on who waits where; kernels that merely take long are not."""

import numpy as np
import pytest

import simtlab as sl
from tests.kernels.library import line_of, source


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def deadlocks(gpu):
    return gpu.compile(source("deadlocks"))


def deadlock(kernel, grid, block, arguments):
    with pytest.raises(sl.Deadlock) as error:
        kernel(grid, block, arguments)
    message = str(error.value)
    assert message.startswith(f"kernel '{kernel.name}' can never finish:\n")
    return message


def at(marker):
    return f"deadlocks.cu:{line_of('deadlocks', marker)})"


def test_warps_at_different_barriers(gpu, deadlocks):
    first, second = deadlock(deadlocks["barrier_for_some"], 1, 64, [gpu.zeros(64, "i4")]).splitlines()[1:]
    assert first.startswith("  block (0, 0, 0) warp 0 waits at a barrier that not all warps reach: 'bar.sync 0;'")
    assert second.startswith("  block (0, 0, 0) warp 1 waits at a barrier that not all warps reach: 'bar.sync 1;'")
    assert at("first barrier") in first
    assert at("second barrier") in second


def test_a_barrier_that_too_few_warps_reach(gpu, deadlocks):
    message = deadlock(deadlocks["not_enough_arrive"], 2, 64, [gpu.zeros(64, "i4")])
    assert "block (0, 0, 0) warp 0 waits at a barrier that not all warps reach: 'bar.sync 3, 96;'" in message
    assert at("waits for three warps") in message


def test_all_lanes_of_a_warp_spin_for_one_lock(gpu, deadlocks):
    lock, count = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
    message = deadlock(deadlocks["simt_deadlock"], 1, 32, [lock, count])
    assert "block (0, 0, 0) warp 0 repeats itself at" in message
    assert "lanes 0xfffffffe active; lanes 0x00000001 wait for them" in message
    assert at("// spins") in message
    assert at("holds the lock") in message
    assert lock[0] == 1
    assert count[0] == 0


def test_a_single_lane_can_take_the_lock(gpu, deadlocks):
    lock, count = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
    deadlocks["simt_deadlock"](7, 1, [lock, count])
    assert count[0] == 7


def test_a_release_that_the_compiler_moved_out_of_the_loop_is_a_simt_deadlock(gpu, deadlocks):
    message = deadlock(deadlocks["moved_out_of_the_loop"], 1, 32, [gpu.zeros(1, "i4"), gpu.zeros(1, "i4")])
    assert "lanes 0xfffffffe active; lanes 0x00000001 wait for them" in message


def test_a_flag_that_nobody_sets(gpu, deadlocks):
    flag, out = gpu.zeros(1, "i4"), gpu.zeros(1024, "i4")
    message = deadlock(deadlocks["nobody_sets_it"], 3, 200, [flag, out])
    assert message.count("repeats itself") == 8
    assert message.endswith("… and 13 more warps")
    assert at("waits for the flag") in message
    flag[0] = 1
    deadlocks["nobody_sets_it"](3, 200, [flag, out])
    assert out[:200].all()


def test_one_thread_waits_and_the_others_wait_for_it(gpu, deadlocks):
    message = deadlock(deadlocks["only_one_warp_waits"], 1, 96, [gpu.zeros(1, "i4"), gpu.zeros(96, "i4")])
    zero, one, two = message.splitlines()[1:]
    assert "warp 0 waits at a barrier" in zero
    assert "warp 1 repeats itself" in one
    assert "lanes 0x00000100 active; lanes 0xfffffeff wait for them" in one
    assert at("one thread waits") in one
    assert "warp 2 waits at a barrier" in two
    assert at("everybody else waits") in two


def test_an_endless_loop_in_registers(gpu, deadlocks):
    message = deadlock(deadlocks["endless_loop"], 4, 64, [gpu.zeros(1, "i4")])
    assert "repeats itself" in message


def test_blocks_that_wait_in_a_circle(gpu, deadlocks):
    flags = gpu.zeros(20, "i4")
    message = deadlock(deadlocks["waits_in_a_circle"], 20, 32, [flags])
    assert at("waits for its neighbour") in message
    flags[7] = 1
    deadlocks["waits_in_a_circle"](20, 32, [flags])
    assert flags.numpy().all()


def after(steps, x):
    x = x.astype(np.uint32)
    found = np.zeros_like(x)
    for _ in range(steps):
        x = x * np.uint32(1664525) + np.uint32(1013904223)
        found += x >> np.uint32(31)
    return x, found


@pytest.mark.parametrize("threads", [1, 2])
def test_no_alarm_for_millions_of_instructions_without_a_store(threads):
    gpu = sl.Gpu(threads=threads)
    kernel = gpu.compile(source("deadlocks"))["long_computation"]
    steps, out = 200_000, gpu.zeros(128, "u4")
    run = kernel(2, 64, [out, steps])
    assert run.instructions > 2_000_000
    x, found = after(steps, np.arange(128))
    np.testing.assert_array_equal(out.numpy(), x ^ found)


def test_no_alarm_where_blocks_communicate_and_compute_long(gpu, deadlocks):
    steps, total = 5_000, gpu.zeros(1, "u4")
    deadlocks["long_computation_and_atomic"](300, 64, [total, steps])
    x, _ = after(steps, np.arange(300 * 64))
    assert total[0] == np.bitwise_xor.reduce(x)


def test_no_alarm_for_blocks_that_wait_long_for_another(gpu, deadlocks):
    steps, blocks = 50_000, 6
    flag, out = gpu.zeros(1, "u4"), gpu.zeros(64 + blocks, "u4")
    deadlocks["waits_for_a_long_computation"](blocks, 64, [flag, out, steps])
    x, _ = after(steps, np.arange(64))
    np.testing.assert_array_equal(out[:64], x)
    np.testing.assert_array_equal(out[64 : 63 + blocks], 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_no_alarm_for_warps_that_take_turns(threads):
    gpu = sl.Gpu(threads=threads)
    out = gpu.zeros(128, "i4")
    gpu.compile(source("deadlocks"))["ping_pong"](1, 128, [50, out])
    np.testing.assert_array_equal(out.numpy(), 200)
