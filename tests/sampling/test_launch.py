"""A launch of many CTAs: simulated in detail until its rate is stable, the rest functionally; results and totals stay exact."""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import DeviceFault
from simtlab.machine.core.kinds import Stall
from simtlab.machine.core.stall import Work
from simtlab.sampling import many_ctas
from tests.sampling.kernels import BLOCK, CUT, SOURCE, device, run

MANY = 1200


@cache
def both(kernel, ctas=MANY, *more):
    """In full and sampled."""
    return run(device(None), kernel, ctas, *more), run(device(), kernel, ctas, *more)


@pytest.mark.quick
def test_a_regular_launch_is_mostly_left_out_and_its_cycles_are_within_their_bar():
    (full, _), (sampled, _) = both("regular")
    mark = sampled.timing.sampled
    assert mark.share < 0.5
    assert mark.windows >= 3
    assert 0 < mark.error < 0.05
    assert abs(sampled.cycles - full.cycles) <= max(mark.error, 0.02) * full.cycles
    assert full.timing.sampled is None


@pytest.mark.parametrize("kernel", ["regular", "irregular"])
def test_memory_is_that_of_a_run_in_full(kernel):
    (_, full), (_, sampled) = both(kernel)
    assert full.tobytes() == sampled.tobytes()


@pytest.mark.parametrize("kernel", ["regular", "irregular"])
def test_instructions_and_lanes_are_exact_in_all_and_one_by_one(kernel):
    (full, _), (sampled, _) = both(kernel)
    assert sampled.instructions == full.instructions == sampled.counters["instructions"]
    assert sampled.timing.thread_instructions == full.timing.thread_instructions == sampled.counters["thread_instructions"]
    columns = [int(Stall.ISSUED), int(Work.LANES)]
    counts = [one.timing.counts_by_instruction[:, columns] for one in (full, sampled)]
    assert np.array_equal(*counts)


def test_every_scheduler_cycle_has_one_cause():
    (_, _), (sampled, _) = both("regular")
    timing, schedulers = sampled.timing, sampled.config.issue.schedulers
    assert sum(timing.stalls.values()) == timing.cycles * CUT["core.cores"] * schedulers
    assert (timing.stalls_by_scheduler.sum(axis=2) == timing.cycles).all()
    assert timing.stalls_by_scheduler.sum(axis=(0, 1)).tolist() == list(timing.stalls.values())
    assert timing.stalls["issued"] == timing.instructions
    waited = timing.stalls_by_instruction.sum(axis=0).tolist()
    assert all(by_instruction <= of_all for by_instruction, of_all in zip(waited, timing.stalls.values(), strict=True))


def test_counters_loads_energy_and_utilisation_are_those_of_the_whole_launch():
    (full, _), (sampled, _) = both("regular")
    for name in ("l1_misses", "l2_accesses", "dram_reads", "register_reads", "lanes_memory", "loads_finished"):
        if full.counters[name] > 1000:
            assert sampled.counters[name] == pytest.approx(full.counters[name], rel=0.05), name
    assert sum(sampled.energy.values()) == pytest.approx(sum(full.energy.values()), rel=0.05)
    assert sampled.utilisation["ldst"] == pytest.approx(full.utilisation["ldst"], rel=0.06)
    assert sampled.loads["executed"].sum() == pytest.approx(full.loads["executed"].sum(), rel=0.001)
    assert sampled.timing.work_by_instruction["accesses"].sum() == pytest.approx(
        full.timing.work_by_instruction["accesses"].sum(), rel=0.02
    )
    assert set(sampled.counters) <= set(sampled.timing.sampled.errors)


def test_an_unstable_launch_is_simulated_in_full():
    (full, _), _ = both("irregular")
    sampled, _ = run(device({"error": 0.001, "windows": 8}), "irregular", MANY)
    assert sampled.timing.sampled.share == 1
    assert "not stable" in sampled.timing.sampled.reason
    assert (sampled.cycles, sampled.counters) == (full.cycles, full.counters)


def test_a_launch_of_few_short_ctas_is_simulated_in_full():
    (full, _), (sampled, _) = both("regular", 100)
    assert sampled.timing.sampled.share == 1
    assert "its first 100,000 cycles always are" in sampled.timing.sampled.reason
    assert sampled.cycles == full.cycles


def test_where_the_grid_changes_the_machine_looks_again():
    """The last quarter does something else: a gap does not reach far into it, and windows follow it."""
    ctas, change = 2 * MANY, 3 * MANY // 2
    gpu = device()
    (full, before), (sampled, after) = run(device(None), "two_halves", ctas, change), run(gpu, "two_halves", ctas, change)
    gap = gpu.machine._sampler.gap
    assert gpu.machine._sampler.gaps == 1
    assert ctas // 4 < gap.ctas < change
    assert len(gap.after) >= 3
    assert before.tobytes() == after.tobytes()
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.05)


def test_a_gap_is_at_most_twice_as_long_as_all_before_it(monkeypatch):
    """With another compiler's code FFT was 35% too slow: of 205 waves ten had been simulated, and the machine leaves the state it
    is in then after 17."""
    gaps, plain = [], many_ctas.ManyCtas._add_gap

    def watched(self, gap):
        gaps.append((self.machine.begun, gap.ctas, self.wave))
        plain(self, gap)

    monkeypatch.setattr(many_ctas.ManyCtas, "_add_gap", watched)
    run(device(), "regular", 4 * MANY)
    assert len(gaps) >= 2
    for begun, ctas, wave in gaps[:-1]:
        assert ctas <= begun  # all that are behind it have begun now
        assert ctas <= many_ctas.GROWTH * (begun - ctas + wave) + wave  # up to where whole waves are left
    assert gaps[1][1] > gaps[0][1]


@pytest.mark.parametrize(
    ("begun", "last"),
    [(50, 150), (110, 500)],  # 100 of 450; 220 of 390, behind which fewer would be left
)
def test_where_little_is_left_a_gap_goes_on_to_the_end(begun, last):
    sampler = object.__new__(many_ctas.ManyCtas)
    sampler.n_ctas, sampler.wave = 500, 10
    assert sampler._last_of_gap(begun) == last


def test_a_kernel_without_global_loads_is_sampled_too():
    (full, before), (sampled, after) = both("filling")
    assert sampled.timing.sampled.share < 0.6
    assert before.tobytes() == after.tobytes()
    assert len(sampled.loads.pcs) == 0
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.05)


def test_two_sampled_runs_are_the_same():
    first, second = (run(device(), "regular", MANY)[0] for _ in range(2))
    assert (first.cycles, first.counters, first.stalls) == (second.cycles, second.counters, second.stalls)


def test_machine_code_is_sampled_too():
    def launch(sample):
        gpu = sl.Gpu("h200", set={"core.cores": 4, "dram.channels": 2, "l2.slices": 2}, sample=sample, threads=1)
        return run(gpu, "regular", 3 * MANY)

    (full, before), (sampled, after) = launch(None), launch(0.05)
    assert before.tobytes() == after.tobytes()
    assert sampled.instructions == full.instructions
    assert sampled.timing.sampled.share < 0.7
    assert sampled.cycles == pytest.approx(full.cycles, rel=0.05)


REASONS = {"counting": "communicate", "clocked": "clock", "located": "which core", "talking": "host"}


@pytest.mark.parametrize("kernel", REASONS)
def test_a_program_whose_result_could_change_is_simulated_in_full(kernel):
    gpu = device()
    gpu.prints = False
    count = [gpu.zeros(1, "i4")] if kernel == "counting" else []
    out = gpu.zeros(MANY * BLOCK, "i8" if kernel == "clocked" else "i4")
    done = gpu.compile(SOURCE)[kernel](MANY, BLOCK, [*count, out])
    assert done.timing.sampled.share == 1
    assert REASONS[kernel] in done.timing.sampled.reason


def test_launches_in_streams_are_simulated_in_full():
    gpu = device()
    kernel, x = gpu.compile(SOURCE)["regular"], gpu.zeros(MANY * BLOCK)
    done = [kernel(MANY, BLOCK, [x, gpu.zeros(MANY * BLOCK)], stream=gpu.stream()) for _ in range(2)]
    gpu.synchronize()
    assert [one.timing.sampled.share for one in done] == [1, 1]
    assert "streams" in done[0].timing.sampled.reason


def test_a_policy_that_chooses_ctas_is_simulated_in_full():
    done, _ = run(device(cta_dispatch="clustered"), "regular", MANY)
    assert "CTA dispatch" in done.timing.sampled.reason


def test_a_fault_in_what_is_left_out_is_told_as_in_a_full_run():
    messages = []
    for sample in (None, True):
        gpu = device(sample)
        y = gpu.zeros(1000 * BLOCK)
        with pytest.raises(DeviceFault) as fault:
            gpu.compile(SOURCE)["outside"](1000, BLOCK, [y, np.int32(1 << 28)])
        messages.append(str(fault.value).splitlines()[0])
    assert "outside" in messages[0]
    assert messages[0] == messages[1]


def test_the_mark_is_in_what_is_said_of_the_run():
    (_, _), (sampled, _) = both("regular")
    assert "sampled: " in repr(sampled)
    assert "% of its warp instructions in detail" in sampled.explain()
