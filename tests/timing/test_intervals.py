"""Counters over time: intervals add up to the run, whatever their number."""

from types import SimpleNamespace

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.counters import part_t
from simtlab.machine.intervals import MOST, Intervals, next_end, note
from tests.timing.test_accounting import launch


def test_intervals_add_up_to_what_the_launches_counted():
    gpu = sl.Gpu("caps-gtx480")
    runs = [launch(gpu)[0] for _ in range(3)]
    table = gpu.machine.intervals()
    assert len(table["cycle"]) > 3
    assert table["cycle"][-1] == gpu.machine.records.gpu[0].cycle
    assert np.all(np.diff(table["cycle"][:-1]) == 4096)
    for name in ("instructions", "l1_misses", "core_memory_cycles", "dram_reads"):
        assert table[name].sum() == sum(run.counters[name] for run in runs)
        assert np.all(table[name] >= 0)
    assert table["stall_issued"].sum() == sum(run.stalls["issued"] for run in runs)


def test_an_interval_in_which_all_cores_slept_has_its_stalls():
    """A lone pointer chase: every interval accounts for all its scheduler cycles."""
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 2})
    order = gpu.array(np.zeros(1 << 18, "u8"))
    order[...] = order.address + 8 * ((np.arange(1 << 18, dtype="u8") + 40961) % (1 << 18))
    source = 'extern "C" __global__ void chase(void **p) { for (int k = 0; k < 64; k++) p = (void **)*p; *p = p; }'
    gpu.compile(source)["chase"](1, 1, [order])
    table = gpu.machine.intervals()
    stalls = sum(values for name, values in table.items() if name.startswith("stall_"))
    assert stalls.tolist() == (np.diff(table["cycle"], prepend=0) * 2).tolist()


def test_too_many_intervals_become_half_as_many_of_twice_the_length():
    counter = np.zeros(1, "i8")
    tally = SimpleNamespace(names=["counter"], read=lambda: counter)
    parts = np.array([(0, counter.ctypes.data, 8, 1)], part_t)
    intervals = Intervals(tally)
    ledger = intervals.ledger[0]
    for k in range(1, 2 * MOST + 1):
        counter[0] = k * k
        note(ledger, parts, k * 4096)
    assert ledger["length"] == 8192
    assert next_end(ledger) == (MOST + 1) * 8192
    counter[0] = (2 * MOST + 1) ** 2
    ends, gains = intervals.table(next_end(ledger) - 1)
    assert ends.tolist() == [8192 * k for k in range(1, MOST + 1)] + [(MOST + 1) * 8192 - 1]
    assert gains[:2, 0].tolist() == [4, 12]
    assert gains.sum() == (2 * MOST + 1) ** 2


def test_intervals_are_as_long_as_asked_for():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    gpu.machine.interval_cycles = 50
    launch(gpu)
    table = gpu.machine.intervals()
    assert set(np.diff(table["cycle"][:-1])) == {gpu.machine.interval_cycles}
    assert gpu.machine.interval_cycles % 50 == 0
    with pytest.raises(sl.SimtlabError, match="set it before that"):
        gpu.machine.interval_cycles = 100


@pytest.mark.parametrize("cycles", [0, -1, 2.5])
def test_an_interval_has_a_whole_number_of_cycles(cycles):
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    with pytest.raises(sl.SimtlabError, match="whole number of core cycles"):
        gpu.machine.interval_cycles = cycles
