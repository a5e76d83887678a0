"""Chains of dependent instructions take the configured latencies, to the cycle, on an idle machine."""

import numpy as np
import pytest

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
