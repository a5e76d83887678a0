"""`Lanes`: the builder of one native function, speaking of operands and lanes where LLVM has pointers and vectors."""

from llvmlite import ir

from simtlab.isa.shape import (
    CONSTANT,
    CONSTANT_64,
    DOUBLE,
    HALF,
    IMMEDIATE,
    LANES,
    NOT_PREDICATE,
    PAIR,
    PREDICATE,
    REGISTER_BITS,
    SCALAR,
    SCALAR_64,
    SINK,
    UNIFORM,
    UNIFORM_64,
    UNIFORM_PREDICATE,
    VARYING,
    WORD,
    Shape,
)

I1, I8, I16, I32, I64 = (ir.IntType(n) for n in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
BYTES = I8.as_pointer()
SIGNATURE = ir.FunctionType(I32, [BYTES, I32, I64.as_pointer(), BYTES])
FULL_MASK = 0xFFFFFFFF
ROW_BYTES = 4 * LANES  # of a 32-bit register
LOW_WORDS, HIGH_WORDS = ([2 * lane + part for lane in range(LANES)] for part in (0, 1))
IN_TURN = [part * LANES + lane for lane in range(LANES) for part in (0, 1)]
SIGN_BITS = {"f16": 0x8000, "bf16": 0x8000, "f16x2": 0x80008000, "bf16x2": 0x80008000, "f32": 1 << 31, "f64": 1 << 63}
PLACES = {"H0": 0, "H1": 16, "H0_H0": 0, "H1_H1": 16, "B0": 0, "B1": 8, "B2": 16, "B3": 24}  # parts of a word: first bits
SCALARS = (IMMEDIATE, UNIFORM, UNIFORM_64, SCALAR, SCALAR_64, CONSTANT, CONSTANT_64)  # kinds with one value for all lanes


def element(type: str) -> ir.Type:
    """The LLVM type of one lane's value. Half-precision values are handled as their bits."""
    if type == "f32":
        return F32
    if type == "f64":
        return F64
    if type == "pred":
        return I1
    if type in ("f16x2", "bf16x2", "u16x2", "s16x2", "tf32"):
        return I32
    if type in ("f16", "bf16"):
        return I16
    return ir.IntType(int(type[1:]))


def vector(type: ir.Type) -> ir.VectorType:
    return ir.VectorType(type, LANES)


def bits_of(type: str) -> int:
    return {"f32": 32, "f64": 64, "pred": 1}.get(type) or element(type).width


def is_signed(type: str) -> bool:
    return type[0] == "s"


class Lanes:
    """One native function under construction; `b` is its llvmlite IRBuilder."""

    def __init__(self, module: ir.Module, shape: Shape):
        self.module, self.shape = module, shape
        self.function = ir.Function(module, SIGNATURE, shape.symbol)
        self.registers, self.mask, self.operands, self.context = self.function.args
        self.b = ir.IRBuilder(self.function.append_basic_block())

    # Operands ---------------------------------------------------------------------------------------------------------

    def raw_operand(self, k: int) -> ir.Value:
        """operands[k], a 64-bit number: an offset or an immediate's bits."""
        return self.b.load(self.b.gep(self.operands, [I32(k)]))

    def pointer(self, k: int, type: ir.Type) -> ir.Value:
        """Where operand k lives, in the register window, in the context, or in the constant banks."""
        kind = self.shape.kinds[k]
        if kind in (CONSTANT, CONSTANT_64):
            banks = self.b.load(self.b.bitcast(self.context, I64.as_pointer()))
            return self.b.inttoptr(self.b.add(banks, self.raw_operand(k)), type.as_pointer())
        base = self.context if kind in (UNIFORM, UNIFORM_64, VARYING) else self.registers
        return self.b.bitcast(self.b.gep(base, [self.raw_operand(k)]), type.as_pointer())

    def read(self, k: int, type: str) -> ir.Value:
        """Operand k as 32 lanes of `type`: the low bits of a wider register, or the byte or half that its mark names."""
        part = self.shape.mark(k).lstrip("-|~")
        if part not in PLACES:
            return self._read_whole(k, type)
        moved = self.b.lshr(self._read_whole(k, "b32"), self.constant(I32, PLACES[part]))
        if type.endswith("x2"):
            half = self.b.and_(moved, self.constant(I32, 0xFFFF))
            moved = self.b.or_(half, self.b.shl(half, self.constant(I32, 16)))
        return self.as_type(moved, element(type))

    def _read_whole(self, k: int, type: str) -> ir.Value:
        kind, lane = self.shape.kinds[k], element(type)
        if kind in (PREDICATE, NOT_PREDICATE):
            return self.expand(self.read_mask(k))
        if kind in SCALARS:
            return self.splat(self.read_scalar(k, type))
        if kind == PAIR:
            return self.as_type(self.read_pair(k), lane)
        stored = ir.IntType(32 if kind == VARYING else REGISTER_BITS[kind])
        value = self.b.load(self.pointer(k, vector(stored)), align=16)
        return self.as_type(value, lane)

    def read_scalar(self, k: int, type: str) -> ir.Value:
        """Operand k where it is the same in every lane (an immediate or a uniform)."""
        kind = self.shape.kinds[k]
        if kind == IMMEDIATE:
            value = self.raw_operand(k)
        else:
            value = self.b.load(self.pointer(k, I64 if kind in (UNIFORM_64, SCALAR_64, CONSTANT_64) else I32), align=4)
        if type == "pred":
            return self.b.icmp_unsigned("!=", value, value.type(0))
        lane = element(type)
        width = bits_of(type)
        if value.type.width > width:
            value = self.b.trunc(value, ir.IntType(width))
        elif value.type.width < width:
            value = self.b.zext(value, ir.IntType(width))
        return value if isinstance(lane, ir.IntType) else self.b.bitcast(value, lane)

    def read_mask(self, k: int) -> ir.Value:
        """Operand k, a predicate, as a 32-bit lane mask."""
        if self.shape.kinds[k] == IMMEDIATE:
            return self.b.sext(self.read_scalar(k, "pred"), I32)
        mask = self.b.load(self.pointer(k, I32))
        return self.b.not_(mask) if self.shape.kinds[k] == NOT_PREDICATE else mask

    def write_mask(self, k: int, mask: ir.Value) -> None:
        """Give operand k, a predicate, its new value in the lanes of the mask."""
        if self.shape.kinds[k] == SINK:
            return
        target = self.pointer(k, I32)
        kept = self.b.and_(self.b.load(target), self.b.not_(self.mask))
        self.b.store(self.b.or_(kept, self.b.and_(mask, self.mask)), target)

    def write(self, k: int, value: ir.Value, type: str) -> None:
        """Give operand k its new value in the lanes of the mask; a wider register is filled by the type's sign."""
        kind = self.shape.kinds[k]
        if kind == SINK:
            return
        if kind == PREDICATE:
            self.write_mask(k, self.compress(value))
            return
        if kind in (SCALAR, SCALAR_64, UNIFORM_PREDICATE):
            self.write_scalar(k, self.b.extract_element(value, I32(0)), type)
            return
        if kind == PAIR:
            self.write_pair(k, self.as_type(self.to_bits(value), I64))
            return
        stored = ir.IntType(REGISTER_BITS[kind])
        value = self.to_bits(value)
        if value.type.element.width < stored.width:
            value = (self.b.sext if is_signed(type) else self.b.zext)(value, vector(stored))
        elif value.type.element.width > stored.width:
            value = self.b.trunc(value, vector(stored))
        self._store_masked(value, self.pointer(k, vector(stored)))

    def read_pair(self, k: int) -> ir.Value:
        """Two neighbouring registers as 32 lanes of 64 bits, the first of them the low words."""
        low = self.pointer(k, vector(I32))
        words = [self.b.load(place, align=16) for place in (low, self.b.gep(low, [I32(1)]))]
        return self.b.bitcast(self.b.shuffle_vector(*words, ir.Constant(ir.VectorType(I32, 2 * LANES), IN_TURN)), vector(I64))

    def write_pair(self, k: int, value: ir.Value) -> None:
        words = self.b.bitcast(value, ir.VectorType(I32, 2 * LANES))
        low = self.pointer(k, vector(I32))
        for place, which in ((low, LOW_WORDS), (self.b.gep(low, [I32(1)]), HIGH_WORDS)):
            self._store_masked(self.b.shuffle_vector(words, words, ir.Constant(vector(I32), which)), place)

    def write_scalar(self, k: int, value: ir.Value, type: str) -> None:
        """Give operand k, a uniform register or predicate, its new value, whichever lanes execute."""
        kind = self.shape.kinds[k]
        if kind == SINK:
            return
        if kind == UNIFORM_PREDICATE:
            self.b.store(self.b.sext(value, I32), self.pointer(k, I32))
            return
        stored = I64 if kind == SCALAR_64 else I32
        if not isinstance(value.type, ir.IntType):
            value = self.b.bitcast(value, I32 if value.type == F32 else I64)
        if value.type.width < stored.width:
            value = (self.b.sext if is_signed(type) else self.b.zext)(value, stored)
        elif value.type.width > stored.width:
            value = self.b.trunc(value, stored)
        self.b.store(value, self.pointer(k, stored), align=4)

    def marked(self, value: ir.Value, mark: str, type: str) -> ir.Value:
        """A source as its marks have it: its absolute value, negated, complemented."""
        if not mark:
            return value
        bits, b = self.to_bits(value), self.b
        if mark == "~":
            return self.from_bits(b.not_(bits), type)
        if type in SIGN_BITS:
            sign, changed = self.like(bits, SIGN_BITS[type]), bits
            if "|" in mark:
                changed = b.and_(changed, b.not_(sign))
            if "-" in mark:
                changed = b.xor(changed, sign)
            if type == "f64":  # whose NaNs keep their sign: an H200 gives that of b for a - b
                changed = b.select(b.fcmp_unordered("uno", value, value), bits, changed)
            return self.from_bits(changed, type)
        if "|" in mark:
            bits = self.map("llvm.abs", bits, I1(0))
        return b.neg(bits) if "-" in mark else bits

    def _store_masked(self, value: ir.Value, target: ir.Value) -> None:
        full = self.b.icmp_unsigned("==", self.mask, I32(FULL_MASK))
        with self.b.if_else(full, likely=True) as (everywhere, some):
            with everywhere:
                self.b.store(value, target, align=16)
            with some:
                old = self.b.load(target, align=16)
                self.b.store(self.b.select(self.expand(self.mask), value, old), target, align=16)

    # Lane vectors -----------------------------------------------------------------------------------------------------

    def splat(self, scalar: ir.Value) -> ir.Value:
        """The same value in every lane."""
        empty = ir.Constant(vector(scalar.type), ir.Undefined)
        one = self.b.insert_element(empty, scalar, I32(0))
        return self.b.shuffle_vector(one, empty, ir.Constant(vector(I32), [0] * LANES))

    def constant(self, type: ir.Type, value: int | float) -> ir.Value:
        return ir.Constant(vector(type), [value] * LANES)

    def like(self, value: ir.Value, number: int) -> ir.Value:
        """The same integer in every lane, of the width `value` has."""
        return self.constant(value.type.element, number)

    def expand(self, mask: ir.Value) -> ir.Value:
        """A 32-bit lane mask as 32 booleans: each lane looks at its bit of its byte, two table look-ups on AArch64."""
        bytes_of_mask = self.b.bitcast(mask, ir.VectorType(I8, 4))
        own_byte = ir.Constant(vector(I32), [lane // 8 for lane in range(LANES)])
        own_bit = ir.Constant(vector(I8), [1 << lane % 8 for lane in range(LANES)])
        bytes_of_lanes = self.b.shuffle_vector(bytes_of_mask, bytes_of_mask, own_byte)
        return self.b.icmp_unsigned("!=", self.b.and_(bytes_of_lanes, own_bit), self.constant(I8, 0))

    def compress(self, lanes: ir.Value) -> ir.Value:
        """32 booleans as a 32-bit lane mask."""
        return self.b.bitcast(lanes, I32)

    def as_type(self, value: ir.Value, lane: ir.Type) -> ir.Value:
        """Integer lanes reinterpreted as `lane`, truncated first where they are wider."""
        width = {F32: 32, F64: 64}.get(lane) or lane.width
        if value.type.element.width > width:
            value = self.b.trunc(value, vector(ir.IntType(width)))
        elif value.type.element.width < width:
            value = self.b.zext(value, vector(ir.IntType(width)))
        return value if value.type.element == lane else self.b.bitcast(value, vector(lane))

    def to_bits(self, value: ir.Value) -> ir.Value:
        """Lanes of any type as integers of the same width."""
        lane = value.type.element
        if lane == I1:
            return self.b.zext(value, vector(I32))
        return value if isinstance(lane, ir.IntType) else self.b.bitcast(value, vector(I32 if lane == F32 else I64))

    def from_bits(self, value: ir.Value, type: str) -> ir.Value:
        lane = element(type)
        return value if isinstance(lane, ir.IntType) else self.b.bitcast(value, vector(lane))

    def call(self, name: str, returns: ir.Type, arguments: list[ir.Value]) -> ir.Value:
        """Call an LLVM intrinsic or a C library function, declared on first use."""
        function = self.module.globals.get(name)
        if function is None:
            function = ir.Function(self.module, ir.FunctionType(returns, [a.type for a in arguments]), name)
        return self.b.call(function, arguments)

    def map(self, name: str, *arguments: ir.Value) -> ir.Value:
        """An intrinsic over vectors that gives the type of its first argument: `map("llvm.ctpop", x)`."""
        type = arguments[0].type
        lane = {F32: "f32", F64: "f64"}.get(type.element) or f"i{type.element.width}"
        return self.call(f"{name}.v{LANES}{lane}", type, list(arguments))


__all__ = ["DOUBLE", "HALF", "WORD", "Lanes", "bits_of", "element", "is_signed", "vector"]
