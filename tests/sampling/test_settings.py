"""What `sample` may be, and the arithmetic behind sampling."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.execute.counting import no_counts
from simtlab.sampling.accounts import shared_out
from simtlab.sampling.profile import are_alike
from simtlab.sampling.settings import Sampling, read_sampling
from simtlab.sampling.statistics import half_width
from simtlab.sampling.windows import Gap, Window, briefly, joined, stable_windows


def test_settings_as_people_give_them():
    assert read_sampling(None) is read_sampling(False) is read_sampling("off") is None
    assert read_sampling(True) == read_sampling("on") == Sampling()
    assert read_sampling(0.02) == read_sampling("0.02") == read_sampling({"error": 0.02}) == Sampling(error=0.02)
    assert read_sampling("error=0.02,windows=5") == Sampling(error=0.02, windows=5)
    assert str(Sampling()) == "on"
    assert read_sampling(str(Sampling(error=0.02, windows=5))) == Sampling(error=0.02, windows=5)


@pytest.mark.parametrize(("given", "words"), [
    ("often", "must be 'on'"), (7, "between 0.001 and 0.5"), ({"errors": 1}, "no setting 'errors'"), ([], "it must be as in"),
    ("windows=2.5", "must be 'on'"), ({"windows": 2.5}, "whole number"),
])  # fmt: skip
def test_a_wrong_setting_says_what_would_be_right(given, words):
    with pytest.raises(SimtlabError, match=words):
        read_sampling(given)


def test_sampling_needs_a_machine():
    with pytest.raises(SimtlabError, match="timed runs"):
        sl.Gpu(sample=True)


def test_half_the_confidence_interval_of_a_mean():
    assert half_width([1.0, 2.0, 3.0]) == pytest.approx(4.303 / np.sqrt(3))
    assert half_width([5.0, 5.0, 5.0, 5.0]) == 0


def window(ipc, dram=0.1):
    return Window(np.array([1000.0, 7.0]), int(1000 * ipc), dram)


def test_rates_are_stable_where_their_interval_is_narrow():
    assert stable_windows([window(2), window(2)], 3, 0.05) == []
    assert len(stable_windows([window(2), window(2.01), window(1.99)], 3, 0.05)) == 3
    assert stable_windows([window(2), window(2.2), window(2.4)], 3, 0.05) == []
    assert stable_windows([window(2, 0.1), window(2, 0.2), window(2, 0.3)], 3, 0.05) == []


def test_rates_that_vary_from_window_to_window_are_not_stable_however_many_there_are():
    assert stable_windows([window(2), window(2.5)] * 20, 3, 0.05) == []


def test_a_few_windows_of_many_that_happen_to_agree_are_not_enough():
    assert stable_windows([window(2), window(3)] * 5 + [window(2)] * 3, 3, 0.05) == []


def test_earlier_windows_that_differ_are_left_out():
    last = [window(2), window(2.01), window(1.99)]
    assert stable_windows([window(9), *last], 3, 0.05) == last


def test_six_windows_at_another_rate_are_a_new_state():
    restless, calm = [window(2), window(2.5)] * 20, [window(4), window(4.01), window(3.99)] * 2
    assert stable_windows([*restless, *calm[:5]], 3, 0.05) == []
    assert stable_windows([*restless, *calm], 3, 0.05) == calm


def of_so_many(instructions):
    executed = no_counts(2)
    executed["executed"] = instructions - 1000, 1000
    return executed


def test_a_gap_is_estimated_from_the_windows_on_both_sides_of_it():
    gap = Gap(of_so_many(4000), [window(2)], [window(4)])
    assert gap.estimate()[0] == pytest.approx(4000 * (1 / 2 + 1 / 4) / 2)
    assert Gap(of_so_many(4000), [window(2), window(2)]).uncertainty()[0] == 0
    assert Gap(of_so_many(4000), [window(2), window(2.1)], [window(1.9)]).uncertainty()[0] > 0


def test_what_follows_a_gap_that_ends_where_something_changes_says_nothing_of_it():
    gap = Gap(of_so_many(4000), [window(2), window(2)], [window(4)], changes=True)
    assert gap.estimate()[0] == pytest.approx(4000 / 2)
    assert gap.uncertainty()[0] == 0


def test_what_the_machine_counted_on_its_way_into_a_gap_and_out_of_it_is_put_right():
    held = Window(np.array([300.0, 0.0]), 0, 0.0)
    filling = Window(np.array([1000.0, 1.0]), 1200, 0.0)
    gap = Gap(of_so_many(4000), [window(2)], [window(2)], held=held, filling=filling)
    assert gap.estimate()[0] == pytest.approx(4000 / 2 - 300 + (1200 / 2 - 1000))


def test_windows_one_after_another_are_one():
    one = joined([window(2, 0.1), window(4, 0.3)])
    assert (one.cycles, one.instructions, one.dram_share) == (2000, 6000, pytest.approx(0.2))
    assert one.counted[1] == 14
    brief = briefly([window(2, 0.1), window(4, 0.3)])
    assert (brief.ipc, brief.dram_share, len(brief.counted)) == (3, pytest.approx(0.2), 1)


def test_a_whole_number_is_shared_out_in_whole_parts():
    parts = shared_out(10, np.array([1.0, 1.0, 1.0]))
    assert parts.sum() == 10
    assert sorted(parts.tolist()) == [3, 3, 4]
    assert shared_out(7, np.zeros(3)).sum() == 7
    assert shared_out(0, np.ones(3)).tolist() == [0, 0, 0]


def counts(executed, lanes, lines):
    found = no_counts(len(executed))
    found["executed"], found["lanes"], found["lines"] = executed, lanes, lines
    return found


def test_profiles_are_alike_by_shares_lanes_and_lines_whatever_their_length():
    one = counts([100, 100], [3200, 3200], [0, 100])
    assert are_alike(one, counts([1000, 1000], [32000, 32000], [0, 1000]), 0.1)
    assert not are_alike(one, counts([150, 50], [4800, 1600], [0, 100]), 0.1)
    assert not are_alike(one, counts([100, 100], [3200, 1600], [0, 100]), 0.1)
    assert not are_alike(one, counts([100, 100], [3200, 3200], [0, 3200]), 0.1)


def test_profiles_of_launches_differ_by_the_lines_that_are_new_to_a_cta():
    one, other = (counts([100, 100], [3200, 3200], [0, 1000]) for _ in range(2))
    one["cold"], other["cold"] = [0, 100], [0, 150]
    assert are_alike(one, other, 0.1)
    assert not are_alike(one, other, 0.1, with_cold=True)


def test_a_gap_that_one_window_is_enough_for_is_as_sure_as_the_windows_it_agreed_with():
    gap = Gap(of_so_many(4000), [window(2)], earlier=[window(2), window(2.1)])
    assert gap.estimate()[0] == pytest.approx(4000 / 2)
    assert 0 < gap.uncertainty()[0] < 4000
