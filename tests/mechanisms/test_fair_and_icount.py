"""Fair and ICOUNT by what they were asked and what they picked, on one core with one scheduler."""

import numpy as np

import simtlab as sl
from simtlab.policies import load
from tests.timing.machines import gpu, kernel, loop, one_core

# What each of a set's warps is ranked by, when the scheduler is asked.
LOGGED = """
from numba import njit
inner = njit(pick.function)
state = np.dtype([("count", "i8"), ("asked", "u8", (4096,)), ("given", "i8", (4096,)), ("rank", "i8", (4096, 8)),
                  ("passed_over", "i8")])

@hook
def pick(core, own, ready, cycle):
    w = inner(core, own, ready, cycle)
    k = own.count % 4096
    own.asked[k], own.given[k] = ready, w
    for v in range(8):
        if core.occupied & bit_of(v):
            slot = core.slots[v]
            own.rank[k, v] = RANK
    own.count += 1
    return w
"""
# Fetch keeps up, so that a warp can have several instructions in flight.
LONG_BUFFER = {"issue.instruction_buffer_entries": 8, "issue.decode_width": 8}
ADDITIONS = "".join(f"add.u32 %r{k}, %r1, {k};\n" for k in range(10, 22))
SHORT_AND_LONG = "add.u32 %r9, %r9, 1;\n" * 2 + ADDITIONS
# Of eight warps, the odd ones load before they go on.
LOADS = """setp.eq.u32 %p1, %r2, 0;\n@%p1 bra SKIP;\nmul.wide.u32 %d2, %r1, 128;\nadd.u64 %d2, %d2, %d1;
ld.global.u32 %r30, [%d2];\nld.global.u32 %r31, [%d2+64];\nSKIP:\n"""
PRELUDE = "ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\nshr.u32 %r2, %r1, 5;\nand.b32 %r2, %r2, 1;\n"


def run(folder, policy: str, rank: str, body: str) -> list[tuple[int, int, list[int]]]:
    """Run a policy that keeps a log: of each choice the set, the pick, and what the warps were ranked by."""
    path = folder / f"{policy}.py"
    path.write_text((load.FOLDER / "warp_scheduler" / f"{policy}.py").read_text() + LOGGED.replace("RANK", rank))
    device = sl.Gpu(one_core().replace(LONG_BUFFER), warp_scheduler=str(path), memory_bytes=1 << 26)
    array = device.zeros(1 << 16, "u4")
    kernel(device, PRELUDE + body)(1, 256, [array, array])
    own = device.machine._own["warp_scheduler"][0]
    n = int(own.count)
    assert 100 < n <= 4096
    return list(zip(own.asked[:n].tolist(), own.given[:n].tolist(), own.rank[:n].tolist(), strict=True))


def members(warps: int) -> list[int]:
    return [w for w in range(8) if warps >> w & 1]


def check(log: list[tuple[int, int, list[int]]]) -> int:
    """The pick is the first by rank, then by age (here by slot); gives in how many choices the rank decided."""
    decided = 0
    for asked, given, rank in log:
        assert given == min(members(asked), key=lambda w: (rank[w], w))
        decided += given != min(members(asked))
    return decided


def test_fair_takes_the_warp_that_has_issued_least(tmp_path):
    rank = "core.ctas[slot.cta].warps[slot.warp].executed"
    log = run(tmp_path, "fair", rank, loop(SHORT_AND_LONG, 10))
    assert check(log) > 300


def test_warps_of_a_fair_scheduler_stay_together(tmp_path):
    """All do the same work: no warp is ever more than the pipeline's depth ahead, and all end within a loop's length."""
    log = run(tmp_path, "fair", "core.ctas[slot.cta].warps[slot.warp].executed", loop(SHORT_AND_LONG, 10))
    spread = [max(rank) - min(rank) for asked, _, rank in log if asked]
    whole = max(max(rank) for *_, rank in log)
    assert max(spread[: len(spread) * 3 // 4]) <= 4
    assert whole > 150


def test_icount_takes_the_warp_with_least_in_the_pipeline(tmp_path):
    log = run(tmp_path, "icount", "slot.in_flight", LOADS + loop(SHORT_AND_LONG, 10))
    assert check(log) > 50


def test_icount_lets_warps_that_compute_go_before_older_ones_with_loads_in_flight():
    """What it passes over shows: with loads of odd warps alone in flight, and not where greedy then oldest picks."""
    device = sl.Gpu(one_core().replace(LONG_BUFFER), warp_scheduler="icount", memory_bytes=1 << 26)
    array = device.zeros(1 << 16, "u4")
    made = kernel(device, PRELUDE + loop(LOADS + ADDITIONS, 24))(1, 256, [array, array])
    assert 0 < made.counters["warp_scheduler.icount.passed_over"] < made.instructions


def test_icount_passes_over_an_older_warp_that_has_loads_in_flight(tmp_path):
    """The odd warps have a load in flight while they add; younger even ones have none and go first."""
    log = run(tmp_path, "icount", "slot.in_flight", loop(LOADS + ADDITIONS, 24))
    passed_over = 0
    for asked, given, rank in log:
        passed_over += any(w % 2 and w < given and rank[w] > rank[given] for w in members(asked)) and given % 2 == 0
    assert passed_over > 10


SHARED = """
#define MORE a0 = a0 * c + v; a1 = a1 * c + v; a2 = a2 * c + v; a3 = a3 * c + v; \\
             a4 = a4 * c + v; a5 = a5 * c + v; a6 = a6 * c + v; a7 = a7 * c + v;
extern "C" __global__ void shared_lines(const float *in, float *out, int turns, float c)
{   // all warps read the same 32 lines in a turn
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = t % 32;
    float a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7;
#pragma unroll 1
    for (int k = 0; k < turns; k++) {
        float v = in[(k * 32 + lane) * 32];
        MORE MORE
    }
    out[t] = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7;
}
"""


def test_warps_that_stay_together_share_their_misses():
    """Twenty-four warps read the same lines, four turns of which fill the L1. Greedy then oldest lets some run ahead, and the
    others must fetch again what was evicted since; with fair scheduling a line comes once, or nearly so."""
    runs = {}
    for policy in ("gto", "fair"):
        device = sl.Gpu("gtx480", warp_scheduler=policy, set={"core.cores": 1}, memory_bytes=1 << 26)
        out = device.zeros(768, "f4")
        arguments = [device.array(np.ones(16 * 1024, "f4")), out, np.int32(16), np.float32(0.5)]
        runs[policy] = device.compile(SHARED)["shared_lines"](3, 256, arguments)
        sums = np.arange(8, dtype="f4")
        for _ in range(32):
            sums = sums * np.float32(0.5) + np.float32(1)
        assert np.allclose(out.numpy(), sums.sum())
    assert runs["fair"].counters["warp_scheduler.fair.passed_over"] > 0
    assert runs["fair"].cycles < 0.9 * runs["gto"].cycles
    assert 512 <= runs["fair"].counters["l1_misses"] < 0.5 * runs["gto"].counters["l1_misses"]


def test_one_warp_alone_is_scheduled_as_by_any_other():
    """There is nothing to choose."""
    runs = {}
    for policy in ("gto", "fair", "icount"):
        device = gpu(warp_scheduler=policy)
        runs[policy] = kernel(device, "mov.u32 %r1, 7;\n" + loop(ADDITIONS, 10))(1, 32, [device.zeros(1, "u4")] * 2)
    assert len({run.cycles for run in runs.values()}) == 1
    assert [runs[policy].counters[f"warp_scheduler.{policy}.passed_over"] for policy in ("fair", "icount")] == [0, 0]
