"""Sets of many ways are searched by a byte of each tag: the same way is found as by comparing all tags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simtlab.compiled import compiled
from simtlab.machine.memory.cache import EMPTY, cache_t, invalidate, probe_set, reserve
from simtlab.machine.memory.partial_tags import NO_WAY, has_partial_tags
from simtlab.machine.record import new_records

SETS, LINE_SHIFT = 2, 7
CACHE = cache_t(128)


@compiled
def change(caches, ways, tags):
    """Lines go to ways of the cache; a negative tag empties one."""
    for k in range(len(ways)):
        if tags[k] < 0:
            invalidate(caches[0], ways[k])
        else:
            reserve(caches[0], ways[k], tags[k] << LINE_SHIFT, np.uint32(1))


@compiled
def look(caches, set, tag):
    return probe_set(caches[0], set, tag << LINE_SHIFT)


@compiled
def has_bytes(caches):
    return has_partial_tags(caches[0])


def new_cache(ways: int) -> np.recarray:
    cache = new_records(1, CACHE)
    cache["sets"], cache["ways"], cache["line_shift"], cache["tags"] = SETS, ways, LINE_SHIFT, EMPTY
    return cache


@pytest.mark.parametrize(("ways", "by_bytes"), [(4, False), (12, False), (16, True), (20, False), (24, True), (64, True)])
def test_which_caches_are_searched_by_bytes(ways, by_bytes):
    assert has_bytes(new_cache(ways)) == by_bytes


# Tags with the same byte, others, and addresses of the device's memory.
TAGS = st.one_of(st.integers(0, 9), st.integers(0, 9).map(lambda n: n << 8 | n), st.integers(0, (1 << 40) - 1))


@settings(deadline=None)
@given(st.sampled_from([4, 16, 24, 64]), st.lists(st.tuples(st.integers(0, 127), TAGS | st.just(EMPTY)), max_size=60), TAGS)
def test_the_way_with_a_tag_is_found(ways, changes, other):
    cache = new_cache(ways)
    tags = np.full(SETS * ways, EMPTY)
    for place, tag in changes:
        way = place % (SETS * ways)
        first = way - way % ways
        if tag == EMPTY or tag not in tags[first : first + ways]:
            tags[way] = tag
            change(cache, np.array([way]), np.array([tag]))
    assert cache["tags"][0][: SETS * ways].tolist() == tags.tolist()
    for set in range(SETS):
        for tag in [*(tag for _, tag in changes if tag != EMPTY), other]:
            found = np.flatnonzero(tags[set * ways : (set + 1) * ways] == tag)
            assert look(cache, set, tag) == (set * ways + found[0] if len(found) else NO_WAY)
