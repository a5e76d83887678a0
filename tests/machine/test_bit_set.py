"""Do sets of small numbers find their members, across words and around the end?"""

import numpy as np
import pytest

from simtlab.machine.bit_set import add, bit_set_t, is_empty, next_around, next_member, remove, those_due


def set_of(size, numbers=()):
    members = np.zeros(1, bit_set_t(160)).view(np.recarray)[0]
    members.end = size
    for number in numbers:
        add(members, number)
    return members


@pytest.mark.parametrize("size", [1, 15, 63, 64, 65, 128, 160])
def test_members_are_found_as_in_a_python_set(size):
    random = np.random.default_rng(size)
    members, expected = set_of(size), set()
    for number in random.integers(0, size, 200):
        if random.integers(0, 2):
            add(members, number)
            expected.add(number)
        else:
            remove(members, number)
            expected.discard(number)
        assert is_empty(members) == (not expected)
        start = int(random.integers(0, size + 1))
        assert next_member(members, start) == min((n for n in expected if n >= start), default=size)
        after = int(random.integers(0, size))
        later = [n for n in expected if n > after]
        assert next_around(members, after) == min(later or expected, default=size)


def test_an_empty_set_has_nothing_from_its_end_on():
    assert next_member(set_of(64), 64) == 64
    assert next_member(set_of(64, [63]), 63) == 63


@pytest.mark.parametrize(("first", "end"), [(0, 15), (0, 64), (64, 80), (64, 200)])
def test_those_whose_time_has_come_are_due(first, end):
    times = np.random.default_rng(end).integers(0, 10, 256)
    due = int(those_due(times, first, end, 4))
    assert [k for k in range(64) if due >> k & 1] == [k for k in range(64) if first + k < end and times[first + k] <= 4]
