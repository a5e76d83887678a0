"""How fast CTAs go on beside one another, and when many of them end."""

import numpy as np
import pytest

from simtlab.sampling.progress import NO_CTA, Progress, shares


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
