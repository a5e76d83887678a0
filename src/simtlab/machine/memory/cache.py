"""A set-associative cache's tags: sets, ways, sectors, replacement; data stay in the memory image.

`probe` looks without changing anything; `touch` marks a use; `reserve` gives a miss its line (allocate on miss) and
`fill` completes it. A reserved line is locked until it is filled: if all ways of a set are reserved, a miss must wait.
"""

from enum import IntEnum

import numpy as np

from simtlab.compiled import call_hook, compiled, prefetch
from simtlab.machine.memory.partial_tags import NO_WAY, has_partial_tags, note_tag, search
from simtlab.machine.record import record_t

FIRST_TO_GO, CANNOT_GO = 0, 1 << 62  # ranks
MOST_REMEMBERED = 128  # prefetched lines that went unused, to see which of them are asked for after all
EMPTY = -1
ALL_WORDS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


class LineState(IntEnum):
    INVALID = 0
    RESERVED = 1  # in flight
    VALID = 2
    DIRTY = 3


line_t = np.dtype(  # 32 bytes, half a cache line of the host, so that none lies in two
    [
        ("written", "u8"),  # words written since it took the place
        ("used", "u4"),  # by the cache's clock, which counts its accesses
        ("filled", "u4"),
        ("sectors", "u4"),  # valid 32-byte sectors
        ("pending", "u4"),  # sectors in flight
        ("dirty", "u4"),
        ("locked", "i2"),  # loads that waited for it and have not read it yet
        ("state", "i1"),
        ("prefetched", "i1"),  # a prefetch brought it and no demand has used it yet
    ],
    align=True,
)


# The access that a cache is asked for, and the one that took each line, for policies: noted where there are any.
access_t = np.dtype(
    [
        ("address", "i8"),
        ("pc", "i4"),  # of the instruction; -1: not known
        ("warp", "i2"),  # its warp slot,
        ("core", "i2"),
        ("kind", "i1"),  # a request's Kind
        ("deterministic", "i1"),  # class of a global load
    ],
    align=True,
)
owner_t = np.dtype([("pc", "i4"), ("warp", "i2"), ("core", "i2"), ("uses", "i4"), ("deterministic", "i1")], align=True)


def cache_t(max_lines: int) -> np.dtype:
    """The record of a cache of at most that many lines."""
    return record_t(
        [
            ("clock", "i8"),
            ("sets", "i4"),
            ("ways", "i4"),
            ("line_bytes", "i4"),
            ("sector_bytes", "i4"),
            ("line_shift", "i4"),  # powers of two: of line_bytes, sector_bytes and sets
            ("sector_shift", "i4"),
            ("set_shift", "i4"),
            ("slices", "i4"),  # of an L2; 0 for a cache that sees all addresses
            ("interleave_shift", "i4"),
            ("hit_latency", "i4"),
            ("enabled", "i1"),
            ("hashed", "i1"),
            ("fifo", "i1"),  # replace the oldest filled instead of the least recently used
            ("on_fill", "i1"),  # a miss takes a line only when its data come
            ("write_policy_global", "i1"),
            ("write_policy_local", "i1"),
            ("write_allocate", "i1"),
            ("by_word", "i1"),  # a load may hit words that were written, where their sector is not there
            ("tracked", "i1"),  # a policy wants to know who asks, and whose the lines are
            ("access", access_t),
            ("address", "i8"),  # of this record, for policies
            ("victim_hook", "i8"),  # addresses of the replacement policy's hooks, or 0
            ("insert_hook", "i8"),
            ("own", "i8"),
            ("unused_evicted", "i8"),  # prefetched lines evicted before anybody used them
            ("unused", "i8", (MOST_REMEMBERED,)),  # the tags of the last of them
            # Of each line what is compared in every lookup and every miss, side by side:
            ("tags", "i8", (max_lines,)),  # EMPTY where it holds nothing
            ("partial_tags", "u8", (-(-max_lines // 8),)),  # a byte of each, see `partial_tags`
            ("ranks", "i8", (max_lines,)),  # in which order the lines of a set are evicted; see `rank`
            ("line", line_t, (max_lines,)),
            ("asked", "i8", (max_lines,)),  # when the prefetch was predicted that brought it
            ("owner", owner_t, (max_lines,)),
        ]
    )


INVALID, RESERVED, VALID, DIRTY = (int(state) for state in LineState)


@compiled
def within_slice(cache, address):
    """An L2 slice sees only its own blocks of the address space: put side by side, they fill all its sets."""
    if cache.slices == 0:
        return address
    blocks = np.uint64(address >> cache.interleave_shift)  # unsigned: dividing is simpler
    return (np.int64(blocks // np.uint64(cache.slices)) << cache.interleave_shift) | (address & ((1 << cache.interleave_shift) - 1))


@compiled
def set_of(cache, address):
    """The set a line belongs to. The hashed index folds higher bits in, so that strides spread over the sets."""
    line = within_slice(cache, address) >> cache.line_shift
    if cache.hashed:
        line = line ^ (line >> cache.set_shift) ^ (line >> (2 * cache.set_shift))
    return line & (cache.sets - 1)


@compiled
def address_of(cache, way):
    """Where the line begins that is kept in a way."""
    return cache.tags[way] << cache.line_shift


@compiled
def line_of(cache, address):
    """The address where the line begins that holds an address."""
    return address >> cache.line_shift << cache.line_shift


@compiled
def sector_of(cache, address):
    """The address where the sector begins that holds an address."""
    return address >> cache.sector_shift << cache.sector_shift


@compiled
def announce(cache, set):
    """A set will be looked at soon: the host may begin to fetch what that needs."""
    first = set * cache.ways
    if has_partial_tags(cache):
        prefetch(cache.partial_tags, first >> 3)
    else:
        prefetch(cache.tags, first)
    prefetch(cache.ranks, first)


@compiled
def probe(cache, address):
    """The index of the line that holds (or will hold) an address, or NO_WAY."""
    return probe_set(cache, set_of(cache, address), address)


@compiled
def probe_set(cache, set, address):
    """The same, where the set is known."""
    tag = address >> cache.line_shift
    first = set * cache.ways
    if has_partial_tags(cache):
        return search(cache, first, tag)
    for way in range(first, first + cache.ways):
        if cache.tags[way] == tag:
            return way
    return NO_WAY


@compiled
def touch(cache, way):
    cache.clock += 1
    cache.line[way].used = cache.clock
    if cache.tracked:
        cache.owner[way].uses += 1
    rank(cache, way)


@compiled
def rank(cache, way):
    """Settle when a line is evicted, after it changed: an empty one first, then by its last use (or its age)."""
    line = cache.line[way]
    if line.state == INVALID:
        cache.ranks[way] = FIRST_TO_GO
    elif not may_go(line):
        cache.ranks[way] = CANNOT_GO
    else:
        cache.ranks[way] = 2 * np.int64(line.filled if cache.fifo else line.used) + must_be_seen_off(line)


@compiled
def must_be_seen_off(line):
    """Whether something must be done when a line goes: it is dirty, or a prefetch has brought it for nobody."""
    return line.state == DIRTY or line.prefetched != 0


@compiled
def goes_silently(cache, way):
    """Whether a line's place can be taken without a look at the line, which is seldom in the host's cache."""
    return cache.ranks[way] & 1 == 0


@compiled
def victim(cache, address):
    """The line a new one would take: an invalid one, else the least recently used that is not in flight; or NO_WAY."""
    return victim_of_set(cache, set_of(cache, address))


@compiled
def victim_of_set(cache, set):
    """The same, where the set is known."""
    first = set * cache.ways
    if cache.victim_hook != 0:
        return ask_policy(cache, first)
    best, lowest = NO_WAY, CANNOT_GO
    for way in range(first, first + cache.ways):
        best = way if cache.ranks[way] < lowest else best
        lowest = min(lowest, cache.ranks[way])
    return best


@compiled
def may_go(line):
    """Whether a line can be the victim: nothing of it is in flight, and nobody has yet to read it."""
    return line.state != RESERVED and line.pending == 0 and line.locked == 0


@compiled
def is_empty(line):
    return line.state == INVALID


@compiled
def ask_policy(cache, first):
    """The replacement policy chooses among the lines of a set."""
    return call_hook(cache.victim_hook, cache.address, cache.own, np.uint64(first), cache.clock)


@compiled
def place_in_order(cache, way):
    """A line has been filled: the policy, where there is one, says what place it has in its set's order of use."""
    if cache.insert_hook == 0:
        return
    place = call_hook(cache.insert_hook, cache.address, cache.own, np.uint64(way), cache.clock)
    if place >= cache.ways - 1:
        return
    first = way - way % cache.ways
    used = np.uint32(1)  # after lines that are empty
    for other in range(first, first + cache.ways):
        earlier = 0
        for another in range(first, first + cache.ways):
            earlier += another != way and cache.line[another].used < cache.line[other].used
        if other != way and earlier < place:
            used = max(used, cache.line[other].used)
    cache.line[way].used = used
    rank(cache, way)


@compiled
def take_over(cache, way):
    """A line goes to the access that the cache was asked for last."""
    owner, access = cache.owner[way], cache.access
    owner.pc, owner.warp, owner.core, owner.uses, owner.deterministic = access.pc, access.warp, access.core, 0, access.deterministic


@compiled
def reserve(cache, way, address, sectors):
    """Take a line for a miss; its old contents are gone (the caller has seen to a dirty one)."""
    line = cache.line[way]
    if not goes_silently(cache, way):
        note_unused(cache, way)
    note_tag(cache, way, address >> cache.line_shift)
    line.state = RESERVED
    line.sectors = np.uint32(0)
    line.pending = sectors
    line.dirty = np.uint32(0)
    line.written = np.uint64(0)
    touch(cache, way)
    line.filled = cache.clock
    if cache.tracked:
        take_over(cache, way)


@compiled
def note_unused(cache, way):
    """A line goes; if a prefetch brought it and nobody used it, it is remembered."""
    if cache.line[way].prefetched:
        cache.unused[cache.unused_evicted % MOST_REMEMBERED] = cache.tags[way]
        cache.unused_evicted += 1
        cache.line[way].prefetched = 0


@compiled
def was_unused(cache, address):
    """Whether a prefetch had brought a line that is asked for now, too early; it is forgotten."""
    tag = address >> cache.line_shift
    for k in range(min(cache.unused_evicted, MOST_REMEMBERED)):
        if cache.unused[k] == tag:
            cache.unused[k] = EMPTY
            return True
    return False


@compiled
def fill(cache, way, sectors):
    """Data have come for some sectors of a line."""
    line = cache.line[way]
    line.state = DIRTY if line.dirty != 0 else VALID
    line.sectors = np.uint32(line.sectors | sectors)
    line.pending = np.uint32(line.pending & ~sectors)
    cache.clock += 1
    line.filled = cache.clock
    rank(cache, way)


@compiled
def write_words(cache, way, address, words, stays_dirty):
    """Words from an address on are written into a line; sectors of which every word has been are there now. Others must be
    fetched if anybody wants to read them."""
    line = cache.line[way]
    written = np.uint64(words << np.uint64((address & (cache.line_bytes - 1)) >> 2))
    line.written = np.uint64(line.written | written)
    each = cache.sector_bytes >> 2
    touched, whole = np.uint32(0), np.uint32(0)
    for sector in range(cache.line_bytes >> cache.sector_shift):
        its_words = np.uint64(np.uint64(ALL_WORDS >> np.uint64(64 - each)) << np.uint64(sector * each))
        bit = np.uint32(np.uint32(1) << np.uint32(sector))
        if written & its_words != 0:
            touched = np.uint32(touched | bit)
            if line.written & its_words == its_words:
                whole = np.uint32(whole | bit)
    if stays_dirty:
        line.dirty = np.uint32(line.dirty | touched)
    fill(cache, way, np.uint32(whole & ~line.pending))  # what is in flight has an MSHR that knows the line


@compiled
def expect(cache, way, sectors):
    """More sectors of a line are in flight."""
    cache.line[way].pending = np.uint32(cache.line[way].pending | sectors)
    rank(cache, way)


@compiled
def lock(cache, way, loads):
    """So many loads more (or fewer) have yet to read a line, which stays until they have."""
    cache.line[way].locked += loads
    rank(cache, way)


@compiled
def invalidate(cache, way):
    line = cache.line[way]
    note_unused(cache, way)
    line.state = INVALID
    note_tag(cache, way, EMPTY)
    line.sectors, line.pending, line.dirty = np.uint32(0), np.uint32(0), np.uint32(0)
    rank(cache, way)


@compiled
def forget_all(cache):
    """Empty the cache."""
    for way in range(cache.sets * cache.ways):
        cache.line[way].prefetched = 0
        invalidate(cache, way)
        cache.line[way].locked = 0
    for k in range(MOST_REMEMBERED):
        cache.unused[k] = EMPTY
    cache.clock = 0


@compiled
def install(cache, address, cycle):
    """A line is there from a cycle on."""
    way = probe(cache, address)
    if way == NO_WAY:
        way = victim(cache, address)
        if way != NO_WAY:
            reserve(cache, way, address, np.uint32(1))
            fill(cache, way, np.uint32(1))
    if way != NO_WAY:
        cache.asked[way] = cycle
        touch(cache, way)
