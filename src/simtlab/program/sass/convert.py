"""Lowering of conversions: F2F, F2FP, F2I, F2IP, FRND, I2F, I2FP, I2I, I2IP. Each is a cvt of PTX, its types named apart."""

from dataclasses import replace

from simtlab.frontend.sass import text as sass
from simtlab.isa.lanes import bits_of
from simtlab.program.sass.floating import DIRECTIONS, compute, direction, tail
from simtlab.program.sass.given import Given, lowers

INTEGERS = ("U8", "S8", "U16", "S16", "U32", "S32", "U64", "S64")
FLOATS = ("F16", "BF16", "F32", "F64")
TO_INTEGER = {"TRUNC": "rzi", "FLOOR": "rmi", "CEIL": "rpi"}
ZERO = sass.Register("R", None)


def types(g: Given, *names: str) -> list[str]:
    """The types of the spelling that are among some, in order."""
    return [part.lower() for part in g.all_of(*names)]


def one_type(g: Given, names: tuple[str, ...], usual: str) -> str:
    found = types(g, *names)
    if len(found) > 1:
        raise g.unknown("it names too many types")
    return found[0] if found else usual


def whole(g: Given) -> str:
    return TO_INTEGER.get(g.first_of(*TO_INTEGER) or "", "rni")


@lowers("F2I", "UF2I")
def float_to_integer(g: Given) -> None:
    """.NTZ has a NaN become zero. It is there where no 64 bits are: PTX knows no other."""
    g.only("FTZ", "NTZ", *TO_INTEGER, *INTEGERS, *FLOATS)
    target, source = one_type(g, INTEGERS, "s32"), one_type(g, FLOATS, "f32")
    if g.has("NTZ") == (64 in (bits_of(target), bits_of(source))):
        raise g.unknown("what a NaN becomes is not known")
    compute(g, f"cvt.{whole(g)}{tail(g)}.{target}.{source}", f"{target} = {source}")


@lowers("F2IP", "UF2IP")
def float_to_packed_integer(g: Given) -> None:
    """The last of two floats as a byte; with another it is not known how they are packed."""
    g.only("U8", "F32", "NTZ", *TO_INTEGER)
    if g.left[1] != ZERO or g.left[3] != ZERO or not g.has("NTZ"):
        raise g.unknown()
    del g.left[3], g.left[1]
    compute(g, f"cvt.{whole(g)}.u8.f32", "u8 = f32")


@lowers("I2F", "UI2F", "I2FP", "UI2FP")
def integer_to_float(g: Given) -> None:
    g.only(*DIRECTIONS, *INTEGERS, *FLOATS)
    target, source = one_type(g, FLOATS, "f32"), one_type(g, INTEGERS, "s32")
    if bits_of(source) == 64 and isinstance(number := g.left[-1], sass.Number):
        g.left[-1] = replace(number, value=number.value << 32)  # of 64 bits an immediate is the upper half, as of a double
    compute(g, f"cvt.{direction(g)}.{target}.{source}", f"{target} = {source}")


@lowers("F2F")
def float_to_float(g: Given) -> None:
    g.only("FTZ", "SAT", *DIRECTIONS, *FLOATS)
    found = types(g, *FLOATS)
    if len(found) != 2 or found[0] == found[1]:
        raise g.unknown()
    target, source = found
    way = direction(g)
    rounds = bits_of(target) < bits_of(source) or way != "rn" or "bf16" in found
    compute(g, f"cvt{f'.{way}' * rounds}{tail(g)}.{target}.{source}", f"{target} = {source}")


@lowers("FRND", "UFRND")
def to_whole(g: Given) -> None:
    g.only("FTZ", *TO_INTEGER, *FLOATS)
    type = one_type(g, FLOATS, "f32")
    compute(g, f"cvt.{whole(g)}{tail(g)}.{type}.{type}", f"{type} = {type}")


@lowers("F2FP", "UF2FP")
def pack(g: Given) -> None:
    """.PACK_AB makes a pair, the first operand above; .MERGE_C one half beside those of a third operand; .PACK_B a word."""
    g.only("F16", "BF16", "TF32", "F32", "PACK_AB", "MERGE_C", "PACK_B", "RELU", "SATFINITE", "RZ")
    target = one_type(g, ("F16", "BF16", "TF32"), "f16")
    parts = f"cvt.{direction(g)}{'.relu' * g.has('RELU')}{'.satfinite' * g.has('SATFINITE')}."
    if g.has("PACK_AB") and target != "tf32":
        compute(g, f"{parts}{target}x2.f32", f"{target}x2 = f32 f32")
    elif g.has("PACK_B") and target == "tf32":
        compute(g, f"{parts}tf32.f32", "tf32 = f32")
    elif g.has("MERGE_C") and target != "tf32" and g.left[2] == ZERO:
        del g.left[2]
        compute(g, f"{parts}{target}.f32", f"{target} = f32")
    else:
        raise g.unknown()


@lowers("I2I")
def integer_to_integer(g: Given) -> None:
    g.only("SAT", *INTEGERS)
    found = types(g, *INTEGERS)
    if len(found) != 2 or not g.has("SAT"):
        raise g.unknown()
    target, source = found
    compute(g, f"cvt.sat.{target}.{source}", f"{target} = {source}")


@lowers("I2IP", "UI2IP")
def pack_integers(g: Given) -> None:
    g.only("SAT", *INTEGERS)
    found = types(g, *INTEGERS)
    compute(g, ".".join(("I2IP.SAT", *found)) if g.has("SAT") else "", "u32 = s32 s32 u32")
