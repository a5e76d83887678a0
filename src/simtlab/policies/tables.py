"""Small tables searched by a key, as prefetchers keep them. An entry has a `key` and `updated`, a cycle; 0: it is empty."""

from simtlab.compiled import compiled

NOT_THERE = -1

PC_STEP = 8


@compiled
def find(table, key):
    """The entry with a key, or NOT_THERE."""
    for k in range(table.size):
        if table[k].updated != 0 and table[k].key == key:
            return k
    return NOT_THERE


@compiled
def place_for(table):
    """The entry that a new one takes: an empty one, else the least recently updated."""
    best = 0
    for k in range(1, table.size):
        if table[k].updated < table[best].updated:
            best = k
    return best


@compiled
def key_of(core, load):
    """A load's PC: where the instruction lies, which no other kernel's does."""
    return core.slots[load.slot].code_base + load.pc * PC_STEP
