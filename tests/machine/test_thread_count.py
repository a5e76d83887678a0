"""How many host threads are at work, by what epochs with so many of them take."""

import time
from itertools import pairwise

import pytest

import simtlab as sl
from simtlab.machine.record import new_records
from simtlab.machine.thread_count import FEWEST_UNITS, begin, count_cycle, judge, nanoseconds, size_t
from tests.timing import mixed


def sizes(took: dict[int, int], epochs: int) -> list[int]:
    """The threads at work in each of some epochs, which take as long as is said for their number."""
    size = new_records(1, size_t)
    begin(size[0], max(took))
    found = []
    for _ in range(epochs):
        found.append(int(size[0].workers))
        judge(size[0], took[found[-1]])
    return found


@pytest.mark.parametrize(
    ("took", "best"),
    [
        ({1: 100, 2: 60, 4: 40, 8: 30, 16: 20}, 16),
        ({1: 100, 2: 60, 4: 40, 8: 35, 16: 50}, 8),
        ({1: 100, 2: 120, 4: 160, 8: 200, 16: 300}, 1),
        ({1: 100, 2: 60, 3: 55, 4: 48, 6: 46}, 4),  # six are faster, but not by enough
    ],
)
def test_the_fastest_number_is_found_and_kept(took, best):
    found = sizes(took, 400)[20:]
    assert found.count(best) > 0.9 * len(found)


def test_what_is_no_faster_is_tried_ever_less_often():
    trials = [k for k, workers in enumerate(sizes({1: 100, 2: 100}, 1000)) if workers == 1]
    apart = [later - earlier for earlier, later in pairwise(trials)]
    assert trials[0] < 5
    assert apart == sorted(apart)
    assert apart[-1] > 60


def test_a_number_that_becomes_the_fastest_later_is_found_then():
    size = new_records(1, size_t)
    begin(size[0], 4)
    for _ in range(100):
        judge(size[0], {1: 50, 2: 100, 4: 200}[int(size[0].workers)])
    assert size[0].usual == 1
    for _ in range(300):
        judge(size[0], {1: 200, 2: 100, 4: 50}[int(size[0].workers)])
    assert size[0].usual == 4


def test_an_epoch_is_as_many_cycles_where_cores_run_ahead_and_only_some_of_them_are_looked_at():
    """Of a loop that runs 64 cycles ahead one cycle in 64 is looked at. Its host threads were counted for the first time after
    9,000 cycles, so that short kernels never had more than two."""
    ends = []
    for stride in (1, 64):
        size = new_records(1, size_t)
        begin(size[0], 16)
        cycles = range(0, 20_000, stride)
        judged = []
        for cycle in cycles:
            wait = int(size[0].wait)
            count_cycle(size[0], cycle, FEWEST_UNITS // 2)
            if int(size[0].wait) != wait or int(size[0].workers) != 2:
                judged.append(cycle)
        ends.append(judged[0])
    assert ends[0] < 300
    assert ends[1] < 600


def test_the_hosts_clock_is_read():
    size = new_records(1, size_t)
    begin(size[0], 2)
    first = int(nanoseconds(size[0]))
    time.sleep(0.01)
    assert 0.01 < (int(nanoseconds(size[0])) - first) / 1e9 < 5


def test_a_run_tries_other_numbers_and_counts_the_same():
    found = []
    for threads in (1, 4):
        gpu = sl.Gpu("caps-gtx480", threads=threads, memory_bytes=1 << 24)
        gpu.machine._crew["least"], gpu.machine._crew["at_work"]["epoch"] = 0, 4
        run, written = mixed.launch(gpu, 12)
        found.append((run.cycles, run.counters, run.stalls, written))
    assert found[0] == found[1]
    assert int(gpu.machine._crew["at_work"]["patience"][0]) > 2  # it has tried
