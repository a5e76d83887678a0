"""DNA: sequences as FASTA files have them, and made ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Adenine and thymine are 65% of Bacillus anthracis, whose genome MUMmerGPU's reads are from (NC_003997).
SHARES = {"A": 0.325, "C": 0.175, "G": 0.175, "T": 0.325}
REPEATS = 0.05  # of a genome that is a copy of another part of it
REPEAT_BASES = 500


@dataclass(frozen=True)
class Sequence:
    """A sequence of bases in capital letters."""

    name: str
    bases: bytes


def genome(bases: int, seed: int = 0) -> bytes:
    """Bases one by one, in which some stretches are there twice, as genes are."""
    random = np.random.default_rng([seed, bases])
    letters = np.frombuffer("".join(SHARES).encode(), np.uint8)
    made = random.choice(letters, bases, p=list(SHARES.values()))
    for _ in range(int(REPEATS * bases / REPEAT_BASES)):
        source, target = random.integers(0, max(bases - REPEAT_BASES, 1), 2)
        stretch = made[source : source + REPEAT_BASES].copy()
        made[target : target + len(stretch)] = stretch
    return made.tobytes()
