"""How fast CTAs go on beside one another, and when many of them end."""

from itertools import pairwise

import numpy as np
import pytest

from simtlab.sampling.progress import MOST_SEEN, NO_CTA, Apart, Progress, shares


def progress(number, age, executed):
    return Progress(*(np.array(one) for one in (number, age, executed)))


def test_the_oldest_cta_of_each_core_comes_first():
    before = progress([[3, 7, NO_CTA]], [[9, 2, 0]], [[100, 400, 0]])
    now = progress([[3, 7, 8]], [[9, 2, 12]], [[150, 480, 20]])
    assert now.since(before).tolist() == [[80, 50, 20]]


def test_a_cta_that_took_the_place_of_another_has_done_all_it_did_since():
    before, now = progress([[3]], [[1]], [[500]]), progress([[4]], [[2]], [[30]])
    assert now.since(before).tolist() == [[30]]


def test_cores_with_more_ctas_do_as_much_more_as_they_did():
    done = np.array([[50.0, 50.0], [80.0, 0.0]])
    assert shares(np.array([2, 1]), [done, done]) == pytest.approx(done / 180)


def test_a_cta_that_is_always_faster_stays_so():
    done = np.array([[90.0, 30.0], [90.0, 30.0]])
    assert shares(np.array([2, 2]), [done] * 4) == pytest.approx(done / 240)


def test_ctas_that_overtake_one_another_are_as_fast():
    one, other = np.array([[90.0, 30.0]] * 2), np.array([[30.0, 90.0]] * 2)
    assert shares(np.array([2, 2]), [one, other, one]) == pytest.approx(np.full((2, 2), 0.25))


def test_many_ctas_that_end_at_once_are_foreseen():
    now = progress([[0, 1, 2, 3]], [[1, 2, 3, 4]], [[700, 700, 100, 0]])
    assert now.parts_until_many_end(1000.0, np.full((1, 4), 50.0), 16) == 6


def test_ctas_that_end_one_by_one_are_no_matter():
    now = progress([list(range(10))], [list(range(10))], [list(range(0, 1000, 100))])
    assert now.parts_until_many_end(1000.0, np.full((1, 10), 50.0), 16) == 16


def test_nobody_knows_when_ctas_end_that_are_much_longer_than_others():
    now = progress([[0, 1]], [[1, 2]], [[1500, 1600]])
    assert now.parts_until_many_end(1000.0, np.full((1, 2), 50.0), 16) == 16


CORES, SLOTS, PERIOD = 15, 8, 2000
NUMBERS = np.arange(CORES * SLOTS).reshape(CORES, SLOTS)


def apart(increments):
    """What CTAs that go on by these in one period after another are seen to do."""
    found, executed = Apart(), np.zeros((CORES, SLOTS))
    for k, one in enumerate(increments):
        executed = executed + one
        found.note(k * PERIOD, Progress(NUMBERS, NUMBERS, executed))
    return found


def rates_in_gap(found, periods):
    found.begin_gap(periods * PERIOD)
    return found.rates(Progress(NUMBERS, NUMBERS, np.zeros_like(NUMBERS)), PERIOD)


def test_ctas_whose_rates_differ_come_apart_in_gaps_too():
    rate = 100 * (1 + 0.15 * np.random.default_rng(1).standard_normal((CORES, SLOTS)))
    rates = rates_in_gap(apart([rate] * 33), 16)
    assert 0.11 < rates.std() < 0.19
    assert abs(rates.mean() - 1) < 0.05


def test_what_evens_out_in_the_long_run_is_no_difference():
    lot = np.random.default_rng(2)
    ahead = [lot.normal(0, 30, (CORES, SLOTS)) for _ in range(34)]  # of the others, at each look
    found = apart([100 + now - before for before, now in pairwise(ahead)])
    assert rates_in_gap(found, 1).std() > 0.3
    assert rates_in_gap(found, 16).std() < 0.05


def test_ctas_in_step_stay_so_and_older_ones_may_be_faster():
    faster = np.tile(np.linspace(150.0, 50.0, SLOTS), (CORES, 1))
    assert np.allclose(rates_in_gap(apart([faster] * 20), 8), 1)


def test_a_rate_holds_as_long_as_was_seen_and_is_the_same_in_every_run():
    runs = []
    for _ in range(2):
        found = apart([100 * (1 + 0.1 * np.random.default_rng(3).standard_normal((CORES, SLOTS)))] * 9)
        found.begin_gap(4 * PERIOD)
        runs.append([found.rates(Progress(NUMBERS, NUMBERS, NUMBERS), PERIOD) for _ in range(8)])
    assert all(np.array_equal(*both) for both in zip(*runs, strict=True))
    assert [np.array_equal(one, runs[0][0]) for one in runs[0]] == [True] * 4 + [False] * 4


def test_a_cta_that_moves_up_keeps_its_rate():
    found = apart([100 * (1 + 0.1 * np.random.default_rng(4).standard_normal((CORES, SLOTS)))] * 9)
    first = rates_in_gap(found, 4)
    gone = np.where(NUMBERS % SLOTS == 0, NO_CTA, NUMBERS)
    after = found.rates(Progress(gone, NUMBERS, NUMBERS), PERIOD)
    assert np.array_equal(after[:, :-1], first[:, 1:])


def test_nothing_is_known_of_few_looks():
    assert (rates_in_gap(apart([np.full((CORES, SLOTS), 100.0)]), 8) == 1).all()
    assert (rates_in_gap(Apart(), 8) == 1).all()


def test_a_long_launch_is_seen_at_few_moments():
    found = apart([np.full((CORES, SLOTS), 1.0)] * 5000)
    assert MOST_SEEN / 2 <= len(found._seen) <= MOST_SEEN
    assert len({later - earlier for (earlier, _), (later, _) in pairwise(found._seen)}) == 1
