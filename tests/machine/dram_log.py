"""Channels for the DRAM tests: the papers' timings, a log of every command, and drivers that feed requests."""

import numpy as np
import pytest

from simtlab.machine.fifo import NOTHING
from simtlab.machine.memory import dram
from simtlab.machine.request import Kind, new_requests

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
        self.requests = new_requests()[0]
        self.used = 0
        self.log = []
        self.is_logging = True
        self.done = {}

    def request(self, bank=0, row=0, kind=Kind.READ, n_bytes=None):
        number, self.used = self.used, self.used + 1
        request = self.requests.entry[number]
        request.bank, request.row, request.kind = bank, row, kind
        request.bytes = request.dram_bytes = n_bytes or self.timing["access_bytes"]
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


def outcome(channel):
    return channel.done, [channel.counter(name) for name, _, _ in dram.COUNTERS]


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
