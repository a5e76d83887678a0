"""Protection distance: a miss that finds only protected lines goes around the L1, and warps are throttled under congestion."""

import simtlab as sl
from tests.mechanisms.walks import ONE_SET, in_turn, rows, walk

ONE_CORE = {"core.cores": 1}
COUNTER = "mechanism.protection-distance"


def protected(settings: str = "", changes: dict = ONE_CORE) -> sl.Gpu:
    return sl.Gpu("gtx480", set=changes, mechanism=f"protection_distance{settings}")


def hits_and_bypasses(letters: str) -> tuple[int, int]:
    run = in_turn(protected(",distance=4", ONE_SET), letters)
    return run.counters["l1_hits"], run.counters[f"{COUNTER}.bypassed"]


def test_a_line_stays_for_as_many_accesses_to_its_set_as_its_distance():
    """Four ways, a distance of four. After A to D, A has one access left: E goes around, and A is still there. F takes A's place.
    Without protection E would have."""
    assert hits_and_bypasses("ABCDEA") == (1, 1)
    assert hits_and_bypasses("ABCDEFA") == (0, 1)
    assert in_turn(sl.Gpu("gtx480", set=ONE_SET), "ABCDEA").counters["l1_hits"] == 0


def test_a_use_protects_a_line_anew():
    """A is used again after B: when E comes, A has two accesses left and B one, so E goes around; F takes B's place."""
    assert hits_and_bypasses("ABACDEA") == (2, 1)
    assert hits_and_bypasses("ABACDEFA") == (2, 1)


def test_a_working_set_too_large_for_the_l1_hits_in_part():
    """Eight warps go over 192 lines in turn, and the L1 has room for 128: where the least recently used line goes, none is ever
    there when it is wanted again. Protected, two thirds are."""
    before = walk(sl.Gpu("gtx480", set=ONE_CORE), warps=8, lines=24, rounds=8)
    after = walk(protected(",throttle=0"), warps=8, lines=24, rounds=8)
    assert before.counters["l1_hits"] == 0
    assert after.counters["l1_hits"] == 7 * 128
    assert after.counters[f"{COUNTER}.bypassed"] == 8 * 64
    assert after.cycles < 0.8 * before.cycles


def test_throttling_alone_ends_the_congestion_that_bypassing_leaves():
    """Each of 24 warps uses 32 lines of its own, 768 in all: at a distance of 8 hardly any is used again in time, with fewer warps
    they are."""
    before, alone, both = (rows(gpu, warps=24, threads=192) for gpu in (
        sl.Gpu("gtx480", set=ONE_CORE), protected(",throttle=0"), protected(),
    ))  # fmt: skip
    assert alone.counters[f"{COUNTER}.bypassed"] > 10_000
    assert alone.counters[f"{COUNTER}.lowered"] == 0
    assert both.counters[f"{COUNTER}.lowered"] > both.counters[f"{COUNTER}.raised"] > 0
    assert both.cycles < 0.75 * min(before.cycles, alone.cycles)


def test_a_working_set_that_fits_is_left_alone():
    before = walk(sl.Gpu("gtx480", set=ONE_CORE), warps=4, lines=8, rounds=8)
    after = walk(protected(), warps=4, lines=8, rounds=8)
    assert after.cycles == before.cycles
    assert [after.counters[f"{COUNTER}.{name}"] for name in ("bypassed", "lowered", "raised")] == [0, 0, 0]
