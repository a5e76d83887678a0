"""PTX whose lanes meet at convergence barriers (BOOK 3.1.2) in place of the SIMT stack: the same results, and locks that end."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.program.action import Action
from tests.execute import test_splits as splits
from tests.execute.test_simt_stack import KERNEL, leave_one_by_one
from tests.execute.test_splits import (  # noqa: F401  what machine code computes, asked of PTX
    test_an_assertion_names_what_failed,
    test_atomics_in_shared_memory_that_machine_code_has_as_loops,
    test_barriers_that_count_and_combine,
    test_both_sides_of_a_branch_go_on_in_turn,
    test_every_lane_of_a_warp_gets_the_lock,
    test_a_lane_that_waits_for_another_of_its_warp_sees_it_come,
    test_a_reduction_in_steps_of_one_warp,
    test_lanes_allocate_and_free,
    test_lanes_go_to_all_cases_of_a_switch_and_meet_behind_it,
    test_lanes_shuffle_and_vote_within_one_side,
    test_lanes_that_break_out_of_a_loop_meet_behind_it,
    test_machine_code_prints,
    test_nested_divergence_meets_at_both_barriers,
    test_splits_of_one_warp_come_to_the_barrier_of_the_block_by_different_ways,
    test_warps_with_fewer_than_32_lanes,
)


@pytest.fixture(scope="module")
def machine():
    return splits.Machine("ptx", reconvergence="barriers")
