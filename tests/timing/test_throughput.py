"""Independent instructions reach the units' rate; conflicts cost what they must."""

import numpy as np
import pytest

from tests.timing.machines import gpu, kernel, loop, step

BIG_ICACHE = {"l1i.bytes": 65536}


@pytest.fixture(scope="module")
def device():
    return gpu(BIG_ICACHE)


def shared_load(stride_words: int) -> tuple[str, str]:
    before = f"mov.u32 %r1, %tid.x; mul.lo.u32 %r1, %r1, {4 * stride_words}; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n"
    return before, "ld.shared.u32 %r3, [%r1];\n"


def eight_loads(device, ways: int) -> float:
    """Cycles of eight loads with a bank conflict of so many ways, and of waiting for them."""
    before, load = shared_load(ways)
    loads = "".join(load.replace("%r3", f"%r{10 + k}") for k in range(8))
    wait = "".join(f"add.u32 %r5, %r{10 + k}, 1;\n" for k in range(8))
    return step(device, loads + wait, short=2, long=4, before=before)


@pytest.mark.parametrize("ways", [8, 16])  # below, issuing the loads takes longer than their conflicts
def test_an_n_way_bank_conflict_costs_n_passes(device, ways):
    assert eight_loads(device, 2 * ways) - eight_loads(device, ways) == 8 * ways


@pytest.mark.parametrize("access", ["ld.shared.u32 %r3, [%r1];\n", "st.shared.u32 [%r1], %r3;\n"])
@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16, 32])
def test_an_n_way_bank_conflict_is_counted_as_n_passes(device, access, ways):
    before, _ = shared_load(ways)
    run = kernel(device, before + loop(access, 10))(3, 64, [np.uint64(0)] * 2)
    assert run.counters["shared_passes"] == 3 * 2 * 10 * ways


def test_all_lanes_reading_one_word_is_a_broadcast(device):
    before, load = shared_load(0)
    apart_before, apart = shared_load(1)
    assert step(device, load, before=before) == step(device, apart, before=apart_before)


@pytest.mark.parametrize("detail", [1, 2, 3])
def test_many_warps_keep_one_scheduler_busy(detail):
    """Eight warps hide an addition's latency: one instruction a cycle."""
    device = gpu(BIG_ICACHE | {"core.detail": detail})
    assert step(device, "add.s32 %r1, %r1, 1;\n", threads=256) == pytest.approx(8, rel=0.15)


@pytest.mark.parametrize("detail", [1, 2, 3])
@pytest.mark.parametrize("initiation", [1, 2, 3])
def test_a_unit_takes_an_instruction_every_initiation_interval(detail, initiation):
    changes = {"core.detail": detail, "units.sp_mad.initiation_cycles": initiation}
    device = gpu(BIG_ICACHE | changes)
    assert step(device, "fma.rn.f32 %f1, %f1, %f1, %f1;\n", threads=512) == pytest.approx(16 * initiation, rel=0.05)


@pytest.mark.parametrize("detail", [1, 2, 3])
@pytest.mark.parametrize(("width", "passes"), [(16, 2), (8, 4)])
def test_a_warp_takes_as_many_cycles_as_a_narrow_simd_needs_for_32_lanes(detail, width, passes):
    device = gpu(BIG_ICACHE | {"core.detail": detail, "core.simd_width": width})
    assert step(device, "add.s32 %r1, %r1, 1;\n", threads=256) == pytest.approx(8 * passes, rel=0.05)


@pytest.mark.parametrize("unit", ["sp", "int", "dp", "sfu", "tensor"])
def test_an_operation_runs_on_the_unit_that_the_machine_gives_it(unit):
    """Multiply-adds on any unit, one every three cycles, and each of them keeps that unit for three."""
    changes = {"units.sp_mad.unit": unit, "units.sp_mad.initiation_cycles": 3, f"units.{unit}_units": 1}
    device = gpu(BIG_ICACHE | changes)
    assert step(device, "fma.rn.f32 %f1, %f1, %f1, %f1;\n", threads=512) == pytest.approx(16 * 3, rel=0.05)
    run = kernel(device, "fma.rn.f32 %f1, %f1, %f1, %f1;\n" * 8)(1, 512, [device.zeros(1), device.zeros(1)])
    assert run.counters[f"busy_{unit}"] == 3 * 8 * 16
