"""The PTX that mutants are made of: the suite's own files and kernels, and a kernel for every row of the table of instructions."""

import re
from functools import cache
from pathlib import Path

import simtlab.isa.families  # noqa: F401  fills the table
from simtlab.frontend.cuda import compile_cuda
from simtlab.isa.table import Modifiers, Operation, rows

TESTS = Path(__file__).parents[1]
HEAD = ".version 7.8\n.target sm_80\n.address_size 64\n"
REGISTERS = """
    .reg .pred %p<4>;
    .reg .b16 %h<4>;
    .reg .b32 %r<8>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    .reg .f64 %d<4>;
    .shared .align 16 .b8 in_shared[64];
    .local .align 16 .b8 in_local[64];
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 16;
    add.u64 %rd3, %rd1, %rd2;
    setp.lt.u32 %p1, %r2, %r1;
"""
MOST_CHARACTERS = 60_000  # of a seed: longer ones take long to parse and say little more
FORMS_OF_A_ROW = 3
CHOICE = re.compile(r"\{[^}]*\}|\[[^\]]*\]")


@cache
def every_seed() -> tuple[str, ...]:
    """All seeds, each a module with one kernel."""
    return (*files(), *(form_kernel(*form) for form in forms()), *compiled_kernels())


def files() -> list[str]:
    texts = [path.read_text() for path in sorted((TESTS / "data" / "ptx").glob("*.ptx"))]
    texts += [path.read_text() for path in sorted((TESTS / "fuzz").glob("*.ptx"))]
    return [kernel for text in texts for kernel in by_kernel(text)]


def compiled_kernels() -> list[str]:
    """The kernels of tests/kernels, as the compiler gives them."""
    found = []
    for path in sorted((TESTS / "kernels").glob("*.cu")):
        ptx = compile_cuda(path.read_text(), path.name, include_paths=[str(path.parent)]).ptx
        found += by_kernel(re.sub(r"\n\s*\.loc.*", "", ptx))
    return [text for text in found if len(text) <= MOST_CHARACTERS]


def by_kernel(text: str) -> list[str]:
    """The module once for each of its kernels, without the others."""
    pieces = re.split(r"(?m)^(?=\s*(?:\.visible\s+|\.weak\s+)*\.entry\b)", text)
    head, kernels = pieces[0], []
    functions = ""
    for piece in pieces[1:]:
        end = re.search(r"(?m)^\}", piece)
        cut = end.end() if end else len(piece)
        kernels.append(piece[:cut])
        functions += piece[cut:]
    return [f"{head}\n{functions}\n{kernel}\n" for kernel in kernels]


# A kernel for a row of the table ---------------------------------------------------------------------------------------


def forms() -> list[tuple[Operation, str]]:
    """Some spellings of every row: each choice left out or its first, the middle ones, the last ones."""
    found = []
    for row in rows():
        if row.opcode not in ("bra", "brx", "call", "pack", "unpack"):
            spellings = {spelt(row.pattern, place / (FORMS_OF_A_ROW - 1)) for place in range(FORMS_OF_A_ROW)}
            found += [(row, spelling) for spelling in sorted(spellings)]
    return found


def spelt(pattern: str, place: float) -> str:
    """One spelling of a pattern; `place` says where in each list of choices it is taken from."""

    def choose(match: re.Match) -> str:
        choices = match[0][1:-1].split(",")
        if match[0][0] == "[":
            choices = ["", *choices]
        return choices[round(place * (len(choices) - 1))]

    return CHOICE.sub(choose, pattern)


def form_kernel(row: Operation, spelling: str) -> str:
    m = Modifiers(spelling)
    operands = [operand_text(token, m, True) for token in row.destinations]
    operands += [operand_text(token, m, False) for token in row.sources]
    line = f"{spelling} {', '.join(text for text in operands if text)};"
    body = f"{REGISTERS}    {line}\n    @%p1 {line}\n    st.global.u32 [%rd3], %r3;\n    ret;\n"
    return f"{HEAD}.visible .entry k(.param .u64 out, .param .u32 n)\n{{{body}}}\n"


def operand_text(token: str, m: Modifiers, written: bool) -> str:
    """An operand that answers to a token of the signature; destinations are numbered 3, sources 2."""
    number = 3 if written else 2
    name = token.rstrip("?")
    if "|" in name:
        return "|".join(operand_text(part, m, written) for part in name.split("|"))
    if name == "CC":
        return ""
    if name == "M":
        space = m.first_of("shared", "shared::cta", "shared::cluster", "local", "param", "const")
        return {None: "[%rd3]", "param": "[out]", "local": "[in_local]", "const": "[%rd3]"}.get(space, "[in_shared]")
    if name == "TEX":
        return "[%rd2, {%r1, %r2, %r1, %r2}]"
    if name in ("V", "QUAD"):
        count = 4 if name == "QUAD" else m.lanes_per_access
        parts = [register(m.types[0] if name == "QUAD" else m.type, number - k % 2) for k in range(count)]
        return parts[0] if len(parts) == 1 and name == "V" else "{" + ", ".join(parts) + "}"
    return register(m.resolve(name), number)


def register(type: str, number: int) -> str:
    if type == "pred":
        return f"%p{number}"
    if type in ("f32", "f64"):
        return f"%{'f' if type == 'f32' else 'd'}{number}"
    narrow = type.endswith(("8", "16")) and "x" not in type
    return f"%{'h' if narrow else 'rd' if type.endswith('64') else 'r'}{number}"
