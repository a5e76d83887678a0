"""Votes, matches, reductions, elections and shuffles as machine code give the words an H200 gave: all forms of WARPSYNC, ELECT."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.frontend import cuda
from simtlab.frontend.sass.cubin import Cubin
from simtlab.frontend.sass.disassemble import instructions_of
from simtlab.machine.config import load
from simtlab.program.sass.given import UnknownSass
from tests.execute.recorded_warps import (
    OUTSIDE_KERNELS,
    cases_of,
    kernels,
    notes,
    outside_cases,
    recorded,
    source,
    texts,
    unequal_cases,
)
from tests.execute.test_recorded_warps import simulated
from tests.hardware.driver import ILLEGAL_INSTRUCTION
from tests.program.sass.test_unknown_parts import lowered

HUNG = -1
NEWER = ("redux", "elect")  # than sm_75
CASES = [("sm_90", name) for name in texts()]
CASES += [pytest.param("sm_120", name, marks=() if name in ("elect", "vote_all") else pytest.mark.slow) for name in texts()]
CASES += [pytest.param("sm_100", name, marks=() if name == "redux_max_s32" else pytest.mark.slow) for name in texts()]
CASES += [pytest.param("sm_75", name, marks=pytest.mark.slow) for name in texts() if not name.startswith(NEWER)]


@cache
def built(isa: str):
    """The kernels: the recorded PTX on sm_90, on other architectures the source that it came from, less what they have not."""
    gpu = sl.Gpu(isa=isa, threads=1)
    if isa == "sm_90":
        return gpu, gpu.load(str(recorded()["ptx"]))
    lines = [line for line in source().splitlines() if isa != "sm_75" or not any(name in line for name in NEWER)]
    return gpu, gpu.compile("\n".join(lines))


@pytest.mark.parametrize(("isa", "name"), CASES)
def test_an_operation_gives_what_the_hardware_gave(isa, name):
    """All of it: also words read beyond the membermask, and what lanes on both sides of a branch make of a vote together."""
    for kernel in kernels():
        if kernel.startswith(f"{name}_"):
            got = simulated(*built(isa), kernel, *cases_of(kernel, recorded()["given"], recorded()["active"]))
            wrong = np.argwhere((got != recorded()[f"out/{kernel}/"]).any(2))
            assert not len(wrong), f"{kernel}: case and lane {wrong[0]}"


def test_the_tail_of_a_reduction_is_as_recorded():
    given, active = cases_of("reduction_tail", recorded()["given"], recorded()["active"])
    np.testing.assert_array_equal(simulated(*built("sm_90"), "reduction_tail", given, active), recorded()["out/reduction_tail/"])


@pytest.mark.parametrize("name", OUTSIDE_KERNELS)
def test_a_lane_outside_its_own_membermask_is_an_illegal_instruction(name):
    for case, (given, active) in outside_cases().items():
        assert notes()["outcomes"][f"default/{name}_join/{case}"] == ILLEGAL_INSTRUCTION
        lane = min(k for k in range(32) if active[0] >> k & 1 and not given[0, k, 3] >> k & 1)
        with pytest.raises(sl.DeviceFault, match=rf"own lane is not in the membermask .* thread \({lane}, 0, 0\), at 'WARPSYNC"):
            simulated(*built("sm_90"), f"{name}_join", given, active)
    assert notes()["outcomes"][f"default/{name}_low_join/literal"] == ILLEGAL_INSTRUCTION
    with pytest.raises(sl.DeviceFault, match=r"own lane is not in the membermask .* thread \(16, 0, 0\)"):
        simulated(*built("sm_90"), f"{name}_low_join", *outside_cases()["most"])


@pytest.mark.parametrize("name", OUTSIDE_KERNELS)
def test_lanes_that_name_each_other_in_one_direction_only_do_as_recorded(name):
    """Each waits for those it names to name the same or to end: lanes that name all below them end one by one, others never."""
    below, pairs = unequal_cases()["lanes below"], unequal_cases()["pairs and all"]
    np.testing.assert_array_equal(simulated(*built("sm_90"), f"{name}_join", *below), recorded()[f"out/{name}_join/lanes below"])
    assert notes()["outcomes"][f"default/{name}_join/pairs and all"] == HUNG
    with pytest.raises(sl.DeviceFault, match="lanes of a warp wait for each other at different places, for ever"):
        simulated(*built("sm_90"), f"{name}_join", *pairs)


GROUPS = """
extern "C" __global__ void groups(const unsigned *members, const unsigned *rounds, uint4 *out, int n) {
  unsigned i = blockIdx.x * 32 + threadIdx.x, m = members[i], left = rounds[i], x = i;
  for (int k = 0; k < n; k++) {
    if (left-- == 0) {
      unsigned lane = 99, chosen = 0;
      #if __CUDA_ARCH__ >= 900
      asm volatile("{.reg .pred q; elect.sync %0|q, %2; selp.u32 %1, 1, 0, q;}" : "=r"(lane), "=r"(chosen) : "r"(m));
      #endif
      out[i] = make_uint4(__ballot_sync(m, x & 1), __match_any_sync(m, x % 3), lane, chosen);
      break;
    }
    x = x * 5 + 1;
  }
}
"""


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_lanes_of_a_group_wait_for_each_other_and_for_no_others(isa):
    """Each lane comes to its vote in another round of a loop; those it names wait for it."""
    rng = np.random.default_rng(3)
    warps, lanes = 40, np.arange(32)
    group = rng.integers(0, 5, (warps, 32)) % (np.arange(warps) % 5 + 1)[:, None]
    members = ((group[:, :, None] == group[:, None, :]) << lanes).sum(2).astype(np.uint32)
    rounds = rng.integers(0, 9, (warps, 32), np.uint32)
    gpu = sl.Gpu(isa=isa, threads=1)
    module, out = gpu.compile(GROUPS), gpu.zeros((warps, 32, 4), np.uint32)
    assert ("WARPSYNC.EXCLUSIVE" in module.sass) == (isa != "sm_75")
    module["groups"](warps, 32, [gpu.array(members), gpu.array(rounds), out, 10])
    x = np.arange(warps * 32, dtype=np.uint32).reshape(warps, 32)
    for k in range(9):
        x = np.where(k < rounds, x * np.uint32(5) + np.uint32(1), x)
    same = ((x % 3)[:, :, None] == (x % 3)[:, None, :]) & (group[:, :, None] == group[:, None, :])
    ballot = members & ((x & 1) << lanes).sum(1, dtype=np.uint32)[:, None]
    leader = np.array([[min(k for k in lanes if member >> k & 1) for member in warp] for warp in members.tolist()])
    got = out.numpy()
    np.testing.assert_array_equal(got[..., 0], ballot)
    np.testing.assert_array_equal(got[..., 1], (same << lanes).sum(2))
    if isa != "sm_75":
        np.testing.assert_array_equal(got[..., 2], leader)
        np.testing.assert_array_equal(got[..., 3], leader == lanes)


@pytest.mark.parametrize("kernel", ["elect_join", "vote_ballot_both", "redux_add_u32_join"])
def test_a_timed_machine_gives_the_same_words(kernel):
    gpu = sl.Gpu(load("h200").replace({"core.cores": 2, "dram.channels": 2, "l2.slices": 2}))
    given, active = cases_of(kernel, recorded()["given"], recorded()["active"])
    out = gpu.zeros((len(active), 32, 2), np.uint32)
    run = gpu.load(str(recorded()["ptx"]))[kernel](len(active), 32, [gpu.array(given), gpu.array(active), out])
    np.testing.assert_array_equal(out.numpy(), recorded()[f"out/{kernel}/"])
    assert sum(run.stalls.values()) == 2 * gpu.machine.config.issue.schedulers * run.cycles


def test_an_election_among_lanes_that_hold_a_predicate_is_refused():
    """No compiled code has shown what it does."""
    cubin = Cubin(cuda.compile_cuda(GROUPS, "k.cu", architecture="sm_90", count_registers=True).cubin)
    one = next(i for i in instructions_of(cubin, "groups") if i.opcode == "ELECT")
    lowered(one)
    with pytest.raises(UnknownSass, match="a predicate"):
        lowered(replace(one, operands=(*one.operands[:-1], replace(one.operands[-1], number=3))))
