"""Spin detection and back-off: what is a spin loop and what is not, how far apart its turns are, and what a crowded lock gains."""

import numpy as np
import pytest

import simtlab as sl

KERNELS = """
extern "C" __global__ void wait_for_flag(volatile int *flag, int *out, int turns)
{   // warp 1 counts, then raises the flag on which warp 0 spins
    if (threadIdx.x < 32) {
        bool done = false;
#pragma unroll 1
        while (!done)
            if (*flag == 1)
                done = true;
        out[threadIdx.x] = 1;
    } else {
        int sum = 0;
#pragma unroll 1
        for (int k = 0; k < turns; k++)
            sum = sum * 5 + k;
        out[threadIdx.x] = sum;
        __threadfence();
        *flag = 1;
    }
}

extern "C" __global__ void ordinary(volatile int *in, int *out, int turns)
{   // a counting loop with a test in it that is always the same, a search, a reduction
    __shared__ int partial[128];
    int t = threadIdx.x, sum = 0;
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        if (turns > 7)
            sum += in[k];
    }
#pragma unroll 1
    for (int at = t; in[at] != 0; at++)
        sum += in[at];
    partial[t] = sum;
#pragma unroll 1
    for (int stride = 64; stride > 0; stride /= 2) {
        __syncthreads();
        if (t < stride)
            partial[t] += partial[t + stride];
    }
    __syncthreads();
    out[t] = partial[0];
}

extern "C" __global__ void letters(const unsigned char *text, int *out, int row)
{   // each thread counts the letters of its own word
    const unsigned char *word = text + (blockIdx.x * blockDim.x + threadIdx.x) * row;
    int length = 0;
#pragma unroll 1
    while (word[length] != 0)
        length++;
    out[blockIdx.x * blockDim.x + threadIdx.x] = length;
}
"""


def device(policy: str = "", cores: int = 1) -> sl.Gpu:
    chosen = {"mechanism": policy} if policy else {}
    return sl.Gpu("gtx480", set={"core.cores": cores}, memory_bytes=1 << 26, **chosen)


def wait(policy: str = "", turns: int = 3000):
    gpu = device(policy)
    out = gpu.zeros(64, "i4")
    run = gpu.compile(KERNELS)["wait_for_flag"](1, 64, [gpu.zeros(1, "i4"), out, np.int32(turns)])
    total = np.int32(0)
    with np.errstate(over="ignore"):
        for k in range(turns):
            total = np.int32(total * np.int32(5) + np.int32(k))
    assert out.numpy().tolist() == [1] * 32 + [total] * 32
    return run


def counted(run, name: str) -> int:
    return run.counters[f"mechanism.bows.{name}"]


def test_the_loop_that_spins_is_found_and_the_one_that_counts_is_not():
    run = wait("bows")
    assert counted(run, "found") == 1
    assert counted(run, "spun") > 10


@pytest.mark.parametrize("threshold", [4, 8, 15])
def test_a_branch_is_confirmed_after_so_many_turns(threshold):
    """One warp spins: all its turns but the first few, in which its history fills and the branch is not confirmed yet, back off.
    Without a delay and with nothing else to issue, each turn is as without the mechanism."""
    every = turns_of(wait())
    run = wait(f"bows,threshold={threshold},adaptive=0,delay=0")
    assert turns_of(run) == pytest.approx(every, rel=0.02)
    assert 0 <= turns_of(run) - counted(run, "spun") - threshold <= 3


def turns_of(run) -> int:
    """How often the spinning warp has loaded the flag."""
    return int(run.loads["requests"].sum())


@pytest.mark.parametrize("delay", [500, 2000])
def test_turns_begin_a_delay_apart(delay):
    run = wait(f"bows,adaptive=0,delay={delay}", turns=6000)
    assert run.cycles / delay - 3 <= counted(run, "spun") <= run.cycles / delay + 2


def test_the_delay_adapts():
    """A warp that does nothing but spin: the delay grows until few of the instructions are its branches."""
    fixed, adaptive = wait("bows,adaptive=0,delay=0", turns=6000), wait("bows,spin_percent=1", turns=6000)
    assert counted(adaptive, "spun") < 0.6 * counted(fixed, "spun")
    assert adaptive.instructions < fixed.instructions


def ordinary(policy: str, values: np.ndarray):
    """Values that are not zero, and zeros after them."""
    gpu = device(policy)
    out = gpu.zeros(128, "i4")
    run = gpu.compile(KERNELS)["ordinary"](1, 128, [gpu.array(values), out, np.int32(40)])
    end = int(np.argmin(values != 0))
    assert (out.numpy() == 128 * values[:40].sum() + sum(values[t:end].sum() for t in range(128))).all()
    return run


def test_ordinary_loops_are_left_alone():
    """Their comparisons do not repeat path and values for a whole turn: the run is the same, cycle for cycle."""
    values = np.arange(1, 513, dtype="i4")
    values[400:] = 0
    plain, run = ordinary("", values), ordinary("bows", values)
    assert run.cycles == plain.cycles
    assert counted(run, "found") == counted(run, "spun") == counted(run, "held_back") == 0


def letters(policy: str, words: np.ndarray):
    """The words of 64 threads, a row each, that end in zero."""
    gpu = device(policy)
    out = gpu.zeros(64, "i4")
    run = gpu.compile(KERNELS)["letters"](1, 64, [gpu.array(words), out, np.int32(words.shape[1])])
    assert (out.numpy() == np.argmin(words != 0, axis=1)).all()
    return run


def test_letters_that_differ_are_no_spinning():
    """Their registers have 16 bits; the first four lanes of each warp leave the loop early."""
    words = np.tile(np.arange(1, 201, dtype="u1"), (64, 1))
    words[:, 180:] = 0
    words[np.arange(64) % 32 < 4, 3:] = 0
    plain, run = letters("", words), letters("bows", words)
    assert (run.cycles, counted(run, "found")) == (plain.cycles, 0)


def test_a_branch_is_given_up_where_warps_no_longer_spin():
    """Words that begin with twenty equal letters: the loop is taken for one that spins, and after fifteen turns not any more."""
    words = np.tile(np.arange(1, 201, dtype="u1"), (64, 1))
    words[:, :20], words[:, 190:] = 77, 0
    plain, run = letters("", words), letters("bows", words)
    assert counted(run, "found") == 1
    assert counted(run, "spun") < 2 * (20 + 15)
    assert run.cycles < 1.02 * plain.cycles


def test_a_search_through_equal_values_looks_like_spinning():
    """All that its loop compares is the value it finds: what goes on is not in the histories."""
    run = ordinary("bows", np.repeat(np.array([1, 0], "i4"), [400, 112]))
    assert counted(run, "found") == 1


def test_crowded_locks_gain():
    """Ninety-six warps transfer between 64 accounts: a try that fails at the second lock has held the first one for nothing, and
    makes others fail. Backed off, the warps try less often, and execute about half of the instructions."""
    crowd = sl.workload("ATM", size="tiny", transfers=3072, accounts=64, ctas=12)
    plain, backed_off = (crowd.run(device(policy, cores=2)) for policy in ("", "bows"))
    assert plain.checked
    assert backed_off.checked
    assert backed_off.launches[0].cycles < 0.8 * plain.launches[0].cycles
    assert backed_off.instructions < 0.6 * plain.instructions
    assert counted(backed_off.launches[0], "found") > 1  # the one branch, in each of two cores
