"""Cores of one group that read the same at once ask the L2 once; four cores of an H200 that executes PTX, CTAs of one warp each."""

import numpy as np
import pytest

import simtlab as sl
from tests.timing import mixed
from tests.timing.machines import kernel

CORES, SECTORS = 4, 4  # a line of 128 bytes is four requests
ADDRESS = "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d1, %d3;\n"
OWN = "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1; mul.wide.u32 %d5, %r3, 4; add.u64 %d5, %d5, %d2;\n"
READ = "ld.global.u32 %r4, [%d4];\nst.global.u32 [%d5], %r4;\n"


def machine(cores_of_a_group: int, **more) -> sl.Gpu:
    changes = {"core.cores": CORES, "core.isa": "ptx", "l1i.ideal": True, "network.coalescing_cores": cores_of_a_group,
               "network.code_coalescing_cores": 0, "network.coalescing_groups": "neighbours"}  # fmt: skip
    return sl.Gpu("h200", set=changes | more, memory_bytes=1 << 24)


def ran(device: sl.Gpu, body: str, ctas: int = CORES) -> tuple[dict[str, int], np.ndarray]:
    """The counters of a kernel whose threads have their place in a line in %d4 and one of their own in %d5, and what it wrote."""
    line, out = device.array(np.arange(7, 39, dtype="u4")), device.zeros((ctas, 32), "u4")
    found = kernel(device, ADDRESS + OWN + body)(ctas, 32, [line, out]).counters
    return found, out.numpy()


def reads(found: dict[str, int]) -> int:
    return found["l2_hits"] + found["l2_hits_reserved"] + found["l2_misses"] - found["l2_atomics"]


@pytest.mark.parametrize(("cores_of_a_group", "requests"), [(0, CORES), (1, CORES), (2, 2), (3, 2), (4, 1), (18, 1)])
def test_a_line_that_all_cores_read_at_once_leaves_the_l2_once_a_group(cores_of_a_group, requests):
    found, written = ran(machine(cores_of_a_group), READ)
    assert reads(found) == SECTORS * requests
    assert found["l1_misses"] == SECTORS * CORES
    assert (written == np.arange(7, 39)).all()


def test_those_who_wait_have_their_data_with_the_first():
    """No core's trip takes longer than without a coalescer."""
    alone, shared = (ran(machine(cores), READ)[0] for cores in (0, CORES))
    assert shared["round_trips"] == alone["round_trips"] == SECTORS * CORES
    assert shared["round_trip_cycles"] <= alone["round_trip_cycles"]


def test_a_core_that_comes_when_the_answer_is_there_asks_for_itself():
    """Two CTAs of one core after each other: the L1 has the line. On another core it would not: that of the third waits a while."""
    wait = "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra G;\nmov.u32 %r9, 0;\nW: add.u32 %r9, %r9, 1;\n"
    late = wait + "setp.lt.u32 %p2, %r9, 400;\n@%p2 bra W;\nG: " + READ
    found, written = ran(machine(CORES), late, ctas=2)
    assert reads(found) == SECTORS * 2
    assert (written == np.arange(7, 39)).all()


def test_writes_are_never_coalesced():
    found, _ = ran(machine(CORES), "st.global.u32 [%d4], %r1;\n")
    assert found["l2_writes"] == SECTORS * CORES


def test_atomics_are_never_coalesced():
    """Lane 0 of each core adds to one word."""
    body = "setp.eq.u32 %p1, %r1, 0;\n@%p1 atom.global.add.u32 %r5, [%d1], 1;\nst.global.u32 [%d5], %r5;\n"
    found, written = ran(machine(CORES), body)
    assert found["l2_atomics"] == CORES
    assert sorted(written[:, 0].tolist()) == [7, 8, 9, 10]  # everybody has seen another value


def test_instructions_are_coalesced_too():
    """All cores begin with the same code."""
    alone, shared = (ran(machine(cores, **{"l1i.ideal": False, "l1i.launch_lines": 0}), READ)[0] for cores in (0, CORES))
    assert alone["l1i_misses"] == shared["l1i_misses"] > 0
    assert reads(alone) - SECTORS * CORES == alone["l1i_misses"]
    assert reads(shared) - SECTORS == shared["l1i_misses"] // CORES


@pytest.mark.parametrize(("sharing_code", "times"), [(0, 2), (1, 4), (2, 2), (4, 1)])
def test_groups_that_share_code_may_be_others_than_those_that_share_data(sharing_code, times):
    """0: the same, here two of two cores."""
    changes = {"l1i.ideal": False, "l1i.launch_lines": 0, "network.code_coalescing_cores": sharing_code}
    found, written = ran(machine(2, **changes), READ)
    assert reads(found) - SECTORS * 2 == found["l1i_misses"] // CORES * times
    assert (written == np.arange(7, 39)).all()


@pytest.mark.parametrize(("groups", "requests"), [("neighbours", 1), ("interleaved", 2)])
def test_two_ctas_side_by_side_share_reads_if_their_cores_are_of_one_group(groups, requests):
    """Groups of two: cores 0 and 1, or 0 and 2."""
    found, _ = ran(machine(2, **{"network.coalescing_groups": groups}), READ, ctas=2)
    assert reads(found) == SECTORS * requests


def test_no_shared_answer_is_lost_by_a_core_that_others_wait_at():
    """A network so fast that 1,024 answers wait for a core when one comes that another core has asked for."""
    changes = {"core.detail": 2, "core.cores": 2, "l1d.write_global": "write-through", "l1d.ports": 16,
               "clocks.network_mhz": 3228.0}  # fmt: skip
    _, written = mixed.launch(sl.Gpu("a100", set=changes, memory_bytes=1 << 24), 6)
    assert written == mixed.expected(6)
