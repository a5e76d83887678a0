"""Kinds of locality of global loads (Jia, Shaw, Martonosi, ICS 2012; BOOK 4.4.2), counted load by load; it decides nothing.

Within a warp: lanes of one execution of a load in the same line. Within a block: a line that the same load has touched in another
warp of the CTA. Across instructions: a line that another load of the CTA has touched. `simtlab.lab.locality` makes a table of
it, with the paper's rule for which loads to cache; for that an `l1d.sector_bytes` of 32 tells what they would move around the L1.

Choices: a line is one of the L1; order is that in which loads reach it; a CTA's loads see no other CTA's; a line can count within
its block and across instructions both; the lines of running CTAs are in a table of 65,536 for each core, and those for which it has
no place count as fresh (`left_out` says how many); a kernel's first 64 loads are told apart.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.core.timing import timing_at
from simtlab.policies import visitors
from simtlab.policies.hook import hook
from simtlab.policies.looks import is_first_in_line
from simtlab.policies.visitors import ANY_LOAD, N_LOADS, NOBODY, find, forget_cta, note

source = "Jia, Shaw, Martonosi, ICS 2012; BOOK 4.4.2"
bytes_a_core = 0  # an analysis: no hardware
kinds = {
    "executed": ("loads", "Executions by a warp, by the load's number."),
    "lanes": ("lanes", "Lanes that took part."),
    "sectors": ("sectors", "Sectors of the L1 that they touched."),
    "lines": ("lines", "Lines that they touched."),
    "within_warp": ("lanes", "Of the lanes, those in a line that an earlier lane of the same execution is in."),
    "within_block": ("lines", "Of the lines, those that the load had touched in another warp of the CTA."),
    "cross_instruction": ("lines", "Of the lines, those that another load of the CTA had touched."),
    "again": ("lines", "Of the lines, those that the load had touched in the same warp of the CTA alone."),
    "fresh": ("lines", "Of the lines, those that no load of the CTA had touched."),
    "lent": ("lines", "Lines that the load touched first, as often as another load of the CTA did later."),
}
state = np.dtype([*((name, "i8", (N_LOADS,)) for name in kinds), ("left_out", "i8"), *visitors.fields])
counters = {**kinds, "left_out": ("lines", "Lines for which there was no place in the table.")}


@hook
def on_cta_start(core, own, cta, cycle):
    forget_cta(own, cta)


@hook
def on_load(core, own, op, cycle):
    load, slot = core.ops[op], core.slots[core.ops[op].slot]
    n = timing_at(slot.timing).row[load.pc].load
    if n >= N_LOADS:
        return
    lines = 0
    for k in range(load.accesses):
        if is_first_in_line(core, load, k):
            lines += 1
            touch(own, n, slot, load.lines[k] >> core.l1d.line_shift)
    own.executed[n] += 1
    own.lanes[n] += load.active
    own.sectors[n] += load.accesses
    own.lines[n] += lines
    own.within_warp[n] += load.active - lines


@compiled
def touch(own, n, slot, line):
    """A load of a warp touches a line: who has before?"""
    by_load, by_any = find(own, slot.cta, n, line), find(own, slot.cta, ANY_LOAD, line)
    if by_load < 0 or by_any < 0:
        own.left_out += 1
        own.fresh[n] += 1
        return
    load, any_load = own.table[by_load], own.table[by_any]
    in_block = load.first != NOBODY and (load.first != slot.warp or load.several)
    own.within_block[n] += in_block
    own.again[n] += load.first != NOBODY and not in_block
    own.fresh[n] += any_load.first == NOBODY
    own.cross_instruction[n] += any_load.first != NOBODY and (any_load.first != n or any_load.several)
    if any_load.first != NOBODY and any_load.first != n:
        own.lent[any_load.first] += 1
    note(load, slot.warp)
    note(any_load, n)
