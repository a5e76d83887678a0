"""Operations across the lanes of a warp give the words an H200 gave, whichever lanes are there and whatever they name."""

import numpy as np
import pytest

import simtlab as sl
from tests.execute.recorded_warps import FULL, LITERALS, OUTSIDE_KERNELS, cases_of, kernels, notes, outside_cases, recorded, texts
from tests.hardware.driver import ILLEGAL_INSTRUCTION

UNTOUCHED = 0xCCCCCCCC


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def module(gpu):
    return gpu.load(str(recorded()["ptx"]))


def simulated(gpu, module, kernel, given, active):
    out = gpu.array(np.full((len(active), 32, 2), UNTOUCHED, np.uint32))
    module[kernel](len(active), 32, [gpu.array(given), gpu.array(active), out])
    return out.numpy()


def source_lanes(mode, given):
    """The lane each lane reads in a shuffle, by the PTX manual."""
    lane, step, bounds = np.arange(32), given[..., 1].astype(int) & 31, given[..., 2].astype(int)
    clamp, segment = bounds & 31, bounds >> 8 & 31
    last = lane & segment | clamp & ~segment
    wanted = {"up": lane - step, "down": lane + step, "bfly": lane ^ step, "idx": lane & segment | step & ~segment}[mode]
    return np.where(wanted >= last if mode == "up" else wanted <= last, wanted, lane)


@pytest.mark.parametrize("name", texts())
def test_an_operation_gives_what_the_hardware_gave(gpu, module, name):
    for kernel in kernels():
        if not kernel.startswith(f"{name}_") or kernel.endswith("_both"):
            continue
        given, active = cases_of(kernel, recorded()["given"], recorded()["active"])
        expected, got = recorded()[f"out/{kernel}/"], simulated(gpu, module, kernel, given, active)
        compared = np.ones((len(active), 32), bool)
        if name.startswith("shfl") and not any(f"_{literal}_" in kernel for literal in LITERALS):
            source = source_lanes(name[5:], given)
            compared = given[..., 3] >> source.astype("u4") & 1 == 1  # what is read beyond the membermask depends on the build
            beyond = ~compared & (active[:, None] >> np.arange(32, dtype="u4") & 1 == 1)
            assert beyond.any()
            assert (got[beyond][:, 0] == 0).all(), kernel
        assert (got == expected)[compared].all(), f"{kernel}: case {np.argwhere((got != expected).any(2) & compared)[0]}"


def test_the_tail_of_a_reduction_adds_nothing_of_lanes_that_are_not_there(gpu, module):
    given, active = cases_of("reduction_tail", recorded()["given"], recorded()["active"])
    got = simulated(gpu, module, "reduction_tail", given, active)
    np.testing.assert_array_equal(got[..., 0], recorded()["out/reduction_tail/"][..., 0])


@pytest.mark.parametrize("name", OUTSIDE_KERNELS)
@pytest.mark.parametrize("case", outside_cases())
def test_a_lane_outside_its_own_membermask_is_an_illegal_instruction(gpu, module, name, case):
    kernel, (given, active) = f"{name}_join", outside_cases()[case]
    assert {notes()["outcomes"][f"{build}/{kernel}/{case}"] for build in ("default", "O0", "debug")} == {ILLEGAL_INSTRUCTION}
    with pytest.raises(sl.DeviceFault, match="illegal instruction: the thread's own lane is not in the membermask"):
        simulated(gpu, module, kernel, given, active)


def test_the_fault_names_the_lowest_lane_that_is_outside(gpu, module):
    given, active = outside_cases()["one that others name"]
    with pytest.raises(sl.DeviceFault, match=r"thread \(5, 0, 0\)"):
        simulated(gpu, module, "vote_ballot_join", given, active)


def test_a_timed_machine_faults_too():
    gpu = sl.Gpu("v100")
    with pytest.raises(sl.DeviceFault, match=r"thread \(8, 0, 0\)"):
        simulated(gpu, gpu.load(str(recorded()["ptx"])), "syncwarp_join", *outside_cases()["most"])


def test_a_literal_membermask_is_checked_too(gpu, module):
    given, active = outside_cases()["most"]
    assert active[0] == FULL
    for name in OUTSIDE_KERNELS:
        kernel = f"{name}_low_join"
        assert notes()["outcomes"][f"default/{kernel}/literal"] == ILLEGAL_INSTRUCTION
        with pytest.raises(sl.DeviceFault, match=r"thread \(16, 0, 0\)"):
            simulated(gpu, module, kernel, given, active)


def test_lanes_on_two_sides_of_a_branch_do_not_meet_at_a_vote_as_they_do_on_hardware(gpu, module):
    """Deviation 2."""
    given, active = cases_of("vote_ballot_both", recorded()["given"], recorded()["active"])
    lanes = np.arange(32, dtype="u4")
    here = active[:, None] >> lanes & 1 == 1
    holds = np.where(here, given[..., 0], ~given[..., 0]) >> 31 == 1
    together = (holds << lanes).sum(1, dtype="u4")
    assert (recorded()["out/vote_ballot_both/"][..., 0] == together[:, None]).all()
    got = simulated(gpu, module, "vote_ballot_both", given, active)[..., 0]
    assert (got == np.where(here, (together & active)[:, None], (together & ~active)[:, None])).all()
