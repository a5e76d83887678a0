"""A cubin's kernels and variables as the tree that a module is made of; types come from the PTX where there is one."""

from dataclasses import replace

from simtlab.errors import SimtlabError
from simtlab.frontend import ast
from simtlab.frontend.sass.cubin import Cubin, GlobalVariable

NOWHERE = ast.Position(1, 1)


def tree_of(cubin: Cubin, ptx: ast.Module | None, source_name: str) -> ast.Module:
    """The kernels with their parameters, the variables with their bytes."""
    order = list(ptx.functions) if ptx else []  # as the source has them
    names = sorted(cubin.kernels, key=lambda name: order.index(name) if name in order else len(order))
    functions = {name: _function(cubin, name, ptx) for name in names}
    variables = {name: _variable(cubin, variable, ptx) for name, variable in cubin.variables.items()}
    for name, known in _texture_references(ptx).items():
        variables.setdefault(name, known)
    sources = ptx.sources if ptx else {}
    return ast.Module((0, 0), (cubin.architecture,), 64, functions, variables, {}, "", source_name, sources)


def _texture_references(ptx: ast.Module | None) -> dict[str, ast.Variable]:
    return {name: v for name, v in (ptx.variables if ptx else {}).items() if v.type in ("texref", "samplerref", "surfref")}


def _function(cubin: Cubin, name: str, ptx: ast.Module | None) -> ast.Function:
    image = cubin.kernel(name)
    known = ptx.functions.get(name) if ptx else None
    if known is not None and len(known.parameters) == len(image.parameters):
        return ast.Function(name, True, known.parameters, (), NOWHERE, [], directives=known.directives)
    parameters = []
    for k, parameter in enumerate(image.parameters):
        simple = {1: "b8", 2: "b16", 4: "b32", 8: "b64"}.get(parameter.size)
        count = None if simple else parameter.size
        parameters.append(ast.Variable("param", f"{name}_param_{k}", simple or "b8", 8, count, (), NOWHERE))
    return ast.Function(name, True, tuple(parameters), (), NOWHERE, [])


def _variable(cubin: Cubin, variable: GlobalVariable, ptx: ast.Module | None) -> ast.Variable:
    space = "const" if variable.constant else "global"
    content: list[tuple[int, bytes | ast.Symbol]] = [(0, variable.initial)] if any(variable.initial) else []
    for one in variable.relocations:
        if one.symbol.name not in cubin.variables:
            raise SimtlabError(f"variable '{variable.name}' has the address of '{one.symbol.name}', which is no variable")
        content.append((one.offset - variable.offset, ast.Symbol(one.symbol.name, one.addend)))
    known = _known(ptx, variable)
    if known is not None:
        return replace(known, initial=tuple(content))
    if variable.relocations:  # addresses, each of eight bytes
        if variable.size % 8:
            raise SimtlabError(f"variable '{variable.name}' of {variable.size} bytes has addresses in it")
        return ast.Variable(space, variable.name, "b64", ALIGN, variable.size // 8, tuple(content), NOWHERE)
    return ast.Variable(space, variable.name, "b8", ALIGN, variable.size, tuple(content), NOWHERE)


ALIGN = 16


def _known(ptx: ast.Module | None, variable: GlobalVariable) -> ast.Variable | None:
    """What the PTX says of a variable, if it is as long."""
    if ptx is None:
        return None
    inner = {v.name: v for f in ptx.functions.values() for v in f.variables.values()}
    found = ptx.variables.get(variable.name) or inner.get(variable.name)
    return found if found is not None and found.size == variable.size and not variable.relocations else None
