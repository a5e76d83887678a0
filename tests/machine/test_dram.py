"""Does a DRAM channel obey its timing to the cycle, reorder as its scheduler says, push back, and count what it did?"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simtlab.errors import SimtlabError
from simtlab.machine.fifo import NOTHING
from simtlab.machine.memory import dram
from simtlab.machine.request import Kind, new_pool

GDDR5 = {  # CAPS Table III; what it leaves open from GPGPU-Sim's GTX 480 configuration
    "banks": 16, "bank_groups": 4, "t_ccd": 2, "t_ccdl": 3, "t_rrd": 6, "t_rcd": 12, "t_ras": 28, "t_rp": 12, "t_rc": 40,
    "t_cl": 12, "t_wl": 4, "t_cdlr": 5, "t_wr": 12, "t_rtpl": 2, "t_rtw": 0, "burst_cycles": 2, "access_bytes": 64,
    "queue_entries": 64, "return_entries": 116, "scheduler": "fr-fcfs",
}  # fmt: skip
GDDR3 = {  # DYNCTA Table I; t_ccd and t_wl chosen: a burst of 4 at double rate takes 2 cycles
    "banks": 4, "bank_groups": 1, "t_ccd": 2, "t_ccdl": 2, "t_rrd": 8, "t_rcd": 12, "t_ras": 25, "t_rp": 10, "t_rc": 35,
    "t_cl": 10, "t_wl": 4, "t_cdlr": 6, "t_wr": 11, "t_rtpl": 2, "t_rtw": 0, "burst_cycles": 2, "access_bytes": 16,
    "queue_entries": 128, "return_entries": 128, "scheduler": "fr-fcfs",
}  # fmt: skip
MACHINES = [pytest.param(GDDR5, id="gddr5"), pytest.param(GDDR3, id="gddr3")]


class Channel:
    """A channel with its requests, and a log of the commands it sent: (cycle, command, bank, row)."""

    def __init__(self, timing, **changes):
        self.timing = timing | changes
        self.record = dram.new_channels(1)[0]
        dram.configure(self.record, self.timing)
        _, self.requests = new_pool(4096)
        self.used = 0
        self.log = []
        self.is_logging = True
        self.done = {}

    def request(self, bank=0, row=0, kind=Kind.READ, n_bytes=None):
        number, self.used = self.used, self.used + 1
        request = self.requests[number]
        request.bank, request.row, request.kind = bank, row, kind
        request.bytes = n_bytes or self.timing["access_bytes"]
        return number

    def read(self, cycle, bank=0, row=0, **more):
        number = self.request(bank, row, **more)
        assert dram.offer(self.record, self.requests, number, cycle)
        return number

    def write(self, cycle, bank=0, row=0, **more):
        return self.read(cycle, bank, row, kind=Kind.WRITE, **more)

    def tick(self, cycle):
        """One cycle, with the command it sent (if any) put into the log."""
        if not self.is_logging:
            dram.tick(self.record, self.requests, cycle)
            return
        rows = self.record["banks"]["open_row"].copy()
        left = self.record["entries"]["accesses"].copy()
        dram.tick(self.record, self.requests, cycle)
        for bank in np.flatnonzero(self.record["banks"]["open_row"] != rows):
            row = int(self.record["banks"]["open_row"][bank])
            self.log.append((cycle, "PRE" if row == -1 else "ACT", int(bank), row))
        for position in np.flatnonzero(self.record["entries"]["accesses"] != left):
            entry = self.record["entries"][position]
            self.log.append((cycle, ("RD", "WR")[entry["direction"]], int(entry["bank"]), int(entry["row"])))

    def take(self, cycle):
        number = int(dram.finished(self.record, self.requests, cycle))
        if number != NOTHING:
            assert number not in self.done
            self.done[number] = cycle
        return number

    def run(self, first, last):
        for cycle in range(first, last):
            self.tick(cycle)
            self.take(cycle)
        return self

    def at(self, command, bank=None):
        return [cycle for cycle, sent, where, _ in self.log if sent == command and bank in (None, where)]

    def counter(self, name):
        return int(self.record[name])


# One bank


@pytest.mark.parametrize("timing", MACHINES)
def test_first_read_of_a_closed_bank_takes_activate_column_and_burst(timing):
    channel = Channel(timing)
    number = channel.read(0)
    ready = timing["t_rcd"] + timing["t_cl"] + timing["burst_cycles"]
    for cycle in range(ready):
        channel.tick(cycle)
        assert channel.take(cycle) == NOTHING
    assert channel.take(ready) == number
    assert channel.log == [(0, "ACT", 0, 0), (timing["t_rcd"], "RD", 0, 0)]


def test_that_is_cycle_26_on_gddr5_and_24_on_gddr3():
    for timing, cycle in ((GDDR5, 26), (GDDR3, 24)):
        channel = Channel(timing)
        number = channel.read(0)
        assert channel.run(0, 40).done == {number: cycle}


def test_a_row_hit_follows_after_t_ccd():
    channel = Channel(GDDR5, bank_groups=1, t_ccdl=0)
    first, second = channel.read(0), channel.read(0)
    channel.run(0, 60)
    assert channel.at("RD") == [12, 14]
    assert channel.done == {first: 26, second: 28}


def test_a_write_is_done_when_its_data_is_taken_in():
    channel = Channel(GDDR5)
    number = channel.write(0)
    assert channel.run(0, 40).done == {number: 12 + 4 + 2}


def test_a_row_conflict_on_an_old_row_pays_precharge_activate_and_column():
    channel = Channel(GDDR5)
    channel.read(0, row=1)
    channel.run(0, 100)
    number = channel.read(100, row=2)
    channel.run(100, 200)
    assert channel.log[-3:] == [(100, "PRE", 0, -1), (112, "ACT", 0, 2), (124, "RD", 0, 2)]
    assert channel.done[number] == 100 + 12 + 12 + 12 + 2


def test_a_row_stays_open_for_t_ras():
    channel = Channel(GDDR5)
    channel.read(0, row=1), channel.read(0, row=2)
    channel.run(0, 80)
    assert channel.at("PRE") == [28]


def test_activates_of_one_bank_are_t_rc_apart():
    channel = Channel(GDDR5, t_rc=45)
    channel.read(0, row=1), channel.read(0, row=2)
    channel.run(0, 80)
    assert channel.at("PRE") == [28]
    assert channel.at("ACT") == [0, 45]  # t_ras + t_rp would allow 40


def test_a_precharge_takes_t_rp():
    channel = Channel(GDDR5, t_rc=0)
    channel.read(0, row=1), channel.read(0, row=2)
    assert channel.run(0, 80).at("ACT") == [0, 28 + 12]


def test_a_row_read_late_stays_open_for_t_rtpl():
    for t_rtpl, closes in ((9, 49), (0, 42)):  # at least the burst
        channel = Channel(GDDR5, t_rtpl=t_rtpl)
        channel.read(0, row=1)
        channel.run(0, 40)
        channel.read(40, row=1), channel.read(40, row=2)
        channel.run(40, 100)
        assert channel.at("RD") == [12, 40, closes + 24]
        assert channel.at("PRE") == [closes]


def test_a_written_row_stays_open_for_t_wr_after_its_data():
    channel = Channel(GDDR5)
    channel.write(0, row=1), channel.write(0, row=2)
    channel.run(0, 80)
    assert channel.at("WR")[0] == 12
    assert channel.at("PRE") == [12 + 4 + 2 + 12]


def test_a_write_may_follow_its_activate_sooner_where_the_sheet_says_so():
    channel = Channel(GDDR5, t_rcdwr=7)
    channel.write(0)
    assert channel.run(0, 30).at("WR") == [7]


# Between banks


def test_activates_of_different_banks_are_t_rrd_apart():
    channel = Channel(GDDR5)
    for bank in range(4):
        channel.read(0, bank=bank)
    channel.run(0, 60)
    assert channel.at("ACT") == [0, 6, 13, 19]  # at 12 the first read has the command bus


@pytest.mark.parametrize(("bank", "gap"), [(1, 2), (4, 3)])
def test_t_ccdl_holds_within_a_bank_group_and_t_ccd_across(bank, gap):
    channel = Channel(GDDR5)  # bank 4 is in the group of bank 0
    channel.read(0, bank=0), channel.read(0, bank=bank)
    channel.run(0, 50)
    channel.read(50, bank=0), channel.read(50, bank=bank)
    channel.run(50, 80)
    assert channel.at("RD")[2:] == [50, 50 + gap]


def test_a_burst_longer_than_t_ccd_holds_the_bus():
    channel = Channel(GDDR5, burst_cycles=8, bank_groups=1, t_ccdl=0)
    channel.read(0), channel.read(0)
    assert channel.run(0, 60).at("RD") == [12, 20]


def test_a_read_waits_t_cdlr_after_write_data():
    channel = Channel(GDDR5)
    channel.read(0, bank=0), channel.read(0, bank=1)
    channel.run(0, 50)
    channel.write(50, bank=0)
    channel.tick(50)
    channel.read(51, bank=1)
    channel.run(51, 100)
    assert channel.at("WR") == [50]
    assert channel.at("RD", bank=1)[1:] == [50 + 4 + 2 + 5]


def test_a_write_waits_for_the_bus_after_a_read():
    for given, gap in ((0, 12 + 2 + 2 - 4), (10, 10), (30, 30)):
        channel = Channel(GDDR5, t_rtw=given)
        channel.read(0)
        channel.write(0)
        channel.run(0, 80)
        assert channel.at("RD") == [12]
        assert channel.at("WR") == [12 + gap]


# Requests of several accesses


def test_a_line_of_two_accesses_is_read_back_to_back():
    channel = Channel(GDDR5, bank_groups=1, t_ccdl=0)
    line, other = channel.read(0, n_bytes=128), channel.read(0)
    channel.run(0, 60)
    assert channel.at("RD") == [12, 14, 16]
    assert channel.done == {line: 14 + 12 + 2, other: 16 + 12 + 2}
    assert channel.counter("read_accesses") == 3
    assert channel.counter("reads") == 2


def test_another_bank_group_fills_the_gap_within_a_line():
    channel = Channel(GDDR5)
    channel.read(0, bank=0), channel.read(0, bank=1)
    channel.run(0, 50)
    channel.read(50, bank=0, n_bytes=128), channel.read(50, bank=1, n_bytes=128)
    channel.run(50, 80)
    assert [(cycle, bank) for cycle, _, bank, _ in channel.log[-4:]] == [(50, 0), (52, 1), (54, 0), (56, 1)]


def test_a_request_that_has_begun_goes_before_an_older_one():
    channel = Channel(GDDR5, bank_groups=1, t_ccdl=0)
    channel.read(0, bank=0)
    channel.run(0, 40)
    channel.read(40, bank=1)  # opens its row at 40, is ready at 52
    channel.run(40, 51)
    channel.read(51, bank=0, n_bytes=4 * 64)
    channel.run(51, 100)
    assert [(cycle, bank) for cycle, command, bank, _ in channel.log if command == "RD"][1:] == [
        (51, 0), (53, 0), (55, 0), (57, 0), (59, 1),
    ]  # fmt: skip


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


# Pushing back


def test_a_full_queue_refuses_until_a_request_leaves():
    channel = Channel(GDDR5, queue_entries=2)
    channel.read(0), channel.read(0)
    third = channel.request()
    for cycle in range(12):
        assert not dram.offer(channel.record, channel.requests, third, cycle)
        channel.tick(cycle)
    channel.tick(12)
    assert channel.at("RD") == [12]
    assert dram.offer(channel.record, channel.requests, third, 12)
    assert channel.counter("refusals") == 12


def test_a_full_return_queue_holds_back_reads():
    channel = Channel(GDDR5, return_entries=2, bank_groups=1, t_ccdl=0)
    numbers = [channel.read(0) for _ in range(3)]
    for cycle in range(100):
        channel.tick(cycle)
    assert channel.at("RD") == [12, 14]
    assert dram.next_event(channel.record, 100) == 100  # two wait to be taken
    assert channel.take(100) == numbers[0]
    channel.run(100, 140)
    assert channel.at("RD") == [12, 14, 100]
    assert channel.done[numbers[2]] == 100 + 12 + 2


def test_writes_go_on_while_the_return_queue_is_full():
    channel = Channel(GDDR5, return_entries=1)
    channel.read(0), channel.read(0), channel.write(0)
    for cycle in range(100):
        channel.tick(cycle)
    assert channel.at("RD") == [12]
    assert channel.at("WR") == [24]


def test_at_most_one_request_is_taken_a_call_in_order_of_completion():
    channel = Channel(GDDR5)
    numbers = [channel.read(0, bank=bank) for bank in (3, 2, 1)]
    for cycle in range(100):
        channel.tick(cycle)
    assert [channel.take(100) for _ in range(4)] == [*numbers, NOTHING]


def test_an_idle_channel_has_no_event():
    channel = Channel(GDDR5)
    assert dram.next_event(channel.record, 7) == dram.FAR_FUTURE
    channel.read(7)
    assert dram.next_event(channel.record, 7) == 7
    channel.tick(7)
    assert dram.next_event(channel.record, 8) == 7 + 12
    channel.tick(19)
    assert dram.next_event(channel.record, 20) == 7 + 12 + 12 + 2
    channel.take(33)
    assert dram.next_event(channel.record, 34) == dram.FAR_FUTURE


def test_one_command_goes_out_a_cycle_however_often_it_ticks():
    channel = Channel(GDDR5, t_rrd=0)
    channel.read(0, bank=0)
    channel.tick(0)
    channel.read(0, bank=1)
    channel.tick(0)
    assert channel.at("ACT") == [0]
    channel.tick(1)
    assert channel.at("ACT") == [0, 1]


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


def feed(channel, numbers, arrivals, next_cycle, take=lambda cycle: True):
    """Offer requests from their arrival on, run until all are done; `next_cycle` says which cycles are looked at."""
    record, requests = channel.record, channel.requests
    cycle, last, offered, taken = 0, 0, 0, 0
    while taken < len(numbers):
        assert cycle < 100_000
        while offered < len(numbers) and arrivals[offered] <= cycle and record.queued < record.queue_entries:
            assert dram.offer(record, requests, numbers[offered], cycle)
            offered += 1
        channel.tick(cycle)
        if take(cycle):
            taken += channel.take(cycle) != NOTHING
        last = cycle
        waits = offered < len(numbers) and record.queued < record.queue_entries
        cycle = min(next_cycle(cycle), max(arrivals[offered], cycle + 1) if waits else dram.FAR_FUTURE)
    dram.settle(record, last)
    return last


N_REQUESTS = 120


def random_traffic(timing, seed, **changes):
    """A channel and requests to few rows, a third of them writes, arriving in bursts, of one to four accesses."""
    chance = np.random.default_rng(seed)
    channel = Channel(timing, **changes)
    kinds = [Kind.READ, Kind.PREFETCH, Kind.WRITE_BACK] if seed else [Kind.READ]
    numbers = [
        channel.request(
            int(chance.integers(timing["banks"])), int(chance.integers(3)), kinds[chance.integers(len(kinds))],
            int(chance.integers(1, 5)) * timing["access_bytes"],
        )
        for _ in range(N_REQUESTS)
    ]  # fmt: skip
    gaps = chance.choice([0, 0, 0, 1, 3, 40], N_REQUESTS)
    return channel, numbers, np.cumsum(gaps)


VARIANTS = [
    {},
    {"scheduler": "fcfs"},
    {"queue_entries": 8, "return_entries": 2},
    {"age_limit_cycles": 50},
    {"write_high": 3, "write_low": 0, "queue_entries": 16, "age_limit_cycles": 120},
    {"scheduler": "fcfs", "queue_entries": 5, "return_entries": 1},
    {"t_rcdwr": 5, "t_rtw": 25, "t_rtpl": 9},
]


def outcome(channel):
    return channel.done, [channel.counter(name) for name, _, _ in dram.COUNTERS]


@pytest.mark.parametrize("timing", MACHINES)
@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("seed", range(2))
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


def check_counters(channel):
    count = channel.counter
    requests = count("reads") + count("writes")
    assert requests == len(channel.done) == N_REQUESTS
    assert count("row_hits") + count("row_misses") + count("row_conflicts") == requests
    for name, command in (("activates", "ACT"), ("precharges", "PRE"), ("read_accesses", "RD"), ("write_accesses", "WR")):
        assert count(name) == len(channel.at(command))
    assert count("bus_cycles") == channel.timing["burst_cycles"] * (count("read_accesses") + count("write_accesses"))
    assert count("wait_cycles") <= count("entry_cycles") <= count("latency_cycles")


def check_timing(log, t):
    """Every pair of commands against the table of constraints, independently of how the channel keeps track."""
    assert len({cycle for cycle, _, _, _ in log}) == len(log)
    group = t["banks"]["group"]
    to = {("ACT", "ACT"): t.t_rc, ("ACT", "PRE"): t.t_ras, ("ACT", "RD"): t.t_rcd, ("ACT", "WR"): t.t_rcdwr,
          ("PRE", "ACT"): t.t_rp, ("RD", "PRE"): max(t.t_rtpl, t.burst_cycles),
          ("WR", "PRE"): t.t_wl + t.burst_cycles + t.t_wr}  # fmt: skip
    bus = {("RD", "RD"): t.t_ccd, ("WR", "WR"): t.t_ccd, ("RD", "WR"): t.t_rtw,
           ("WR", "RD"): t.t_wl + t.burst_cycles + t.t_cdlr, ("ACT", "ACT"): t.t_rrd}  # fmt: skip
    open_rows = {}
    for index, (cycle, command, bank, row) in enumerate(log):
        for before, earlier, other, _ in log[max(0, index - 60) : index]:
            gap = cycle - before
            assert gap >= bus.get((earlier, command), 0)
            if other == bank:
                assert gap >= to.get((earlier, command), 0)
            if earlier in ("RD", "WR") and command in ("RD", "WR") and group[other] == group[bank]:
                assert gap >= t.t_ccdl
        if command in ("RD", "WR"):
            assert open_rows[bank] == row
        else:
            assert (command == "ACT") == (open_rows.get(bank, -1) == -1)
            open_rows[bank] = row


def small_case():
    """What a channel does with a little of everything; printed, to be compared with the uncompiled code's answer."""
    channel, numbers, arrivals = random_traffic(GDDR5, 5, queue_entries=12, return_entries=3, age_limit_cycles=80)
    last = feed(channel, numbers[:40], arrivals[:40], lambda cycle: cycle + 1)
    return f"{last} {channel.log} {outcome(channel)}"


def test_uncompiled_code_does_the_same():
    here = Path(__file__).resolve().parent
    script = f"import sys; sys.path.insert(0, {str(here)!r}); import test_dram; print(test_dram.small_case())"
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    answer = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == small_case()


# Counters and configuration


def test_counters_of_a_hit_a_miss_and_a_conflict():
    channel = Channel(GDDR5)
    channel.read(0, row=1), channel.read(0, row=1), channel.read(0, row=2)
    channel.run(0, 100)
    counters = {name: channel.counter(name) for name, _, _ in dram.COUNTERS}
    assert counters == {
        "reads": 3, "writes": 0, "read_accesses": 3, "write_accesses": 0, "activates": 2, "precharges": 1,
        "row_hits": 1, "row_misses": 1, "row_conflicts": 1, "turnarounds": 0, "bus_cycles": 6,
        "queued_cycles": 52, "entry_cycles": 12 + 15 + 52, "wait_cycles": 12 + 15 + 52,
        "latency_cycles": 12 + 15 + 52 + 3 * 14, "refusals": 0,
    }  # fmt: skip


def test_time_counters_can_be_brought_up_to_date():
    channel = Channel(GDDR5)
    channel.read(0), channel.read(0)
    dram.settle(channel.record, 5)
    assert (channel.counter("queued_cycles"), channel.counter("entry_cycles")) == (5, 10)


def test_every_counter_is_a_field_with_a_unit_and_a_sentence():
    for name, unit, sentence in dram.COUNTERS:
        assert name in dram.channel_t.names
        assert unit
        assert sentence.endswith(".")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"banks": 33}, "dram.banks = 33: must be 1 to 32"),
        ({"queue_entries": 0}, "dram.queue_entries = 0"),
        ({"scheduler": "lottery"}, "'fr-fcfs' or 'fcfs'"),
        ({"page_policy": "closed"}, "dram.page_policy = 'closed': must be 'open'"),
        ({"t_rtw": 5}, "dram.t_rtw = 5: must be 0 or at least 10"),
        ({"write_high": 4, "write_low": 4}, "dram.write_low = 4: must be under write_high, 4"),
        ({"t_rcd": -1}, "dram.t_rcd = -1"),
        ({"t_fly": 1}, "dram.t_fly: no such setting"),
    ],
)
def test_impossible_settings_are_refused_by_name(changes, message):
    with pytest.raises(SimtlabError, match=message.replace("(", r"\(")):
        Channel(GDDR5, **changes)


def test_a_missing_setting_is_named():
    with pytest.raises(SimtlabError, match=r"dram\.t_cl is missing"):
        dram.configure(dram.new_channels(1)[0], {key: value for key, value in GDDR5.items() if key != "t_cl"})


def test_configuring_again_empties_the_channel():
    channel = Channel(GDDR5)
    channel.read(0)
    channel.run(0, 20)
    dram.configure(channel.record, GDDR5)
    fresh = Channel(GDDR5)
    assert channel.record.tobytes() == fresh.record.tobytes()
