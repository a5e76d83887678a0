"""Timing never changes results: memory after a timed run is what it is after a functional one.

Where the order of warps decides a result (who comes first at an atomic), a kernel has no one right answer;
such kernels are left out. Every machine and every scheduler runs some of the programs, each others; the slow tests
run all programs and all kernels everywhere.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import load, presets
from simtlab.policies.load import available
from tests.everyday import every
from tests.execute import test_surfaces
from tests.execute.recorded_images import surface_kernel, surfaces
from tests.hardware.test_programs import BLOCKS, PROGRAMS, THREADS, WORDS, describe, recorded
from tests.kernels.library import source

ROOT = Path(__file__).parents[2]
MACHINE = "caps-gtx480"
STEP = 30
EVERYDAY = [range(first, PROGRAMS, STEP) for first in range(STEP)]  # each machine and each scheduler runs others of them
SCHEDULERS = available("warp_scheduler")
OTHERS = [name for name in presets() if name != MACHINE]  # with PTX, whatever they execute: the programs are for sm_90


def check_programs(gpu: sl.Gpu, numbers: range) -> None:
    """Run recorded programs one after another on one GPU; a real one has said what they write."""
    texts, words, table = recorded()
    out, given = gpu.zeros((BLOCKS, THREADS, WORDS), "u4"), gpu.array(table)
    for number in numbers:
        out[...] = 0
        gpu.load(texts[number])["k"](BLOCKS, THREADS, [out, given])
        wrong = np.argwhere(out.numpy() != words[number])
        assert not len(wrong), describe(number, wrong, words[number], out.numpy())


def test_30_programs_write_the_recorded_words():
    """All 300 under every scheduler are below."""
    check_programs(sl.Gpu(MACHINE), range(0, PROGRAMS, 10))


@pytest.mark.parametrize("preset", every(3, OTHERS))
def test_10_programs_write_the_recorded_words_on_every_preset(preset):
    """With two clusters of cores, which is all that two CTAs can use; two of the programs on the whole machine."""
    config, some = load(preset), EVERYDAY[OTHERS.index(preset) % STEP]
    check_programs(sl.Gpu(config.replace({"core.cores": 2 * config.core.cores_per_cluster}), isa="ptx"), some)
    check_programs(sl.Gpu(config, isa="ptx"), range(2))


@pytest.mark.parametrize("scheduler", every(4, SCHEDULERS))
def test_10_programs_write_the_recorded_words_under_every_warp_scheduler(scheduler):
    check_programs(sl.Gpu(MACHINE, warp_scheduler=scheduler), EVERYDAY[SCHEDULERS.index(scheduler) % STEP])


@pytest.mark.parametrize("detail", [1, 2])
def test_10_programs_write_the_recorded_words_at_every_level_of_detail(detail):
    check_programs(sl.Gpu(MACHINE, set={"core.detail": detail}), EVERYDAY[detail])


@pytest.mark.slow
@pytest.mark.parametrize("preset", OTHERS)
def test_all_programs_write_the_recorded_words_on_every_preset(preset):
    config = load(preset)
    check_programs(sl.Gpu(config.replace({"core.cores": 2 * config.core.cores_per_cluster}), isa="ptx"), range(PROGRAMS))


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("detail", [1, 2, 3])
def test_all_programs_write_the_recorded_words_under_every_scheduler_and_detail(scheduler, detail):
    check_programs(sl.Gpu(MACHINE, warp_scheduler=scheduler, set={"core.detail": detail}), range(PROGRAMS))


# Kernels -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def timed():
    return sl.Gpu(MACHINE)


def check_kernels(files=("tests/kernels",), **arguments) -> None:
    """Run the tests of all kernels, or of some, on another GPU than the functional one they are for."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *files]
    environment = dict(os.environ, SIMTLAB_TEST_GPU=json.dumps(arguments))
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow  # they pass them without a machine every day
def test_kernels_whose_warps_wait_pass_their_own_tests_on_the_machine():
    """Locks, a barrier of the whole grid, atomics, named barriers, local arrays, every space, shuffles, printing, faults. What
    kernels compute beside that does not depend on time; the slow tests run all of them."""
    names = ("grids", "groups", "heap", "memory", "printing", "reductions", "synchronisation")
    check_kernels([f"tests/kernels/test_{name}.py" for name in names], machine=MACHINE)


@pytest.mark.slow
def test_all_kernels_pass_their_own_tests_on_the_machine():
    check_kernels(machine=MACHINE)


@pytest.mark.slow
@pytest.mark.parametrize("preset", OTHERS)
def test_all_kernels_pass_their_own_tests_on_every_preset(preset):
    check_kernels(machine=preset, isa="ptx")


@pytest.mark.slow
@pytest.mark.parametrize(("preset", "isa"), [("rtx2080ti", "sm_75"), ("h200", "sm_90"), ("rtx5090", "sm_120")])
def test_all_kernels_pass_their_own_tests_as_machine_code_on_a_machine(preset, isa):
    assert load(preset).core.isa == isa
    check_kernels(machine=preset, isa=isa)


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("detail", [1, 2, 3])
def test_all_kernels_pass_their_own_tests_under_every_scheduler_and_detail(scheduler, detail):
    check_kernels(machine=MACHINE, warp_scheduler=scheduler, set={"core.detail": detail})


def both(work) -> tuple:
    """What `work` gives on a functional GPU and on the machine."""
    return work(sl.Gpu()), work(sl.Gpu(MACHINE))


def test_recursion_gives_the_same():
    def work(gpu):
        out = [gpu.zeros(64, "u8"), *(gpu.zeros(64, "i4") for _ in range(3))]
        gpu.compile(source("language"))["recursion"](1, 8, out)
        return np.concatenate([array.numpy().astype(np.int64) for array in out])

    functional, timed = both(work)
    assert np.array_equal(functional, timed)
    assert functional.any()


HISTOGRAM_BINS = 256


def test_a_histogram_by_atomics_gives_the_same():
    def work(gpu):
        data = gpu.array(np.random.default_rng(7).integers(0, 256, 5000).astype(np.uint8))
        bins = gpu.zeros(HISTOGRAM_BINS, "u4")
        gpu.compile(source("reductions"))["histogram"](4, 256, [data, 5000, bins])
        return bins.numpy()

    functional, timed = both(work)
    assert np.array_equal(functional, timed)
    assert functional.sum() == 5000


def test_texture_fetches_give_the_same():
    text = r"""
    extern "C" __global__ void sample(cudaTextureObject_t image, const float2 *at, float *out, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = tex2D<float>(image, at[i].x, at[i].y);
    }"""

    def work(gpu):
        rng = np.random.default_rng(8)
        image = gpu.texture(rng.random((24, 32), np.float32), filter="linear")
        at, out = gpu.array(rng.random((500, 2), np.float32) * 30), gpu.zeros(500)
        gpu.compile(text)["sample"](2, 256, [image, at, out, 500])
        return out.numpy()

    functional, timed = both(work)
    assert np.array_equal(functional, timed)
    assert len(np.unique(functional)) > 100


def test_surface_accesses_give_what_a_real_gpu_gave(timed):
    def walkers(*form):
        return timed.load(surface_kernel(*form))["walk"]

    for case in surfaces()[::10]:
        test_surfaces.test_accesses_give_the_bits_an_h200_gave(timed, walkers, case)


def test_a_texture_fetch_takes_the_texture_caches_hit_latency():
    """64 dependent fetches, each at least the hit latency."""
    text = r"""
    extern "C" __global__ void chain(cudaTextureObject_t table, int *out) {
        int i = 0;
        for (int k = 0; k < 64; k++) i = tex1Dfetch<int>(table, i);
        out[threadIdx.x] = i;
    }"""
    gpu = sl.Gpu(MACHINE)
    table, out = gpu.texture((np.arange(64, dtype=np.int32) + 1) % 64), gpu.zeros(32, "i4")
    run = gpu.compile(text)["chain"](1, 32, [table, out])
    assert out[0] == 0
    assert run.cycles > 64 * gpu.machine.config.l1t.hit_latency_cycles
    assert run.counters["l1_accesses"] == 1  # the store


# Text and messages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "threads"), [("more_formats", 1), ("strings_from_everywhere", 2)])
def test_printf_gives_the_same_text(name, threads):
    functional, timed = both(lambda gpu: gpu.compile(source("printing"))[name](1, threads, []).printed)
    assert functional == timed != ""


FAULTS = [
    ("one_past_the_end", 4, 64, lambda gpu: [gpu.zeros(256, label="in"), gpu.zeros(256)]),
    ("before_the_start", 1, 64, lambda gpu: [gpu.zeros(64, label="result")]),
    ("misaligned", 1, 32, lambda gpu: [gpu.zeros(400, "u1", label="bytes"), gpu.zeros(32, "i4")]),
    ("write_to_constant", 1, 8, lambda gpu: [5]),
    ("null_pointer", 1, 8, lambda gpu: [0]),
    ("shared_out_of_range", 1, 64, lambda gpu: [gpu.zeros(64, "i4"), 1]),
    ("stack_overflow", 1, 1, lambda gpu: [gpu.zeros(1, "i4")]),
    ("traps", 1, 32, lambda gpu: [gpu.array(np.ones(32, "i4"))]),
]


@pytest.mark.parametrize(("name", "grid", "block", "arguments"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_a_fault_gives_the_same_message(name, grid, block, arguments):
    def work(gpu):
        with pytest.raises(sl.DeviceFault) as error:
            gpu.compile(source("faults"))[name](grid, block, arguments(gpu))
        return str(error.value)

    functional, timed = both(work)
    assert functional == timed
    assert name in functional


def test_the_machine_runs_on_after_a_fault(timed):
    with pytest.raises(sl.DeviceFault):
        timed.compile(source("faults"))["null_pointer"](1, 8, [0])
    check_programs(timed, range(3))


def test_the_simt_deadlock_of_figure_3_5_is_reported_within_seconds():
    def work(gpu):
        lock, count = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
        with pytest.raises(sl.Deadlock) as error:
            gpu.compile(source("deadlocks"))["simt_deadlock"](1, 32, [lock, count])
        return str(error.value), int(lock[0]), int(count[0])

    functional = work(sl.Gpu())
    machine, start = sl.Gpu(MACHINE), time.process_time()
    message, lock, count = work(machine)
    assert time.process_time() - start < 10
    assert "lanes 0xfffffffe active; lanes 0x00000001 wait for them" in message
    assert message.splitlines()[0] == functional[0].splitlines()[0]
    assert (lock, count) == (1, 0)


def test_a_barrier_that_too_few_warps_reach_is_reported():
    gpu = sl.Gpu(MACHINE)
    with pytest.raises(sl.Deadlock, match=r"waits at a barrier that not all warps reach: 'bar.sync 3, 96;'"):
        gpu.compile(source("deadlocks"))["not_enough_arrive"](2, 64, [gpu.zeros(64, "i4")])
