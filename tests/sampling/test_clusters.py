"""Programs of many launches: those of one kernel that do the same are timed a few times, the others run functionally."""

from types import SimpleNamespace

import numpy as np
import pytest

from simtlab.execute.counting import no_counts
from simtlab.sampling.clusters import Cluster, Kernel, size_of
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


GATHER = r"""
extern "C" __global__ void gather(const int *index, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < 8; k++) sum += x[index[(i + 37 * k) % (gridDim.x * blockDim.x)]];
    y[i] = sum;
}
"""


def test_launches_whose_ctas_find_less_of_what_they_touched_are_a_cluster_of_their_own():
    """The same instructions, lanes and lines of each access: words by chance of 8 KB for all, then of 4 MB."""
    rng, count, span = np.random.default_rng(3), 40 * BLOCK, 1 << 20

    def cycles(sample) -> list[tuple[int, float]]:
        gpu = device(sample)
        kernel, x, y = gpu.compile(GATHER)["gather"], gpu.zeros(span), gpu.zeros(count)
        near, far = (gpu.array(rng.integers(0, most, count).astype(np.int32)) for most in (1 << 11, span))
        runs = [kernel(40, BLOCK, [index, x, y]) for index in (near, near, near, far, far, near)]
        return [(run.cycles, run.timing.sampled.share if sample else 1.0) for run in runs]

    full, sampled = cycles(None), cycles(True)
    assert full[3][0] > 1.5 * full[2][0]
    assert [share > 0 for _, share in sampled] == [True, True, False, True, True, False]
    assert sampled[3][0] == pytest.approx(full[3][0], rel=0.1)


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


def timed(cycles, instructions):
    return SimpleNamespace(cycles=cycles, instructions=instructions, sampled=None)


def cluster_of(*runs, is_first):
    return Cluster(size_of(8, 4, 4), no_counts(1), is_first, len(runs), list(runs), [False] * len(runs))


def test_the_error_of_one_launch_to_go_by_is_how_far_the_first_was_from_it():
    """SD1's `reduce` has launches of two sizes, which are no measure of one another: its error was 31,000%."""
    large = cluster_of(timed(82_265, 943_895), timed(84_665, 943_895), is_first=True)
    small = cluster_of(timed(128_564, 4_557), is_first=False)
    kernel = Kernel(None, [large, small])
    assert kernel.error(large) == pytest.approx(84_665 / 82_265 - 1)
    assert kernel.error(small) > 0.5  # of one alone nobody knows more
