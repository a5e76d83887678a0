"""Control-flow graphs: blocks, dominators, and where lanes that part meet again."""

import pytest

from simtlab.program.cfg import EXIT, ControlFlowGraph, Flow

GO_ON = Flow()
LEAVE = Flow(falls_through=False, leaves=True)


def jump(target):
    return Flow((target,), falls_through=False)


def branch(target):
    return Flow((target,))


def meets(graph, instruction):
    """The first instruction of the block where the ways out of an instruction's block meet, or EXIT."""
    block = graph.immediate_post_dominator[graph.block_of[instruction]]
    return block if block == EXIT else graph.blocks[block].first


def test_straight_code_is_one_block():
    graph = ControlFlowGraph([GO_ON, GO_ON, LEAVE])
    assert [(block.first, block.end) for block in graph.blocks] == [(0, 3)]
    assert graph.immediate_post_dominator == [EXIT]


def test_if_and_else_meet_behind_both():
    #  0: branch 3   1: …  2: jump 4   3: …   4: leave
    graph = ControlFlowGraph([branch(3), GO_ON, jump(4), GO_ON, LEAVE])
    assert [(block.first, block.end) for block in graph.blocks] == [(0, 1), (1, 3), (3, 4), (4, 5)]
    assert graph.blocks[0].successors == [2, 1]
    assert meets(graph, 0) == 4
    assert graph.immediate_dominator == [0, 0, 0, 0]


def test_an_if_alone_meets_at_its_target():
    graph = ControlFlowGraph([branch(2), GO_ON, LEAVE])
    assert meets(graph, 0) == 2


def test_a_loop_meets_behind_its_last_branch():
    #  0: …  1: …  2: branch 1  3: leave
    graph = ControlFlowGraph([GO_ON, GO_ON, branch(1), LEAVE])
    assert meets(graph, 2) == 3
    assert graph.dominates(graph.block_of[1], graph.block_of[3])


def test_a_break_out_of_a_loop_meets_where_both_exits_lead():
    #  0: head  1: branch 4 (break)  2: …  3: branch 0 (again)  4: leave
    graph = ControlFlowGraph([GO_ON, branch(4), GO_ON, branch(0), LEAVE])
    assert meets(graph, 1) == 4
    assert meets(graph, 3) == 4


def test_ways_that_leave_apart_meet_nowhere():
    graph = ControlFlowGraph([branch(2), LEAVE, LEAVE])
    assert meets(graph, 0) == EXIT


def test_a_guarded_exit_may_go_on():
    guarded_exit = Flow(falls_through=True, leaves=True)
    graph = ControlFlowGraph([guarded_exit, GO_ON, LEAVE])
    assert graph.blocks[0].successors == [1]
    assert meets(graph, 0) == EXIT


def test_an_indirect_branch_meets_behind_all_its_targets():
    #  0: switch to 1, 3, 5   1: … 2: jump 6   3: … 4: jump 6   5: falls into 6   6: leave
    graph = ControlFlowGraph([Flow((1, 3, 5, 3), falls_through=False), GO_ON, jump(6), GO_ON, jump(6), GO_ON, LEAVE])
    assert meets(graph, 0) == 6
    assert len(graph.blocks[0].successors) == 3


def test_a_case_that_falls_through_into_the_next():
    graph = ControlFlowGraph([Flow((1, 2), falls_through=False), GO_ON, GO_ON, LEAVE])
    assert meets(graph, 0) == 2


def test_an_endless_loop_has_post_dominators_all_the_same():
    #  0: branch 3   1: …  2: jump 1 (for ever)   3: leave
    graph = ControlFlowGraph([branch(3), GO_ON, jump(1), LEAVE])
    assert meets(graph, 0) == EXIT
    assert len(graph.immediate_post_dominator) == len(graph.blocks)


def test_code_that_nobody_reaches_changes_nothing():
    graph = ControlFlowGraph([jump(2), GO_ON, LEAVE])
    assert graph.order() == [0, 2]
    assert meets(graph, 0) == 2


def test_nested_ifs_meet_inside_out():
    #  0: branch 5   1: branch 3   2: …   3: …   4: jump 6   5: …   6: leave
    graph = ControlFlowGraph([branch(5), branch(3), GO_ON, GO_ON, jump(6), GO_ON, LEAVE])
    assert meets(graph, 1) == 3
    assert meets(graph, 0) == 6


@pytest.mark.parametrize("size", [1, 2, 500])
def test_a_long_chain_of_ifs(size):
    flows = []
    for _ in range(size):
        flows += [branch(len(flows) + 2), GO_ON]
    graph = ControlFlowGraph([*flows, LEAVE])
    for k in range(size):
        assert meets(graph, 2 * k) == 2 * k + 2
