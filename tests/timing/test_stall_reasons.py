"""Each cause of a cycle without an issue, in a kernel where arithmetic says how many such cycles there are."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing.machines import HEAD, gpu, kernel, loop
from tests.timing.test_latencies import ADDRESS_READS, CHASE, ISSUE_TO_READ, START, ring

LONG_BUFFER = {"l1i.bytes": 65536, "issue.instruction_buffer_entries": 8, "issue.decode_width": 8}
NOTHING = np.uint64(0)
DEPENDENT_ADD = "add.s32 %r1, %r1, 1;\n"
ADD_CYCLES = ISSUE_TO_READ + 1 + 4
LINE_APART = "ld.param.u64 %d1, [a];\nmov.u32 %r1, %laneid;\nmul.wide.u32 %d2, %r1, 128;\nadd.u64 %d1, %d1, %d2;\n"


def machine(changes: dict | None = None) -> sl.Gpu:
    """One core whose scheduler holds no ready warp back and whose warps have their next instructions at hand."""
    return gpu(LONG_BUFFER | (changes or {}), warp_scheduler="lrr")


def stalls(device: sl.Gpu, body: str, threads: int = 32, a=NOTHING) -> dict[str, int]:
    """The causes of a run whose instructions are in the L2."""
    made = kernel(device, body)
    made(1, threads, [a, NOTHING])
    return made(1, threads, [a, NOTHING]).stalls


def added(device: sl.Gpu, one, before: str = "", begin: str = "", end: str = "", **more) -> dict[str, float]:
    """The causes that one repetition adds to a loop's body; `one` is its text, or gives it for a number."""

    def per_iteration(copies: int) -> dict[str, float]:
        body = begin + "".join(one(k) if callable(one) else one for k in range(copies)) + end
        few, many = (stalls(device, before + loop(body, times), **more) for times in (20, 60))
        return {cause: (many[cause] - few[cause]) / 40 for cause in many}

    short, long = per_iteration(8), per_iteration(16)
    return {cause: (long[cause] - short[cause]) / 8 for cause in long if long[cause] != short[cause]}


def to_l2_and_back(device: sl.Gpu) -> float:
    """The least core cycles of a request: the pipe in front of an L2 slice."""
    config = device.machine.config
    return config.l2.latency_cycles * config.clocks.core_mhz / config.clocks.l2_mhz


def test_a_dependent_addition_waits_in_all_cycles_but_that_of_its_issue():
    assert added(machine(), DEPENDENT_ADD) == {"issued": 1, "wait": ADD_CYCLES - 1}


def test_a_dependent_special_function_or_load_of_shared_memory_waits_for_the_short_scoreboard():
    device = machine()
    config = device.machine.config
    special = added(device, "sin.approx.f32 %f1, %f1;\n")
    assert special == {"issued": 1, "short_scoreboard": ISSUE_TO_READ + 1 + config.units.sfu.latency_cycles - 1}
    chain = "mov.u32 %r1, s;\nst.shared.u32 [%r1], %r1;\n"
    loaded = added(device, "ld.shared.u32 %r1, [%r1];\n", before=chain, threads=1)
    assert loaded == {"issued": 1, "short_scoreboard": ISSUE_TO_READ + 1 + config.shared_memory.latency_cycles - 1}


def test_a_dependent_load_of_global_memory_waits_for_the_long_scoreboard():
    device = machine()
    hit = ISSUE_TO_READ + ADDRESS_READS + device.machine.config.l1d.hit_latency_cycles
    assert added(device, CHASE, before=START, threads=1, a=ring(device, 4)) == {"issued": 1, "long_scoreboard": hit - 1}


def test_warps_that_want_a_busy_math_unit_are_throttled_by_it():
    """16 warps, a unit that takes one every four cycles: one of the four issues."""
    device = machine({"units.sp_mad.initiation_cycles": 4})
    found = added(device, "fma.rn.f32 %f1, %f1, %f1, %f1;\n", threads=512)
    assert found == {"issued": 16, "math_pipe_throttle": 16 * 3}


def test_warps_that_want_a_busy_special_function_unit_are_throttled_by_mio():
    """16 warps: 8 stand in the unit's collectors, so that another one is always ready; the unit takes one in eight cycles."""
    found = added(machine(), "sin.approx.f32 %f1, %f1;\n", threads=512)
    assert found["mio_throttle"] == pytest.approx(16 * 7, rel=0.01)


def test_warps_that_want_a_busy_load_store_unit_for_global_memory_are_throttled_by_lg():
    """16 warps load 32 lines each, all hits: a load takes the unit for 32 cycles, in one of which another issues."""
    device = machine()
    found = added(device, "ld.global.u32 %r2, [%d1];\n", before=LINE_APART, threads=512, a=device.zeros(1024, "u4"))
    assert found == {"issued": 16, "lg_throttle": 16 * 31}


@pytest.mark.parametrize("width", [16, 8])
def test_a_narrow_simd_holds_its_scheduler_for_the_rest_of_a_warp(width):
    found = added(machine({"core.simd_width": width}), DEPENDENT_ADD, threads=256)
    assert found == {"issued": 8, "dispatch": 8 * (32 // width - 1)}


@pytest.mark.parametrize("resolve", [2, 20])
def test_a_branch_is_resolved_in_the_configured_cycles_and_fetched_in_one(resolve):
    device = machine({"issue.branch_resolve_cycles": resolve})
    found = added(device, lambda k: f"bra.uni B{k};\nadd.u32 %r2, %r2, 1;\nB{k}: ")
    assert found == {"issued": 1, "branch_resolving": resolve - 1, "no_instruction": 1}


def test_a_warp_at_a_barrier_waits_as_long_as_the_other_computes():
    """Two schedulers with a warp each: one skips a chain of additions, the other's cycles are its wait."""
    device = machine({"issue.schedulers": 2, "units.sp_units": 2})
    first_warp = "mov.u32 %r2, %tid.x;\nsetp.lt.u32 %p1, %r2, 32;\n"
    found = added(device, DEPENDENT_ADD, before=first_warp, begin="@%p1 bra S;\n", end="S: bar.sync 0;\n", threads=64)
    assert found == {"issued": 1, "wait": ADD_CYCLES - 1, "barrier": ADD_CYCLES}


def test_a_fence_waits_for_a_store_that_has_left_the_core():
    """The store is out when two additions are done; the fence has the rest of its way to wait."""
    device = machine()
    store = "st.global.u32 [%d1], %r2;\n" + 2 * DEPENDENT_ADD + "membar.gl;\n"
    found = added(device, store, before=START, a=device.zeros(32, "u4"))
    assert found["membar"] > to_l2_and_back(device)


def test_code_larger_than_its_cache_waits_for_every_line_of_it():
    device = gpu({"l1i.bytes": 2048}, warp_scheduler="lrr")
    lines, times = 2 * device.machine.config.l1i.lines, 5
    found = stalls(device, loop(DEPENDENT_ADD * 16 * lines, times))
    assert found["no_instruction"] > lines * times * to_l2_and_back(device)
    small = stalls(machine(), loop(DEPENDENT_ADD * 16 * lines, times))
    assert small["no_instruction"] < 2 * found["no_instruction"] / times


CONSTANTS = (
    HEAD
    + """.const .align 64 .b8 c[8192];
.visible .entry k(.param .u64 a) { .reg .b32 %r<4>; .reg .b64 %d<3>; .reg .pred %p<1>;
mov.u64 %d1, c; mov.u32 %r2, 128;
L: ld.const.u32 %r1, [%d1]; add.u32 %r3, %r3, %r1; add.u64 %d1, %d1, 64; sub.u32 %r2, %r2, 1; setp.ne.u32 %p0, %r2, 0; @%p0 bra L;
ld.param.u64 %d2, [a]; st.global.u32 [%d2], %r3; ret; }"""
)


def test_a_constant_that_misses_waits_for_the_l2_and_one_that_hits_for_its_cache():
    """128 lines of 64 bytes fill the constant cache: all miss in a first launch, none in a second."""
    device = machine()
    made, out = device.load(CONSTANTS)["k"], device.zeros(1, "u4")
    missing, hitting = (made(1, 32, [out]) for _ in range(2))
    assert (missing.counters["l1c_misses"], hitting.counters["l1c_misses"]) == (128, 0)
    assert missing.stalls["imc_miss"] > 128 * to_l2_and_back(device)
    hit = ISSUE_TO_READ + ADDRESS_READS + device.machine.config.l1c.hit_latency_cycles
    assert hitting.stalls["imc_miss"] == 128 * (hit - 1)


def test_a_warp_that_has_ended_drains_until_its_store_is_there():
    device = machine()
    found = stalls(device, START + "st.global.u32 [%d1], %r1;\n", a=device.zeros(32, "u4"))
    assert found["drain"] > to_l2_and_back(device)
    assert stalls(device, "mov.u32 %r1, 1;\n")["drain"] <= ADD_CYCLES


def test_a_core_without_a_cta_is_empty_in_every_cycle():
    device = machine({"core.cores": 2})
    run = kernel(device, loop(DEPENDENT_ADD, 100))(1, 32, [NOTHING] * 2)
    assert run.cycles <= run.stalls["empty"] <= run.cycles + 2  # and the other core in the cycle in which the CTA moves in


def test_warps_kept_out_of_the_collectors_by_stores_are_told_lg_throttle_not_math_pipe():
    """A transpose on v100: 32 lines a store. The arithmetic behind it finds the collectors full of stores, its own unit idle."""
    device = sl.Gpu("v100")
    n = 1024
    body = """.reg .b32 %i<6>; mov.u32 %i1, %ctaid.x; mov.u32 %i2, %ntid.x; mad.lo.u32 %i3, %i1, %i2, %tid.x;
    mul.lo.u32 %i4, %i3, 1025; and.b32 %i4, %i4, 1048575; ld.param.u64 %d1, [a]; mul.wide.u32 %d2, %i4, 4; add.u64 %d1, %d1, %d2;
    mov.u32 %r1, 0;
    AGAIN: st.global.u32 [%d1], %r1; add.u64 %d1, %d1, 0; xor.b32 %r2, %r1, 5; xor.b32 %r3, %r1, 6; xor.b32 %r4, %r1, 7;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 16; @%p1 bra AGAIN;"""
    run = kernel(device, body)(n * n // 16 // 256, 256, [device.zeros(n * n, "u4"), NOTHING])
    assert run.stalls["lg_throttle"] > 10 * run.stalls["math_pipe_throttle"]
    assert run.timing.utilisation["sp"] < 0.2
