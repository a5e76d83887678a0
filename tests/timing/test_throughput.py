"""Independent instructions reach the units' rate; conflicts cost what they must."""

import pytest

from tests.timing.machines import gpu, step

BIG_ICACHE = {"l1i.bytes": 65536}


@pytest.fixture(scope="module")
def device():
    return gpu(BIG_ICACHE)


def shared_load(stride_words: int) -> tuple[str, str]:
    before = f"mov.u32 %r1, %tid.x; mul.lo.u32 %r1, %r1, {4 * stride_words}; mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n"
    return before, "ld.shared.u32 %r3, [%r1];\n"


@pytest.mark.parametrize("ways", [1, 2, 4, 8, 16, 32])
def test_an_n_way_bank_conflict_costs_n_passes(device, ways):
    before, load = shared_load(ways)
    alone, many = 1, 8
    loads = "".join(load.replace("%r3", f"%r{10 + k}") for k in range(many))
    wait = "".join(f"add.u32 %r5, %r{10 + k}, 1;\n" for k in range(many))
    per_group = step(device, loads + wait, count=8, before=before)
    base_before, base_load = shared_load(alone)
    base = step(device, "".join(base_load.replace("%r3", f"%r{10 + k}") for k in range(many)) + wait, count=8, before=base_before)
    if ways >= 4:  # below, issue is slower than the conflicts
        assert per_group - base == pytest.approx((ways - 1) * many, abs=2 * many)
    else:
        assert per_group >= base


def test_all_lanes_reading_one_word_is_a_broadcast(device):
    before, load = shared_load(0)
    apart_before, apart = shared_load(1)
    assert step(device, load, before=before) == step(device, apart, before=apart_before)


def test_many_warps_keep_one_scheduler_busy(device):
    """Eight warps hide an addition's latency: one instruction a cycle."""
    assert step(device, "add.s32 %r1, %r1, 1;\n", threads=256) == pytest.approx(8, rel=0.15)
