"""Cores of one group that read the same at once ask the L2 once; four cores of an H200 that executes PTX, CTAs of one warp each."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.network import request_coalescer
from tests.timing import mixed
from tests.timing.machines import kernel

CORES, SECTORS = 4, 4  # a line of 128 bytes is four requests
ADDRESS = "ld.param.u64 %d1, [a]; ld.param.u64 %d2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %d3, %r1, 4; add.u64 %d4, %d1, %d3;\n"
OWN = "mov.u32 %r2, %ctaid.x; mad.lo.u32 %r3, %r2, 32, %r1; mul.wide.u32 %d5, %r3, 4; add.u64 %d5, %d5, %d2;\n"
READ = "ld.global.u32 %r4, [%d4];\nst.global.u32 [%d5], %r4;\n"


def machine(cores_of_a_group: int, **more) -> sl.Gpu:
    changes = {"core.cores": CORES, "core.isa": "ptx", "l1i.ideal": True, "network.coalescing_cores": cores_of_a_group,
               "policies.cta_dispatch": "round-robin"}  # fmt: skip
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


def test_cores_are_dealt_evenly_over_the_gpcs_by_tpcs():
    """An H200 has six GPCs of 16 cores and two of 18, an A100 seven, an RTX 2080 Ti six of at most 12."""
    assert request_coalescer.sizes(132, 18) == 6 * [16] + 2 * [18]
    assert request_coalescer.sizes(108, 16) == 2 * [14] + 5 * [16]
    assert request_coalescer.sizes(68, 12) == 2 * [10] + 4 * [12]
    assert request_coalescer.sizes(4, 3) == [2, 2]
    assert request_coalescer.sizes(5, 2) == [1, 2, 2]


@pytest.mark.parametrize(("most", "requests"), [(0, 1), (1, 4), (2, 2), (3, 2), (4, 1)])
def test_so_many_reads_share_one_answer(most, requests):
    found, written = ran(machine(CORES, **{"network.coalescing_requests": most}), READ)
    assert reads(found) == SECTORS * requests
    assert (written == np.arange(7, 39)).all()


def after(turns: int, body: str) -> str:
    """A body that the second CTA comes to later than the first, by so many turns of two instructions."""
    loop = f"W: add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p2, %r9, {turns};\n@%p2 bra W;\n"
    return f"mov.u32 %r9, 0;\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra G;\n{loop}G: {body}"


@pytest.mark.parametrize(("open_cycles", "requests"), [(0, 1), (4, 2), (400, 1)])
def test_a_read_that_the_l2_has_not_is_shared_for_so_long(open_cycles, requests):
    """The second comes some 40 cycles later, and the data hundreds of cycles later."""
    changes = {"network.coalescing_hit_cycles": min(open_cycles, 4), "network.coalescing_miss_cycles": open_cycles}
    found, _ = ran(machine(CORES, **changes), after(2, READ), ctas=2)
    assert reads(found) == SECTORS * requests


def test_a_line_is_shared_by_who_wants_the_same_sectors():
    """The first CTA reads all four of a line, the others the first half of it: the second CTA's read ends the sharing, the third
    begins anew, and the fourth shares with it."""
    half = "setp.eq.u32 %p1, %r2, 0;\nsetp.lt.or.u32 %p2, %r1, 16, %p1;\nmov.u32 %r4, 7;\n@%p2 ld.global.u32 %r4, [%d4];\n"
    found, written = ran(machine(CORES), half + "st.global.u32 [%d5], %r4;\n")
    assert reads(found) == SECTORS + 2 * SECTORS // 2
    assert (written[1:, 16:] == 7).all()
    assert (written[0] == np.arange(7, 39)).all()


def test_no_shared_answer_is_lost_by_a_core_that_others_wait_at():
    """A network so fast that 1,024 answers wait for a core when one comes that another core has asked for."""
    changes = {"core.detail": 2, "core.cores": 2, "l1d.write_global": "write-through", "l1d.ports": 16,
               "clocks.network_mhz": 3228.0}  # fmt: skip
    _, written = mixed.launch(sl.Gpu("a100", set=changes, memory_bytes=1 << 24), 6)
    assert written == mixed.expected(6)
