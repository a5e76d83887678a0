"""Lowering of texture fetches and surface accesses.

`TEX.LL R10, R8, R6, R8, UR4, 0x0, 2D, 0xf`: where the third and fourth result go, where the first and second go, coordinates,
the level, the handle's lower word, the geometry, and which of x, y, z, w are wanted. Found by compiling fetches whose results
are known for sm_75 to sm_120. There is one level, so levels change nothing.
"""

from simtlab.frontend.sass import text as sass
from simtlab.isa.shape import CONSTANT, WORD
from simtlab.program.action import Action
from simtlab.program.operand import ABSENT_OPERAND, Operand, immediate
from simtlab.program.sass.given import NOTHING, Given, lowers
from simtlab.program.sass.memory import words
from simtlab.program.sass.registers import number_of

GEOMETRIES = {"1D": "1d", "2D": "2d", "3D": "3d", "ARRAY_1D": "a1d", "ARRAY_2D": "a2d", "CUBE": "cube"}
SURFACES = {"1D": "1d", "2D": "2d", "3D": "3d", "1D_ARRAY": "a1d", "2D_ARRAY": "a2d"}
AXES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3}
LEVELS = ("LL", "LB")  # a level, or what is added to it, comes behind the coordinates
FETCH_PARTS = ("LZ", "CL", "B", "SCR", "NODEP", *LEVELS)
SIZES = {"U8": "b8", "S8": "b8", "U16": "b16", "S16": "b16", "64": "v2.b32", "128": "v4.b32"}
MODES = {"TRAP": "trap", "IGN": "zero"}  # "clamp" where it says neither
ORDER_PARTS = ("STRONG", "WEAK", "CTA", "SM", "GPU", "SYS")  # of memory accesses; a functional run has them in order
COORDINATES = 4  # that an access of PTX has
MAX_PACKED = 4


@lowers("TEX", "TLD")
def fetch(g: Given) -> None:
    """TEX takes real coordinates and filters, TLD whole ones."""
    g.only(*FETCH_PARTS)
    later, first = words(g, "v2.b32", written=True), words(g, "v2.b32", written=True)
    geometry, mask = geometry_of(g)
    packed = packed_in(g, AXES[geometry] + g.has("B") + g.has(*LEVELS))
    coordinates = packed[: AXES[geometry]]
    handle = packed[AXES[geometry]] if g.has("B") else handle_of(g)
    if g.left:
        raise g.unknown("an operand too many")
    form = f"TEX.{geometry}.v4.u32.{'s32' if g.i.opcode == 'TLD' else 'f32'}"
    operands = [*in_places([*first, *later], mask), handle, *filled(coordinates)]
    g.emit(Action.TEXTURE, "", operands, form=form)


def geometry_of(g: Given) -> tuple[str, int]:
    """The operands that come last: a geometry, and a mask of the results that are wanted."""
    mask = g.left[-1].value if isinstance(g.left[-1], sass.Number) else 0xF
    if isinstance(g.left[-1], sass.Number):
        g.left.pop()
    name = g.left.pop()
    if not isinstance(name, sass.Name) or name.text not in GEOMETRIES or not 0 < mask <= 0xF:
        raise g.unknown("no geometry that simtlab knows")
    return GEOMETRIES[name.text], mask


def in_places(results: list[Operand], mask: int) -> list[Operand]:
    """Where x, y, z and w go: those that are wanted lie one behind the other in the registers given."""
    given = iter(results)
    return [next(given) if mask >> channel & 1 else NOTHING for channel in range(len(results))]


def packed_in(g: Given, count: int) -> list[Operand]:
    """The coordinates, the handle if a register has it (.B), and the level, which come in one or two rows of registers.

    With .SCR both rows have the same number, or the first has one more. Without, coordinates are in the first.
    """
    behind = g.has("B") + g.has(*LEVELS)
    in_first = -(-count // 2) if g.has("SCR") else count - behind
    if count > MAX_PACKED and g.has("SCR"):
        raise g.unknown("too many coordinates")
    found = row_of(g, in_first)
    return found + row_of(g, count - in_first) if count > in_first else found


def row_of(g: Given, count: int) -> list[Operand]:
    """The next operand, a register, and those behind it."""
    operand = g.take()
    if not isinstance(operand, sass.Register) or operand.file != "R":
        raise g.unknown(f"'{operand}' is no register")
    return registers(g, operand, count)


def registers(g: Given, first: sass.Register, count: int) -> list[Operand]:
    if first.number is None:
        return [immediate(0)] * count
    return [Operand(WORD, number_of("R", first.number + k)) for k in range(count)]


def handle_of(g: Given) -> Operand:
    """The lower word of the image's handle: a uniform register with a 0 behind it, a constant's bank and word, a register."""
    operand = g.take()
    if isinstance(operand, sass.Register) and operand.file in ("R", "UR"):
        if operand.file == "UR" and g.left and g.integer() != 0:
            raise g.unknown("an offset of its handle")
        return g.register(operand, "b32")
    if isinstance(operand, sass.Number) and g.left:
        return Operand(CONSTANT, value=g.place_in_bank(operand.value, 4 * g.integer()))
    raise g.unknown(f"'{operand}' is no handle")


def filled(coordinates: list[Operand]) -> list[Operand]:
    return [*coordinates, *[ABSENT_OPERAND] * (COORDINATES - len(coordinates))]


# Surfaces -------------------------------------------------------------------------------------------------------------


@lowers("SULD", "SUST")
def surface(g: Given) -> None:
    """Bytes of a surface as they are (.D), x counted in bytes (.BA)."""
    g.only(*ORDER_PARTS, *SURFACES, *SIZES, *MODES, "D", "BA")
    name, mode = g.first_of(*SURFACES), MODES.get(g.first_of(*MODES) or "", "clamp")
    if name is None or not (g.has("D") and g.has("BA")) or g.has("S8", "S16"):
        raise g.unknown()
    geometry, size = SURFACES[name], SIZES.get(g.first_of(*SIZES) or "", "b32")
    data = words(g, size, written=True) if g.i.opcode == "SULD" else []
    coordinates = filled(place_of(g, geometry))
    if g.i.opcode == "SUST":
        data = words(g, size, written=False)
    handle = handle_of(g)
    if g.left:
        raise g.unknown("an operand too many")
    operands = [*data, handle, *coordinates] if g.i.opcode == "SULD" else [handle, *coordinates, *data]
    g.emit(Action.SURFACE, "", operands, form=f"{g.i.opcode}.b.{geometry}.{size}.{mode}")


def place_of(g: Given, geometry: str) -> list[Operand]:
    """The coordinates in the order that PTX has them. Machine code has the layer last, PTX first."""
    operand = g.take()
    if not isinstance(operand, sass.Address) or len(operand.registers) != 1 or operand.offset or operand.registers[0].file != "R":
        raise g.unknown(f"'{operand}' is no place on a surface")
    found = registers(g, operand.registers[0], AXES[geometry])
    return [found[-1], *found[:-1]] if geometry in ("a1d", "a2d") else found
