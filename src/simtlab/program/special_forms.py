"""Lowering of what a row of the table cannot say: packed moves, parameters, calls."""

from dataclasses import replace

from simtlab.frontend import ast
from simtlab.isa.lanes import bits_of
from simtlab.isa.shape import FRAME
from simtlab.isa.table import Modifiers
from simtlab.program.action import SERVICES, Action, Space
from simtlab.program.frame import Signature
from simtlab.program.lower import FunctionLowering
from simtlab.program.operand import Operand, immediate, register_kind
from simtlab.program.operand_checks import (
    by_value_problem,
    packed_problem,
    parameter_problem,
    service_problem,
    variable_problem,
)


def lower_statement(lowering: FunctionLowering, instruction: ast.Instruction) -> None:
    """Lower one instruction of the text, whatever form it has."""
    opcode, modifiers = instruction.opcode, instruction.modifiers
    if opcode == "mov" and any(isinstance(o, ast.Vector) for o in instruction.operands):
        lower_packed_move(lowering, instruction)
    elif opcode in ("ld", "st") and "param" in modifiers:
        lower_parameter_access(lowering, instruction)
    elif opcode == "call":
        lower_call(lowering, instruction)
    else:
        lowering.lower_plain(instruction)


def lower_packed_move(lowering: FunctionLowering, instruction: ast.Instruction) -> None:
    """`mov.b64 {lo, hi}, d` and `mov.b64 d, {lo, hi}`."""
    m = Modifiers(instruction.spelling)
    if len(instruction.operands) != 2:
        raise lowering.error(instruction, "mov takes 2 operands")
    destination, source = instruction.operands
    vector = source if isinstance(source, ast.Vector) else destination
    assert isinstance(vector, ast.Vector)
    given, parts = (m.type if m.types else None), len(vector.elements)
    lowering.refuse(instruction, packed_problem(given, parts, instruction))
    bits = bits_of(m.type)
    whole, part = f"b{bits}", f"b{bits // parts}"
    if vector is source:
        operands = [lowering.destination(destination, whole, instruction)]
        operands += [lowering.source(element, part, instruction) for element in source.elements]
        lowering.emit(Action.COMPUTE, f"pack.{whole}", operands, instruction)
    else:
        operands = [lowering.destination(element, part, instruction) for element in vector.elements]
        operands.append(lowering.source(source, whole, instruction))
        lowering.emit(Action.COMPUTE, f"unpack.{whole}", operands, instruction)


def lower_parameter_access(lowering: FunctionLowering, instruction: ast.Instruction) -> None:
    """ld.param and st.param: a kernel's parameters are uniform, a function's live in frames, a pointer's anywhere."""
    address = next((o for o in instruction.operands if isinstance(o, ast.Address)), None)
    if address is None:
        raise lowering.error(instruction, f"{instruction.spelling} needs an address in brackets")
    base = address.base
    if isinstance(base, ast.Symbol) and base.name in lowering.parameter_offsets and instruction.opcode == "ld":
        row, m = lowering.row_of(instruction), Modifiers(instruction.spelling)
        offset = lowering.parameter_offsets[base.name] + base.offset + address.offset
        size = m.lanes_per_access * bits_of(m.type) // 8
        lowering.refuse(instruction, parameter_problem(offset, size, lowering.parameter_bytes, instruction))
        moved = ast.Address(None, offset)
        operands = tuple(moved if o is address else o for o in instruction.operands)
        flat = lowering.flatten(replace(instruction, operands=operands), row, m)
        lowering.emit(Action.COMPUTE, instruction.spelling, flat, instruction)
        return
    in_kernel = lowering.function.is_kernel and isinstance(base, ast.Register)
    modifiers = tuple("global" if part == "param" and in_kernel else part for part in instruction.modifiers)
    modifiers = tuple("local" if part == "param" else part for part in modifiers)
    lowering.lower_plain(replace(instruction, modifiers=modifiers))
    lowering.lowered[-1].origin = instruction  # it still is a parameter's access, whatever memory it goes to


def lower_call(lowering: FunctionLowering, instruction: ast.Instruction) -> None:
    """A call by name or by address, or of a service the host provides."""
    lowering.row_of(instruction)
    returns, callee, arguments, *prototype = instruction.operands
    assert isinstance(returns, ast.Arguments)
    assert isinstance(arguments, ast.Arguments)
    declaration = _declaration(lowering, instruction, callee, prototype)
    if getattr(declaration, "is_kernel", False):
        raise lowering.error(instruction, f"'{declaration.name}' is a kernel (.entry): only a .func can be called")
    signature = Signature.of(declaration)
    given = len(returns.values), len(arguments.values)
    wanted = len(signature.returns), len(signature.parameters)
    if given != wanted:
        raise lowering.error(instruction, f"the call passes {given[1]} arguments and takes {given[0]} results; "
                             f"'{declaration.name}' has {wanted[1]} and {wanted[0]}")  # fmt: skip
    base = lowering.frame.size
    for value, (formal, start) in zip(arguments.values, signature.parameters, strict=True):
        if isinstance(value, ast.Symbol):
            _check_variable(lowering, instruction, value, formal)
        else:
            _store_argument(lowering, instruction, value, formal, base + start)
    if isinstance(callee, ast.Register):
        target = lowering.register_operand(callee, "b64", instruction, written=False)
        lowering.emit(Action.INDIRECT_CALL, "", [target], instruction, values=(base,))
    elif declaration.name in SERVICES and getattr(declaration, "body", None) is None:
        service = SERVICES[declaration.name]
        lowering.refuse(instruction, service_problem(service, declaration.name, signature))
        places = [base + start for _, start in [*signature.returns, *signature.parameters]]
        lowering.emit(Action.SERVICE, "", [], instruction, values=(service, *places))
    else:
        assert isinstance(callee, ast.Symbol)
        if getattr(declaration, "body", None) is None:
            raise lowering.error(instruction, f"function '{callee.name}' is declared but not defined")
        lowering.emit(Action.CALL, "", [], instruction, callee=callee.name, values=(base,))
    for value, (formal, start) in zip(returns.values, signature.returns, strict=True):
        if isinstance(value, ast.Symbol):
            _check_variable(lowering, instruction, value, formal)
        elif not isinstance(value, ast.Sink):
            _load_result(lowering, instruction, value, formal, base + start)


def _declaration(
    lowering: FunctionLowering, instruction: ast.Instruction, callee: ast.Operand, prototype: list[ast.Operand]
) -> ast.Function | ast.CallPrototype:
    if isinstance(callee, ast.Symbol):
        function = lowering.module.functions.get(callee.name)
        if function is None:
            raise lowering.error(instruction, f"no function '{callee.name}' in this module")
        return function
    name = prototype[0].name if prototype and isinstance(prototype[0], ast.Symbol) else ""
    found = lowering.function.prototypes.get(name)
    if found is not None:
        return found
    targets = lowering.function.branch_targets.get(name)
    if targets is None or targets.targets[0] not in lowering.module.functions:
        raise lowering.error(instruction, "an indirect call needs a .callprototype or .calltargets list")
    return lowering.module.functions[targets.targets[0]]


def plan_outgoing(lowering: FunctionLowering) -> None:
    """Give every .param variable of the function that some call names its place past the frame."""
    for statement in lowering.function.body or ():
        if not isinstance(statement, ast.Instruction) or statement.opcode != "call":
            continue
        returns, callee, arguments, *prototype = statement.operands
        assert isinstance(returns, ast.Arguments)
        assert isinstance(arguments, ast.Arguments)
        signature = Signature.of(_declaration(lowering, statement, callee, prototype))
        formals = [*signature.returns, *signature.parameters]
        for value, (_, start) in zip((*returns.values, *arguments.values), formals, strict=False):
            if isinstance(value, ast.Symbol) and value.name in lowering.function.variables:
                place = lowering.frame.size + start
                if lowering.outgoing.setdefault(value.name, place) != place:
                    raise lowering.error(statement, f"'{value.name}' is an argument of two calls at different places")


def _check_variable(
    lowering: FunctionLowering, instruction: ast.Instruction, value: ast.Symbol, formal: ast.Variable
) -> None:
    variable = lowering.function.variables.get(value.name)
    lowering.refuse(instruction, variable_problem(value.name, variable, formal))


def _store_argument(
    lowering: FunctionLowering, instruction: ast.Instruction, value: ast.Operand, formal: ast.Variable, place: int
) -> None:
    lowering.refuse(instruction, by_value_problem(formal))
    source = lowering.source(value, formal.type, instruction)
    operands = [Operand(FRAME), immediate(place), source]
    lowering.emit(Action.STORE, f"st.{as_bits(formal)}", operands, instruction, space=Space.LOCAL)


def _load_result(
    lowering: FunctionLowering, instruction: ast.Instruction, value: ast.Operand, formal: ast.Variable, place: int
) -> None:
    lowering.refuse(instruction, by_value_problem(formal))
    operands = [lowering.destination(value, formal.type, instruction), Operand(FRAME), immediate(place)]
    lowering.emit(Action.LOAD, f"ld.{as_bits(formal)}", operands, instruction, space=Space.LOCAL)


def as_bits(formal: ast.Variable) -> str:
    """The type of the access that moves a parameter."""
    return f"b{bits_of(formal.type)}"


def load_register_formals(lowering: FunctionLowering) -> None:
    """A function may take `.reg` parameters: read them from the frame first."""
    origin = entry_origin(lowering.function)
    for formal, start in Signature.of(lowering.function).parameters:
        if formal.space == "reg":
            operands = [_formal_register(lowering, formal, origin, written=True), Operand(FRAME), immediate(start)]
            lowering.emit(Action.LOAD, f"ld.{as_bits(formal)}", operands, origin, space=Space.LOCAL)


def store_register_results(lowering: FunctionLowering) -> None:
    """… and `.reg` results: write them to the frame last."""
    origin = entry_origin(lowering.function)
    for formal, start in Signature.of(lowering.function).returns:
        if formal.space == "reg":
            operands = [Operand(FRAME), immediate(start), _formal_register(lowering, formal, origin, written=False)]
            lowering.emit(Action.STORE, f"st.{as_bits(formal)}", operands, origin, space=Space.LOCAL)


def _formal_register(lowering: FunctionLowering, formal: ast.Variable, origin: ast.Instruction, written: bool) -> Operand:
    lowering.refuse(origin, by_value_problem(formal))
    return Operand(register_kind(formal.type), lowering.register(formal.name, formal.type), written=written)


def entry_origin(function: ast.Function) -> ast.Instruction:
    """What a synthetic instruction at a function's border points to."""
    body = function.body or ()
    last = next((s for s in reversed(body) if isinstance(s, ast.Instruction)), None)
    source = last.source if last else None
    return ast.Instruction("ret", (), (), None, last.position if last else function.position, source)
