"""Which functions and shared variables a kernel can reach."""

from collections import deque
from collections.abc import Iterable

from simtlab.frontend import ast


def symbols_of(function: ast.Function) -> set[str]:
    """Every symbol the function's instructions name."""
    found: set[str] = set()
    for statement in function.body or ():
        if isinstance(statement, ast.Instruction):
            for operand in statement.operands:
                named = _symbol_in(operand)
                if named is not None:
                    found.add(named)
    return found


def _symbol_in(operand: ast.Operand) -> str | None:
    if isinstance(operand, ast.Address):
        operand = operand.base if operand.base is not None else ast.Sink()
    if isinstance(operand, ast.TextureAddress):
        operand = operand.texture
    return operand.name if isinstance(operand, ast.Symbol) else None


def symbols_in_tables(module: ast.Module) -> set[str]:
    """Every symbol whose address stands in some initialised variable."""
    variables = module.variables.values()
    return {value.name for v in variables for _, value in v.initial if isinstance(value, ast.Symbol)}


def called_by_address(module: ast.Module, functions: Iterable[str]) -> set[str]:
    """Those of the functions that an indirect call may reach: their address is taken, or stands in a table."""
    named = symbols_in_tables(module)
    for function in functions:
        for statement in module.functions[function].body or ():
            if isinstance(statement, ast.Instruction) and statement.opcode != "call":
                named |= {symbol for operand in statement.operands if (symbol := _symbol_in(operand))}
    return named & set(functions)


def reachable(module: ast.Module, kernel: str) -> list[str]:
    """The kernel first, then each function it calls, names, or can find in a table of initialised pointers."""
    number = {name: k for k, (name, f) in enumerate(module.functions.items()) if f.body is not None and not f.is_kernel}
    order = {kernel: symbols_of(module.functions[kernel]) | symbols_in_tables(module)}
    pending = deque([kernel])
    while pending:
        named = order[pending.popleft()]
        for name in sorted((name for name in named if name in number and name not in order), key=number.__getitem__):
            order[name] = symbols_of(module.functions[name])
            pending.append(name)
    return list(order)


def shared_variables(module: ast.Module, functions: list[str]) -> dict[str, ast.Variable]:
    """The shared variables these functions declare or name."""
    named: set[str] = set()
    shared: dict[str, ast.Variable] = {}
    for name in functions:
        function = module.functions[name]
        named |= symbols_of(function)
        shared |= {v.name: v for v in function.variables.values() if v.space == "shared"}
    outer = {v.name: v for v in module.variables.values() if v.space == "shared" and v.name in named}
    return outer | shared
