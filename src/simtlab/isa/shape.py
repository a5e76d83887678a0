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
# Machine code only. A 64-bit value lies in two neighbouring registers; uniform registers hold one value for the whole warp.
PAIR = "q"  # two 32-bit registers, the low word first: byte offset of the first one's lanes
SCALAR, SCALAR_64 = "s", "S"  # a uniform register, a pair of them: byte offset in the window
UNIFORM_PREDICATE = "o"  # a uniform predicate that is written: byte offset of a mask with all lanes alike
CONSTANT, CONSTANT_64 = "c", "C"  # a word, two words of the constant banks: byte offset from the parameters
ADDRESS, ADDRESS_64 = "a", "A"  # a uniform register, a pair of them, that is added to an access's address; comes last

REGISTER_BITS = {HALF: 16, WORD: 32, DOUBLE: 64}
KIND_OF_BITS = {8: HALF, 16: HALF, 32: WORD, 64: DOUBLE}
LANES = 32


@dataclass(frozen=True, slots=True)
class Shape:
    """`Shape("add.s32", "wwi")`: destination and first source are 32-bit registers, the second source an immediate.

    In machine code sources may be negated, and their absolute value taken: `Shape("add.rn.f32", "www", ("", "-", "|"))`.
    """

    spelling: str
    kinds: str
    marks: tuple[str, ...] = ()  # what is done to each operand before it is used, where anything is: "-", "|", "-|", "~", "H1_H1"

    @property
    def symbol(self) -> str:
        return " ".join((self.spelling, self.kinds, *self.marks))

    def mark(self, k: int) -> str:
        return self.marks[k] if self.marks else ""
