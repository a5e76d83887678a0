"""Instruction and memory divergence decide what the L1 keeps (Arunkumar, Lee, Wu, IISWC 2016; BOOK 4.4.3): nothing, sectors, lines.

A table has an entry for each load by its pc and its divergence, the accesses that a warp makes: of the lines it brought that
were evicted, how many no later load touched, and how many of their sectors were touched. If `dead` of a hundred or more were not
touched again, its accesses go around the L1 (`bypass`). Where the L1 has sectors, a miss fetches the smallest power of two of
them, aligned, that is not below the average touched (`line_size`).

Choices: all numbers; classes of divergence are up to 4, 8, 16 and 32 accesses; an entry judges from `sample` lines on and halves
its counts at twice as many; one in 32 accesses of a bypassed load, by a hash, is kept, to see whether that is still right; an
access whose sector is in the L1 has it from there; the sectors beside a miss are prefetches, which wait for a cycle without a
demand, so that a load of 32 lines finds too few of them in time to gain. Of lines that are taken as data come (`l1d.allocate` on
fill) only those that hit are seen, so that there nothing is bypassed.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_L1_LINES
from simtlab.policies.accesses import instruction_number, is_another, random_bits
from simtlab.policies.hook import NO_WAY, count_bits, hook, is_in_l1, prefetch
from simtlab.policies.looks import line_in_l1, was_merged
from simtlab.policies.sets import whole_numbers

source = "Arunkumar, Lee, Wu, IISWC 2016; BOOK 4.4.3"
LOADS, CLASSES = 32, 4
bytes_a_core = LOADS * CLASSES * (6 + 6 + 8) // 8 + 128 * (7 + 1 + 4) // 8  # entries of 20 bits; of 128 lines entry and touched
parameters = {"bypass": 1, "line_size": 1, "sample": 16, "dead": 90}
limits = {"bypass": (0, 1), "line_size": (0, 1), "sample": (1, None), "dead": (1, 100)}
counters = {
    "bypassed": ("accesses", "Sent around the L1, for the lines of their load were not touched again."),
    "enlarged": ("sectors", "Asked for beside one that missed, for loads like it touch several of a line."),
}
load_t = np.dtype(whole_numbers(["lines", "dead", "sectors"]))
line_t = np.dtype([*whole_numbers(["tag", "taker", "load", "again"]), ("touched", "u8")])
tables = [("load", load_t, (LOADS * CLASSES,)), ("line", line_t, (MAX_L1_LINES,))]
state = np.dtype([*whole_numbers(parameters, counters, ["last"]), *tables])


@compiled
def entry_of(load):
    """The entry of a load, by its pc and how divergent it is."""
    divergence = (load.accesses > 4) + (load.accesses > 8) + (load.accesses > 16)
    return load.pc % LOADS * CLASSES + divergence


@compiled
def sectors_to_fetch(load, most):
    """The power of two that is not below the average of sectors touched."""
    count = 1
    while count < most and count * load.lines < load.sectors:
        count *= 2
    return count


@compiled
def note(core, own, op):
    """A load touches a sector: of a line that it brings, or of one that another has brought."""
    way, load = line_in_l1(core, op), core.ops[op]
    if way == NO_WAY:
        return
    line = own.line[way]
    if line.tag != core.l1d.tags[way] + 1:
        line.tag, line.taker, line.load = core.l1d.tags[way] + 1, instruction_number(load), entry_of(load)
        line.touched, line.again = np.uint64(0), 0
    line.again |= line.taker != instruction_number(load)
    sector = (load.lines[load.served] & (core.l1d.line_bytes - 1)) >> core.l1d.sector_shift
    line.touched = np.uint64(line.touched | np.uint64(1) << np.uint64(sector))


@hook
def on_l1_hit(core, own, op, cycle):
    note(core, own, op)


@hook
def on_l1_miss(core, own, op, cycle):
    note(core, own, op)
    load, sectors = own.load[entry_of(core.ops[op])], core.l1d.line_bytes >> core.l1d.sector_shift
    if own.line_size and sectors > 1 and load.lines >= own.sample and not was_merged(core, op):
        enlarge(core, own, op, sectors_to_fetch(load, sectors) * core.l1d.sector_bytes, cycle)


@compiled
def enlarge(core, own, op, size, cycle):
    """Fetch the sectors around one that has missed, but for those that the load will ask for itself."""
    load = core.ops[op]
    address = load.lines[load.served]
    for beside in range(address & -size, (address & -size) + size, core.l1d.sector_bytes):
        wanted = beside == address
        for k in range(load.served + 1, load.accesses):
            wanted |= load.lines[k] == beside
        if not wanted:
            own.enlarged += 1
            prefetch(core, beside, load.slot, load.pc, cycle)


@hook
def on_l1_evict(core, own, way, cycle):
    line = own.line[way]
    if line.tag != core.l1d.tags[way] + 1:
        return
    load, line.tag = own.load[line.load], 0
    load.lines += 1
    load.dead += line.again == 0
    load.sectors += count_bits(line.touched)
    if load.lines >= 2 * own.sample:
        load.lines, load.dead, load.sectors = load.lines // 2, load.dead // 2, load.sectors // 2


@hook
def l1_allocation_bypass(core, own, op, cycle):
    load = own.load[entry_of(core.ops[op])]
    if not own.bypass or load.lines < own.sample or 100 * load.dead < own.dead * load.lines or is_in_l1(core, op):
        return 0
    if random_bits(core.ops[op], 5) == 0:
        return 0
    own.bypassed += is_another(own, core.ops[op])
    return 1
