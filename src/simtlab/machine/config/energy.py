"""What each event costs in energy. A word is 32 bits, as in BOOK Table 1.1."""

from dataclasses import dataclass, fields
from typing import Any

from simtlab.machine.config.keys import REQUIRED, amount, real

A_LANE, A_WORD = "pJ a lane", "pJ a word"


def lane(what: str) -> Any:
    """What one active lane spends on an operation."""
    return amount(A_LANE, what)


def word(what: str, default: Any = REQUIRED) -> Any:
    """What 32 bits cost on their way in or out."""
    return amount(A_WORD, what, default)


@dataclass(frozen=True, kw_only=True)
class Energy:
    """Energy of each event, and power that flows whatever happens. See docs/energy.md."""

    node_scale: float = real(
        "times", "what the figures below for a core and the L2 (all but flit_word_pj, dram and static keys) are multiplied by"
    )
    # The front end and the registers
    issue_pj: float = amount("pJ", "decoding, buffering and scheduling a warp instruction; each replay costs it again")
    l0i_word_pj: float = word("a word read from an L0 instruction cache, or filled into it", default=0.0)
    l1i_word_pj: float = word("a word read from the instruction cache, or filled into it")
    register_word_pj: float = word("a register of one lane, read or written; a bank moves all 32 lanes of a warp")
    # Arithmetic, for each active lane
    int_add_pj: float = lane("integer addition")
    int_max_pj: float = lane("integer minimum or maximum")
    int_mul_pj: float = lane("integer multiplication")
    int_mad_pj: float = lane("integer multiply-add")
    int_div_pj: float = lane("integer division")
    logic_pj: float = lane("bitwise logic")
    shift_pj: float = lane("shift or bit field")
    compare_pj: float = lane("comparison or selection")
    move_pj: float = lane("move between registers, or from a parameter")
    convert_pj: float = lane("conversion")
    half_pj: float = lane("half-precision arithmetic")
    sp_add_pj: float = lane("single-precision addition")
    sp_max_pj: float = lane("single-precision minimum or maximum")
    sp_mul_pj: float = lane("single-precision multiplication")
    sp_mad_pj: float = lane("single-precision multiply-add")
    sp_div_pj: float = lane("single-precision division or square root")
    dp_add_pj: float = lane("double-precision addition")
    dp_max_pj: float = lane("double-precision minimum or maximum")
    dp_mul_pj: float = lane("double-precision multiplication")
    dp_mad_pj: float = lane("double-precision multiply-add")
    dp_div_pj: float = lane("double-precision division or square root")
    sfu_pj: float = lane("special function")
    shuffle_pj: float = lane("exchange between lanes")
    vote_pj: float = lane("vote or match")
    memory_pj: float = lane("address of a load, store or atomic")
    texture_pj: float = lane("addressing and filtering of a texture fetch")
    # Memories of a core
    shared_word_pj: float = word("a word read from shared memory or written there, with its way to the lane")
    l1_tag_pj: float = amount("pJ", "a look into the tags of the L1 data cache")
    l1_word_pj: float = word("a word of the L1 data cache; an access moves a sector")
    l1c_word_pj: float = word("a word of the constant cache; a hit reads one, a fill moves a line")
    l1t_word_pj: float = word("a word of the texture cache; a hit reads a line, a fill moves one")
    # Beyond the cores
    flit_word_pj: float = word("a word of a flit through one switch or router and along its channel")
    l2_tag_pj: float = amount("pJ", "a look into the tags of an L2 slice")
    l2_word_pj: float = word("a word of an L2 slice")
    atomic_pj: float = amount("pJ", "the arithmetic of one atomic request at the L2")
    dram_activate_pj: float = amount("pJ", "opening a row of DRAM, and closing it later")
    dram_word_pj: float = word("a word read from an open row or written to it, with its way over the bus")
    # Whatever happens
    static_core_watts: float = amount("W", "static power of one core")
    static_chip_watts: float = amount("W", "static power of all the rest, DRAM included")


# Classes of operations that a lane's energy is known for, in words.
LANES: dict[str, str] = {f.name.removesuffix("_pj"): f.metadata["meaning"] for f in fields(Energy) if f.metadata["unit"] == A_LANE}
