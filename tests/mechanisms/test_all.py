"""Every mechanism that comes with simtlab changes time and no result, ends, and stands beside the others."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from simtlab.policies.choice import available
from simtlab.policies.load import load
from tests.everyday import every
from tests.mechanisms.test_interface import sums
from tests.timing.test_accounting import launch

ALL = available("mechanism")
SMALL = {"core.cores": 2}


@pytest.fixture(scope="module")
def plain():
    return launch(sl.Gpu("caps-gtx480", set=SMALL))


@cache
def filled(name):
    return load("mechanism", name).filled


def beside(name, scheduler):
    return {} if "warp_scheduler" in filled(name) else {"warp_scheduler": scheduler}


def is_as_without(found, plain):
    return np.array_equal(found[1], plain[1]) and found[2] == plain[2] and found[0].instructions == plain[0].instructions


@pytest.mark.parametrize("scheduler", every(3, ["gto", "two-level", "lrr"]))
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


def slots_of_both(one, other):
    return sorted(filled(one) & filled(other))


def groups(pairs):
    """Three mechanisms at a time, until both of every pair have been together; none beside one that is in no pair with it."""
    left, allowed = list(pairs), set(pairs)
    while left:
        chosen = left[0]
        news = {third: {frozenset((third, one)) for one in chosen} for third in ALL if third not in chosen}
        third = max(news, key=lambda name: len(news[name].intersection(left)) if news[name] <= allowed else -1)
        if news[third] <= allowed:
            chosen |= {third}
        left = [pair for pair in left if not pair <= chosen]
        yield sorted(chosen)


def test_every_two_mechanisms_stand_beside_each_other_or_fill_one_slot():
    plain, together, wrong = sums()[1], [], []
    for one, other in combinations(ALL, 2):
        if both := slots_of_both(one, other):
            with pytest.raises(ConfigError, match=f"both fill the slot {both[0]}"):
                sl.Gpu("caps-gtx480", mechanism=one, mechanism_2=other)
        else:
            together.append(frozenset((one, other)))
    assert len(together) > 100
    for names in groups(together):
        found = sums(**dict(zip(("mechanism", "mechanism_2", "mechanism_3"), names, strict=False)))[1]
        if not np.array_equal(found, plain):
            wrong.append(names)
    assert wrong == []


@pytest.mark.parametrize("name", ALL)
def test_a_mechanism_stands_beside_policies_of_other_slots(name):
    """A throttle of CTAs, an arbiter of the network and a scheduler; or an error that names the slot that both fill."""
    others = {"cta_throttle": "dyncta", "network_arbiter": "row-locality", "warp_scheduler": "icount"}
    for slot in filled(name) & set(others):
        with pytest.raises(ConfigError, match=f"both fill the slot {slot}"):
            sl.Gpu("caps-gtx480", mechanism=name, **{slot: others.pop(slot)})
    assert np.array_equal(sums(mechanism=name, **others)[1], sums()[1])


def test_groups_have_every_pair():
    pairs = [frozenset(pair) for pair in combinations(ALL, 2) if "daws" not in pair]
    found = [frozenset(pair) for names in groups(pairs) for pair in combinations(names, 2)]
    assert set(found) == set(pairs)
    assert len(list(groups(pairs))) < len(pairs) / 2
