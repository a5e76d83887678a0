"""PTX whose operands cannot be: an error at its line that says what is there and what is allowed, before anything runs."""

import pytest

import simtlab as sl
from simtlab.errors import PtxError, UnknownInstruction

HEAD = """.version 7.8
.target sm_80
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.func (.param .b32 r) f (.param .b32 a) { ret; }
.func (.reg .pred p) g (.reg .b128 q) { ret; }
.func takes_bytes (.param .align 4 .b8 a[16]) { ret; }
"""
REGISTERS = """.reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>; .reg .b128 %q<2>;
.local .align 8 .b8 in_local[16]; .param .b32 argument; .param .b64 wide; L: table: .branchtargets L;
proto: .callprototype (.param .b32 _) _ (.param .b32 _);
"""


def kernel(body, registers=REGISTERS, parameters=".param .u64 out, .param .u32 n", head=HEAD):
    return sl.Gpu().load(f"{head}.visible .entry k({parameters})\n{{\n{registers}{body}\nret;\n}}\n")["k"]


WRONG = {
    "ld.param.u32 %r1, [n+4];": r"ld.param.u32 reads bytes 12 to 15 of the parameters, which have 12 bytes",
    "ld.param.u32 %r1, [out-4];": r"ld.param.u32 reads bytes -4 to -1 of the parameters",
    "ld.param.v4.u32 {%r1, %r2, %r3, %r4}, [out];": r"ld.param.v4.u32 reads bytes 0 to 15 of the parameters",
    "ld.param.u64 %rd1, [out+1099511627776];": r"of the parameters, which have 12 bytes",
    "@%rd1 mov.u32 %r1, 1;": r"the guard %rd1 is a \.b64 register; a guard must be a \.pred one",
    "@!%r1 bra L;": r"the guard %r1 is a \.b32 register",
    "brx.idx %rd1, table;": r"%rd1 \(b64\) where brx.idx needs 32 bits",
    "brx.idx %p1, table;": r"%p1 \(pred\) where brx.idx needs 32 bits",
    "call (%r1), %r2, (%r3), proto;": r"%r2 \(b32\) where call needs 64 bits",
    "mov {%r1, %r2}, %rd1;": r"mov with a vector needs a type",
    "mov.b64 %rd1, {%r1, %r2, %r3};": r"mov.b64 takes a vector of 2 or 4 elements, not 3",
    "mov.b64 {%r1}, %rd1;": r"mov.b64 takes a vector of 2 or 4 elements, not 1",
    "mov.b16 %h1, {%h2, %h3};": r"mov.b16 with a vector is not supported; its type must have 32 or 64 bits",
    "mov.pred %p1, {%p2, %p3};": r"mov.pred with a vector is not supported",
    "mov.b128 %q1, {%rd1, %rd2};": r"mov.b128 with a vector is not supported",
    "st.global.u64 [%rd1], %q1;": r"%q1 is a \.b128 register; registers of 128 bits are not supported",
    "ld.global.u32 %r1, [%q1];": r"address register %q1 must have 32 or 64 bits",
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [out, {%r1}];": r"'out' is a parameter: load the handle",
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [in_local, {%r1}];": r"'in_local' is no texture or surface reference",
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r1, %r1, %r1, %r1}];": r"takes at most 4 coordinates, not 5",
    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%r1, {%r1}];": r"%r1 \(b32\) where tex.1d.v4.f32.s32 needs 64 bits",
    "call (%p1), f, (%r1);": r"%p1 \(pred\) where call needs 32 bits",
    "call (%rd1), f, (%r1);": r"%rd1 \(b64\) where call needs 32 bits",
    "call (%r1), f, (%p1);": r"%p1 \(pred\) where call needs 32 bits",
    "call (%r1), f, (wide);": r"'wide' has 8 bytes where the callee has 4",
    "call (wide), f, (argument);": r"'wide' has 8 bytes where the callee has 4",
    "call (%r1), f, (in_local);": r"'in_local' cannot be passed",
    "call takes_bytes, (%r1);": r"'a' has 16 bytes: pass it in a \.param variable",
    "call (%p1), g, (%q1);": r"a \.(b128|pred) cannot be passed in a register",
    "call k;": r"'k' is a kernel \(\.entry\): only a \.func can be called",
    "tex.a1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {0f7F800000, %f1}];": r"needs a whole number for the layer, not inf",
    "selp.b32 %r1, 1, 2, %tid.x;": r"'tid.x' where selp.b32 needs a predicate",
    "selp.b32 %r1, 1, 2, in_local;": r"'in_local' where selp.b32 needs a predicate",
    "selp.b32 %r1, 1, 2, 1.5;": r"a floating-point literal where selp.b32 needs a predicate",
    "and.pred %p1, %p2, !%rd1;": r"%rd1 \(b64\) where and.pred needs a predicate",
    "ld.shared.u32 %r1, [in_local];": r"ld.shared.u32 names a variable in local memory",
}


@pytest.mark.parametrize("line", WRONG)
def test_an_operand_that_cannot_be_is_an_error_at_its_line(line):
    with pytest.raises(PtxError, match=WRONG[line]) as caught:
        kernel(line)
    assert caught.value.line == (HEAD + REGISTERS).count("\n") + 3
    assert caught.value.source_name == "PTX"


@pytest.mark.parametrize("line", ["pack.b64 %rd1, %r1, %r2;", "unpack.b16 %h1, %r1;"])
def test_names_that_only_the_table_uses_are_no_instructions(line):
    with pytest.raises(UnknownInstruction, match=r"unknown instruction '(pack.b64|unpack.b16)' in 'k'"):
        kernel(line)


@pytest.mark.parametrize("line", [
    "wmma.load.a.sync.aligned.row.m16n16k16.f16 {%r1}, [%rd1];",
    "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1}, {%r1}, {%r2}, {%f2};",
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%rd1];",
])  # fmt: skip
def test_a_tensor_core_instruction_is_told_from_an_unknown_one(line):
    with pytest.raises(UnknownInstruction, match="simtlab has no tensor-core instructions; use the program's path without them"):
        kernel(line)


@pytest.mark.parametrize(
    "declaration", ["", ".param .b64 f", ".param .b64 f, .param .b32 a", ".param .b64 f, .param .b64 a, .param .b64 b"]
)
def test_a_service_must_be_declared_as_the_device_has_it(declaration):
    head = HEAD.replace(".param .b64 f, .param .b64 a", declaration)
    arguments = ", ".join(["0"] * declaration.count(".param"))
    with pytest.raises(PtxError, match=r"'vprintf' must be declared with parameters of \[8, 8\] bytes and results of \[4\]"):
        kernel(f"call (%r1), vprintf, ({arguments});", head=head)


@pytest.mark.parametrize("type", ["texref", "samplerref", "surfref"])
def test_a_register_cannot_be_a_texture(type):
    with pytest.raises(PtxError, match=rf"a register cannot be a \.{type}"):
        kernel("", registers=f".reg .{type} %t;")


def test_more_local_memory_than_a_thread_can_have_is_an_error_of_the_kernel():
    with pytest.raises(PtxError, match="needs 1099511627776 bytes of local memory a thread; at most 524288 are possible"):
        kernel("", registers=".local .b8 huge[1099511627776];")


def test_local_memory_of_a_chain_of_calls_counts_together():
    head = HEAD + ".func deep () { .local .b8 x[400000]; ret; }\n"
    kernel("call deep;", head=head)
    with pytest.raises(PtxError, match="needs 800000 bytes of local memory a thread"):
        kernel("call deep;", registers=".local .b8 y[400000];", head=head)


@pytest.mark.parametrize("stack_bytes", [-1, 1 << 50])
def test_a_stack_that_no_thread_can_have_is_an_error(stack_bytes):
    with pytest.raises(sl.SimtlabError, match=f"stack_bytes is {stack_bytes}; it must lie between 0 and 524288"):
        sl.Gpu(stack_bytes=stack_bytes)


def test_a_number_of_threads_that_cannot_be_is_an_error_of_the_directive():
    with pytest.raises(PtxError, match="18446744073709551615 is too large; at most 2147483647 is possible"):
        sl.Gpu().load(f"{HEAD}.entry k () .maxntid 18446744073709551615 {{ ret; }}")


def test_a_literal_too_large_for_its_type_is_infinite_without_a_warning(recwarn):
    kernel("add.f16 %h1, %h2, 1e300; add.f32 %f1, %f2, 1e300;")
    assert not list(recwarn)


def test_more_parameters_than_a_kernel_can_have_are_an_error():
    with pytest.raises(PtxError, match="kernel 'k' has 40000 bytes of parameters; at most 32764 are possible"):
        kernel("", parameters=".param .b8 structure[40000]")


def test_more_instructions_than_a_program_can_have_are_an_error_of_the_kernel():
    with pytest.raises(PtxError, match="kernel 'k' has 131073 instructions; at most 131072 are possible"):
        kernel("membar.gl;" * 131072)


def test_a_diamond_of_calls_is_measured_once_for_each_function():
    """Sixty functions that each call the next two: more ways down than there is time for."""
    head = HEAD + "".join(f".func d{k} ();\n" for k in range(62))
    head += "".join(f".func d{k} () {{ call d{k + 1}; call d{k + 2}; ret; }}\n" for k in range(60))
    head += ".func d60 () { ret; }\n.func d61 () { .local .b8 x[16]; ret; }\n"
    depth = kernel("call d0; call d30;", head=head).program.depth
    assert depth.local_bytes == 32  # of the kernel and the last one
    assert not depth.recursive


def test_functions_that_call_each_other_in_a_ring_are_recursive():
    head = HEAD + ".func b ();\n.func a () { call b; ret; }\n.func b () { call a; ret; }\n"
    assert kernel("call a;", head=head).program.depth.recursive
    assert kernel("call b;", head=head).program.depth.recursive
    assert not kernel("", head=head).program.depth.recursive
