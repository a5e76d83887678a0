"""Does a DRAM channel serve requests in the order its scheduler promises, fill its bus, and lose nothing when time jumps?"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simtlab.machine.memory import dram
from simtlab.machine.request import Kind
from tests.machine.dram_log import (
    GDDR5,
    MACHINES,
    Channel,
    check_counters,
    check_timing,
    feed,
    outcome,
    random_traffic,
)

# Scheduling


def order_of_rows(scheduler, **changes):
    channel = Channel(GDDR5, scheduler=scheduler, **changes)
    for row in (1, 2, 1, 2, 1):
        channel.read(0, row=row)
    channel.run(0, 400)
    return [row for _, command, _, row in channel.log if command == "RD"], channel


def test_fr_fcfs_serves_the_row_hits_first():
    rows, channel = order_of_rows("fr-fcfs")
    assert rows == [1, 1, 1, 2, 2]
    assert channel.counter("activates") == 2


def test_fcfs_keeps_the_order_of_arrival():
    rows, channel = order_of_rows("fcfs")
    assert rows == [1, 2, 1, 2, 1]
    assert channel.counter("activates") == 5


def test_fcfs_reads_and_writes_in_order_and_opens_banks_ahead():
    channel = Channel(GDDR5, scheduler="fcfs")
    numbers = [channel.write(0, bank=0), channel.read(0, bank=1), channel.write(0, bank=1), channel.read(0, bank=0)]
    channel.run(0, 200)
    assert list(channel.done) == numbers
    assert [command for _, command, _, _ in channel.log] == ["ACT", "ACT", "WR", "RD", "WR", "RD"]


def test_among_row_hits_the_oldest_goes_first():
    channel = Channel(GDDR5)
    for bank in (2, 1, 3):
        channel.read(0, bank=bank)
    channel.run(0, 60)
    for bank in (3, 1, 2):
        channel.read(60, bank=bank)
    channel.run(60, 80)
    assert [bank for _, _, bank, _ in channel.log[-3:]] == [3, 1, 2]


def test_a_row_hit_that_arrives_before_the_precharge_keeps_the_row_open():
    channel = Channel(GDDR5)
    channel.read(0, row=1), channel.read(0, row=2)
    channel.run(0, 27)
    channel.read(27, row=1)
    channel.run(27, 80)
    assert channel.at("RD") == [12, 27, 29 + 12 + 12]
    assert channel.at("PRE") == [29]  # t_ras allowed 28


def among_row_hits(age_limit, kind):
    """When a request to a closed bank or another row is served while row hits keep coming in until cycle 501."""
    channel = Channel(GDDR5, age_limit_cycles=age_limit)
    channel.read(0, row=1)
    channel.tick(0)
    victim = channel.read(1, row=2, kind=kind)
    for cycle in range(1, 600):
        if cycle % 3 == 0 and cycle <= 501:
            channel.read(cycle, row=1)
        channel.tick(cycle)
        channel.take(cycle)
    return channel, channel.done[victim]


@pytest.mark.parametrize("kind", [Kind.READ, Kind.WRITE])
def test_row_hits_starve_a_conflict_without_an_age_limit(kind):
    _, served = among_row_hits(0, kind)
    assert served > 501


def test_an_age_limit_ends_starvation_of_a_read():
    channel, served = among_row_hits(101, Kind.READ)
    closed = channel.at("PRE")[0]
    assert 102 <= closed <= 103  # overdue at 102; a hit read just before holds the row for its burst
    assert served == closed + 12 + 12 + 12 + 2


def test_an_age_limit_ends_starvation_of_a_write():
    channel, served = among_row_hits(101, Kind.WRITE)
    closed = channel.at("PRE")[0]
    assert 102 <= closed <= 103
    assert served == closed + 12 + 12 + 4 + 2


# Reads and writes apart


def test_writes_gather_until_the_high_watermark_and_drain_to_the_low():
    channel = Channel(GDDR5, write_high=4, write_low=1, bank_groups=1, t_ccdl=0)
    for bank in (0, 1):
        channel.read(0, bank=bank)
    channel.run(0, 40)
    for _ in range(3):
        channel.write(40, bank=1)
    for _ in range(20):
        channel.read(40, bank=0)
    channel.run(40, 60)
    assert channel.at("WR") == []
    channel.write(60, bank=1)
    channel.run(60, 200)
    assert channel.at("WR")[:3] == [58 + 12, 58 + 14, 58 + 16]  # t_rtw after the last read, then down to one
    reads_after = [cycle for cycle in channel.at("RD") if cycle > 74]
    assert reads_after[0] == 74 + 4 + 2 + 5
    assert channel.at("WR")[3] > reads_after[-1]
    assert channel.counter("turnarounds") == 3


def test_write_watermarks_default_to_half_and_a_quarter_of_the_queue():
    channel = Channel(GDDR5, queue_entries=16)
    assert (channel.counter("write_high"), channel.counter("write_low")) == (8, 4)


@pytest.mark.parametrize("kind", list(Kind))
def test_only_writes_and_write_backs_write(kind):
    channel = Channel(GDDR5)
    number = channel.read(0, kind=kind)
    channel.run(0, 40)
    writes = kind in (Kind.WRITE, Kind.WRITE_BACK)
    assert (channel.counter("writes"), channel.counter("reads")) == (writes, not writes)
    assert channel.done == {number: 18 if writes else 26}


# Whole streams


@pytest.mark.parametrize("timing", MACHINES)
def test_streaming_over_the_rows_of_all_banks_fills_the_data_bus(timing):
    channel = Channel(timing)
    channel.is_logging = False
    lines = 2048 // 128
    stream = [channel.request(index // lines % timing["banks"], index // lines // timing["banks"], n_bytes=128)
              for index in range(700)]  # fmt: skip
    cycles = feed(channel, stream, range(len(stream)), lambda cycle: cycle + 1)
    accesses = 700 * -(-128 // timing["access_bytes"])
    assert channel.counter("bus_cycles") == accesses * timing["burst_cycles"]
    assert channel.counter("bus_cycles") >= 0.9 * cycles
    assert channel.counter("row_hits") == 700 - channel.counter("activates")


VARIANTS = [
    {},
    {"scheduler": "fcfs"},
    {"queue_entries": 8, "return_entries": 2},
    {"age_limit_cycles": 50},
    {"write_high": 3, "write_low": 0, "queue_entries": 16, "age_limit_cycles": 120},
    {"scheduler": "fcfs", "queue_entries": 5, "return_entries": 1},
    {"t_rcdwr": 5, "t_rtw": 25, "t_rtpl": 9},
    {"age_limit_cycles": 60, "queue_entries": 16, "return_entries": 2},
]


@pytest.mark.parametrize("timing", MACHINES)
@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_ticking_only_at_events_changes_nothing(timing, changes, seed):
    def sometimes(cycle):
        return (cycle // 40 + seed) % 4 != 0  # whoever takes the data out is busy a quarter of the time

    def never_sleeps(cycle):
        thorough.record.wake = min(int(thorough.record.wake), cycle + 1)  # looks for a command in every cycle
        return cycle + 1

    thorough, numbers, arrivals = random_traffic(timing, seed, **changes)
    last = feed(thorough, numbers, arrivals, never_sleeps, sometimes)
    stepped, numbers, arrivals = random_traffic(timing, seed, **changes)
    stepped.is_logging = False
    feed(stepped, numbers, arrivals, lambda cycle: cycle + 1, sometimes)
    jumping, numbers, arrivals = random_traffic(timing, seed, **changes)
    looked = []

    def jump(cycle):
        looked.append(cycle)
        return int(dram.next_event(jumping.record, cycle + 1))

    feed(jumping, numbers, arrivals, jump, sometimes)
    assert outcome(stepped) == outcome(thorough)
    assert outcome(jumping) == outcome(thorough)
    assert jumping.log == thorough.log
    assert len(looked) < last
    check_counters(thorough)
    check_timing(thorough.log, thorough.record)


def small_case():
    """What a channel does with a little of everything; printed, to be compared with the uncompiled code's answer."""
    channel, numbers, arrivals = random_traffic(GDDR5, 5, queue_entries=12, return_entries=3, age_limit_cycles=80)
    last = feed(channel, numbers[:40], arrivals[:40], lambda cycle: cycle + 1)
    return f"{last} {channel.log} {outcome(channel)}"


def test_uncompiled_code_does_the_same():
    root = Path(__file__).resolve().parents[2]
    script = "from tests.machine.test_dram_scheduler import small_case; print(small_case())"
    answer = subprocess.run(
        [sys.executable, "-c", script], cwd=root, env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert answer.stdout.strip() == small_case()


# Command buses of rows and of columns


@pytest.mark.parametrize(("buses", "activates"), [(1, [0, 14]), (2, [0, 12])])
def test_a_row_is_opened_while_another_bank_is_read_where_rows_have_a_bus_of_their_own(buses, activates):
    """Bank 0 is read in cycles 12 and 13; a request for bank 1 comes in cycle 12."""
    channel = Channel(GDDR5, command_buses=buses, burst_cycles=1, t_ccd=1, t_ccdl=1, t_rrd=1)
    channel.read(0), channel.read(0)
    channel.run(0, 12)
    channel.read(12, bank=1)
    channel.run(12, 80)
    assert channel.at("RD", bank=0) == [12, 13]
    assert channel.at("ACT") == activates


def test_two_buses_carry_no_two_commands_of_a_kind_in_a_cycle():
    channel = Channel(GDDR5, command_buses=2, t_rrd=1)
    for bank in range(8):
        channel.read(0, bank=bank)
    channel.run(0, 200)
    assert channel.at("ACT") == list(range(8))
    assert len(set(channel.at("RD"))) == 8


def test_random_traffic_over_two_buses_is_served_and_counted():
    channel, numbers, arrivals = random_traffic(GDDR5, 5, command_buses=2)
    feed(channel, numbers, arrivals, lambda cycle: cycle + 1)
    check_counters(channel)
