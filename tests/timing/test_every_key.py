"""Every key of the configuration does something: a machine with another value counts something else. About 40 s."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import KEYS, OPERATIONS, load
from tests.everyday import every
from tests.timing import mixed
from tests.timing.machines import kernel
from tests.timing.test_energy import ONE_OF, REGISTERS

# Small caches, so that much goes wrong.
SMALL = {
    "core.cores": 2, "shared_memory.shares_l1": False, "l1d.bytes": 4096, "l1c.bytes": 512, "l1t.bytes": 1024, "l1t.ways": 2,
    "l1i.bytes": 512, "l1i.ways": 2, "l2.bytes": 4096, "l2.slices": 4, "l2.slices_per_channel": 2, "dram.channels": 2,
}  # fmt: skip
SUB_CORES = {"issue.schedulers": 2, "units.sp_units": 2, "units.sfu_units": 2, "l1i.mshr_entries": 4}
COMBINED = {"l1d.store_combining_cycles": 1024, "l1d.write_global": "write-through", "l1d.write_local": "write-through"}
SECTORED = {"l1d.sector_bytes": 32, "l2.sector_bytes": 32}
CLOSE = {"l2.latency_cycles": 0, "dram.latency_cycles": 0}
SHARED_L1 = {"shared_memory.shares_l1": True, "l1d.bytes": 16384, "shared_memory.splits": ((16384, 49152), (49152, 16384))}
SHARING = {"core.cores": 4, "network.coalescing_cores": 2}
L0 = {"l1i.l0_bytes": 256, "l1i.l0_ways": 1, "l1i.l0_miss_cycles": 8}
MESH = {"network.kind": "mesh", "network.mesh_width": 4, "network.mesh_height": 3}
TLB = {"tlb.page_bytes": 4096, "tlb.hit_cycles": 20, "tlb.walk_cycles": 200, "tlb.core_entries": 2}
PAGES = {"address_map.page_bytes": 512, "address_map.shuffled_pages": 24}
CODE = {"core.isa": "sm_90", "issue.dependences": "control-bits", "register_file.reading": "ports"}


@dataclass(frozen=True)
class Other:
    """Another value of a key; `beside` are changes without which it would not matter, `together` those it needs to be possible."""

    value: Any
    beside: dict[str, Any]
    together: dict[str, Any]
    policies: dict[str, str]


def to(value: Any, beside: dict[str, Any] | None = None, together: dict[str, Any] | None = None, **policies: str) -> Other:
    return Other(value, beside or {}, together or {}, policies)


# Each key: another value than the one it has.
OTHER = {
    "clocks.core_mhz": to(700.0), "clocks.network_mhz": to(350.0), "clocks.l2_mhz": to(350.0), "clocks.dram_mhz": to(462.0),
    "clocks.step_percent": to(30, clocks="fixed,core=2,period=16"),
    "core.cores": to(1), "core.cores_per_cluster": to(2), "core.max_warps": to(8, together={"core.max_threads": 256}),
    "core.max_threads": to(128), "core.max_ctas": to(2), "core.registers": to(8192), "core.register_allocation_unit": to(8192),
    "core.simd_width": to(16), "core.detail": to(2), "core.sub_cores": to(2, SUB_CORES), "core.isa": to("sm_90"),
    "core.launch_cycles": to(300), "core.cta_starts_per_1000_cycles": to(100), "core.reconvergence": to("barriers"),
    "issue.schedulers": to(2), "issue.dual_issue": to(True), "issue.replay": to(True), "issue.instruction_buffer_entries": to(1),
    "issue.fetch_width": to(2), "issue.decode_width": to(1), "issue.scoreboard": to("coon"),
    "issue.scoreboard_entries": to(1, {"issue.scoreboard": "coon"}), "issue.branch_resolve_cycles": to(20),
    "register_file.banks": to(4), "register_file.collectors_sp": to(1), "register_file.collectors_sfu": to(1),
    "register_file.collectors_mem": to(1), "register_file.collectors_generic": to(4), "register_file.layout": to("naive"),
    "register_file.war_protection": to("release-on-commit"), "register_file.collector_ports": to(3),
    "l1i.prefetch_lines": to(1, {"l1i.mshr_entries": 4}),
    "units.sp_units": to(2, {"issue.schedulers": 2}), "units.int_units": to(1, {"units.int_add.unit": "int"}),
    "units.dp_units": to(1, {"units.dp_mad.unit": "dp"}), "units.sfu_units": to(2),
    "units.tensor_units": to(1, {"units.sp_mad.unit": "tensor"}),
    "shared_memory.bytes": to(4096), "shared_memory.banks": to(8), "shared_memory.bank_bytes": to(8),
    "shared_memory.latency_cycles": to(60), "shared_memory.shares_l1": to(False, SHARED_L1 | {"shared_memory.split": "at-launch"}),
    "shared_memory.splits": to(((16384, 49152), (32768, 32768)), SHARED_L1 | {"shared_memory.split": "at-launch"}),
    "shared_memory.split": to("at-launch", SHARED_L1),
    "l1d.bytes": to(8192), "l1d.line_bytes": to(64, {"l1d.sector_bytes": 64}), "l1d.ways": to(8), "l1d.index": to("linear"),
    "l1d.replacement": to("fifo"), "l1d.mshr_entries": to(2), "l1d.sector_bytes": to(32), "l1d.mshr_merges": to(1),
    "l1d.hit_latency_cycles": to(70), "l1d.allocate": to("on-fill"), "l1d.write_global": to("write-through"),
    "l1d.write_local": to("write-evict", {"l1d.write_allocate": True}), "l1d.write_allocate": to(True),
    "l1d.miss_queue_entries": to(1), "l1d.ports": to(4), "l1d.enabled": to(False),
    "l1d.bypass_global": to(True),
    "l1d.reread": to(True), "l1d.prefetch_queue_entries": to(1, prefetcher="next-line"),
    "l1i.bytes": to(2048), "l1i.line_bytes": to(64), "l1i.ways": to(1), "l1i.index": to("hashed"), "l1i.replacement": to("fifo"),
    "l1i.mshr_entries": to(1), "l1i.ideal": to(True),
    "l1c.bytes": to(2048), "l1c.line_bytes": to(128), "l1c.ways": to(1), "l1c.index": to("hashed"), "l1c.replacement": to("fifo"),
    "l1c.mshr_entries": to(1), "l1c.mshr_merges": to(1), "l1c.hit_latency_cycles": to(40),
    "l1t.bytes": to(4096), "l1t.line_bytes": to(64), "l1t.ways": to(1), "l1t.index": to("hashed"), "l1t.replacement": to("fifo"),
    "l1t.mshr_entries": to(1), "l1t.hit_latency_cycles": to(70), "l1t.fifo_entries": to(1),
    "network.kind": to("ideal"), "network.flit_bytes": to(64), "network.virtual_channels": to(2), "network.buffer_flits": to(2),
    "network.ejection_flits": to(5), "network.routing_delay_cycles": to(5), "network.channel_latency_cycles": to(5),
    "network.input_speedup": to(1, {"network.virtual_channels": 4}), "network.header_bytes": to(40),
    "network.mesh_width": to(6, MESH), "network.mesh_height": to(5, MESH),
    "network.half_routers": to(True, MESH | {"network.virtual_channels": 2, "network.slice_placement": "checkerboard"}),
    "network.slice_placement": to("checkerboard", MESH),
    "l2.bytes": to(8192), "l2.line_bytes": to(64, {"l1d.line_bytes": 64, "l1d.sector_bytes": 64, "l2.sector_bytes": 64}),
    "l2.ways": to(4), "l2.index": to("hashed"), "l2.replacement": to("fifo"), "l2.mshr_entries": to(1), "l2.sector_bytes": to(32),
    "l2.groups": to(2), "l2.mshr_merges": to(1), "l2.hit_latency_cycles": to(20), "l2.slices": to(8, together={"dram.channels": 4}),
    "l2.slices_per_channel": to(1, together={"dram.channels": 4}), "l2.latency_cycles": to(60),
    "l2.input_queue_entries": to(1, CLOSE), "l2.output_queue_entries": to(1, CLOSE), "l2.dram_queue_entries": to(2, CLOSE),
    "dram.channels": to(1, together={"l2.slices": 2}), "dram.banks": to(4), "dram.bank_groups": to(1), "dram.t_ccd": to(3),
    "dram.t_ccdl": to(9), "dram.t_rrd": to(24), "dram.t_rcd": to(30), "dram.t_ras": to(60, {"dram.t_rc": 80}),
    "dram.t_rp": to(30, {"dram.t_rc": 60}), "dram.t_rc": to(90), "dram.t_cl": to(15, {"dram.t_rtw": 20}), "dram.t_wl": to(8),
    "dram.t_cdlr": to(25), "dram.t_wr": to(60), "dram.t_rtpl": to(40), "dram.t_rtw": to(40), "dram.bus_bytes": to(4),
    "dram.burst_length": to(4), "dram.data_rate": to(8), "dram.row_bytes": to(1024), "dram.scheduler": to("fcfs"),
    "dram.queue_entries": to(1), "dram.return_queue_entries": to(1), "dram.latency_cycles": to(50), "dram.age_limit_cycles": to(1),
    "address_map.slice_interleave_bytes": to(128), "address_map.hash_banks": to(True), "address_map.hash_slices": to(True),
    "policies.warp_scheduler": to("gto"),
    # What machine code has, or what came with it.
    "core.barrier_cycles": to(40, CODE), "core.barrier_arrival_cycles": to(8, CODE | {"core.barrier_cycles": 1}),
    "core.finish_cycles": to(100), "issue.dependences": to("control-bits", {"core.isa": "sm_90"}),
    "register_file.reading": to("ports", {"core.isa": "sm_90"}), "register_file.release_cycles": to(20, CODE),
    "units.heavy_units": to(2, {"issue.schedulers": 2}), "units.uniform_units": to(1, {"core.isa": "sm_90"}),
    "l1d.load_cycles": to(8), "l1d.store_line_cycles": to(8), "l1d.queue_entries": to(1),
    "l1i.line_cycles": to(16), "l1i.launch_lines": to(4),
    "l1i.l0_bytes": to(256, {"l1i.l0_ways": 1}), "l1i.l0_ways": to(2, L0), "l1i.l0_miss_cycles": to(30, L0),
    "l1i.l0_line_cycles": to(40, L0 | {"l1i.l0_prefetch_lines": 1}), "l1i.l0_prefetch_lines": to(1, L0),
    "network.coalescing_requests": to(1, SHARING),
    "network.coalescing_hit_cycles": to(1, SHARING | {"network.coalescing_miss_cycles": 1}),
    "network.coalescing_miss_cycles": to(1000, SHARING | {"network.coalescing_hit_cycles": 1}),
    "l1c.address_cycles": to(4, CODE), "l1c.second_bytes": to(4096, CODE),
    "l1c.second_hit_latency_cycles": to(50, CODE | {"l1c.second_bytes": 4096}),
    "network.coalescing_cores": to(2), "l2.fetch_bytes": to(64, SECTORED), "l2.write_cycles": to(8),
    "l2.atomic_cycles": to(50), "l2.atomics_per_100_cycles": to(10),
    "network.coalesces_data": to(False, {"network.coalescing_cores": 2}), "network.packet_sectors": to(4, SECTORED),
    "l2.sectors_per_cycle": to(2, SECTORED), "l2.coalesced_reads": to(4, {"l2.coalescing_cycles": 64}),
    "l2.coalescing_cycles": to(64, {"l2.coalesced_reads": 4}),
    "l2.coalescing_entries": to(0, {"l2.coalesced_reads": 4, "l2.coalescing_cycles": 64}),
    "l2.parts": to(2, {"l2.crossing_cycles": 50}), "l2.crossing_cycles": to(50, {"l2.parts": 2}),
    "l2.miss_crossing_cycles": to(90, {"l2.parts": 2}),
    "l1d.store_combining_cycles": to(1024, {"l1d.write_global": "write-through", "l1d.write_local": "write-through"}),
    "l1d.store_combining_lines": to(1, COMBINED),
    "dram.t_refi": to(500, {"dram.t_rfc": 60}), "dram.t_rfc": to(60, {"dram.t_refi": 500}),
    "dram.refresh_banks": to(4, {"dram.t_refi": 500, "dram.t_rfc": 60}),
    "dram.refresh_stacks": to(1, {"dram.t_refi": 500, "dram.t_rfc": 60}), "dram.command_buses": to(2),
    "address_map.page_bytes": to(512, {"address_map.shuffled_pages": 24}), "address_map.shuffled_pages": to(48, PAGES),
    "address_map.stacks": to(2, PAGES),
    "tlb.page_bytes": to(4096, {"tlb.walk_cycles": 200}), "tlb.core_entries": to(1, TLB), "tlb.entries": to(2, TLB),
    "tlb.hit_cycles": to(60, TLB), "tlb.walk_cycles": to(500, TLB), "tlb.warm": to(True, TLB),
    "core.drain": to("stores-sent"), "network.mask_cycles": to(4), "l1d.banked_tags": to(True, SECTORED),
    "l1d.return_cycles": to(8, SECTORED | {"l1d.banked_tags": True}), "units.uniform_special_cycles": to(40, CODE),
}  # fmt: skip
# Keys for what the mixed kernel does not do: another value, for the kernel below.
BY_LANES = {
    "units.match_passes": to(8), "units.match_cycles": to(20), "units.redux_passes": to(8), "units.redux_cycles": to(20),
    "units.match_value_cycles": to(20), "units.special_register_cycles": to(40), "l1d.strong_loads": to("go-around"),
    "shared_memory.atomic_cycles": to(20), "l1d.atomics_by_lane": to(True),
    "l1d.hits_written_words": to(True, {"l1d.write_global": "write-through", "l1d.write_allocate": True, "l1d.sector_bytes": 32}),
}  # fmt: skip
LANES = r"""
extern "C" __global__ void lanes(unsigned *count, volatile unsigned *out) {
    __shared__ unsigned found[32];
    unsigned i = threadIdx.x;
    found[i] = 0;
    unsigned before = atomicAdd(&found[__match_any_sync(~0u, i / 3) & 31], 1u);
    unsigned sum = __reduce_add_sync(~0u, i ^ before >> 31);
    atomicAdd(count + (i & 3), sum);
    if ((i & 7) < 5) {
        out[i] = i + before + sum;
        out[i] += 1;
    }
}"""
NO_OTHER = {
    "issue.collective_cycles": "no lanes here meet at a WARPSYNC.COLLECTIVE: tests/timing/test_branches.py",
    "issue.indirect_branch_cycles": "no call here: tests/timing/test_branches.py",
    "core.yield_after": "no lane here waits for another of its warp: tests/timing/test_ptx_barriers.py",
    "core.warp_size": "32 is the only value allowed",
    "dram.kind": "words for the reader",
    "l1d.split_requests": "no load here has an address from memory: tests/timing/test_load_mechanisms.py",
    "policies.cta_dispatch": "two cores with room at once are seldom: tests/timing/test_core_parts.py",
}
BY_OPERATION = {f"units.{operation}.{key}" for operation in OPERATIONS for key in ("unit", "latency_cycles", "initiation_cycles")}


@cache
def counted(changes: tuple, policies: tuple) -> dict[str, int]:
    device = sl.Gpu(load("caps-gtx480").replace(SMALL | dict(changes)), memory_bytes=1 << 24, **dict(policies))
    found, written = mixed.launch(device, 12)
    assert written == mixed.expected(12)
    return {"cycles": found.cycles, **found.counters}


@cache
def counted_of_lanes(changes: tuple) -> tuple[int, dict[str, int]]:
    usual = SMALL | {"core.isa": "sm_90", "units.shuffle.unit": "ldst", "l1i.ideal": True}
    device = sl.Gpu(load("caps-gtx480").replace(usual | dict(changes)), memory_bytes=1 << 20)
    count = device.zeros(4, "u4")
    run = device.compile(LANES)["lanes"](1, 32, [count, device.zeros(32, "u4")])
    assert count.numpy().tolist() == 4 * [8 * 496]  # of eight lanes each, the sum of 0 to 31
    return run.cycles, run.counters


@pytest.mark.parametrize("key", BY_LANES)
def test_another_value_is_another_machine_for_lanes_that_meet(key):
    other = BY_LANES[key]
    usual = tuple(other.beside.items())
    assert counted_of_lanes((*usual, (key, other.value))) != counted_of_lanes(usual)


@pytest.mark.parametrize("key", every(4, OTHER))
def test_another_value_is_another_machine(key):
    other = OTHER[key]
    usual, policies = tuple(other.beside.items()), tuple(other.policies.items())
    assert counted((*usual, *other.together.items(), (key, other.value)), policies) != counted(usual, policies)


def test_the_dispatch_policy_is_the_one_that_the_machine_names():
    device = sl.Gpu(load("caps-gtx480", ["policies.cta_dispatch=load-balanced"]), memory_bytes=1 << 20)
    assert device.machine.policies["cta_dispatch"].name == "load-balanced"


def test_no_key_is_left_out():
    energy = {key for key in KEYS if key.startswith("energy.")}  # tests/timing/test_energy.py
    assert set(KEYS) == {*OTHER, *BY_LANES, *NO_OTHER, *BY_OPERATION, *energy}


@pytest.mark.parametrize("operation", ONE_OF)
def test_a_class_of_operations_has_its_own_unit_latency_and_interval(operation):
    """Four warps with the operation twice, the second needing the first's result where it has one."""
    base = load("caps-gtx480").replace({"core.cores": 1, "units.dp_units": 1})
    usual = getattr(base.units, operation)
    others = {
        "unit": "dp" if usual.unit != "dp" else "sp", "latency_cycles": usual.latency_cycles + 40,
        "initiation_cycles": usual.initiation_cycles + 40,
    }  # fmt: skip

    def took(config) -> tuple[int, dict[str, int]]:
        found = kernel(sl.Gpu(config, memory_bytes=1 << 20), 2 * ONE_OF[operation], REGISTERS)(1, 128, [np.uint64(0)] * 2)
        return found.cycles, found.counters

    for key, value in others.items():
        assert took(base.replace({f"units.{operation}.{key}": value})) != took(base), key
