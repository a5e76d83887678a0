"""CAPS's prefetcher on the paper's worked examples, told its loads one by one."""

import pytest

from simtlab.policies.load import load
from simtlab.policies.tables import PC_STEP
from tests.papers.bench import LINE, A, B, Bench, C, Prefetch

BASE = {A: 0x10000, B: 0x24000, C: 0x31000}
STRIDE = 0x400


def address(cta, warp):
    return BASE[cta] + warp * STRIDE


def expected(*warps):
    return [Prefetch(cta, warp, address(cta, warp)) for cta, warp in warps]


def issue(bench, cta, warp, **more):
    return bench.load(cta, warp, address(cta, warp), **more)


@pytest.fixture
def bench():
    return Bench("caps")


def test_fig_9a_bases_first_then_each_warp_of_the_leading_cta_calls_for_its_like(bench):
    assert issue(bench, A, 0) == issue(bench, B, 0) == issue(bench, C, 0) == []
    assert issue(bench, A, 1) == expected((B, 1), (C, 1))
    assert issue(bench, A, 2) == expected((B, 2), (C, 2))


def test_fig_9b_stride_first_then_each_leading_warp_calls_for_its_own_cta(bench):
    assert issue(bench, A, 0) == issue(bench, A, 1) == issue(bench, A, 2) == []
    assert issue(bench, B, 0) == expected((B, 1), (B, 2))
    assert issue(bench, C, 0) == expected((C, 1), (C, 2))
    assert issue(bench, B, 1) == issue(bench, B, 2) == []


def test_a_cta_between_the_two_cases_is_prefetched_once(bench):
    issue(bench, A, 0), issue(bench, B, 0)
    assert issue(bench, A, 1) == expected((B, 1))
    assert issue(bench, C, 0) == expected((C, 1), (C, 2))
    assert issue(bench, A, 2) == expected((B, 2))


def test_the_laplace_addresses_of_fig_6():
    """CTAs (0,0), (3,3) and (7,2) of 32 x 4 threads: base C1 + C2 * C3 of floats, stride C3, one row."""
    pitch = 448  # floats a row, C3
    array, ctas = 0x7000_0000, {A: (0, 0), B: (3, 3), C: (7, 2)}

    def at(cta, warp):
        c1, c2 = 32 * ctas[cta][0], 4 * ctas[cta][1]
        return array + 4 * (c1 + c2 * pitch + warp * pitch)

    bench = Bench("caps", (4, 4, 4))
    assert [bench.load(cta, 0, at(cta, 0)) for cta in (A, B, C)] == [[], [], []]
    for warp in (1, 2, 3):
        assert bench.load(A, warp, at(A, warp)) == [Prefetch(B, warp, at(B, warp)), Prefetch(C, warp, at(C, warp))]
    assert int(bench.own.dist[0].stride) == 4 * pitch
    assert at(B, 0) - at(A, 0) != at(C, 0) - at(B, 0)  # no stride from CTA to CTA, as the paper notes


def test_tables_take_708_bytes_a_core():
    module = load("prefetcher", "caps").module
    per_cta, dist = sum(module.per_cta_bytes.values()), sum(module.dist_bytes.values())
    assert (per_cta, dist) == (21, 9)
    assert 8 * module.ENTRIES * per_cta + module.ENTRIES * dist == 708
    assert module.state["per_cta"].shape[1] == module.state["dist"].shape[0] == module.ENTRIES


def test_four_accesses_share_a_stride():
    bench = Bench("caps")
    parts = [0, 0x100000, 0x200000, 0x300000]
    bench.load(A, 0, *parts)
    bench.load(B, 0, *[0x8000 + part for part in parts])
    assert bench.load(A, 1, *[STRIDE + part for part in parts]) == [
        Prefetch(B, 1, 0x8000 + STRIDE + part) for part in parts
    ]  # fmt: skip


def test_a_load_of_five_accesses_is_left_alone(bench):
    for cta in (A, B):
        for warp in (0, 1, 2):
            assert bench.load(cta, warp, *(address(cta, warp) + k * 0x100000 for k in range(5))) == []
    assert not bench.own.per_cta["updated"].any()


def test_accesses_with_different_strides_are_no_striding_load(bench):
    bench.load(A, 0, 0, 0x100000)
    assert bench.own.per_cta[A]["updated"].any()
    assert bench.load(A, 1, STRIDE, 0x100000 + 2 * STRIDE) == []
    assert not bench.own.per_cta[A]["updated"].any()  # the entry is invalid
    assert not bench.own.dist["updated"].any()


def test_the_stride_is_that_of_two_consecutive_warps(bench):
    issue(bench, A, 0)
    issue(bench, B, 0)
    assert issue(bench, A, 2) == []
    assert not bench.own.dist["updated"].any()
    assert issue(bench, A, 1) == expected((B, 1))


def test_indirect_loads_are_left_alone(bench):
    for cta in (A, B):
        for warp in (0, 1, 2):
            assert issue(bench, cta, warp, deterministic=0) == []
    assert not bench.own.per_cta["updated"].any()


def test_the_least_recently_updated_entry_of_a_cta_makes_room(bench):
    for pc in (1, 2, 3, 4):
        issue(bench, A, 0, pc=pc)
    issue(bench, A, 0, pc=1)  # again: updated last
    issue(bench, A, 0, pc=5)
    assert sorted(bench.own.per_cta[A]["key"]) == [PC_STEP * pc for pc in (1, 3, 4, 5)]
    assert not bench.own.per_cta[B]["updated"].any()


def test_the_oldest_stride_makes_room_for_a_fifth(bench):
    for pc in range(1, 6):
        issue(bench, A, 0, pc=pc), issue(bench, A, 1, pc=pc)
    assert sorted(bench.own.dist["key"]) == [PC_STEP * pc for pc in (2, 3, 4, 5)]
    assert issue(bench, B, 0, pc=1) == []
    assert issue(bench, B, 0, pc=5) == expected((B, 1), (B, 2))


def test_a_loop_updates_the_base_and_prefetches_for_the_next_iteration(bench):
    issue(bench, A, 0), issue(bench, A, 1)
    issue(bench, B, 0)
    step = 0x80000
    assert bench.load(B, 0, address(B, 0) + step) == [
        Prefetch(B, warp, address(B, warp) + step) for warp in (1, 2)
    ]  # fmt: skip
    assert bench.own.dist[0].mispredicts == 0
    bench.load(B, 1, address(B, 1) + step)
    assert bench.own.dist[0].mispredicts == 0


def test_when_the_leading_cta_goes_on_it_no_longer_calls_for_what_others_did_before(bench):
    issue(bench, A, 0), issue(bench, B, 0)
    issue(bench, A, 1)
    bench.load(A, 0, address(A, 0) + 0x80000)
    assert bench.load(A, 2, address(A, 2)) == []


def test_every_demand_is_verified_and_the_129th_wrong_one_ends_it(bench):
    issue(bench, A, 0), issue(bench, A, 1)
    for wrong in range(1, 129):
        bench.load(A, 2, 0x900000)
        assert bench.own.dist[0].mispredicts == wrong
    assert issue(bench, B, 0) == expected((B, 1), (B, 2))  # 128 are not more than the threshold
    bench.load(A, 2, 0x900000)
    assert issue(bench, C, 0) == []


def test_the_counter_has_one_byte(bench):
    issue(bench, A, 0), issue(bench, A, 1)
    for _ in range(300):
        bench.load(A, 2, 0x900000)
    assert bench.own.dist[0].mispredicts == 255


def test_a_demand_in_the_same_line_is_no_mispredict(bench):
    issue(bench, A, 0), issue(bench, A, 1)
    bench.load(A, 2, address(A, 2) + LINE - 4)
    assert bench.own.dist[0].mispredicts == 0
    bench.load(A, 2, address(A, 2) + LINE)
    assert bench.own.dist[0].mispredicts == 1


def test_a_demand_of_too_many_accesses_is_a_mispredict(bench):
    issue(bench, A, 0), issue(bench, A, 1)
    bench.load(A, 2, *(0x900000 + k * LINE for k in range(6)))
    assert bench.own.dist[0].mispredicts == 1


def test_the_threshold_is_a_parameter():
    bench = Bench("caps", threshold=0)
    issue(bench, A, 0), issue(bench, A, 1)
    assert issue(bench, B, 0) == expected((B, 1), (B, 2))
    bench.load(A, 2, 0x900000)
    assert issue(bench, C, 0) == []


def test_with_one_cta_nothing_is_prefetched():
    bench = Bench("caps", (8,))
    for _ in range(2):  # and the next one in its slot
        for step in range(3):
            for warp in range(8):
                assert bench.load(A, warp, 0x10000 + step * 0x8000 + warp * STRIDE) == []
        bench.move_in(A, 8)


def test_strides_finer_than_a_line_count():
    """Bytes read by 32 lanes: four warps share a line."""
    bench = Bench("caps", (8, 8))
    bench.load(A, 0, 0x10000)
    bench.load(A, 1, 0x10020)
    lines = [prefetch.address for prefetch in bench.load(B, 0, 0x20000)]
    assert lines == [0x20000, 0x20000, 0x20000, 0x20080, 0x20080, 0x20080, 0x20080]


def test_a_warp_that_has_ended_is_not_prefetched_for(bench):
    issue(bench, A, 0), issue(bench, A, 1)
    bench.end(B, 1)
    assert issue(bench, B, 0) == expected((B, 2))


def test_a_new_cta_in_a_slot_has_an_empty_table_and_a_new_one_leads(bench):
    issue(bench, A, 0), issue(bench, A, 1), issue(bench, B, 0)
    bench.move_in(A, 3)
    assert not bench.own.per_cta[A]["updated"].any()
    bench.load(C, 0, address(C, 0))  # the next to load: now it leads, and nothing is predicted of it
    assert bench.own.leading_cta == C + 1
    assert issue(bench, A, 0) == expected((A, 1), (A, 2))
