"""The prefetchers CAPS is compared with: what each asks for, and where each stays silent, told its loads one by one."""

import pytest

from tests.papers.bench import LINE, A, B, Bench, C, Prefetch

STRIDE = 0x400


class TestIntra:
    """Stride from iteration to iteration of one warp."""

    def test_two_equal_strides_predict_the_next_iteration_of_every_access(self):
        bench = Bench("intra")
        assert bench.load(A, 1, 0x1000, 0x9000) == []
        assert bench.load(A, 1, 0x1400, 0x9400) == []
        assert bench.load(A, 1, 0x1800, 0x9800) == [Prefetch(A, 1, 0x1C00), Prefetch(A, 1, 0x9C00)]

    def test_warps_and_loads_are_told_apart(self):
        bench = Bench("intra")
        for k in range(2):
            for warp in (0, 1):
                for pc in (3, 4):
                    assert bench.load(A, warp, 0x10000 * warp + 0x1000 * pc + k * STRIDE, pc=pc) == []
        assert bench.load(A, 1, 0x10000 + 0x3000 + 2 * STRIDE, pc=3) == [Prefetch(A, 1, 0x13000 + 3 * STRIDE)]

    def test_without_a_loop_it_is_silent(self):
        bench = Bench("intra")
        assert not any(bench.load(cta, warp, 0x1000 * warp) for cta in (A, B, C) for warp in (0, 1, 2))

    def test_irregular_addresses_and_a_repeated_one_leave_it_silent(self):
        bench = Bench("intra")
        assert not any(bench.load(A, 0, place) for place in (0, 0x400, 0x1000, 0x1200, 0x1200, 0x1200))

    def test_degree_fetches_further_iterations(self):
        bench = Bench("intra", degree=2)
        bench.load(A, 0, 0), bench.load(A, 0, STRIDE)
        assert bench.load(A, 0, 2 * STRIDE) == [Prefetch(A, 0, 3 * STRIDE), Prefetch(A, 0, 4 * STRIDE)]

    def test_a_new_cta_begins_anew(self):
        bench = Bench("intra")
        bench.load(A, 0, 0), bench.load(A, 0, STRIDE)
        bench.move_in(A, 3)
        assert bench.load(A, 0, 2 * STRIDE) == []


class TestInter:
    """Stride from warp to warp, whatever their CTA."""

    def test_two_equal_strides_predict_the_next_warps(self):
        bench = Bench("inter", (8,), degree=2)
        assert bench.load(A, 0, 0x1000) == []
        assert bench.load(A, 1, 0x1000 + STRIDE) == []
        assert bench.load(A, 2, 0x1000 + 2 * STRIDE) == [Prefetch(A, k, 0x1000 + k * STRIDE) for k in (3, 4)]

    def test_it_goes_on_into_the_next_cta_where_the_addresses_are_others(self):
        bench = Bench("inter", (16, 3), degree=2)
        for warp in (12, 13):
            bench.load(A, warp, warp * STRIDE)
        assert bench.load(A, 14, 14 * STRIDE) == [Prefetch(A, 15, 15 * STRIDE), Prefetch(B, 0, 16 * STRIDE)]

    def test_the_stride_is_by_the_distance_of_the_warps(self):
        bench = Bench("inter", (8,), degree=1)
        bench.load(A, 0, 0), bench.load(A, 2, 2 * STRIDE)
        assert bench.load(A, 5, 5 * STRIDE) == [Prefetch(A, 6, 6 * STRIDE)]

    def test_the_last_warp_slot_has_none_after_it(self):
        bench = Bench("inter", (3, 3, 16), degree=4)
        for warp in (13, 14):
            bench.load(C, warp, warp * STRIDE)
        assert bench.load(C, 15, 15 * STRIDE) == []

    def test_a_warp_in_a_loop_and_irregular_warps_leave_it_silent(self):
        bench = Bench("inter")
        assert not any(bench.load(A, 0, k * STRIDE) for k in range(6))
        bench = Bench("inter", (8,))
        assert not any(bench.load(A, warp, place) for warp, place in enumerate((0, 0x400, 0x1000, 0x1200, 0x9000, 0x9100)))


class TestMta:
    """A warp's own stride first, else the stride between warps; throttled."""

    def test_a_warps_own_stride_is_seen_three_times_before_it_counts(self):
        bench = Bench("mta", throttle=0)
        asked = [bench.load(A, 0, k * STRIDE) for k in range(5)]
        assert asked == [[], [], [], [Prefetch(A, 0, 4 * STRIDE)], [Prefetch(A, 0, 5 * STRIDE)]]

    def test_else_the_stride_between_warps(self):
        bench = Bench("mta", (8,), throttle=0)
        asked = [bench.load(A, warp, warp * STRIDE) for warp in range(5)]
        assert asked == [[], [], [], [Prefetch(A, 4, 4 * STRIDE)], [Prefetch(A, 5, 5 * STRIDE)]]

    def test_a_warps_own_stride_goes_before_that_between_warps(self):
        bench = Bench("mta", (8,), throttle=0)
        for step in range(3):
            for warp in range(4):
                bench.load(A, warp, step * 0x100000 + warp * STRIDE)
        assert bench.load(A, 0, 3 * 0x100000) == [Prefetch(A, 0, 4 * 0x100000)]

    def test_a_stride_that_three_warps_share_is_known_to_all(self):
        bench = Bench("mta", (8,), throttle=0)
        for warp in range(3):
            for step in range(4):
                bench.load(A, warp, warp * 0x5700000 + step * STRIDE)
        assert bench.load(A, 7, 0x123400) == [Prefetch(A, 7, (0x123400 + STRIDE) // LINE * LINE)]

    def test_irregular_addresses_leave_it_silent(self):
        bench = Bench("mta", throttle=0)
        places = (0, 0x400, 0x1000, 0x1200, 0x9000, 0x9100)
        assert not any(bench.load(A, k % 3, place) for k, place in enumerate(places))

    @pytest.mark.parametrize("degree", range(6))
    def test_the_throttle_drops_that_many_of_five(self, degree):
        bench = Bench("mta", throttle=degree)
        for k in range(3):
            bench.load(A, 0, k * STRIDE)
        assert sum(len(bench.load(A, 0, k * STRIDE)) for k in range(3, 23)) == 20 - 4 * degree

    @pytest.mark.parametrize(
        ("evicted", "merged", "after"),
        [(5, 0, 5), (3, 0, 3), (0, 0, 3), (0, 40, 1)],
        ids=["many early evictions stop it", "some make it shy", "few merges make it shy", "merges without evictions make it bold"],
    )
    def test_the_throttle_follows_early_evictions_and_merges(self, evicted, merged, after):
        bench = Bench("mta", period=10)
        core = bench.core
        bench.load(A, 0, 0)
        core.prefetch_used, core.l1d.unused_evicted = 100, evicted  # half of it counts: the average with nothing before
        core.accesses, core.l1_hits_reserved = 100, merged
        for k in range(1, 11):
            bench.load(A, 0, k * STRIDE)
        assert bench.own.throttle == after


class TestNextLine:
    def test_a_miss_fetches_the_line_after_it(self):
        assert Bench("next-line").miss(B, 1, 0x1234) == [Prefetch(B, 1, 0x1280)]

    def test_a_load_that_does_not_miss_fetches_nothing(self):
        assert Bench("next-line").load(B, 1, 0x1234) == []


class TestLap:
    """Macro blocks of four lines."""

    def test_the_second_miss_of_a_block_fetches_the_other_two_lines(self):
        bench = Bench("lap")
        assert bench.miss(A, 0, 0x1080) == []
        assert bench.miss(B, 1, 0x1180) == [Prefetch(B, 1, 0x1000), Prefetch(B, 1, 0x1100)]

    def test_after_that_it_begins_anew(self):
        bench = Bench("lap")
        bench.miss(A, 0, 0x1080), bench.miss(A, 0, 0x1180)
        assert bench.miss(A, 0, 0x1000) == []

    def test_the_same_line_twice_and_lines_of_different_blocks_leave_it_silent(self):
        bench = Bench("lap")
        assert not any(bench.miss(A, 0, place) for place in (0x1000, 0x1000, 0x1200, 0x1400, 0x1600))

    def test_a_block_not_seen_for_long_is_forgotten(self):
        bench = Bench("lap")
        bench.miss(A, 0, 0x1000)
        for block in range(1, 65):
            bench.miss(A, 0, 0x1000 + block * 4 * LINE)
        assert bench.miss(A, 0, 0x1080) == []
