"""Parts of the machine that are settings: networks, dual issue, replay, locked lines, one memory for L1 and shared memory."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import load
from tests.timing.machines import cycles, gpu, kernel, loop
from tests.timing.test_accounting import launch

CHASE = "ld.param.u64 %d1, [a];\n" + loop("ld.global.u64 %d1, [%d1];\n", 64) + "st.global.u64 [%d1], %d1;"

MESH = {"network.kind": "mesh", "network.mesh_width": 6, "network.mesh_height": 5}
CHECKERBOARD = {"network.slice_placement": "checkerboard"}
HALF_ROUTERS = MESH | CHECKERBOARD | {"network.half_routers": True, "network.virtual_channels": 2}
STREAMS = r"""
extern "C" __global__ void copy(const float4 *a, float4 *b, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) b[i] = a[i];
}
extern "C" __global__ void sum(const float4 *a, float4 *b, int n) {
    float4 s = {0, 0, 0, 0};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        { float4 v = a[i]; s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w; }
    b[blockIdx.x * blockDim.x + threadIdx.x] = s;
}"""


def test_the_parts_of_a_round_trip_add_up():
    run = launch(sl.Gpu("caps-gtx480"))[0]
    parts = dict(run.timing.latency)
    assert sum(value for name, value in parts.items() if name != "round_trip") == pytest.approx(parts["round_trip"])
    assert all(value > 0 for value in parts.values())


def test_a_lone_read_of_dram_spends_the_configured_cycles_in_each_part():
    """caps-gtx480 on one clock: 120 in the L2's pipe, DRAM's own, and no waiting to leave the core beyond a cycle."""
    same = {"clocks.core_mhz": 700.0, "clocks.dram_mhz": 700.0, "l1d.enabled": False}
    device = gpu(same)
    order = device.array(np.zeros(1 << 15, "u8"))
    order[...] = order.address + 8 * 4096 * (np.arange(1 << 15, dtype="u8") // 4096 + 1) % (1 << 18)
    run = kernel(device, CHASE)(1, 1, [order, np.uint64(0)])
    latency, config = run.timing.latency, device.machine.config
    assert latency["inject"] <= 2
    unloaded = config.network.routing_delay_cycles + config.network.channel_latency_cycles
    assert unloaded <= latency["request_network"] <= unloaded + 2
    assert latency["l2"] >= config.l2.latency_cycles


def test_a_core_is_active_waiting_idle_or_stalled_in_every_cycle():
    device = sl.Gpu("caps-gtx480")
    run = launch(device)[0]
    kinds = {kind: run.counters[f"core_{kind}_cycles"] for kind in ("active", "memory", "idle", "stalled")}
    assert sum(kinds.values()) == run.cycles * 15
    assert run.timing.active_time == kinds["active"] / (run.cycles * 15)


def test_a_pointer_chase_is_all_waiting_for_memory_and_a_chain_of_additions_is_idle_or_active():
    device = gpu({"l1d.enabled": False})
    order = device.array(np.zeros(512, "u8"))
    order[...] = order.address
    run = kernel(device, CHASE)(1, 32, [order, np.uint64(0)])
    assert run.counters["core_memory_cycles"] > 0.8 * run.cycles  # DYNCTA's C_mem
    chain = kernel(gpu(), loop("add.u32 %r1, %r1, 1;\n" * 8, 100))(1, 32, [np.uint64(0)] * 2)
    assert chain.counters["core_memory_cycles"] < 0.2 * chain.cycles
    assert chain.counters["core_idle_cycles"] > 0.5 * chain.cycles  # one warp cannot fill the pipe: C_idle


def test_a_core_that_never_had_a_cta_is_idle():
    run = kernel(sl.Gpu("caps-gtx480"), loop("add.u32 %r1, %r1, 1;\n" * 8, 100))(1, 32, [np.uint64(0)] * 2)
    assert 0 < run.counters["core_active_cycles"] <= run.cycles
    assert run.counters["core_idle_cycles"] >= 14 * run.cycles
    assert run.counters["core_used_cycles"] <= run.cycles


def test_a_warp_is_active_time_for_as_long_as_it_goes_into_a_narrow_pipeline():
    """A SIMD of 8 lanes: 16 warps that compute keep the core active, though a warp issues in one cycle of four."""
    device = sl.Gpu("dyncta-30core", set={"core.cores": 1, "core.cores_per_cluster": 1})
    run = kernel(device, loop("add.u32 %r1, %r1, 1;\n" * 8, 100))(1, 512, [np.uint64(0)] * 2)
    assert run.timing.active_time > 0.95
    assert run.stalls["issued"] < 0.26 * run.cycles
    assert run.timing.dyncta_type == "C"


def test_a_core_waits_for_memory_while_one_warp_does_and_another_computes():
    """A chase beside a chain of additions: the cycles between two additions are no idle time while data is outstanding."""
    device = gpu({"l1d.enabled": False, "core.detail": 1})
    order = device.array(np.zeros(512, "u8"))
    order[...] = order.address
    chain = loop("add.u32 %r1, %r1, 1;\n" * 8, 200).replace("L", "M")
    body = f"mov.u32 %r2, %tid.x;\nsetp.lt.u32 %p1, %r2, 32;\n@%p1 bra FIRST;\n{chain}ret;\nFIRST: {CHASE}"
    run = kernel(device, body)(1, 64, [order, np.uint64(0)])
    assert run.counters["core_memory_cycles"] > 5 * run.counters["core_idle_cycles"]


def test_a_full_load_store_unit_is_waiting_for_memory():
    """Loads of 32 lines each: most cycles go by with a load that the unit does not take."""
    device = gpu()
    x = device.zeros(1 << 20, np.int32)
    body = ("ld.param.u64 %d1, [a];\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %d2, %r2, 4096;\nadd.u64 %d1, %d1, %d2;\n"
            + "".join(f"ld.global.u32 %r{k}, [%d1+{128 * k}];\n" for k in range(3, 23)))  # fmt: skip
    run = kernel(device, body)(1, 256, [x, np.uint64(0)])
    assert run.stalls["lg_throttle"] > 0.5 * run.cycles
    assert run.counters["core_memory_cycles"] >= run.stalls["lg_throttle"]
    assert run.counters["core_stalled_cycles"] < 0.01 * run.cycles


def test_resident_and_running_ctas_are_counted_while_a_core_has_any():
    """Eight CTAs on two cores, at most two at once."""
    device = gpu({"core.cores": 2}, cta_throttle="static,ctas=2")
    run = kernel(device, loop("add.u32 %r1, %r1, 1;\n" * 8, 100))(8, 32, [np.uint64(0)] * 2)
    ratios = run.timing.ratios
    assert 1.8 < ratios["resident_ctas"] <= 2
    assert ratios["running_ctas"] == ratios["resident_ctas"]
    assert ratios["core_utilisation"] > 0.9
    assert ratios["l1_miss_rate"] is None  # it loads nothing


def test_an_ideal_instruction_cache_never_misses():
    """500 instructions in a row, more than the cache of 2 KB has."""
    body = "add.u32 %r1, %r1, 1;\n" * 500
    real, ideal = (kernel(gpu({"l1i.ideal": flag}), body)(1, 32, [np.uint64(0)] * 2) for flag in (False, True))
    assert real.counters["l1i_misses"] > 20
    assert ideal.counters["l1i_misses"] == 0
    assert ideal.stalls["no_instruction"] < 0.1 * real.stalls["no_instruction"]
    assert ideal.counters["l1i_hits"] == real.counters["l1i_hits"]


@pytest.mark.parametrize(("kind", "changes"), [("mesh", MESH), ("mesh", HALF_ROUTERS), ("ideal", {"network.kind": "ideal"})])
def test_other_networks_give_the_same_results(kind, changes):
    run, y, count = launch(sl.Gpu("caps-gtx480", set=changes))
    _, expected, counted = launch(sl.Gpu())
    assert np.array_equal(y, expected)
    assert count == counted
    assert run.counters["request_packets"] > 0
    hops = run.counters["request_flit_hops"] / run.counters["request_flits"]
    assert hops > 2 if kind == "mesh" else hops == 1


@pytest.mark.parametrize("preset", ["dyncta-56core", "dyncta-110core"])
def test_dynctas_larger_machines_have_a_mesh(preset):
    device = sl.Gpu(preset)
    run, y, _ = launch(device)
    assert device.machine.config.network.kind == "mesh"
    assert np.array_equal(y, launch(sl.Gpu())[1])
    assert run.counters["request_flit_hops"] > 2 * run.counters["request_flits"]


def streaming_cycles(preset, name, **changes):
    """A megabyte of float4 read by 112 CTAs, and written for `copy`."""
    device = sl.Gpu(preset, set={f"network.{key}": value for key, value in changes.items()})
    count = 1 << 16
    source, target = device.array(np.arange(4 * count, dtype="f4")), device.zeros(4 * count, "f4")
    run = device.compile(STREAMS)[name](112, 256, [source, target, np.int32(count)])
    if name == "copy":
        assert np.array_equal(target.numpy(), source.numpy())
    return run.cycles


@pytest.mark.parametrize(("preset", "name"), [("dyncta-56core", "copy"), ("dyncta-56core", "sum"),
                                              ("dyncta-110core", "copy"), ("dyncta-110core", "sum")])  # fmt: skip
def test_half_routers_stream_about_as_fast_as_full_ones_with_the_slices_at_the_same_routers(preset, name):
    """Measured: 3% and 12% more cycles on the 8 x 8 mesh, 9% fewer and 4% more on the 11 x 11."""
    full = streaming_cycles(preset, name, slice_placement="checkerboard")
    halved = streaming_cycles(preset, name, slice_placement="checkerboard", half_routers=True)
    assert 0.85 * full < halved < 1.15 * full
    assert halved != full


def test_a_checkerboard_of_slices_streams_faster_than_a_column_of_them_though_all_routers_are_full():
    """Measured: 24% fewer cycles, not to be taken for an effect of half-routers."""
    column, checkered = (streaming_cycles("dyncta-56core", "copy", slice_placement=word) for word in ("even", "checkerboard"))
    assert 0.7 * column < checkered < 0.82 * column


@pytest.mark.parametrize("changes", [{}, MESH, HALF_ROUTERS, {"network.kind": "ideal"}, {"issue.replay": True},
                                     {"l1d.reread": True},
                                     {"core.simd_width": 8, "core.detail": 1, "l1i.ideal": True}])  # fmt: skip
def test_jumping_changes_nothing_whatever_the_parts(changes):
    jumping, walking = (sl.Gpu("caps-gtx480", set=changes) for _ in range(2))
    walking.machine.records.gpu[0].jump = 0
    first, second = launch(jumping)[0], launch(walking)[0]
    assert (first.cycles, first.stalls, first.counters) == (second.cycles, second.stalls, second.counters)


def test_dual_issue_sends_two_independent_instructions_of_a_warp_in_a_cycle():
    """One warp: pairs of additions that need nothing of each other, with a buffer that holds both."""
    pairs = "".join(f"add.u32 %r{k}, %r{k}, 1;\nadd.f32 %f{k}, %f{k}, %f21;\n" for k in range(1, 9))
    body = loop(pairs, 50)
    changes = {"issue.instruction_buffer_entries": 8, "issue.decode_width": 8, "units.sp_units": 4, "core.detail": 2}
    one = gpu(changes)
    two = gpu(changes | {"issue.dual_issue": True})
    single, double = cycles(one, body, threads=256), cycles(two, body, threads=256)
    assert double < 0.75 * single
    run = kernel(two, body)(1, 256, [np.uint64(0)] * 2)
    assert run.counters["dual_issued"] > 0.3 * run.instructions
    assert run.stalls["issued"] + run.counters["dual_issued"] == run.instructions


def test_dual_issue_never_takes_a_dependent_instruction():
    body = loop("add.u32 %r1, %r1, 1;\n" * 8, 50)
    times = [cycles(gpu({"issue.dual_issue": on}), body) for on in (False, True)]
    assert times[0] == pytest.approx(times[1], rel=0.05)


def test_a_replayed_pass_takes_an_issue_slot():
    """A 4-way bank conflict is three passes more; with replay each of them is an issue slot of the scheduler."""
    body = "mov.u32 %r1, %laneid; shl.b32 %r1, %r1, 4; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n"
    body += loop("ld.shared.u32 %r3, [%r1];\n", 20)
    run = kernel(gpu({"issue.replay": True}), body)(1, 32, [np.uint64(0)] * 2)
    assert run.counters["replays"] == run.stalls["replay"] == 3 * 20
    assert kernel(gpu(), body)(1, 32, [np.uint64(0)] * 2).counters["replays"] == 0


def test_a_load_that_missed_reads_its_line_again_when_it_has_come():
    """Eight warps wait for one line: with `reread` they take it from the L1 one after another, a cycle each."""
    body = """ld.param.u64 %d1, [a]; mov.u32 %r1, %laneid; mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2;
    ld.global.u32 %r2, [%d2]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d3, %d1, %d3; st.global.u32 [%d3+128], %r2;"""
    times = {}
    for reread in (False, True):
        device = gpu({"l1d.reread": reread})
        data = device.array(np.arange(512, dtype="u4"))
        times[reread] = kernel(device, body)(1, 256, [data, np.uint64(0)]).cycles
        assert np.array_equal(data[32:288], np.arange(256) % 32)
    assert times[False] < times[True] <= times[False] + 8


def test_a_locked_line_is_never_pushed_out():
    """All ways of a set filled and locked: the next miss of that set waits, by the cause tag."""
    from simtlab.machine.build import build
    from simtlab.machine.memory.cache import NO_WAY, fill, lock, may_go, reserve, victim

    cache = build(load("caps-gtx480").replace({"core.cores": 1})).cores[0].l1d
    for k in range(4):
        way = victim(cache, 4096 * 0)
        reserve(cache, way, 128 * 32 * k, np.uint32(1))
        fill(cache, way, np.uint32(1))
    first = victim(cache, 0)
    assert may_go(cache.line[first])
    for way in range(first, first + 4):
        lock(cache, way, 1)
    assert victim(cache, 0) == NO_WAY


def test_the_memory_of_a_core_is_divided_at_launch_as_the_kernel_needs_it():
    """Fermi's 64 KB: 16 KB of shared memory when that is enough for all CTAs, 48 KB when the kernel wants more."""
    changes = {
        "shared_memory.shares_l1": True, "shared_memory.split": "at-launch", "shared_memory.bytes": 49152, "l1d.bytes": 16384,
        "shared_memory.splits": [[16384, 49152], [49152, 16384]], "l1d.ways": 4,
    }  # fmt: skip
    device = gpu(changes | {"core.max_ctas": 4})
    core = device.machine.records.cores[0]
    made = kernel(device, "mov.u32 %r1, s; st.shared.u32 [%r1], %r1;")  # 16 KB of shared memory a CTA
    assert made(8, 32, [np.uint64(0)] * 2).timing.occupancy.ctas == 3
    assert (core.l1d.sets, core.l1d.ways) == (32, 4)
    without = device.load(".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }")["k"]
    without(8, 32)
    assert (core.l1d.sets, core.l1d.ways) == (32, 12)


def test_a_core_fetches_for_as_many_warps_a_cycle_as_it_is_told():
    """Eight warps of straight code, one instruction a fetch: four fetches a cycle keep four schedulers busy, one does not."""
    body = loop("".join(f"add.u32 %r{k}, %r{k}, 1;\n" for k in range(1, 9)), 50)
    wide = {"issue.schedulers": 4, "issue.decode_width": 1, "units.sp_units": 4, "core.detail": 2}
    one, four = (cycles(gpu(wide | {"issue.fetch_width": width}), body, threads=256) for width in (1, 4))
    instructions = 8 * 50 * 11
    assert one > instructions
    assert four < 0.6 * one


@pytest.mark.parametrize(("ports", "expected"), [(1, 32), (4, 8)])
def test_an_l1_with_four_ports_serves_four_lines_of_a_load_in_a_cycle(ports, expected):
    """A load of 32 lines, all hits: each cycle of the load/store unit serves as many as there are ports."""
    body = "ld.param.u64 %d1, [a]; mov.u32 %r1, %laneid; mul.wide.u32 %d2, %r1, 128; add.u64 %d1, %d1, %d2;\n"
    device = gpu({"l1d.ports": ports})
    data = device.zeros(4096, "u4")
    chain = "ld.global.u32 %r2, [%d1];\nmul.wide.u32 %d3, %r2, 4;\nadd.u64 %d1, %d1, %d3;\n"
    few, many = (cycles(device, body + loop(chain, times), a=data) for times in (40, 80))
    alone = gpu({"l1d.ports": 16})
    base = [cycles(alone, body + loop(chain, times), a=alone.zeros(4096, "u4")) for times in (40, 80)]
    assert (many - few) / 40 - (base[1] - base[0]) / 40 == expected - 2


def test_misses_of_one_constant_line_share_a_request():
    text = r"""
    __constant__ float table[64];
    extern "C" __global__ void k(float *out) { out[threadIdx.x] = table[(threadIdx.x / 32) & 1]; }
    """
    device = gpu()
    out = device.zeros(256)
    run = device.compile(text)["k"](1, 256, [out])
    assert run.counters["l1c_misses"] > 1
    instructions = run.counters["l1i_misses"]
    assert run.counters["request_packets"] - instructions == 1 + 8  # one line of constants, eight stores
