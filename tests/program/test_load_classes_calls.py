"""Load classes across calls, and of structures that are passed as parameters."""

import pytest

from tests.program.load_programs import HEADER, REGISTERS, chain, classes, kernel_program, letters, of_cuda, program_of

AT_5 = "shl.b64 %d20, %d5, 2; add.s64 %d20, %d2, %d20; ld.global.u32 %r20, [%d20];"
TWICE = ".func (.reg .u32 %result) twice(.reg .u32 %given) { add.u32 %result, %given, %given; ret; }"
FETCH = f".func (.reg .u32 %result) fetch(.reg .u64 %array, .reg .u64 %index) {{{REGISTERS}" + """
    shl.b64 %d1, %index, 2;
    add.s64 %d1, %array, %d1;
    ld.global.u32 %result, [%d1];
    ret;
}"""


# Calls ----------------------------------------------------------------------------------------------------------------


def test_a_function_of_the_thread_number_is_known_and_of_a_loaded_number_not():
    call = "call (%r5), twice, ({}); cvt.u64.u32 %d5, %r5;"
    assert classes(call.format("%r1") + AT_5, TWICE) == "D"
    assert classes(call.format("%r9") + AT_5, TWICE) == "N"
    assert classes(call.format("21") + AT_5, TWICE) == "D"


def test_one_call_does_not_answer_for_another():
    """Both calls are of one function; only the second is given a loaded number."""
    code = "call (%r5), twice, (%r1); call (%r6), twice, (%r9); cvt.u64.u32 %d5, {};"
    assert classes(code.format("%r5") + AT_5, TWICE) == "D"
    assert classes(code.format("%r6") + AT_5, TWICE) == "N"
    assert classes("call (%r6), twice, (%r9); call (%r5), twice, (%r1); cvt.u64.u32 %d5, %r5;" + AT_5, TWICE) == "D"


def test_nor_does_it_two_calls_deep():
    outer = TWICE + ".func (.reg .u32 %result) four(.reg .u32 %given) { call (%result), twice, (%given); ret; }"
    code = "call (%r5), four, (%r1); call (%r6), four, (%r9); cvt.u64.u32 %d5, {};"
    assert classes(code.format("%r5") + AT_5, outer) == "D"
    assert classes(code.format("%r6") + AT_5, outer) == "N"


def test_a_guarded_call_depends_on_its_guard():
    code = "mov.u32 %r5, 3; setp.lt.u32 %p1, {}, 7; @%p1 call (%r5), twice, (%r1); cvt.u64.u32 %d5, %r5;"
    assert classes(code.format("%r1") + AT_5, TWICE) == "D"
    assert classes(code.format("%r9") + AT_5, TWICE) == "N"


def test_a_guarded_calls_arguments_are_its_own():
    """Where the guard holds they were passed, whatever an earlier call had passed in the same place."""
    code = "call (%r6), twice, (%r9); setp.lt.u32 %p1, %r1, 7; mov.u32 %r5, 3; @%p1 call (%r5), twice, (%r1); cvt.u64.u32 %d5, %r5;"
    assert classes(code + AT_5, TWICE) == "D"


def test_a_load_in_a_function_is_what_any_of_its_callers_makes_it():
    known = kernel_program("call (%r5), fetch, (%d2, %d1);", FETCH)
    assert letters(known) == "DD"
    one_of_two = kernel_program("call (%r5), fetch, (%d2, %d1); call (%r6), fetch, (%d2, %d9);", FETCH)
    assert letters(one_of_two) == "DN"


def test_a_chain_leads_through_the_call():
    program = kernel_program("call (%r5), fetch, (%d2, %d9);", FETCH)
    functions = ["fetch" if pc >= program.functions["fetch"].first else "k" for pc in program.loads[1].chain]
    assert functions == sorted(functions, reverse=True), "first the kernel, then the function"
    assert chain(program, 1)[:2] == ["ld.global.u32", "cvt.u64.u32"]
    assert "call" in chain(program, 1)
    assert chain(program, 1)[-1] == "ld.global.u32"


def test_what_a_function_loads_makes_its_result_unknown():
    program = kernel_program("call (%r5), fetch, (%d2, %d1); cvt.u64.u32 %d5, %r5;" + AT_5, FETCH)
    assert letters(program) == "DND", "in order: the opening's, the kernel's second, the function's"
    first = chain(program, 1)[0]
    assert first == "ld.global.u32"
    assert program.loads[1].chain[0] >= program.functions["fetch"].first


def test_arguments_of_one_call_are_not_those_of_the_next():
    """The second call passes one argument in the place where the first passed two."""
    code = "call (%r6), fetch, (%d2, %d9); call (%r5), twice, (%r1); cvt.u64.u32 %d5, %r5;"
    assert classes(code + AT_5, FETCH + TWICE) == "DN", "the kernel's load is known, the function's not"


def test_a_call_that_only_another_calls_answer_leads_to():
    """What reaches the second call is seen only once it is known that the first passes its argument on."""
    code = "call (%r6), four, (%r9); call (%r5), twice, (%r6); cvt.u64.u32 %d5, %r5;"
    outer = TWICE + ".func (.reg .u32 %result) four(.reg .u32 %given) { shl.b32 %result, %given, 2; ret; }"
    assert classes(code + AT_5, outer) == "N"


def test_a_recursive_function():
    count = f".func (.reg .u32 %result) count(.reg .u32 %given, .reg .u32 %seed) {{{REGISTERS}" + """
    mov.u32 %result, %seed;
    setp.eq.u32 %p1, %given, 0;
    @%p1 bra done;
    sub.u32 %r1, %given, 1;
    add.u32 %r2, %seed, 3;
    call (%result), count, (%r1, %r2);
    done: ret;
    }"""
    call = "call (%r5), count, (%r2, {}); cvt.u64.u32 %d5, %r5;"
    assert classes(call.format("%r1") + AT_5, count) == "D"
    assert classes(call.format("%r9") + AT_5, count) == "N"


def test_two_functions_that_call_each_other():
    pair = f"""
    .func (.reg .u32 %result) odd(.reg .u32 %given, .reg .u32 %seed);
    .func (.reg .u32 %result) even(.reg .u32 %given, .reg .u32 %seed) {{{REGISTERS}
        mov.u32 %result, %seed; setp.eq.u32 %p1, %given, 0; @%p1 bra done;
        sub.u32 %r1, %given, 1; call (%result), odd, (%r1, %seed);
        done: ret;
    }}
    .func (.reg .u32 %result) odd(.reg .u32 %given, .reg .u32 %seed) {{{REGISTERS}
        mov.u32 %result, 1; setp.eq.u32 %p1, %given, 0; @%p1 bra done;
        sub.u32 %r1, %given, 1; call (%result), even, (%r1, %seed);
        done: ret;
    }}"""
    call = "call (%r5), {}, (%r2, {}); cvt.u64.u32 %d5, %r5;"
    for first in ("even", "odd"):
        assert classes(call.format(first, "%r1") + AT_5, pair) == "D"
        assert classes(call.format(first, "%r9") + AT_5, pair) == "N"


def test_a_branch_inside_a_function_decides_whether_not_where():
    pick = ".func (.reg .u32 %result) pick(.reg .u32 %given) { .reg .pred %p1; mov.u32 %result, 1; setp.lt.u32 %p1, %given, 7;" \
           " @%p1 bra done; mov.u32 %result, 2; done: ret; }"  # fmt: skip
    assert classes("call (%r5), pick, (%r9); cvt.u64.u32 %d5, %r5;" + AT_5, pick) == "D"


INDIRECT = """
.func (.reg .u32 %result) once(.reg .u32 %given) { mov.u32 %result, %given; ret; }
.func (.reg .u32 %result) never(.reg .u32 %given) { mov.u32 %result, 0; ret; }
.global .u64 table[2] = {once, never};
"""
BY_ADDRESS = """
    mov.u64 %d6, once;
    kind: .callprototype (.reg .u32 _) _ (.reg .u32 _);
    call (%r5), %d6, ({}), kind;
    cvt.u64.u32 %d5, %r5;
"""


def test_a_call_by_address_may_reach_every_function_whose_address_is_taken():
    assert classes(BY_ADDRESS.format("%r1") + AT_5, INDIRECT) == "D"
    assert classes(BY_ADDRESS.format("%r9") + AT_5, INDIRECT) == "N"
    loading = INDIRECT.replace("mov.u32 %result, 0;", ".reg .b64 %d1; mov.u64 %d1, 64; ld.global.u32 %result, [%d1];")
    assert classes(BY_ADDRESS.format("%r1") + AT_5, loading) == "ND"


def test_a_call_by_address_does_not_reach_functions_that_are_only_called_by_name():
    code = "call (%r6), fetch, (%d2, %d1);" + BY_ADDRESS.format("%r1")
    assert classes(code + AT_5, INDIRECT + FETCH) == "DD"


def test_a_function_that_was_loaded_gives_a_result_that_is_not_known():
    code = BY_ADDRESS.format("%r1").replace("mov.u64 %d6, once;", "ld.global.u64 %d6, [table];")
    assert classes(code + AT_5, INDIRECT) == "DN"


def test_memory_that_the_kernel_allocates_is_where_the_allocator_says():
    program = of_cuda('extern "C" __global__ void k(int *out) { volatile int *p = (int *)malloc(64); *out = p[threadIdx.x]; }', "k")
    assert letters(program) == "N"
    assert program.loads[0].reason == "the host's answer"


# Structures -----------------------------------------------------------------------------------------------------------

STRUCTURE = ".param .align 8 .b8 s[64]"


def test_a_structures_fields_are_parameters():
    assert classes("ld.param.u64 %d5, [s+24];" + AT_5, parameters=STRUCTURE) == "D"
    assert classes("ld.param.v2.u32 {%r5, %r6}, [s+24]; cvt.u64.u32 %d5, %r6;" + AT_5, parameters=STRUCTURE) == "D"


@pytest.mark.parametrize(
    "read",
    [
        "ld.param.u64 %d5, [%d6+8];",
        "cvta.param.u64 %d6, %d6; ld.u64 %d5, [%d6+8];",
        "cvta.param.u64 %d6, %d6; ld.param.u64 %d5, [%d6];",
    ],
)
def test_a_structure_by_its_address_is_a_parameter_too(read):
    """Such a read is no global load itself, though it goes through the same memory here."""
    by_address = "mov.b64 %d6, s; add.s64 %d6, %d6, {};" + read
    assert classes(by_address.format("%d1") + AT_5, parameters=STRUCTURE) == "D"
    assert classes(by_address.format("%d9") + AT_5, parameters=STRUCTURE) == "N", "the field is picked by a loaded number"


COPY = """
    .local .align 8 .b8 room[64];
    ld.param.u64 %d7, [s]; ld.param.v2.u32 {%r7, %r8}, [s+8];
    mov.u64 %d6, room;
    st.local.u64 [%d6], %d7; st.local.v2.u32 [%d6+8], {%r7, %r8};
"""
PICK = "add.s64 %d6, %d6, {}; ld.local.u64 %d5, [%d6];"


def test_a_structure_copied_to_local_memory_is_a_parameter_still():
    """Compilers copy a structure there to pick a field by a number."""
    assert classes(COPY + PICK.format("%d1") + AT_5, parameters=STRUCTURE) == "D"
    assert classes(COPY + PICK.format("%d9") + AT_5, parameters=STRUCTURE) == "N"


@pytest.mark.parametrize(
    "more",
    [
        "st.local.u64 [%d6+16], %d9;",
        "st.local.u64 [%d6+16], %d1;",
        "add.s64 %d8, %d6, %d9; st.local.u64 [%d8], %d7;",  # a parameter, put where a loaded number says
        "cvta.local.u64 %d8, %d6; st.u64 [%d8+16], %d9;",
        "cvta.local.u64 %d8, %d6; st.global.u64 [%d3], %d8;",
        "cvta.local.u64 %d8, %d6; atom.add.u64 %d10, [%d8], 1;",
    ],
)
def test_local_memory_with_anything_else_in_it_is_not(more):
    assert classes(COPY + more + PICK.format("%d1") + AT_5, parameters=STRUCTURE) == "N"


PAIR = f".func (.reg .u64 %result) at(.param .align 8 .b8 pair[16], .reg .u64 %which) {{{REGISTERS}" + """
    mov.b64 %d1, pair;
    add.s64 %d1, %d1, %which;
    {read}
    ret;
}"""
SECOND = ".func (.reg .u64 %result) second(.param .align 8 .b8 pair[16]) { ld.param.u64 %result, [pair+8]; ret; }"


def called(function, fields, more=""):
    first, second = fields
    return f"""{{ .param .align 8 .b8 given[16];
    st.param.b64 [given], {first}; st.param.b64 [given+8], {second};
    call (%d5), {function}, (given{more}); }}"""


def test_a_structure_passed_to_a_function_field_by_field():
    assert classes(called("second", ("%d9", "%d1")) + AT_5, SECOND) == "D"
    assert classes(called("second", ("%d1", "%d9")) + AT_5, SECOND) == "N"
    both = "{ .param .align 8 .b8 given[16]; st.param.v2.b64 [given], {%d9, %d1}; call (%d5), second, (given); }"
    assert classes(both + AT_5, SECOND) == "D"
    whole = SECOND.replace("ld.param.u64 %result, [pair+8];", ".reg .b64 %x; ld.param.v2.u64 {%x, %result}, [pair];")
    assert classes(called("second", ("%d9", "%d1")) + AT_5, whole) == "D"
    assert classes(called("second", ("%d1", "%d9")) + AT_5, whole) == "N"


@pytest.mark.parametrize(
    "read",
    ["ld.param.u64 %result, [%d1];", "ld.local.u64 %result, [%d1];", "cvta.local.u64 %d1, %d1; ld.u64 %result, [%d1];"],
)
def test_a_formal_by_its_address_is_any_part_of_it(read):
    function = PAIR.replace("{read}", read)
    assert classes(called("at", ("%d4", "%d1"), ", 8") + AT_5, function) == "D"
    assert classes(called("at", ("%d9", "%d1"), ", 8") + AT_5, function) == "N"
    assert classes(called("at", ("%d4", "%d1"), ", %d9") + AT_5, function) == "N"


def test_a_formal_that_the_function_writes_by_its_address_is_local_memory():
    function = PAIR.replace("{read}", "st.local.u64 [%d1+8], %which; ld.local.u64 %result, [%d1];")
    assert classes(called("at", ("%d4", "%d1"), ", 0") + AT_5, function) == "N"


def test_a_formal_at_an_address_computed_in_a_roundabout_way():
    function = PAIR.replace("{read}", "sub.s64 %d1, %d1, -8; ld.param.u64 %result, [%d1+-8];")
    assert classes(called("at", ("%d4", "%d1"), ", 0") + AT_5, function) == "D"
    assert classes(called("at", ("%d9", "%d1"), ", 0") + AT_5, function) == "N"


def test_a_formal_whose_address_is_given_away_is_local_memory():
    """What it points to elsewhere is not the other function's formals, and the other function may write there."""
    give = "cvta.local.u64 %d2, %d1; call (%result), {other}, (%d2); {more}"
    reads = f".func (.reg .u64 %result) look(.reg .u64 %there) {{{REGISTERS} ld.u64 %result, [%there]; ret; }}"
    function = reads + PAIR.replace("{read}", give.format(other="look", more=""))
    for fields in (("%d4", "%d1"), ("%d9", "%d1")):
        assert classes(called("at", fields, ", 0") + AT_5, function) == "N"
    writes = f".func (.reg .u64 %result) poke(.reg .u64 %there) {{{REGISTERS} mov.u64 %d1, %clock64; st.u64 [%there], %d1;" \
             " mov.u64 %result, 0; ret; }"  # fmt: skip
    function = writes + PAIR.replace("{read}", give.format(other="poke", more="ld.local.u64 %result, [%d1];"))
    assert classes(called("at", ("%d4", "%d1"), ", 0") + AT_5, function) == "N"


def test_a_structure_returned_field_by_field():
    make = ".func (.param .align 8 .b8 made[16]) make(.reg .u64 %x, .reg .u64 %y)" \
           " { st.param.b64 [made], %x; st.param.b64 [made+8], %y; ret; }"  # fmt: skip
    call = "{{ .param .align 8 .b8 back[16]; call (back), make, (%d1, %d9); ld.param.b64 %d5, [back+{}]; }}"
    assert classes(call.format(0) + AT_5, make) == "D"
    assert classes(call.format(8) + AT_5, make) == "N"


CUDA = """
struct P { int *a[4]; int n; int k[8]; };
__device__ __noinline__ int get(const P *p, int i) { return p->k[i]; }
__device__ __noinline__ int by_value(P p, int i, int *x) { return x[p.k[i]] + x[p.n]; }
extern "C" __global__ void field(P p, int *out) { out[threadIdx.x] = p.a[1][p.k[3] + threadIdx.x]; }
extern "C" __global__ void picked(P p, int *out, int which) { out[threadIdx.x] = p.a[which][threadIdx.x]; }
extern "C" __global__ void pointed(P p, int *out, int *in, int which) { out[threadIdx.x] = in[get(&p, which)]; }
extern "C" __global__ void constant(const __grid_constant__ P p, int *out, int *in, int which) {
    out[threadIdx.x] = in[get(&p, which)];
}
extern "C" __global__ void passed(P p, int *out, int *in, int which) { out[threadIdx.x] = by_value(p, which, in); }
extern "C" __global__ void changed(P p, int *out, int *in, int which) {
    p.n = in[0];
    out[threadIdx.x] = by_value(p, which, in);
}
extern "C" __global__ void computed(int *out, int *in, int which) {
    int a[8];
    for (int i = 0; i < 8; i++) a[i] = i * which;
    out[threadIdx.x] = in[a[threadIdx.x & 7]];
}
"""


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [("field", "D"), ("picked", "D"), ("pointed", "D"), ("constant", "D"), ("passed", "DD"), ("changed", "DNN"), ("computed", "N")],
)
def test_structures_as_the_compiler_passes_them(kernel, expected):
    """`changed` stores a loaded field into the copy that another field is then picked from."""
    assert letters(of_cuda(CUDA, kernel)) == expected


def test_the_same_function_in_two_kernels_is_judged_by_each_kernels_calls():
    kernels = [
        f".visible .entry {name}(.param .u64 a) {{{REGISTERS}\n"
        f"ld.param.u64 %d2, [a]; {code} call (%r5), fetch, (%d2, %d3); ret; }}"
        for name, code in (("known", "mov.u64 %d3, 5;"), ("loaded", "ld.global.u64 %d3, [%d2];"))
    ]
    text = HEADER + FETCH + "\n".join(kernels)
    assert letters(program_of(text, "known")) == "D"
    assert letters(program_of(text, "loaded")) == "DN"
