"""Register allocation: values that live at the same time stay apart, and few registers are enough."""

from itertools import pairwise

from simtlab.program.cfg import ControlFlowGraph, Flow
from simtlab.program.liveness import Usage
from simtlab.program.registers import allocate

LEAVE = Flow(falls_through=False, leaves=True)


def use(reads=(), writes=(), always=True):
    return Usage(frozenset(reads), frozenset(writes), always)


def straight(usages, kinds):
    flows = [Flow()] * (len(usages) - 1) + [LEAVE]
    return allocate(ControlFlowGraph(flows), usages, kinds)


def occupied(allocation, kinds, v):
    width = {"h": 1, "w": 1, "d": 2}[kinds[v]]
    return set(range(allocation.place[v], allocation.place[v] + width))


def test_a_register_is_used_again_once_its_value_is_dead():
    chain = [use(writes=[0]), *(use([k], [k + 1]) for k in range(9)), use([9])]
    allocation = straight(chain, "w" * 10)
    assert (allocation.registers, allocation.most_live) == (1, 1)


def test_values_that_live_together_have_registers_of_their_own():
    usages = [*(use(writes=[k]) for k in range(6)), use(range(6))]
    allocation = straight(usages, "w" * 6)
    assert sorted(allocation.place) == list(range(6))
    assert allocation.registers == allocation.most_live == 6


def test_64_bit_values_take_aligned_pairs():
    kinds = "wdwdw"
    usages = [*(use(writes=[k]) for k in range(5)), use(range(5))]
    allocation = straight(usages, kinds)
    assert all(allocation.place[v] % 2 == 0 for v in (1, 3))
    together = [occupied(allocation, kinds, v) for v in range(5)]
    assert len(set().union(*together)) == 7
    assert allocation.most_live == 7
    assert allocation.registers <= 8


def test_single_registers_fill_half_used_pairs_first():
    usages = [use(writes=[0]), use(writes=[1]), use(writes=[2]), use([0, 1, 2])]
    assert straight(usages, "wdw").registers == 4


def test_predicates_are_counted_apart():
    usages = [use(writes=[0]), use(writes=[1]), use(writes=[2]), use([0, 1, 2])]
    allocation = straight(usages, "pwp")
    assert (allocation.registers, allocation.predicates) == (1, 2)


def test_lanes_of_different_widths_never_share_storage():
    kinds = "dwhp"
    chain = [use(writes=[0]), use([0], [1]), use([1], [2]), use([2], [3]), use([3])]
    allocation = straight(chain, kinds)
    sizes = {"d": 256, "w": 128, "h": 64, "p": 4}
    spans = sorted((allocation.storage[v], sizes[kinds[v]]) for v in range(4))
    for (start, size), (following, _) in pairwise(spans):
        assert start + size <= following
    assert allocation.window_bytes >= spans[-1][0] + spans[-1][1]
    assert allocation.window_bytes % 128 == 0


def test_both_results_of_one_instruction_are_apart_even_if_one_is_never_read():
    allocation = straight([use(writes=[0, 1]), use([1])], "ww")
    assert allocation.place[0] != allocation.place[1]


def test_a_register_that_is_never_mentioned_takes_no_room():
    allocation = straight([use(writes=[1]), use([1])], "dw")
    assert allocation.registers == 1


def test_a_value_read_in_a_loop_is_not_overwritten_in_it():
    #  0: write 0   1: write 1   2: read 1   3: branch to 1   4: read 0
    graph = ControlFlowGraph([Flow(), Flow(), Flow(), Flow((1,)), LEAVE])
    allocation = allocate(graph, [use(writes=[0]), use(writes=[1]), use([1]), use(), use([0])], "ww")
    assert allocation.place[0] != allocation.place[1]
    assert allocation.storage[0] != allocation.storage[1]
