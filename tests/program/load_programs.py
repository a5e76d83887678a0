"""Small programs for the tests of load classes, and how they read the answer."""

from simtlab.frontend.cuda import compile_cuda
from simtlab.frontend.parser import parse
from simtlab.program.program import Program, build_program

HEADER = ".version 7.8\n.target sm_75\n.address_size 64\n"
REGISTERS = """
    .reg .pred %p<9>;
    .reg .b16 %h<9>;
    .reg .b32 %r<40>;
    .reg .f32 %f<9>;
    .reg .b64 %d<40>;
"""
# %r1 and %d1: the thread's number; %d2, %d3: two arrays; %r2, %d4: a number from the host; %r9, %d9: loaded.
OPENING = """
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %d1, %r1;
    ld.param.u64 %d2, [a];
    ld.param.u64 %d3, [b];
    ld.param.u32 %r2, [n];
    cvt.u64.u32 %d4, %r2;
    ld.global.u32 %r9, [%d2];
    cvt.u64.u32 %d9, %r9;
"""
PARAMETERS = ".param .u64 a, .param .u64 b, .param .u32 n"


def kernel_program(code: str, outside: str = "", parameters: str = "") -> Program:
    """A kernel `k` with the opening above, whose first load (deterministic, of a[0]) comes before `code`."""
    given = f"{PARAMETERS}{', ' if parameters else ''}{parameters}"
    text = f"{HEADER}{outside}\n.visible .entry k({given})\n{{{REGISTERS}{OPENING}{code}\n    ret;\n}}\n"
    return program_of(text, "k")


def program_of(ptx: str, kernel: str) -> Program:
    module = parse(ptx, "test.ptx")
    places = {v.name: 0x1000_0000 + 0x1000 * k for k, v in enumerate(module.variables.values()) if v.space in ("global", "const")}
    return build_program(module, kernel, places)


def of_cuda(text: str, kernel: str) -> Program:
    return program_of(compile_cuda(text, "test.cu").ptx, kernel)


def letters(program: Program) -> str:
    """One letter a global load, in the order of the text: D or N."""
    return "".join("D" if load.deterministic else "N" for load in program.loads)


def classes(code: str, outside: str = "", parameters: str = "") -> str:
    """The letters of the loads in `code`."""
    found = letters(kernel_program(code, outside, parameters))
    assert found[0] == "D"
    return found[1:]


def chain(program: Program, which: int) -> list[str]:
    """The spellings along a load's chain, from what was read at run time to the load."""
    return [program.lowered[pc].origin.spelling for pc in program.loads[which].chain]
