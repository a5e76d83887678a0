"""Loads and stores. Every lane's address is checked against a window before it is touched.

The context of a memory access is a `Window`: an allocation, a CTA's shared memory, or a warp's local memory, where lane l
has its own copy at `lane_stride * l`. The native function serves the lanes whose access lies in the window and is aligned,
and returns the mask of the others, which the caller resolves (another window) or reports (a fault). All state spaces
share this code: the caller picks the window, so the shapes are spelled without space, cache and ordering modifiers.
"""

from collections.abc import Callable
from dataclasses import dataclass

from llvmlite import ir

from simtlab.isa.lanes import I1, I8, I16, I32, I64, LANES, ROW_BYTES, SCALARS, Lanes, bits_of, is_signed, vector
from simtlab.isa.shape import (
    ADDRESS,
    ADDRESS_64,
    CONSTANT_64,
    DOUBLE,
    FRAME,
    IMMEDIATE,
    PAIR,
    REGISTER_BITS,
    SCALAR,
    SCALAR_64,
    SINK,
    UNIFORM_64,
    VARYING,
    WORD,
)
from simtlab.isa.table import Modifiers, operation
from simtlab.isa.walk import Walk, each_lane, mark_nothing

TYPES = "{b8,u8,s8,b16,u16,s16,f16,bf16,b32,u32,s32,f32,b64,u64,s64,f64}"
SPACE = "[.const,.global,.local,.shared,.shared::cta,.shared::cluster]"
SCOPE = "[.cta,.cluster,.gpu,.sys]"
HINTS = (
    "[.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate]"
    "[.L2::cache_hint][.L2::64B,.L2::128B,.L2::256B]"
)
LOAD = f"ld[.weak,.volatile,.relaxed,.acquire,.mmio]{SCOPE}{SPACE}[.ca,.cg,.cs,.lu,.cv][.nc]{HINTS}[.v2,.v4].{TYPES}"
STORE = f"st[.weak,.volatile,.relaxed,.release,.mmio]{SCOPE}{SPACE}[.wb,.cg,.cs,.wt]{HINTS}[.v2,.v4].{TYPES}"
SCALES = {"X4": 2, "X8": 3, "X16": 4}  # marks of a base register in machine code
WINDOW_FIELDS = ("first", "length", "host", "lane_stride", "frame")


@dataclass
class Window:
    """The five 64-bit fields of the memory window, loaded."""

    first: ir.Value
    length: ir.Value
    host: ir.Value
    lane_stride: ir.Value
    frame: ir.Value


def load_window(lanes: Lanes) -> Window:
    fields = lanes.b.bitcast(lanes.context, I64.as_pointer())
    return Window(*(lanes.b.load(lanes.b.gep(fields, [I32(k)])) for k in range(len(WINDOW_FIELDS))))


class Access:
    """The address operand of one instruction, `operands[k]` (base) and `operands[k + 1]` (offset), and its checks.

    In machine code a uniform register, the last operand, may be added to them.
    """

    def __init__(self, lanes: Lanes, k: int, size: int):
        self.lanes, self.k, self.size = lanes, k, size
        self.window = load_window(lanes)
        b = lanes.b
        self.displacement = b.add(lanes.raw_operand(k + 1), self._uniform_part())
        start = b.sub(self.displacement, self.window.first)
        kind = lanes.shape.kinds[k]
        if kind == FRAME:
            start = b.add(start, self.window.frame)
        self.start = start  # window-relative address where there is no base register
        self.base = lanes.raw_operand(k) if kind in (WORD, DOUBLE, PAIR) else None
        self.scale = SCALES.get(lanes.shape.mark(k), 0)  # the base is shifted left by so much
        room = b.sub(self.window.length, I64(size))
        fits = b.icmp_unsigned(">=", self.window.length, I64(size))
        self.limit = b.select(fits, b.add(room, I64(1)), I64(0))  # offsets below this are inside

    def _uniform_part(self) -> ir.Value:
        """What a uniform register adds to the address."""
        last = len(self.lanes.shape.kinds) - 1
        kind = self.lanes.shape.kinds[last]
        if kind not in (ADDRESS, ADDRESS_64):
            return I64(0)
        value = self.lanes.b.load(self.lanes.pointer(last, I64 if kind == ADDRESS_64 else I32), align=4)
        return value if kind == ADDRESS_64 else self.lanes.b.zext(value, I64)

    def offset(self, walk: Walk) -> ir.Value:
        """Where in the window this lane's access begins."""
        if self.base is None:
            return self.start
        b = self.lanes.b
        kind = self.lanes.shape.kinds[self.k]
        if kind == PAIR:
            low = b.gep(self.lanes.registers, [b.add(self.base, b.mul(walk.lane_64, I64(4)))])
            words = [b.zext(b.load(b.bitcast(place, I32.as_pointer())), I64) for place in (low, b.gep(low, [I32(ROW_BYTES)]))]
            return self.from_base(b.or_(words[0], b.shl(words[1], I64(32))))
        width, type = (8, I64) if kind == DOUBLE else (4, I32)
        place = b.gep(self.lanes.registers, [b.add(self.base, b.mul(walk.lane_64, I64(width)))])
        return self.from_base(b.load(b.bitcast(place, type.as_pointer())))

    def from_base(self, base: ir.Value) -> ir.Value:
        """Where in the window an access with this base begins; a 32-bit base and its displacement wrap at 32 bits."""
        return self.from_scaled(self.lanes.b.shl(base, base.type(self.scale)) if self.scale else base)

    def from_scaled(self, base: ir.Value) -> ir.Value:
        b = self.lanes.b
        if base.type == I64:
            return b.add(self.start, base)
        if self.lanes.shape.kinds[-1] == ADDRESS_64:  # [R2.U32+UR4]
            return b.add(self.start, b.zext(base, I64))
        return b.sub(b.zext(b.add(base, b.trunc(self.displacement, I32)), I64), self.window.first)

    def allowed(self, offset: ir.Value) -> ir.Value:
        b = self.lanes.b
        inside = b.icmp_unsigned("<", offset, self.limit)
        if self.size == 1:
            return inside
        address = b.add(offset, self.window.first)
        aligned = b.icmp_unsigned("==", b.and_(address, I64(self.size - 1)), I64(0))
        return b.and_(inside, aligned)

    def place(self, offset: ir.Value, walk: Walk, part: int, type: ir.Type) -> ir.Value:
        """The host address of element `part` of this lane's access."""
        b = self.lanes.b
        own = b.add(self.window.host, b.mul(walk.lane_64, self.window.lane_stride))
        at = b.add(b.add(own, offset), I64(part * self.size_of(type)))
        return b.inttoptr(at, type.as_pointer())

    @staticmethod
    def size_of(type: ir.IntType) -> int:
        return type.width // 8


def memory_type(type: str) -> ir.IntType:
    return {8: I8, 16: I16, 32: I32, 64: I64}[bits_of(type)]


def register_place(lanes: Lanes, k: int, walk: Walk, type: ir.Type) -> ir.Value:
    """Where operand k, a register or a varying special register, keeps this lane's value."""
    kind = lanes.shape.kinds[k]
    base, width = (lanes.context, 4) if kind == VARYING else (lanes.registers, REGISTER_BITS[kind] // 8)
    start = lanes.b.add(lanes.raw_operand(k), lanes.b.mul(walk.lane_64, I64(width)))
    return lanes.b.bitcast(lanes.b.gep(base, [start]), type.as_pointer())


def pair_places(lanes: Lanes, k: int, walk: Walk) -> tuple[ir.Value, ir.Value]:
    """Where operand k, two neighbouring registers, keeps this lane's low and high word."""
    start = lanes.b.add(lanes.raw_operand(k), lanes.b.mul(walk.lane_64, I64(4)))
    low, high = (lanes.b.gep(lanes.registers, [lanes.b.add(start, I64(part))]) for part in (0, ROW_BYTES))
    return lanes.b.bitcast(low, I32.as_pointer()), lanes.b.bitcast(high, I32.as_pointer())


def read_lane(lanes: Lanes, k: int, walk: Walk, type: ir.IntType) -> ir.Value:
    """This lane's value of operand k as the low bits."""
    kind = lanes.shape.kinds[k]
    if kind == PAIR:
        low, high = (lanes.b.zext(lanes.b.load(place), I64) for place in pair_places(lanes, k, walk))
        value = lanes.b.or_(low, lanes.b.shl(high, I64(32)))
        return lanes.b.trunc(value, type) if type.width < 64 else value
    if kind == IMMEDIATE:
        value = lanes.raw_operand(k)
    elif kind in SCALARS:
        value = lanes.read_scalar(k, "u64" if kind in (UNIFORM_64, SCALAR_64, CONSTANT_64) else "u32")
    else:
        value = lanes.b.load(register_place(lanes, k, walk, I32 if kind == VARYING else ir.IntType(REGISTER_BITS[kind])))
    return lanes.b.trunc(value, type) if value.type.width > type.width else value


def write_lane(lanes: Lanes, k: int, walk: Walk, value: ir.Value, type: str) -> None:
    """Give this lane's operand k a value; a wider register is filled by the type's sign."""
    kind = lanes.shape.kinds[k]
    if kind == SINK:
        return
    if kind == SCALAR:
        lanes.write_scalar(k, value, type)
        return
    if kind == PAIR:
        low, high = pair_places(lanes, k, walk)
        lanes.b.store(lanes.b.trunc(value, I32), low)
        lanes.b.store(lanes.b.trunc(lanes.b.lshr(value, I64(32)), I32), high)
        return
    stored = ir.IntType(REGISTER_BITS[kind])
    if value.type.width < stored.width:
        value = (lanes.b.sext if is_signed(type) else lanes.b.zext)(value, stored)
    elif value.type.width > stored.width:
        value = lanes.b.trunc(value, stored)
    lanes.b.store(value, register_place(lanes, k, walk, stored))


@operation(LOAD, "V = M", raw=True, action="memory")
@operation(f"ldu[.global][.v2,.v4].{TYPES}", "V = M", raw=True, action="memory")
def load(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Read from memory; the cache and ordering modifiers change timing, never the value."""
    count, type = m.lanes_per_access, memory_type(m.type)
    access = Access(lanes, count, count * type.width // 8)

    def serve(walk: Walk, offset: ir.Value) -> None:
        for part in range(count):
            value = lanes.b.load(access.place(offset, walk, part, type), align=type.width // 8)
            write_lane(lanes, part, walk, value, m.type)

    fast = _load_row if count == 1 and lanes.shape.kinds[0] != SINK else None
    return _each_access(lanes, m, access, serve, fast)


@operation(STORE, "= M V", raw=True, action="memory")
@operation(f"st.param[.v2,.v4].{TYPES}", "= M V", raw=True, action="memory", note="Write an argument or a result of a call.")
def store(lanes: Lanes, m: Modifiers) -> ir.Value:
    """Write to memory; of lanes that write one place, the highest is the one that stays."""
    count, type = m.lanes_per_access, memory_type(m.type)
    access = Access(lanes, 0, count * type.width // 8)

    def serve(walk: Walk, offset: ir.Value) -> None:
        for part in range(count):
            value = read_lane(lanes, 2 + part, walk, type)
            lanes.b.store(value, access.place(offset, walk, part, type), align=type.width // 8)

    fast = _store_row if count == 1 and lanes.shape.kinds[2] != IMMEDIATE else None
    return _each_access(lanes, m, access, serve, fast)


def _each_access(lanes: Lanes, m: Modifiers, access: Access, serve: Callable, row: Callable | None) -> ir.Value:
    """Serve every lane that is allowed; give back the mask of the others.

    `row` serves 32 neighbouring elements at once, the commonest access of all.
    """
    b = lanes.b
    failed = mark_nothing(lanes)
    if row is not None and access.base is not None:
        neighbours = _is_row(lanes, access)
        with b.if_else(neighbours, likely=True) as (together, apart):
            with together:
                row(lanes, m, access)
            with apart:
                _one_by_one(lanes, access, serve, failed)
    else:
        _one_by_one(lanes, access, serve, failed)
    return b.load(failed)


def _one_by_one(lanes: Lanes, access: Access, serve: Callable, failed: ir.Value) -> None:
    with each_lane(lanes, lanes.mask, failed) as walk:
        offset = access.offset(walk)
        with lanes.b.if_else(access.allowed(offset), likely=True) as (inside, outside):
            with inside:
                serve(walk, offset)
            with outside:
                walk.mark(lanes)


def _addresses(lanes: Lanes, access: Access) -> ir.Value:
    given = lanes.read(access.k, "u64" if lanes.shape.kinds[access.k] in (DOUBLE, PAIR) else "u32")
    return lanes.b.shl(given, lanes.like(given, access.scale)) if access.scale else given


def _row_start(lanes: Lanes, access: Access) -> ir.Value:
    return access.from_scaled(lanes.b.extract_element(_addresses(lanes, access), I32(0)))


def _is_row(lanes: Lanes, access: Access) -> ir.Value:
    """All 32 lanes take part, lane l's address is lane 0's plus l elements, all inside the window and aligned."""
    b = lanes.b
    addresses = _addresses(lanes, access)
    lane = addresses.type.element
    first = lanes.splat(b.extract_element(addresses, I32(0)))
    steps = ir.Constant(vector(lane), [k * access.size for k in range(LANES)])
    apart = b.xor(addresses, b.add(first, steps))
    different = lanes.call(f"llvm.vector.reduce.or.v32i{lane.width}", lane, [apart])
    start = _row_start(lanes, access)
    last = b.add(start, I64((LANES - 1) * access.size))
    checks = (
        b.icmp_unsigned("==", lanes.mask, I32(0xFFFFFFFF)),
        b.icmp_unsigned("==", different, lane(0)),
        b.icmp_unsigned("<=", start, last),
        b.icmp_unsigned("<", last, access.limit),
        b.icmp_unsigned("==", b.and_(b.add(start, access.window.first), I64(access.size - 1)), I64(0)),
        b.icmp_unsigned("==", access.window.lane_stride, I64(0)),
    )
    agreed = I1(1)
    for check in checks:
        agreed = b.and_(agreed, check)
    return agreed


def _row_pointer(lanes: Lanes, access: Access, type: ir.IntType) -> ir.Value:
    at = lanes.b.add(access.window.host, _row_start(lanes, access))
    return lanes.b.inttoptr(at, vector(type).as_pointer())


def _load_row(lanes: Lanes, m: Modifiers, access: Access) -> None:
    type = memory_type(m.type)
    value = lanes.b.load(_row_pointer(lanes, access, type), align=access.size)
    stored = ir.IntType(REGISTER_BITS[lanes.shape.kinds[0]])
    if type.width < stored.width:
        value = (lanes.b.sext if is_signed(m.type) else lanes.b.zext)(value, vector(stored))
    lanes.b.store(value, lanes.pointer(0, vector(stored)), align=16)


def _store_row(lanes: Lanes, m: Modifiers, access: Access) -> None:
    type = memory_type(m.type)
    stored = ir.IntType(REGISTER_BITS[lanes.shape.kinds[2]])
    value = lanes.b.load(lanes.pointer(2, vector(stored)), align=16)
    if type.width < stored.width:
        value = lanes.b.trunc(value, vector(type))
    lanes.b.store(value, _row_pointer(lanes, access, type), align=access.size)


@operation(f"ld.param[.v2,.v4].{TYPES}", "V = M", raw=True, action="parameter")
def load_parameter(lanes: Lanes, m: Modifiers) -> None:
    """Read a kernel parameter, the same for every lane; the context's first field is the parameters' host address."""
    b, type = lanes.b, memory_type(m.type)
    parameters = b.load(b.bitcast(lanes.context, I64.as_pointer()))
    count = m.lanes_per_access
    for part in range(count):
        at = b.add(b.add(parameters, lanes.raw_operand(count + 1)), I64(part * type.width // 8))
        value = lanes.splat(b.load(b.inttoptr(at, type.as_pointer()), align=1))
        lanes.write(part, value, m.type)
