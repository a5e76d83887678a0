"""Every mechanism that comes with simtlab changes time and no result, ends, and stands beside the others."""

from itertools import combinations

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from simtlab.policies.choice import available
from simtlab.policies.load import load
from tests.mechanisms.test_interface import sums
from tests.timing.test_accounting import launch

ALL = available("mechanism")
SMALL = {"core.cores": 2}


@pytest.fixture(scope="module")
def plain():
    return launch(sl.Gpu("caps-gtx480", set=SMALL))


@pytest.fixture(scope="module")
def plain_sums():
    return sums()[1]


def beside(name, scheduler):
    return {} if "warp_scheduler" in load("mechanism", name).filled else {"warp_scheduler": scheduler}


def is_as_without(found, plain):
    return np.array_equal(found[1], plain[1]) and found[2] == plain[2] and found[0].instructions == plain[0].instructions


@pytest.mark.parametrize("scheduler", ["two-level", "gto", "lrr"])
@pytest.mark.parametrize("name", ALL)
def test_a_mechanism_changes_no_result(name, scheduler, plain):
    gpu = sl.Gpu("caps-gtx480", set=SMALL, mechanism=name, **beside(name, scheduler))
    assert is_as_without(launch(gpu), plain)


@pytest.mark.slow  # every hook is compiled once more
@pytest.mark.parametrize("name", ALL)
def test_a_mechanism_stays_within_its_tables(name, plain):
    gpu = sl.Gpu("caps-gtx480", set=SMALL, mechanism=name, check_policies=True, **beside(name, "gto"))
    assert is_as_without(launch(gpu), plain)


@pytest.mark.parametrize("name", ALL)
def test_a_mechanism_says_whose_it_is_what_it_takes_and_what_it_did(name):
    module = load("mechanism", name).module
    assert module.source
    assert module.bytes_a_core >= 0
    assert module.counters
    assert "BOOK" in module.source or "BOOK" in module.__doc__


@pytest.mark.parametrize(("one", "other"), list(combinations(ALL, 2)), ids=lambda name: name)
def test_two_mechanisms_stand_beside_each_other_unless_they_fill_one_slot(one, other, plain_sums):
    both = load("mechanism", one).filled & load("mechanism", other).filled
    if both:
        with pytest.raises(ConfigError, match=f"both fill the slot {sorted(both)[0]}"):
            sl.Gpu("caps-gtx480", mechanism=one, mechanism_2=other)
        return
    assert np.array_equal(sums(mechanism=one, mechanism_2=other)[1], plain_sums)
