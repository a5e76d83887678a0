"""Loops of a policy from outside the package end: each function counts the turns of its loops and gives up after very many.

The counting is written into the policy's syntax tree when its file is imported; lines keep their numbers.
"""

import ast
from types import CodeType

MOST_TURNS = 1 << 18  # of all loops of one call; the largest table a hook can search has a sixteenth of it
ENDLESS = "simtlab: a loop without an end"
_TURNS = "simtlab_turns"


def code_with_guards(source: bytes, path: str) -> CodeType:
    """A file's code, its loops counted."""
    tree = ast.parse(source, path)
    for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
        guard(function)
    return compile(ast.fix_missing_locations(tree), path, "exec")


def guard(function: ast.FunctionDef) -> None:
    """Count the turns of a function's own loops; those of functions within it have their own count."""
    loops = [node for node in own_nodes(function) if isinstance(node, ast.For | ast.While)]
    for loop in loops:
        turn = ast.parse(f"{_TURNS} += 1\nif {_TURNS} > {MOST_TURNS}:\n    raise RuntimeError({ENDLESS!r})").body
        loop.body[:0] = [at(loop, statement) for statement in turn]
    if loops:
        function.body.insert(0, at(function.body[0], ast.parse(f"{_TURNS} = 0").body[0]))


def own_nodes(function: ast.FunctionDef) -> list[ast.AST]:
    """All that is written in a function, but for functions within it."""
    found: list[ast.AST] = []
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            found.append(node)
            left += ast.iter_child_nodes(node)
    return found


def at(place: ast.stmt, statement: ast.stmt) -> ast.stmt:
    """A statement that is taken to stand in the line of another."""
    for node in ast.walk(statement):
        if isinstance(node, ast.stmt | ast.expr):
            ast.copy_location(node, place)
    return statement
