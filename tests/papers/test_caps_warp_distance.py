"""CAPS Fig. 1: what the observer by warp distance counts, told its loads one by one, and on matrixMul."""

from itertools import pairwise

import pytest

import simtlab as sl
from tests.papers.bench import A, B, Bench

STRIDE = 0x400
MOST = 10
OWN = "prefetcher.warp-distance."


def counts(bench: Bench, name: str) -> list[int]:
    """A counter at distances 1, 2, …"""
    return bench.own[name].tolist()


def at(distances: dict[int, int]) -> list[int]:
    return [distances.get(distance, 0) for distance in range(1, MOST + 1)]


def test_nothing_is_predicted_until_a_stride_was_seen_twice():
    bench = Bench("warp-distance", (8,))
    for warp in range(4):
        assert bench.load(A, warp, warp * STRIDE) == []
    assert counts(bench, "demands") == at({1: 3, 2: 2, 3: 1})
    assert counts(bench, "targeted") == at({1: 1})  # warp 2 gave the stride, warp 3 is the first it is good for
    assert counts(bench, "right") == at({1: 1})


def test_the_gap_is_from_the_base_warps_load_to_the_targets():
    bench = Bench("warp-distance", (8,))
    for warp in range(3):
        bench.load(A, warp, warp * STRIDE)
    bench.cycle += 100  # a load takes a cycle by itself
    bench.load(A, 3, 3 * STRIDE)
    bench.load(A, 4, 4 * STRIDE)
    assert counts(bench, "gap_cycles") == at({1: 101 + 1, 2: 102})  # 2 to 3, 3 to 4; 2 to 4


def test_the_next_cta_has_another_base_and_what_is_predicted_of_it_is_wrong():
    """Slots 0 to 15 are of CTA A, 16 to 31 of B, whose addresses lie elsewhere."""
    bench = Bench("warp-distance", (16, 16))
    for warp in range(16):
        bench.load(A, warp, warp * STRIDE)
    inside = counts(bench, "right")
    assert inside == [13, 12, 11, 10, 9, 8, 7, 6, 5, 4]  # warps 2 to 15 have a stride; so many pairs are among them
    assert counts(bench, "right_in_cta") == inside
    for warp in range(3):
        bench.load(B, warp, 0x900000 + warp * STRIDE)

    def since(name):
        return [now - before for now, before in zip(counts(bench, name), inside, strict=True)]

    assert since("targeted") == [3] * MOST  # each of the three has a warp before it at every distance
    assert since("targeted_in_cta") == since("right") == at({1: 2, 2: 1})  # B1 and B2 from the warp before, B2 from B0


def test_one_odd_step_as_between_ctas_does_not_replace_the_stride():
    bench = Bench("warp-distance", (16, 16))
    for warp in range(13, 16):
        bench.load(A, warp, warp * STRIDE)
    bench.load(B, 0, 0x900000)  # a step that is no stride
    right = counts(bench, "right")
    bench.load(B, 1, 0x900000 + STRIDE)
    assert counts(bench, "right")[0] == right[0] + 1


def test_a_target_that_came_first_is_not_predicted_and_its_next_iteration_is_not_what_was_expected():
    bench = Bench("warp-distance", (8,))
    for warp in (0, 1, 2, 4):
        bench.load(A, warp, warp * STRIDE)
    before = counts(bench, "right"), counts(bench, "targeted")
    bench.load(A, 3, 3 * STRIDE)  # after the warp at distance 1 that it could have fetched for
    after = counts(bench, "right"), counts(bench, "targeted")
    assert after[0][0] == before[0][0] + 1, "warp 2 has predicted warp 3"
    bench.load(A, 4, 4 * STRIDE + 64)  # the next step of its loop
    assert counts(bench, "targeted")[0] == after[1][0] + 1
    assert counts(bench, "right")[0] == after[0][0]


def test_a_load_is_compared_once_with_each_warp_before_it():
    bench = Bench("warp-distance", (8,))
    for warp in range(4):
        bench.load(A, warp, warp * STRIDE)
    targeted = counts(bench, "targeted")
    bench.load(A, 3, 3 * STRIDE)
    assert counts(bench, "targeted") == targeted


def test_all_accesses_must_be_predicted_and_loads_are_told_apart_by_pc():
    bench = Bench("warp-distance", (8,))
    for warp in range(4):
        bench.load(A, warp, warp * STRIDE, 0x8000 + warp * STRIDE + (64 if warp == 3 else 0))
        bench.load(A, warp, 0x20000 + 2 * warp * STRIDE, pc=9)
    assert counts(bench, "targeted") == at({1: 2})
    assert counts(bench, "right") == at({1: 1})


def test_a_warp_slot_that_is_empty_is_no_base():
    bench = Bench("warp-distance", (8,))
    for warp in range(3):
        bench.load(A, warp, warp * STRIDE)
    bench.end(A, 2)
    before = counts(bench, "demands"), counts(bench, "targeted")
    bench.load(A, 3, 3 * STRIDE)
    assert counts(bench, "demands") == [a + b for a, b in zip(before[0], at({2: 1, 3: 1}), strict=True)]
    assert counts(bench, "targeted") == before[1]


# On matrixMul


def multiply(prefetcher: str | None = "warp-distance", **parameters):
    """matrixMul on two cores, with registers enough for a CTA of 32 warps."""
    policies = {"prefetcher": prefetcher} if prefetcher else {}
    device = sl.Gpu("caps-gtx480", set={"core.cores": 2, "core.registers": 65536}, **policies)
    (run,) = sl.workload("MM", size="tiny", **parameters).run(device).launches
    return run


def by_distance(run, name: str) -> list[int]:
    return [run.counters[f"{OWN}{name}.{distance}"] for distance in range(1, MOST + 1)]


def test_the_run_is_the_baseline_counter_for_counter():
    without, observed = multiply(None), multiply()
    assert {name: value for name, value in observed.counters.items() if not name.startswith(OWN)} == without.counters
    assert (observed.cycles, observed.stalls, observed.energy) == (without.cycles, without.stalls, without.energy)
    assert (observed.timing.stalls_by_instruction == without.timing.stalls_by_instruction).all()
    assert observed.counters["prefetches_asked"] == 0


def test_accuracy_falls_where_ctas_of_eight_warps_end():
    """One row of tiles: no CTA goes on where another ends. Seven slots further is the last that can be of the same CTA."""
    run = multiply(rows=16, columns=480)
    demands, right, in_cta = (by_distance(run, name) for name in ("demands", "right", "right_in_cta"))
    accuracy = [part / whole for part, whole in zip(right, demands, strict=True)]
    assert accuracy[0] > 0.6
    assert all(now < before for before, now in pairwise(accuracy[:8])), accuracy
    assert accuracy[6] > 0.05
    assert max(accuracy[7:]) < 0.02
    assert sum(in_cta) > 0.98 * sum(right)


def test_tiles_of_a_that_lie_one_below_the_other_are_predicted_across_ctas():
    """Why accuracy does not fall to zero in the study: the rows of the next tile of A begin where this one's end."""
    run = multiply(rows=480, columns=16)
    crossing = [all_ - same for all_, same in zip(by_distance(run, "right"), by_distance(run, "right_in_cta"), strict=True)]
    assert min(crossing[7:]) > 0


def test_a_cta_of_32_warps_has_no_such_edge():
    run = multiply(tile=32, rows=96, inner=96, columns=96)
    demands, right = by_distance(run, "demands"), by_distance(run, "right")
    assert right[9] / demands[9] == pytest.approx(right[5] / demands[5], abs=0.25)
    assert right[9] / demands[9] > 0.3
