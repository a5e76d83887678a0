"""Coordinated bypassing: loads by what an earlier run says of their locality, CTAs for those in between."""

import pytest

import simtlab as sl
from simtlab.lab.experiment import Experiment
from simtlab.lab.machines import MachineChoice
from simtlab.lab.run_experiment import run_experiment
from simtlab.policies.choice import read_choice
from tests.mechanisms.walks import mix, rows

ONE_CORE = {"core.cores": 1}
COUNTER = "mechanism.coordinated-bypass"


def coordinated(settings: str = "", profile: tuple[sl.Run, ...] = ()) -> sl.Gpu:
    return sl.Gpu("gtx480", set=ONE_CORE, mechanism=f"coordinated_bypass{settings}", profile=profile)


@pytest.fixture(scope="module")
def plain() -> sl.Run:
    """A load that never hits, and one that hits every other time: the table of 100 lines and the others in between do not fit."""
    run = mix(sl.Gpu("gtx480", set=ONE_CORE), lines=100, rounds=800)
    assert (run.loads["requests"].tolist(), run.loads["hit"].tolist()) == ([400, 800], [0, 400])
    return run


def test_a_load_with_poor_locality_leaves_the_l1_to_the_others(plain):
    """Without the lines that are read once, the whole table stays."""
    run = mix(coordinated(",adaptive=0", (plain,)), lines=100, rounds=800)
    assert run.counters[f"{COUNTER}.poor_bypassed"] == 400
    assert run.counters[f"{COUNTER}.moderate_bypassed"] == 0
    assert run.counters["l1_hits"] == 800 - 100
    assert run.cycles < 0.94 * plain.cycles


@pytest.mark.parametrize(
    ("settings", "poor", "moderate"),
    [(",share=0", 400, 800), (",share=0,good=50", 400, 0), (",share=8,poor=50", 1200, 0), (",share=0,poor=-1", 0, 1200)],
)
def test_limits_in_percent_part_good_moderate_and_poor(plain, settings, poor, moderate):
    """One load hit in 0, the other in 50 percent of its accesses; moderate ones go around as no CTA uses the L1 for them."""
    run = mix(coordinated(f",adaptive=0{settings}", (plain,)), lines=100, rounds=800)
    assert run.counters[f"{COUNTER}.poor_bypassed"] == poor
    assert run.counters[f"{COUNTER}.moderate_bypassed"] == moderate


def test_half_of_the_ctas_use_the_l1_at_a_share_of_four():
    """All loads count as moderate: those of 8 of 16 CTAs, 1,024 accesses each, go around."""
    before = rows(sl.Gpu("gtx480", set=ONE_CORE), warps=16, threads=32)
    run = rows(coordinated(",adaptive=0,share=4,good=101,poor=-1", (before,)), warps=16, threads=32)
    assert run.counters[f"{COUNTER}.moderate_bypassed"] == 8 * 1024


def test_the_share_of_ctas_is_found_while_they_run():
    """Eight CTAs of a warp with 32 lines of its own thrash an L1 of 128; with fewer, some hit."""
    before = rows(sl.Gpu("gtx480", set=ONE_CORE), warps=96, threads=32)
    after = rows(coordinated(",good=101,poor=-1", (before,)), warps=96, threads=32)
    assert after.counters[f"{COUNTER}.moved"] == 96 // 8 - 1
    assert after.counters["l1_hits"] > 10 * before.counters["l1_hits"]
    assert after.cycles < 0.8 * before.cycles


def test_without_a_profile_nothing_is_done(plain):
    run = mix(coordinated(",share=0"), lines=100, rounds=800)
    assert run.cycles == plain.cycles
    assert run.counters[f"{COUNTER}.poor_bypassed"] == run.counters[f"{COUNTER}.moderate_bypassed"] == 0


def test_an_experiment_is_given_the_profile_of_a_run_without_mechanisms():
    """Loads of BFS that hit seldom go around the L1; without a profile none does."""
    records = {}
    for profile in ("none", "baseline"):
        machine = MachineChoice("gtx480", {}, {"mechanism": read_choice("coordinated-bypass")}, profile=profile)
        records[profile] = run_experiment(Experiment("BFS", "tiny", machine))
    assert records["none"].key != records["baseline"].key
    assert records["none"].counters[f"{COUNTER}.poor_bypassed"] == 0
    assert records["baseline"].counters[f"{COUNTER}.poor_bypassed"] > 0
    assert records["baseline"].inputs["profile"] == "baseline"
    assert "profile" not in records["none"].inputs
