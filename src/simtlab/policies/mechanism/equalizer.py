"""Equalizer (Sethia and Mahlke, MICRO 2014; BOOK 5.1.1): CTAs and clocks follow what a kernel's warps wait for.

Every `period` cycles each core counts its active warps, those that wait for data or others, those that are ready for a memory unit
that takes nothing (X_mem) and those ready for an arithmetic unit beyond what issues (X_alu). Every `epoch` such samples it decides
on the averages, with W warps to a CTA: X_mem > W: memory is overloaded, a CTA less; else X_alu > W, or X_mem > 2: the kernel is
bound by arithmetic, or by memory, and the number stays; else more than half of the warps wait: a CTA more. Each core votes for a
clock: with `save_energy` = 0 (performance) the one that the kernel is bound by goes high, with 1 (energy) the other goes low.
The majority of the cores decides.

Choices: a core without warps has no vote; the number of CTAs changes after three epochs that agree, as published; a kernel that is
bound by neither and whose X_alu is the larger votes as if by arithmetic; clocks return to usual where votes are even.
"""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.limits import MAX_CORES
from simtlab.policies.hook import HIGH, LOW, USUAL, candidates, clocks, count_bits, hook, memory_warps
from simtlab.policies.sets import whole_numbers

source = "Sethia and Mahlke, MICRO 2014; BOOK 5.1.1"
bytes_a_core = 4 * 2 + 2 + 1  # four counters of the samples, CTAs and hysteresis, the vote
NOBODY, ARITHMETIC, MEMORY = 0, 1, 2
scope = "chip"
parameters = {"period": 128, "epoch": 32, "save_energy": 0, "blocks": 1, "clocks": 1}
limits = {"period": (1, None), "epoch": (1, None), "save_energy": (0, 1), "blocks": (0, 1), "clocks": (0, 1)}
counters = {
    "fewer": ("times", "A core was given a CTA less."), "more": ("times", "A core was given a CTA more."),
    "core_high": ("samples", "With the cores' clock raised."), "core_low": ("samples", "With the cores' clock lowered."),
    "memory_high": ("samples", "With the memory's clock raised."), "memory_low": ("samples", "With the memory's clock lowered."),
}  # fmt: skip
core_t = np.dtype(whole_numbers(["active", "waiting", "x_mem", "x_alu", "samples", "ctas", "wish", "agreed", "vote"]))
state = np.dtype([*whole_numbers(parameters, counters, ["asked"]), ("core", core_t, (MAX_CORES,))])


@compiled
def decision(core, own, mine):
    """By the samples of an epoch: one CTA more or less, and the core's vote."""
    if core.resident == 0:
        return 0, NOBODY
    warps = own.epoch * max(count_bits(core.occupied) // core.resident, 1)
    if mine.x_mem > warps:
        return -1, MEMORY
    if mine.x_alu > warps:
        return 0, ARITHMETIC
    if mine.x_mem > 2 * own.epoch:
        return 0, MEMORY
    if 2 * mine.waiting > mine.active:
        return 1, ARITHMETIC if mine.x_alu > mine.x_mem else MEMORY
    return 0, NOBODY


@hook
def cta_throttle_sample(core, own, most, cycle):
    """A sample; at the end of an epoch the number of CTAs, and the core's vote."""
    mine = own.core[core.number]
    if core.samples == 0:
        mine.ctas = most
    ready, to_memory = candidates(core), memory_warps(core)
    mine.active += count_bits(core.occupied)
    mine.waiting += count_bits(core.occupied & ~ready)
    mine.x_mem += max(count_bits(ready & to_memory) - 1, 0)
    mine.x_alu += max(count_bits(ready & ~to_memory) - core.schedulers, 0)
    mine.samples += 1
    if mine.samples < own.epoch:
        return mine.ctas
    wish, mine.vote = decision(core, own, mine)
    mine.agreed = mine.agreed + 1 if wish == mine.wish else 1
    mine.wish = wish
    mine.active, mine.waiting, mine.x_mem, mine.x_alu, mine.samples = 0, 0, 0, 0, 0
    wanted = min(max(mine.ctas + wish, 1), np.int64(most))
    if own.blocks and mine.agreed >= 3 and wanted != mine.ctas:
        own.fewer += wanted < mine.ctas
        own.more += wanted > mine.ctas
        mine.ctas, mine.agreed = wanted, 0
    return mine.ctas


@compiled
def by_votes(cores, own):
    """Levels for cores and memory."""
    votes = np.int64(0)
    for c in range(cores):
        votes += own.core[c].vote == MEMORY
        votes -= own.core[c].vote == ARITHMETIC
    if votes == 0:
        return USUAL, USUAL
    if own.save_energy:
        return (LOW, USUAL) if votes > 0 else (USUAL, LOW)
    return (USUAL, HIGH) if votes > 0 else (HIGH, USUAL)


@hook
def clocks_choose(gpu, own, level, cycle):
    """The majority's clocks, at the end of an epoch."""
    core, memory = np.int64(level) // 3, np.int64(level) % 3
    own.asked += 1
    if own.clocks and own.asked % own.epoch == 0:
        core, memory = by_votes(gpu.cores, own)
    own.core_high += core == HIGH
    own.core_low += core == LOW
    own.memory_high += memory == HIGH
    own.memory_low += memory == LOW
    return clocks(core, memory)
