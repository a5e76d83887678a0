"""Load classes within a kernel: what makes an address deterministic, and what does not."""

import numpy as np
import pytest

from tests.program.load_programs import chain, classes, kernel_program, letters, of_cuda

AT = "shl.b64 %d20, {}, 2; add.s64 %d20, %d2, %d20; ld.global.u32 %r20, [%d20];"  # a load of a[…]
AT_THREAD, AT_LOADED, AT_5 = AT.format("%d1"), AT.format("%d9"), AT.format("%d5")


# Where values come from -----------------------------------------------------------------------------------------------


def test_thread_numbers_and_parameters_are_known_at_the_launch():
    assert classes(AT_THREAD) == "D"
    assert classes(AT.format("%d4")) == "D"
    assert classes("ld.global.u32 %r20, [%d3+64];") == "D"


def test_a_loaded_index_is_not():
    program = kernel_program(AT_LOADED)
    assert letters(program) == "DN"
    assert chain(program, 1) == ["ld.global.u32", "cvt.u64.u32", "shl.b64", "add.s64", "ld.global.u32"]
    assert program.loads[1].reason == "global memory"


def test_a_loaded_pointer_is_not():
    assert classes("ld.global.u64 %d5, [%d3]; ld.global.u32 %r20, [%d5];") == "DN"


def test_the_shortest_way_to_a_value_read_at_run_time_is_the_one_shown():
    long_way = "add.s64 %d5, %d9, 1; add.s64 %d5, %d5, 2; add.s64 %d5, %d5, 3;"
    short_way = "ld.global.u64 %d6, [%d3]; add.s64 %d5, %d5, %d6;"
    program = kernel_program(long_way + short_way + AT_5)
    assert chain(program, 2) == ["ld.global.u64", "add.s64", "shl.b64", "add.s64", "ld.global.u32"]


@pytest.mark.parametrize(
    ("register", "letter"),
    [(r, "D") for r in ("ctaid.x", "ctaid.z", "ntid.y", "nctaid.x", "tid.z", "laneid", "lanemask_lt", "nwarpid", "nsmid")]
    + [(r, "N") for r in ("smid", "warpid", "clock", "clock_hi", "globaltimer_lo")],
)
def test_special_registers(register, letter):
    """Numbers that the launch fixes are known; where and when a warp runs is not."""
    assert classes(f"mov.u32 %r5, %{register}; cvt.u64.u32 %d5, %r5;" + AT_5) == letter


def test_the_64_bit_clock_is_read_at_run_time():
    program = kernel_program("mov.u64 %d5, %clock64;" + AT_5)
    assert (letters(program), program.loads[1].reason) == ("DN", "the clock")


def test_a_variable_by_its_name_is_at_a_known_place():
    assert classes("ld.global.u32 %r20, [table+8];", ".global .u32 table[16];") == "D"


def test_constant_memory_is_known_at_the_launch():
    table = ".const .u32 table[16];"
    read = "mov.u64 %d5, table; add.s64 %d5, %d5, {}; ld.const.u32 %r5, [%d5]; cvt.u64.u32 %d5, %r5;"
    assert classes("ld.const.u32 %r5, [table]; cvt.u64.u32 %d5, %r5;" + AT_5, table) == "D"
    assert classes(read.format("%d1") + AT_5, table) == "D"
    generic = "mov.u64 %d5, table; cvta.const.u64 %d5, %d5; ld.u32 %r5, [%d5]; cvt.u64.u32 %d5, %r5;"
    assert classes(generic + AT_5, table) == "D"


def test_a_constant_picked_by_a_loaded_number_is_not():
    read = "mov.u64 %d5, table; add.s64 %d5, %d5, %d9; ld.const.u32 %r5, [%d5]; cvt.u64.u32 %d5, %r5;"
    assert classes(read + AT_5, ".const .u32 table[16];") == "N"


def test_shared_memory_is_read_at_run_time_whatever_was_stored_there():
    """LOADS names ld.shared among the loads that make a load non-deterministic."""
    shared = ".shared .u32 room[32];"
    store = "mov.u32 %r6, room; st.shared.u32 [%r6], %r1;"
    program = kernel_program(f"{store} ld.shared.u32 %r5, [%r6]; cvt.u64.u32 %d5, %r5;" + AT_5, shared)
    assert (letters(program), program.loads[1].reason) == ("DN", "shared memory")


def test_local_memory_is_read_at_run_time_whatever_was_stored_there():
    """LOADS names ld.local too. Here the thread's own number comes back from it."""
    local = ".local .align 4 .b8 room[64]; mov.u64 %d6, room; st.local.u32 [%d6], %r1;"
    program = kernel_program(f"{local} ld.local.u32 %r5, [%d6]; cvt.u64.u32 %d5, %r5;" + AT_5)
    assert (letters(program), program.loads[1].reason) == ("DN", "local memory")
    by_name = ".local .align 4 .b8 room[64]; st.local.u32 [room], %r1; ld.local.u32 %r5, [room]; cvt.u64.u32 %d5, %r5;"
    assert classes(by_name + AT_5) == "N"


def test_what_an_atomic_gives_back_was_read_at_run_time():
    assert classes("atom.global.add.u32 %r5, [%d3], 1; cvt.u64.u32 %d5, %r5;" + AT_5) == "N"
    assert classes("red.global.add.u32 [%d3], 1;" + AT_THREAD) == "D"


def test_texels_and_surface_elements_are_read_at_run_time():
    texture = ".global .texref image;"
    fetch = "tex.1d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [image, {%r1}]; cvt.u64.u32 %d5, %r5;"
    program = kernel_program(fetch + AT_5, texture)
    assert (letters(program), program.loads[1].reason) == ("DN", "a texture")
    surface = "suld.b.1d.b32.trap {%r5}, [%d3, {%r1}]; cvt.u64.u32 %d5, %r5;"
    assert classes(surface + AT_5) == "N"


def test_which_lanes_are_active_is_known_at_run_time_only():
    assert classes("activemask.b32 %r5; cvt.u64.u32 %d5, %r5;" + AT_5) == "N"


# Which loads have a class ---------------------------------------------------------------------------------------------


def test_only_global_loads_have_a_class():
    code = """
    .shared .u32 room[8]; .local .align 4 .b8 own[8];
    ld.shared.u32 %r5, [room]; ld.local.u32 %r5, [own]; ld.const.u32 %r5, [table]; ld.param.u32 %r5, [n];
    tex.1d.v4.u32.s32 {%r5, %r6, %r7, %r8}, [image, {%r9}];
    atom.global.add.u32 %r5, [%d2], 1; st.global.u32 [%d2], %r5; prefetch.global.L1 [%d2];
    """
    assert classes(code, ".const .u32 table[4]; .global .texref image;") == ""


@pytest.mark.parametrize("spelling", ["ld.global.nc.u32", "ldu.global.u32", "ld.volatile.global.u32", "ld.global.ca.u32"])
def test_every_kind_of_global_load_has_one(spelling):
    assert classes(f"{spelling} %r20, [%d3]; add.s64 %d5, %d3, %d9; {spelling} %r20, [%d5];") == "DN"


def test_a_vector_load_is_one_load():
    assert classes("ld.global.v4.u32 {%r5, %r6, %r7, _}, [%d3]; cvt.u64.u32 %d5, %r7;" + AT_5) == "DN"


def test_a_generic_load_has_a_class_if_it_may_read_global_memory():
    assert classes("ld.u32 %r20, [%d3];") == "D"
    assert classes("add.s64 %d5, %d3, %d9; ld.u32 %r20, [%d5];") == "N"
    shared = ".shared .u32 room[8]; mov.u64 %d6, room; cvta.shared.u64 %d6, %d6; add.s64 %d6, %d6, %d1;"
    assert classes(shared + "ld.u32 %r5, [%d6];") == ""
    assert classes(shared + "setp.lt.u32 %p1, %r1, 7; selp.b64 %d7, %d6, %d3, %p1; ld.u32 %r5, [%d7];") == "D"


def test_a_choice_of_two_addresses_points_to_either():
    both = """.shared .u32 room[8]; .local .align 4 .b8 own[8]; setp.lt.u32 %p1, %r1, 7;
    mov.u64 %d6, room; cvta.shared.u64 %d6, %d6; mov.u64 %d7, own; cvta.local.u64 %d7, %d7;"""
    assert classes(both + "selp.b64 %d8, %d6, %d7, %p1; ld.u32 %r5, [%d8];") == ""
    assert classes(both + "selp.b64 %d8, %d6, %d3, %p1; ld.u32 %r5, [%d8];") == "D"


def test_a_number_made_from_addresses_is_no_address():
    """b[p - q] and b[p & 15] with p and q in shared memory are global loads."""
    shared = ".shared .u32 room[8]; mov.u64 %d6, room; cvta.shared.u64 %d6, %d6; add.s64 %d7, %d6, 4;"
    assert classes(shared + "sub.s64 %d8, %d7, %d6; add.s64 %d8, %d3, %d8; ld.u32 %r5, [%d8];") == "D"
    assert classes(shared + "and.b64 %d8, %d7, 15; add.s64 %d8, %d3, %d8; ld.u32 %r5, [%d8];") == "D"


def test_what_a_generic_load_reads_in_shared_memory_was_read_at_run_time():
    shared = ".shared .u32 room[8]; mov.u64 %d6, room; cvta.shared.u64 %d6, %d6; ld.u32 %r5, [%d6]; cvt.u64.u32 %d5, %r5;"
    program = kernel_program(shared + AT_5)
    assert (letters(program), program.loads[1].reason) == ("DN", "shared memory")


def test_the_column_has_a_class_for_every_instruction():
    program = kernel_program(AT_THREAD + AT_LOADED)
    column = program.load_classes
    assert (column.dtype, len(column)) == (np.int8, len(program.lowered))
    loads = [pc for pc, i in enumerate(program.lowered) if i.origin.spelling == "ld.global.u32"]
    assert [int(column[pc]) for pc in loads] == [1, 1, 0]
    assert np.count_nonzero(column == -1) == len(column) - 3
    assert program.load_classes is column


# Overwriting, merging, looping ----------------------------------------------------------------------------------------


def test_an_index_loaded_and_then_overwritten_is_forgotten():
    assert classes("mov.u64 %d5, %d9; mov.u64 %d5, %d1;" + AT_5) == "D"
    assert classes("mov.u64 %d9, %d1;" + AT_LOADED) == "D"


def test_an_index_overwritten_after_its_use_is_not():
    assert classes("mov.u64 %d5, %d9;" + AT_5 + "mov.u64 %d5, %d1;") == "N"


def test_an_index_overwritten_under_a_guard_may_still_be_the_loaded_one():
    assert classes("setp.lt.u32 %p1, %r1, 7; mov.u64 %d5, %d9; @%p1 mov.u64 %d5, %d1;" + AT_5) == "N"


def test_under_one_guard_what_was_overwritten_is_forgotten():
    use = "shl.b64 %d6, %d1, 2; {} @%p1 mov.u64 %d5, %d6; {} @%p1 ld.global.u32 %r20, [%d5];"
    loaded = "setp.lt.u32 %p1, %r1, 7; mov.u64 %d5, %d9;"
    assert classes(use.format(loaded, "")) == "D"
    assert classes(use.format(loaded, "setp.lt.u32 %p1, %r2, 7;")) == "N", "it is another predicate by then"
    assert classes(use.format(loaded, "").replace("@%p1 ld", "@!%p1 ld")) == "N"
    assert classes(use.format(loaded, "").replace("@%p1 ld", "@%p2 ld")) == "N"


def test_overwritten_on_one_side_of_a_branch_or_on_both():
    one = "setp.lt.u32 %p1, %r1, 7; mov.u64 %d5, %d9; @%p1 bra skip; mov.u64 %d5, %d1; skip:"
    assert classes(one + AT_5) == "N"
    both = """setp.lt.u32 %p1, %r1, 7; mov.u64 %d5, %d9; @%p1 bra other;
    mov.u64 %d5, %d1; bra join; other: mov.u64 %d5, %d4; join:"""
    assert classes(both + AT_5) == "D"


def test_a_loop_to_a_loaded_bound_has_a_known_index():
    """How often it runs is not known, but where each trip loads is."""
    loop = "mov.u32 %r5, 0; again: cvt.u64.u32 %d5, %r5;" + AT_5
    assert classes(loop + "add.u32 %r5, %r5, 32; setp.lt.u32 %p1, %r5, %r9; @%p1 bra again;") == "D"


def test_a_loop_from_a_loaded_start_has_not():
    loop = "mov.u32 %r5, %r9; again: cvt.u64.u32 %d5, %r5;" + AT_5
    assert classes(loop + "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r2; @%p1 bra again;") == "N"


def test_an_index_that_a_loop_carries_around():
    """The first trip's index is the thread's number; from the second on it is what the trip before loaded."""
    loop = "mov.u64 %d5, %d1; again:" + AT_5 + "cvt.u64.u32 %d5, %r20; setp.lt.u32 %p1, %r20, 7; @%p1 bra again;"
    program = kernel_program(loop)
    assert letters(program) == "DN"
    assert chain(program, 1)[0] == chain(program, 1)[-1] == "ld.global.u32"
    assert program.loads[1].chain[0] == program.loads[1].pc, "the load is the one that its own address comes from"


def test_a_loaded_value_that_arrives_after_several_trips():
    """It moves one register on in each trip."""
    loop = """mov.u64 %d5, %d1; mov.u64 %d6, %d1; mov.u64 %d7, %d1; mov.u32 %r5, 0; again:""" + AT_5
    turn = "mov.u64 %d5, %d6; mov.u64 %d6, %d7; mov.u64 %d7, %d9; add.u32 %r5, %r5, 1;"
    assert classes(loop + turn + "setp.lt.u32 %p1, %r5, %r2; @%p1 bra again;") == "N"
    without = turn.replace("%d9", "%d4")
    assert classes(loop + without + "setp.lt.u32 %p1, %r5, %r2; @%p1 bra again;") == "D"


def test_an_endless_loop_and_code_that_nothing_reaches():
    assert classes("again:" + AT_LOADED + "bra again;" + AT_LOADED)[0] == "N"


def test_what_unreachable_code_writes_does_not_count():
    assert classes("mov.u64 %d5, %d1; bra on; dead: mov.u64 %d5, %d9; on:" + AT_5) == "D"


# Predicates -----------------------------------------------------------------------------------------------------------


def test_a_predicate_from_a_loaded_value_that_chooses_an_index():
    choose = "setp.lt.u32 %p1, {}, 7; selp.b64 %d5, %d1, %d4, %p1;"
    assert classes(choose.format("%r9") + AT_5) == "N"
    assert classes(choose.format("%r1") + AT_5) == "D"


def test_a_guard_from_a_loaded_value_on_what_makes_the_index():
    guarded = "setp.lt.u32 %p1, {}, 7; mov.u64 %d5, %d1; @%p1 add.s64 %d5, %d5, 4;"
    program = kernel_program(guarded.format("%r9") + AT_5)
    assert letters(program) == "DN"
    assert chain(program, 1) == ["ld.global.u32", "setp.lt.u32", "add.s64", "shl.b64", "add.s64", "ld.global.u32"]
    assert classes(guarded.format("%r1") + AT_5) == "D"
    assert classes(guarded.format("%r9").replace("@%p1", "@!%p1") + AT_5) == "N"


def test_a_guard_on_the_load_itself_decides_whether_not_where():
    assert classes("setp.lt.u32 %p1, %r9, 7; shl.b64 %d5, %d1, 2; add.s64 %d5, %d2, %d5; @%p1 ld.global.u32 %r20, [%d5];") == "D"


def test_a_branch_on_a_loaded_value_decides_whether_not_where():
    assert classes("setp.lt.u32 %p1, %r9, 7; @%p1 bra skip;" + AT_THREAD + "skip:") == "D"


def test_predicates_combined_from_loaded_ones():
    code = "setp.lt.u32 %p1, %r9, 7; setp.lt.and.u32 %p2, %r1, 7, %p1; selp.b64 %d5, %d1, %d4, %p2;"
    assert classes(code + AT_5) == "N"
    code = "setp.lt.u32 %p1, %r9, 7; setp.lt.u32 %p3, %r1, 7; or.pred %p2, %p3, %p1; selp.b64 %d5, %d1, %d4, %p2;"
    assert classes(code + AT_5) == "N"
    code = "setp.lt.u32 %p1|%p2, %r9, 7; selp.b64 %d5, %d1, %d4, %p2;"
    assert classes(code + AT_5) == "N"


def test_the_carry_flag_carries_loaded_values_on():
    code = "add.cc.u32 %r5, {}, %r2; addc.u32 %r6, 0, 0; cvt.u64.u32 %d5, %r6;"
    assert classes(code.format("%r9") + AT_5) == "N"
    assert classes(code.format("%r1") + AT_5) == "D"


# Arithmetic and warp operations ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "mad.wide.u32 %d5, {0}, 4, %d2;",
        "mul.wide.u32 %d5, {0}, 4; add.s64 %d5, %d5, %d2;",
        "bfe.u32 %r5, {0}, 2, 5; cvt.u64.u32 %d5, %r5;",
        "mov.b64 %d5, {{{0}, %r2}};",
        "cvt.u64.u32 %d6, {0}; mov.b64 {{%r5, %r6}}, %d6; cvt.u64.u32 %d5, %r6;",
        "cvt.rn.f32.u32 %f1, {0}; sqrt.approx.f32 %f1, %f1; cvt.rzi.u32.f32 %r5, %f1; cvt.u64.u32 %d5, %r5;",
        "shfl.sync.bfly.b32 %r5, {0}, 1, 31, -1; cvt.u64.u32 %d5, %r5;",
        "shfl.sync.idx.b32 %r5, %r1, {0}, 31, -1; cvt.u64.u32 %d5, %r5;",
        "setp.lt.u32 %p1, {0}, 7; vote.sync.ballot.b32 %r5, %p1, -1; popc.b32 %r5, %r5; cvt.u64.u32 %d5, %r5;",
        "match.any.sync.b32 %r5, {0}, -1; cvt.u64.u32 %d5, %r5;",
        "setp.lt.u32 %p1, {0}, 7; bar.red.popc.u32 %r5, 0, %p1; cvt.u64.u32 %d5, %r5;",
        "min.u32 %r5, {0}, %r2; cvt.u64.u32 %d5, %r5;",
    ],
)
def test_results_are_as_known_as_what_they_are_made_from(code):
    assert classes(code.format("%r1") + AT_5) == "D"
    assert classes(code.format("%r9") + AT_5) == "N"


# The papers' own ------------------------------------------------------------------------------------------------------

BFS = """\
struct Node { int starting; int no_of_edges; };
extern "C" __global__ void Kernel(Node *g_graph_nodes, int *g_graph_edges, bool *g_graph_mask, bool *g_updating_graph_mask,
                                  bool *g_graph_visited, int *g_cost, int no_of_nodes) {
    int tid = blockIdx.x * blockDim.x + threadIdx.x;
    if (tid < no_of_nodes && g_graph_mask[tid]) {
        g_graph_mask[tid] = false;
        int start = g_graph_nodes[tid].starting;
        int edges = g_graph_nodes[tid].no_of_edges;
        for (int i = start; i < edges + start; i++) {
            int id = g_graph_edges[i];
            if (!g_graph_visited[id]) {
                g_cost[id] = g_cost[tid] + 1;
                g_updating_graph_mask[id] = true;
            }
        }
    }
}
"""
BFS_LOADS = {5: "mask", 7: "starting", 8: "no_of_edges", 10: "edges", 11: "visited", 12: "cost"}  # by line


def test_bfs_as_the_papers_have_it():
    """LOADS Code 1 and CAPS Fig. 6b: mask, nodes and cost go by the thread's number, visited by a loaded one."""
    program = of_cuda(BFS, "Kernel")
    by_line = {number: set() for number in BFS_LOADS}
    for load in program.loads:
        by_line[program.lowered[load.pc].origin.source.line].add(load.deterministic)
    assert {BFS_LOADS[line]: found for line, found in by_line.items()} == {
        "mask": {True}, "starting": {True}, "no_of_edges": {True}, "edges": {False}, "visited": {False}, "cost": {True},
    }  # fmt: skip


def test_the_chain_of_bfs_leads_from_the_list_of_nodes_to_the_neighbour():
    program = of_cuda(BFS, "Kernel")
    visited = next(load for load in program.loads if program.lowered[load.pc].origin.source.line == 11)
    lines = [program.lowered[pc].origin.source.line for pc in visited.chain]
    assert lines[0] == 10, "the edge is what was loaded"
    assert lines[-1] == 11
