"""The order in which warps reach their loads: Fig. 8a (two-level) against Fig. 8b (PAS), PAS on other schedulers, wake-up."""

import numpy as np
import pytest

from simtlab.compiled import HOOK_C
from simtlab.machine.build import build
from simtlab.policies.attach import attach
from simtlab.policies.load import load
from simtlab.policies.trouble import new_trouble
from tests.papers.bench import RECORDER, loads_of
from tests.timing.machines import gpu, kernel, one_core

BODY = """
    ld.param.u64 %d1, [a];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d1, %d2;
    ld.global.f32 %f1, [%d3];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%d3], %f2;
"""


@pytest.fixture
def recorder(tmp_path):
    path = tmp_path / "recorder.py"
    path.write_text(RECORDER)
    return str(path)


def order(recorder, scheduler, ctas=3, warps=3):
    """The warps in the order of their loads, as "A0 A1 …"."""
    device = gpu({"units.sp_units": 2}, prefetcher=recorder, warp_scheduler=scheduler)  # no warp waits for a unit
    values = device.array(np.arange(ctas * warps * 32, dtype="f4"))
    made = kernel(device, BODY)
    made(ctas, warps * 32, [values, np.uint64(0)])  # its instructions are in the L2 for the second time
    made(ctas, warps * 32, [values, np.uint64(0)])
    assert (values.numpy() == 4 * np.arange(ctas * warps * 32)).all()
    return " ".join(f"{'ABCDEFGH'[cta]}{warp}" for cta, warp, _, _ in loads_of(device))


def test_fig_8a_two_level_scheduling_goes_through_the_ctas_one_by_one(recorder):
    assert order(recorder, "two-level,active_warps=4") == "A0 A1 A2 B0 B1 B2 C0 C1 C2"


def test_fig_8b_prefetch_aware_scheduling_takes_the_leading_warps_first(recorder):
    assert order(recorder, "pas,active_warps=4") == "A0 B0 C0 A1 A2 B1 B2 C1 C2"


def test_pas_on_round_robin_takes_the_leading_warps_first(recorder):
    assert order(recorder, "lrr") == "A0 A1 A2 B0 B1 B2 C0 C1 C2"
    assert order(recorder, "pas-lrr").split()[:3] == ["A0", "B0", "C0"]


def test_pas_on_greedy_then_oldest_takes_the_leading_warps_first(recorder):
    assert order(recorder, "gto") == "A0 A1 A2 B0 B1 B2 C0 C1 C2"
    assert order(recorder, "pas-gto") == "A0 B0 C0 A1 A2 B1 B2 C1 C2"


class Scheduler:
    """A scheduler with two active warps on a core of two CTAs of three warps: slots 0 to 2 and 3 to 5; 0 and 3 lead."""

    def __init__(self, name: str = "pas", **parameters):
        self.policy = load("warp_scheduler", name, **{"active_warps": 2} | parameters)
        self.records = build(one_core())
        self.core = self.records.cores[0]
        self.trouble = new_trouble(self.records)
        self.states = attach(self.policy, self.records, self.trouble)
        self.own = self.states[0]
        self.core.occupied = 0b111111
        for cta in (0, 1):
            self.core.ctas[cta].n_warps = 3
            self.core.slot_of[cta, :3] = np.arange(3) + 3 * cta
            self.call("on_cta", cta)

    def call(self, hook: str, argument: int) -> int:
        address = self.policy.addresses[hook]
        return HOOK_C(address)(int(self.core.address), int(self.core.own_warp_scheduler[0]), argument, 1) if address else 0

    @property
    def active(self) -> set[int]:
        return {w for w in range(64) if int(self.own.active) >> w & 1}


def test_leading_warps_are_active_unless_they_wait():
    pas = Scheduler()
    assert pas.call("pick", 0b111111) in (0, 3)
    assert pas.active == {0, 3}
    pas.core.long = 0b000001
    assert pas.call("pick", 0b111110) == 3  # though warps before it are ready
    assert pas.active == {1, 3}
    pas.core.long = 0
    pas.call("pick", 0b111111)
    assert pas.active == {0, 3}  # warp 1 had to make room


def test_a_warp_whose_prefetched_data_come_pushes_a_trailing_warp_out():
    pas = Scheduler()
    pas.core.long = 0b001001
    pas.call("pick", 0b000110)
    assert pas.active == {1, 2}
    pas.call("on_issue", 2)
    pas.call("on_data", 5)
    assert pas.active == {1, 5}
    pas.call("on_data", 5)  # it is there already
    assert pas.active == {1, 5}


def test_a_warp_is_not_woken_while_it_waits_nor_by_pushing_leading_warps_out():
    pas = Scheduler()
    pas.call("pick", 0b111111)
    pas.call("on_data", 5)
    assert pas.active == {0, 3}
    pas.core.long = 0b101001
    pas.call("pick", 0b010110)
    before = pas.active
    assert len(before & {1, 2, 4}) == 2
    pas.call("on_data", 5)
    assert pas.active == before


def test_without_wake_up_data_change_nothing():
    pas = Scheduler(wake=0)
    pas.core.long = 0b001001
    pas.call("pick", 0b000110)
    pas.call("on_data", 5)
    assert pas.active == {1, 2}


def test_consecutive_warps_are_in_different_groups_of_orch():
    """Six warp slots and two active warps make three groups: warps 0 and 3, 1 and 4, 2 and 5."""
    orch = Scheduler("orchestrated")
    orch.core.warp_slots = 6
    assert orch.call("pick", 0b111111) in (0, 3)
    assert orch.active == {0, 3}
    orch.core.long = 0b001001
    orch.call("pick", 0b110110)
    assert orch.active == {1, 4}
    orch.core.long = 0b011011
    orch.call("pick", 0b100100)
    assert orch.active == {2, 5}


@pytest.mark.parametrize("name", ["two-level", "pas", "orchestrated"])
def test_a_warp_that_has_ended_is_not_active_though_its_stores_are_under_way(name):
    scheduler = Scheduler(name)
    scheduler.core.long = 0b001001
    scheduler.call("pick", 0b000110)
    assert scheduler.active == {1, 2}
    scheduler.core.draining = 0b000010
    scheduler.call("pick", 0b010100)
    assert scheduler.active == {2, 4}
