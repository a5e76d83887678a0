"""How the sources are laid out: imports point one way, files and functions stay readable."""

import ast
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "simtlab"
FILES = sorted(PACKAGE.rglob("*.py"))
ANYWHERE = {"address_space", "errors", "outside", "storage"}  # modules at the top that everybody may use
MAY_IMPORT = {
    "frontend": set(),
    "isa": {"compiled"},
    "program": {"frontend", "isa", "compiled"},
    "execute": {"program", "isa", "compiled"},
    "machine": {"execute", "program", "isa", "compiled", "policies"},
    "policies": {"machine", "execute", "compiled"},
    "report": {"sampling", "machine", "program", "frontend"},
    "sampling": {"machine", "execute", "program", "isa", "policies"},
    "host": {"sampling", "report", "machine", "policies", "execute", "program", "isa", "frontend"},
    "workloads": {"report", "host", "program", "frontend"},
    "lab": {"sampling", "report", "workloads", "host", "machine", "policies", "program"},
    "correlate": {"report", "lab", "workloads", "host", "machine"},
    "runtime": {"host", "machine", "execute", "program"},
    "cli": {"sampling", "report", "runtime", "correlate", "lab", "workloads", "host", "machine", "policies", "execute", "program",
            "isa", "frontend"},
}
MOST_LINES, MOST_FUNCTION_LINES = 400, 60


def part(path):
    """The folder of the package a file is in, or its own name at the top."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


PARTS = {part(file) for file in FILES}


@cache
def tree(path):
    return ast.parse(path.read_text(), str(path))


def imports(path):
    """Full names of what a file imports."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (node.module + "." + alias.name for alias in node.names) if node.module == "simtlab" else [node.module]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def parts_imported(path):
    named = {name.split(".")[1] for name in imports(path) if name.startswith("simtlab.")}
    return named & PARTS


@pytest.mark.parametrize("path", [p for p in FILES if part(p) in MAY_IMPORT], ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path):
    allowed = MAY_IMPORT[part(path)] | {part(path)} | ANYWHERE
    assert parts_imported(path) <= allowed


def test_compiled_code_takes_constants_only_from_folders_whose_digest_names_its_cache():
    """A change in any other file would not be noticed (see simtlab.compiled)."""
    for path in FILES:
        if part(path) == "execute":
            names = {name for name in imports(path) if name.startswith("simtlab")}
            assert {name.split(".")[1] for name in names} <= {"compiled", "execute", "program", "isa"}, path.name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_files_and_functions_are_short(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MOST_FUNCTION_LINES, f"{node.name} has {length} lines"
