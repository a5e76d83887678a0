"""Chains of dependent instructions take the configured latencies, to the cycle, on an idle machine."""

import numpy as np
import pytest

from simtlab.machine.memory.address_map import address_of
from simtlab.machine.network.packet import flits_for
from tests.timing.machines import gpu, step

BIG_ICACHE = {"l1i.bytes": 65536}  # the chains must not miss in the instruction cache


@pytest.fixture(scope="module")
def device():
    return gpu(BIG_ICACHE)


def ring(device, lines: int, stride: int = 128):
    """A ring of pointers, one in each line."""
    array = device.zeros(lines * stride // 8, "u8")
    order = np.arange(lines)
    values = np.zeros(lines * stride // 8, np.uint64)
    values[order * stride // 8] = array.address + (np.roll(order, -1) * stride)
    array[...] = values
    return array


CHASE = "ld.global.u64 %d1, [%d1];\n"
START = "ld.param.u64 %d1, [a];\n"
ADDRESS_READS = 2  # a 64-bit address is two registers, and a collector takes in one operand a cycle
ISSUE_TO_READ = 1


def test_a_load_that_hits_in_the_l1_takes_its_hit_latency_and_the_way_there(device):
    hit = device.machine.config.l1d.hit_latency_cycles
    assert step(device, CHASE, before=START, threads=1, a=ring(device, 4)) == ISSUE_TO_READ + ADDRESS_READS + hit


def test_a_dependent_multiply_add_takes_its_latency_and_operand_collection(device):
    latency = device.machine.config.units.sp_mad.latency_cycles
    three_operands = 3
    values = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F000000; mov.f32 %f3, 0f40000000;\n"
    chain = "fma.rn.f32 %f1, %f1, %f2, %f3;\n"
    assert step(device, chain, before=values, threads=1) == ISSUE_TO_READ + three_operands + latency


def test_a_dependent_addition_of_one_register_needs_one_read(device):
    latency = device.machine.config.units.int_add.latency_cycles
    assert step(device, "add.s32 %r1, %r1, 1;\n", threads=1) == ISSUE_TO_READ + 1 + latency


@pytest.mark.parametrize("detail", [1, 2])
@pytest.mark.parametrize("chain", ["fma.rn.f32 %f1, %f1, %f2, %f3;\n", "add.s32 %r1, %r1, 1;\n"])
def test_without_operand_collectors_a_dependent_instruction_takes_its_latency_and_the_way_to_its_unit(detail, chain):
    device = gpu(BIG_ICACHE | {"core.detail": detail})
    units = device.machine.config.units
    latency = (units.sp_mad if chain.startswith("fma") else units.int_add).latency_cycles
    assert step(device, chain, threads=1) == ISSUE_TO_READ + latency


@pytest.mark.parametrize("detail", [1, 2])
def test_without_operand_collectors_a_load_that_hits_takes_its_hit_latency_and_the_way_there(detail):
    device = gpu(BIG_ICACHE | {"core.detail": detail})
    hit = device.machine.config.l1d.hit_latency_cycles
    assert step(device, CHASE, before=START, threads=1, a=ring(device, 4)) == ISSUE_TO_READ + hit


def test_l2_and_dram_add_their_latencies(device):
    config = device.machine.config
    lines_of_l1 = config.l1d.lines
    in_l2 = step(device, CHASE, before=START, threads=1, a=ring(device, 2 * lines_of_l1))
    hit = config.l1d.hit_latency_cycles
    ratio = config.clocks.core_mhz / config.clocks.l2_mhz
    least = (config.l2.latency_cycles + config.l2.hit_latency_cycles) * ratio
    assert least < in_l2 < least + hit + 60


ONE_CLOCK = {f"clocks.{part}_mhz": 1000.0 for part in ("core", "network", "l2", "dram")}  # so that cycles can be added up
TAKEN, WRITTEN = 1, 1  # a core takes an answer in the cycle after it came, and its result is there in the next one
OUT_OF_DRAM = 1  # a slice takes data in the cycle after they came


def l2_round_trip(config) -> int:
    """A load that misses in the L1 and hits in the L2, on an idle machine with one clock."""
    network = config.network
    across = network.routing_delay_cycles + network.channel_latency_cycles
    more_flits = int(flits_for(config.l1d.line_bytes, network.header_bytes, network.flit_bytes)) - 1
    to_l2, at_l2 = ISSUE_TO_READ + ADDRESS_READS + across, config.l2.latency_cycles + config.l2.hit_latency_cycles
    return to_l2 + at_l2 + across + more_flits + TAKEN + WRITTEN


def test_a_chase_in_the_l2_takes_both_ways_and_the_slices_latencies():
    device = gpu(BIG_ICACHE | ONE_CLOCK)
    config = device.machine.config
    chased = step(device, CHASE, before=START, threads=1, a=ring(device, 2 * config.l1d.lines))
    assert chased == l2_round_trip(config)


def chase_in_one_bank(rows_used: int) -> tuple[float, object]:
    """Cycles of a load from DRAM, each from another line of one bank, from that many rows in turn; the L2 is too small for them."""
    device = gpu(BIG_ICACHE | ONE_CLOCK | {"l2.bytes": 1024, "l1d.enabled": False})
    config, map = device.machine.config, device.machine.records.gpu[0].map
    array = device.zeros(1 << 20, "u8")
    bank_bytes = config.l2.slices * config.dram.row_bytes * int(map.banks_per_slice)
    row = array.address // bank_bytes + 1
    places = [address_of(map, 3, 0, row + k % rows_used, k * 128) for k in range(32)]
    values = np.zeros(1 << 20, np.uint64)
    values[(np.array(places) - array.address) // 8] = np.roll(places, -1)
    array[...] = values
    return step(device, CHASE, before=f"mov.u64 %d1, {places[0]};\n", threads=1), config


@pytest.mark.parametrize("rows", [1, 2])
def test_a_chase_in_dram_adds_the_commands_timings(rows):
    """A line is two column accesses. In one row they are all; with two rows in turn each load closes one and opens the other."""
    cycles, config = chase_in_one_bank(rows)
    dram = config.dram
    accesses = config.l1d.line_bytes // dram.burst_bytes
    columns = (accesses - 1) * max(dram.t_ccd, dram.t_ccdl) + dram.t_cl + dram.burst_cycles
    data = dram.latency_cycles + columns + OUT_OF_DRAM
    opening = dram.t_rp + dram.t_rcd if rows == 2 else 0
    assert cycles == l2_round_trip(config) + data + opening
