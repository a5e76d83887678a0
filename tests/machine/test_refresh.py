"""Does a DRAM channel refresh its banks when they are due, and keep them as long as it takes?"""

import numpy as np
import pytest

from simtlab.errors import ConfigError
from simtlab.machine.config import load
from tests.machine.dram_log import GDDR5, MACHINES, Channel, check_counters, feed, outcome, random_traffic

REFRESH = {"t_refi": 400, "t_rfc": 50}
BEGUN = 400 + 12  # the first refresh is due after t_refi; the open row is closed first, t_rp


def test_without_refresh_a_row_stays_open():
    channel = Channel(GDDR5)
    channel.read(0)
    channel.run(0, 410)
    channel.read(410)
    assert channel.run(410, 500).at("RD") == [12, 410]


def test_a_read_just_before_a_refresh_finds_its_row_open():
    channel = Channel(GDDR5, **REFRESH)
    channel.read(0)
    channel.run(0, 399)
    channel.read(399)
    assert channel.run(399, 600).at("RD") == [12, 399]


def test_a_read_just_after_it_waits_until_the_bank_is_refreshed_and_opens_its_row_again():
    channel = Channel(GDDR5, **REFRESH)
    channel.read(0)
    channel.run(0, 400)
    channel.read(400)
    channel.run(400, 600)
    assert channel.at("ACT") == [0, BEGUN + 50]
    assert channel.at("RD") == [12, BEGUN + 50 + 12]


def test_a_closed_bank_needs_no_time_to_close():
    channel = Channel(GDDR5, **REFRESH)
    channel.run(0, 400)
    channel.read(400)
    assert channel.run(400, 600).at("ACT") == [450]


def test_a_row_stays_open_for_t_ras_before_a_refresh_closes_it():
    channel = Channel(GDDR5, **REFRESH)
    channel.run(0, 390)
    channel.read(390)
    channel.run(390, 401)
    channel.read(401)
    assert channel.run(401, 600).at("ACT") == [390, 390 + 28 + 12 + 50]


def test_banks_that_are_refreshed_one_by_one_have_their_turn_in_t_refi():
    """16 banks in 400 cycles: the first at 400, the second at 425. While one is refreshed the others work."""
    channel = Channel(GDDR5, **REFRESH, refresh_banks=1)
    channel.run(0, 425)
    channel.read(425, bank=0), channel.read(425, bank=1), channel.read(425, bank=2)
    channel.run(425, 600)
    assert channel.at("ACT", 2) == [425]
    assert channel.at("ACT", 0) == [450]
    assert channel.at("ACT", 1) == [475]


def test_a_request_in_the_middle_of_its_accesses_goes_on_behind_the_refresh():
    channel = Channel(GDDR5, **REFRESH)
    channel.run(0, 380)
    number = channel.read(380, n_bytes=8 * 64)
    channel.run(380, 600)
    assert len(channel.at("RD")) == 8
    assert channel.at("ACT") == [380, 380 + 28 + 12 + 50]  # t_ras, t_rp, t_rfc
    assert number in channel.done


@pytest.mark.parametrize("timing", MACHINES)
@pytest.mark.parametrize("banks", [0, 1])
def test_a_channel_that_sleeps_makes_up_for_what_it_missed(timing, banks):
    """Looked at in every cycle or only when it says so, it does the same."""
    from simtlab.machine.memory import dram

    changes = {"t_refi": 300, "t_rfc": 40, "refresh_banks": banks}
    each, some = (random_traffic(timing, 7, **changes) for _ in range(2))
    feed(*each, lambda cycle: cycle + 1)
    last = feed(*some, lambda cycle: dram.next_event(some[0].record, cycle + 1))
    assert outcome(each[0])[0] == outcome(some[0])[0]
    assert each[0].counter("refreshes") == some[0].counter("refreshes") > 0
    assert last > 300


def test_refresh_costs_the_share_of_time_that_it_takes():
    """Row hits back to back for 20,000 cycles: of 400 cycles 50 are for the refresh, before which rows are closed and after which
    they are opened again, 12 each, one bank after the other."""
    done = {}
    for t_refi in (0, 400):
        channel = Channel(GDDR5, t_refi=t_refi, t_rfc=50)
        channel.is_logging = False
        for cycle in range(20_000):
            if channel.record.queued < 8:
                channel.used %= 1000
                channel.done.pop(channel.used, None)
                channel.read(cycle, bank=cycle % 16)
            channel.tick(cycle)
            channel.take(cycle)
        done[t_refi] = channel.counter("reads")
    assert (50 + 12 + 12) / 400 < 1 - done[400] / done[0] < (50 + 12 + 12 + 16) / 400


def test_refreshes_that_leave_no_time_are_refused():
    with pytest.raises(ConfigError, match=r"dram\.t_rfc = 500 is impossible: .* dram\.t_refi \(400\)"):
        load("caps-gtx480").replace({"dram.t_refi": 400, "dram.t_rfc": 500})
    with pytest.raises(ConfigError, match=r"dram\.refresh_banks = 3 is impossible: .* divide dram\.banks"):
        load("caps-gtx480").replace({"dram.t_refi": 400, "dram.t_rfc": 50, "dram.refresh_banks": 3})


def test_channels_do_not_refresh_at_the_same_time():
    from simtlab.machine.build import build

    channels = build(load("caps-gtx480").replace({"dram.t_refi": 1200, "dram.t_rfc": 50})).channels
    assert np.diff(sorted(int(channel.next_refresh) for channel in channels)).tolist() == [200] * (len(channels) - 1)


@pytest.mark.parametrize(
    ("stacks", "times"),
    [(1, 6 * [1200]), (2, 3 * [600] + 3 * [1200]), (3, [400, 400, 800, 800, 1200, 1200]), (4, [300, 300, 600, 900, 900, 1200]),
     (6, [200, 400, 600, 800, 1000, 1200]), (8, [200, 400, 600, 800, 1000, 1200])],
)  # fmt: skip
def test_channels_of_a_stack_refresh_at_the_same_time(stacks, times):
    from simtlab.machine.build import build

    changes = {"dram.t_refi": 1200, "dram.t_rfc": 50, "dram.refresh_stacks": stacks}
    channels = build(load("caps-gtx480").replace(changes)).channels
    assert [int(channel.next_refresh) for channel in channels] == times


def test_what_is_counted_stays_consistent():
    channel, numbers, arrivals = random_traffic(GDDR5, 3, t_refi=5000, t_rfc=50)  # none is due
    feed(channel, numbers, arrivals, lambda cycle: cycle + 1)
    check_counters(channel)
