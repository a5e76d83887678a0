"""How much of its time each part worked, where it can be counted by hand. About 3 s."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import load
from tests.timing.machines import gpu, kernel, loop


def run(device: sl.Gpu, body: str, threads: int = 32):
    array = device.zeros(1 << 16, "u4")
    return kernel(device, "ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n" + body)(1, threads, [array, array])


def test_a_unit_that_takes_an_instruction_every_cycle_is_at_work_all_the_time():
    device = gpu({"issue.schedulers": 1, "units.sp_units": 2, "l1i.bytes": 16384})
    found = run(device, loop("fma.rn.f32 %f1, %f1, %f1, %f1;\n" * 64, 100), threads=512)
    assert found.utilisation["sp"] == found.counters["busy_sp"] / (2 * found.cycles)
    assert 0.48 < found.utilisation["sp"] <= 0.5  # two units, one scheduler
    assert {"int", "dp", "tensor"}.isdisjoint(found.utilisation)  # this core has none


@pytest.mark.parametrize(("stride", "passes"), [(4, 1), (8, 2), (128, 32)])
def test_shared_memory_keeps_the_load_store_unit_for_each_pass(stride, passes):
    found = run(gpu(), f"mul.lo.u32 %r2, %r1, {stride};\nld.shared.u32 %r3, [%r2];\n")
    assert found.counters["busy_ldst"] == passes
    assert found.utilisation["ldst"] == passes / found.cycles


@pytest.mark.parametrize(("ports", "busy"), [(1, 32), (4, 8)])
def test_the_load_store_unit_is_busy_while_it_makes_accesses_not_while_it_is_rejected(ports, busy):
    """32 lines, and one place towards the network: most cycles are rejections."""
    device = gpu({"l1d.ports": ports, "l1d.miss_queue_entries": 64})
    load_32_lines = "mul.wide.u32 %d2, %r1, 128;\nadd.u64 %d2, %d2, %d1;\nld.global.u32 %r3, [%d2];\n"
    assert run(device, load_32_lines).counters["busy_ldst"] == busy
    narrow = run(gpu({"l1d.miss_queue_entries": 1}), load_32_lines).counters
    assert narrow["busy_ldst"] == 32
    assert narrow["l1_fail_network"] > 0


def test_memory_is_measured_in_its_own_clocks():
    device = sl.Gpu("caps-gtx480")
    x, y = device.array(np.ones(1 << 16, "f4")), device.zeros(1 << 16)
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
    source = f'extern "C" __global__ void copy(const float *x, float *y) {{ {index} y[i] = x[i]; }}'
    found = device.compile(source)["copy"](256, 256, [x, y])
    config, count, work = load("caps-gtx480"), found.counters, found.utilisation
    per_core_cycle = {name: getattr(config.clocks, f"{name}_mhz") / config.clocks.core_mhz for name in ("network", "l2", "dram")}
    assert work["dram_bus"] == pytest.approx(count["dram_bus_cycles"] / (6 * found.cycles * per_core_cycle["dram"]))
    assert work["l2"] == pytest.approx(count["l2_accesses"] / (12 * found.cycles * per_core_cycle["l2"]))
    assert work["reply_network"] == pytest.approx(count["reply_flits"] / (12 * found.cycles * per_core_cycle["network"]))
    assert 0 < work["request_network"] < 1
