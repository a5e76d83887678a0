"""The table of docs/sass.md: `python -m simtlab.program.sass.table`."""

import importlib
from collections.abc import Iterator
from inspect import getdoc

import simtlab.program.sass.build  # noqa: F401  fills the table of lowerings
from simtlab.isa.table import rows_of_machine_code
from simtlab.program.sass.given import LOWERINGS


def families() -> dict[str, list[str]]:
    """The opcodes by the module that lowers them."""
    found: dict[str, list[str]] = {}
    for opcode, lower in LOWERINGS.items():
        found.setdefault(lower.__module__, []).append(opcode)
    return {module: sorted(found[module]) for module in sorted(found)}


def as_markdown() -> Iterator[str]:
    yield "| opcodes | lowered in | what they are |"
    yield "|---|---|---|"
    for module, opcodes in families().items():
        about = (getdoc(importlib.import_module(module)) or "").splitlines()[0].rstrip(".:")
        name = module.removeprefix("simtlab.").replace(".", "/")
        yield f"| {' '.join(f'`{opcode}`' for opcode in opcodes)} | `{name}.py` | {about} |"
    yield ""
    yield "| row | operands | what it computes |"
    yield "|---|---|---|"
    for row in sorted(rows_of_machine_code(), key=lambda row: row.pattern):
        yield f"| `{row.pattern}` | `{row.signature}` | {' '.join(row.note.split())} |".replace("|P", "\\|P")


if __name__ == "__main__":
    print("\n".join(as_markdown()))
