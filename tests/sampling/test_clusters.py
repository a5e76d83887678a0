"""Programs of many launches: those of one kernel that do the same are timed a few times, the others run functionally."""

import numpy as np
import pytest

from tests.sampling.kernels import BLOCK, SOURCE, device


def launches(sample, grids, kernel="regular"):
    gpu = device(sample)
    most = max(grids) * BLOCK
    x, y = gpu.array(np.random.default_rng(5).random(max(most, 32768), np.float32)), gpu.zeros(most)
    compiled = gpu.compile(SOURCE)[kernel]
    runs = []
    for k, ctas in enumerate(grids):
        runs.append(compiled(ctas, BLOCK, [x, y] if k % 2 == 0 else [y, x]))
    return runs, y.numpy(), x.numpy()


SAME = [40] * 40


@pytest.fixture(scope="module")
def same():
    return launches(None, SAME), launches(True, SAME)


def test_of_launches_that_do_the_same_a_few_are_timed(same):
    _, (runs, *_) = same
    timed = [k + 1 for k, run in enumerate(runs) if run.timing.sampled.share == 1]
    assert timed == [1, 2, 8, 32]
    assert runs[9].timing.sampled.share == 0


def test_memory_and_instructions_are_exact(same):
    (full, *before), (sampled, *after) = same
    assert [array.tobytes() for array in before] == [array.tobytes() for array in after]
    assert [run.instructions for run in full] == [run.instructions for run in sampled]
    assert all(np.array_equal(one.timing.counts_by_instruction[:, 0], other.timing.counts_by_instruction[:, 0])
               for one, other in zip(full, sampled, strict=True))  # fmt: skip


def test_the_cycles_of_the_others_are_estimated_with_an_error(same):
    (full, *_), (sampled, *_) = same
    cycles = [sum(run.cycles for run in runs) for runs in (full, sampled)]
    assert cycles[1] == pytest.approx(cycles[0], rel=0.03)
    left_out = sampled[20].timing
    assert left_out.cycles == pytest.approx(full[20].cycles, rel=0.05)
    assert left_out.sampled.error > 0
    assert sum(left_out.stalls.values()) == left_out.stalls_by_scheduler[:, :, 0].size * left_out.cycles


def test_launches_of_another_size_are_a_cluster_of_their_own():
    grids = [40, 40, 40, 200, 40, 200, 40, 200]
    runs, *_ = launches(True, grids)
    timed = [k for k, run in enumerate(runs) if run.timing.sampled.share > 0]
    assert timed[:3] == [0, 1, 3]
    assert 7 not in timed
    assert runs[7].cycles > 2 * runs[6].cycles


def test_launches_whose_ctas_do_something_else_are_a_cluster_of_their_own():
    gpu = device()
    kernel = gpu.compile(SOURCE)["two_halves"]
    x, y = gpu.zeros(32768), gpu.zeros(40 * BLOCK)
    runs = [kernel(40, BLOCK, [x, y, np.int32(half)]) for half in (40, 40, 40, 0, 40)]
    assert [run.timing.sampled.share for run in runs] == [1, 1, 0, 1, 0]


def test_a_machine_that_does_not_sample_times_every_launch(same):
    (full, *_), _ = same
    assert all(run.timing.sampled is None for run in full)


def test_estimates_of_launches_that_executed_the_same_are_made_once(same):
    _, (runs, *_) = same
    assert runs[9].timing.counts_by_instruction is runs[10].timing.counts_by_instruction


def test_estimates_are_made_anew_when_another_launch_was_timed(same):
    _, (runs, *_) = same
    assert [k + 1 for k, run in enumerate(runs) if run.timing.sampled.share == 1] == [1, 2, 8, 32]
    assert runs[30].timing.sampled.windows == 3
    assert runs[33].timing.sampled.windows == 4
