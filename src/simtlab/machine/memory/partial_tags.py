"""Partial tags: a byte of each line's tag, with which the host searches a set of many ways eight at a time. The whole tag is
compared only where that agrees."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros

NO_WAY = -1
FEWEST_WAYS = 16  # with fewer it is faster to compare them all
EVERY_BYTE = np.uint64(0x0101_0101_0101_0101)
HIGH_BITS, OTHER_BITS = np.uint64(0x8080_8080_8080_8080), np.uint64(0x7F7F_7F7F_7F7F_7F7F)


@compiled
def has_partial_tags(cache):
    return cache.ways >= FEWEST_WAYS and cache.ways & 7 == 0


@compiled
def byte_of(tag):
    """The tags of a set may differ in any of their bits."""
    return np.uint64((tag ^ (tag >> 8) ^ (tag >> 16) ^ (tag >> 24)) & 0xFF)


@compiled
def note_tag(cache, way, tag):
    """A way has another tag."""
    cache.tags[way] = tag
    if has_partial_tags(cache):
        shift = np.uint64((way & 7) << 3)
        others = np.uint64(cache.partial_tags[way >> 3] & ~np.uint64(np.uint64(0xFF) << shift))
        cache.partial_tags[way >> 3] = np.uint64(others | np.uint64(byte_of(tag) << shift))


@compiled
def search(cache, first, tag):
    """The way with a tag in the set that begins with `first`, or NO_WAY."""
    wanted = np.uint64(byte_of(tag) * EVERY_BYTE)
    for word in range(first >> 3, (first + cache.ways) >> 3):
        differ = np.uint64(cache.partial_tags[word] ^ wanted)
        equal = np.uint64(~(((differ & OTHER_BITS) + OTHER_BITS) | differ) & HIGH_BITS)
        while equal != 0:
            way = (word << 3) + (count_trailing_zeros(equal) >> 3)
            if cache.tags[way] == tag:
                return way
            equal = np.uint64(equal & (equal - np.uint64(1)))
    return NO_WAY
