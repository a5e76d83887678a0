"""Every scheduler cycle has one cause; runs repeat; jumping over idle cycles changes nothing."""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import presets

SOURCE = r"""
extern "C" __global__ void work(const float *x, float *y, int *count, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = i < n ? x[(i * 17) % n] : 0.0f;
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < (threadIdx.x & 15) + 1; k++) sum += tile[(threadIdx.x + k * 5) & 255] * 0.5f;
    if (i < n) y[i] = sum;
    if (sum > 2.0f) atomicAdd(count, 1);
}
"""
N = 4000


def launch(gpu: sl.Gpu) -> tuple[sl.Run, np.ndarray, int]:
    values = np.random.default_rng(1).random(N, np.float32)
    x, y, count = gpu.array(values), gpu.zeros(N), gpu.zeros(1, "i4")
    run = gpu.compile(SOURCE)["work"](-(-N // 256), 256, [x, y, count, np.int32(N)])
    return run, y.numpy(), int(count[0])


@cache
def functional_run(isa):
    return launch(sl.Gpu(isa=isa))


@pytest.fixture(scope="module")
def functional():
    return functional_run("ptx")


@pytest.mark.quick
@pytest.mark.parametrize("preset", [name for name in presets() if "core" not in name or name == "dyncta-30core"])
def test_every_scheduler_cycle_has_exactly_one_cause_and_memory_is_as_in_a_functional_run(preset):
    gpu = sl.Gpu(preset)
    functional = functional_run(gpu.isa)
    run, y, count = launch(gpu)
    config = gpu.machine.config
    assert sum(run.stalls.values()) == run.cycles * config.core.cores * config.issue.schedulers
    by_scheduler = run.timing.stalls_by_scheduler
    assert by_scheduler.shape[:2] == (config.core.cores, config.issue.schedulers)
    assert (by_scheduler.sum(axis=2) == run.cycles).all()
    assert by_scheduler.sum(axis=(0, 1)).tolist() == list(run.stalls.values())
    assert run.stalls["issued"] == run.instructions == functional[0].instructions
    assert np.array_equal(y, functional[1])
    assert count == functional[2]


@pytest.mark.parametrize("scheduler", ["lrr", "gto", "oldest", "two-level", "fetch-groups", "static-limit", "cggty", "cgrr"])
@pytest.mark.parametrize("detail", [1, 2, 3])
def test_schedulers_and_detail_change_time_not_results(scheduler, detail, functional):
    run, y, count = launch(sl.Gpu("caps-gtx480", warp_scheduler=scheduler, set={"core.detail": detail}))
    assert np.array_equal(y, functional[1])
    assert count == functional[2]
    assert run.cycles > 0


def test_the_same_run_twice_gives_the_same_counters():
    first, second = (launch(sl.Gpu("caps-gtx480"))[0] for _ in range(2))
    assert first.cycles == second.cycles
    assert first.counters == second.counters
    assert first.stalls == second.stalls


def test_host_threads_change_no_counter():
    one, two = (launch(sl.Gpu("caps-gtx480", threads=threads)) for threads in (1, 2))
    assert (one[0].cycles, one[0].counters, one[0].stalls) == (two[0].cycles, two[0].counters, two[0].stalls)
    assert np.array_equal(one[1], two[1])


def test_jumping_over_idle_cycles_changes_no_counter():
    jumping, walking = sl.Gpu("caps-gtx480"), sl.Gpu("caps-gtx480")
    walking.machine.records.gpu[0].jump = 0
    first, second = launch(jumping)[0], launch(walking)[0]
    assert first.cycles == second.cycles
    assert first.stalls == second.stalls
    assert first.counters == second.counters


def test_every_request_is_answered_exactly_once():
    gpu = sl.Gpu("caps-gtx480")
    launch(gpu)
    pool = gpu.machine.records.requests[0].pool[0]
    assert pool.born == pool.ended > 0


@pytest.mark.parametrize("scheduler", ["two-level,active_warps=2", "static-limit,warps=2", "pas,active_warps=2"])
def test_jumping_changes_no_counter_under_schedulers_that_hold_back(scheduler):
    jumping, walking = (sl.Gpu("caps-gtx480", warp_scheduler=scheduler) for _ in range(2))
    walking.machine.records.gpu[0].jump = 0
    first, second = launch(jumping)[0], launch(walking)[0]
    assert first.stalls["held_back"] > 0
    assert (first.cycles, first.stalls, first.counters) == (second.cycles, second.stalls, second.counters)
