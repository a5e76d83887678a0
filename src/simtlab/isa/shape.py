"""A shape: one spelling of an instruction with the kinds of its operands. Every shape is one native function.

The native function's signature is `u32 operation(u8 *registers, u32 mask, i64 *operands, u8 *context)`:
`registers` is the warp's register window, bit l of `mask` says that lane l takes part, `operands[k]` is what the kind of
operand k says below, and `context` is the warp's special registers (or the memory window, for a memory access).
"""

from dataclasses import dataclass

WORD, DOUBLE, HALF = "w", "d", "h"  # a 32-, 64-, 16-bit register: byte offset of its 32 lanes in the window
PREDICATE, NOT_PREDICATE = "p", "n"  # a predicate register: byte offset of its 32-bit lane mask; `n` reads it negated
IMMEDIATE = "i"  # the value's bits, the same in every lane
SINK = "_"  # a destination nobody reads
UNIFORM, UNIFORM_64 = "u", "U"  # a 32-, 64-bit scalar of the context, the same in every lane: byte offset
VARYING = "v"  # 32 lanes of 32 bits in the context: byte offset
FRAME = "f"  # the start of the thread's local frame, as the base of an address
ABSENT = "-"  # an optional operand that is not there

REGISTER_BITS = {HALF: 16, WORD: 32, DOUBLE: 64}
KIND_OF_BITS = {8: HALF, 16: HALF, 32: WORD, 64: DOUBLE}
LANES = 32


@dataclass(frozen=True, slots=True)
class Shape:
    """`Shape("add.s32", "wwi")`: destination and first source are 32-bit registers, the second source an immediate."""

    spelling: str
    kinds: str

    @property
    def symbol(self) -> str:
        return f"{self.spelling} {self.kinds}"
