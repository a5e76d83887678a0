"""A run that cannot end stops, and says who waits for whom."""

import pytest

import simtlab as sl
from tests.timing.machines import gpu, kernel, loop

LOAD_EACH = """
ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 128; add.u64 %d1, %d1, %d2;
ld.global.u32 %r2, [%d1]; add.u32 %r2, %r2, 1; st.global.u32 [%d1], %r2;
"""
HOLDS = {
    "dram_scheduler": ("choose", "channel, own, could, cycle", "NO_BANK"),
    "warp_scheduler": ("pick", "core, own, ready, cycle", "NO_WARP"),
    "cta_dispatch": ("choose", "gpu, own, kernel, cycle", "NO_CORE"),
}


def holding(folder, slot: str):
    """A policy that never lets anything go on."""
    name, arguments, nothing = HOLDS[slot]
    file = folder / f"{slot}.py"
    file.write_text(
        f"import numpy as np\nfrom simtlab.policies.hook import {nothing}, hook\n\nstate = np.dtype([('unused', 'i8')])\n\n\n"
        f"@hook\ndef {name}({arguments}):\n    return {nothing}\n"
    )
    return file


def report(device: sl.Gpu, body: str = LOAD_EACH) -> str:
    with pytest.raises(sl.Deadlock) as error:
        kernel(device, body)(2, 64, [device.zeros(4096, "u4"), device.zeros(1, "u4")])
    return str(error.value)


def test_a_dram_scheduler_that_holds_back_is_seen_in_queues_banks_and_mshrs(tmp_path):
    words = report(gpu(dram_scheduler=holding(tmp_path, "dram_scheduler"), stuck_cycles=300_000))
    assert "nothing has come any further for" in words
    assert "wait for memory" in words or "wait for instructions" in words
    assert "DRAM channel" in words
    assert "for banks" in words
    assert "L2 slice" in words
    assert "1 of 32 MSHRs: 0x" in words


def test_a_warp_scheduler_that_holds_back_is_seen_in_warps_that_could_issue(tmp_path):
    words = report(gpu(warp_scheduler=holding(tmp_path, "warp_scheduler"), stuck_cycles=300_000))
    assert "warps 0-3 could issue" in words


def test_a_dispatch_that_holds_back_is_seen_in_ctas_that_are_in_no_core(tmp_path):
    words = report(gpu(cta_dispatch=holding(tmp_path, "cta_dispatch"), stuck_cycles=300_000))
    assert "2 of 2 CTAs are in no core yet" in words


def test_a_limit_of_cycles_ends_a_run_with_what_was_counted():
    device = gpu(max_cycles=5000)
    with pytest.raises(sl.CycleLimit) as error:
        kernel(device, loop("add.u32 %r1, %r1, 1;\n", 1_000_000))(1, 64, [device.zeros(1), device.zeros(1)])
    assert str(error.value).startswith("kernel 'k' is not done after 5000 cycles\n  core 0: warps ")
    assert error.value.run.cycles == 5000
    assert sum(error.value.run.stalls.values()) == 5000
    assert error.value.run.instructions > 100


def test_a_launch_after_one_that_was_stopped_is_whole():
    device = gpu(max_cycles=5000)
    x = device.zeros(1, "u4")
    with pytest.raises(sl.CycleLimit):
        kernel(device, loop("add.u32 %r1, %r1, 1;\n", 1_000_000))(1, 64, [x, x])
    counting = "mov.u32 %r1, 0;\n" + loop("add.u32 %r1, %r1, 1;\n", 50) + "ld.param.u64 %d1, [a]; st.global.u32 [%d1], %r1;"
    assert kernel(device, counting)(1, 32, [x, x]).cycles < 5000
    assert x.numpy() == 50


@pytest.mark.parametrize("name", ["max_cycles", "stuck_cycles"])
def test_a_limit_must_be_a_cycle_at_least_and_needs_a_machine(name):
    with pytest.raises(sl.SimtlabError, match=f"{name} is 0; at least one cycle is needed"):
        sl.Gpu("caps-gtx480", **{name: 0})
    with pytest.raises(sl.SimtlabError, match="a limit of cycles is for timed runs"):
        sl.Gpu(**{name: 10})
