"""Does a DRAM channel obey its timing to the cycle, push back, count what it did, and refuse impossible settings?"""

import pytest

from simtlab.errors import SimtlabError
from simtlab.machine.fifo import NOTHING
from simtlab.machine.memory import dram
from simtlab.machine.memory.dram_channel import MOST_CYCLES
from tests.machine.dram_log import GDDR3, GDDR5, MACHINES, Channel

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
        "latency_cycles": 12 + 15 + 52 + 3 * 14, "refreshes": 0, "refusals": 0,
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
        ({"t_rp": 32769}, "dram.t_rp = 32769: must be 0 to 32768 cycles"),
        ({"burst_cycles": 40000}, "dram.burst_cycles = 40000: must be 1 to 32768"),
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


def test_the_longest_timings_do_not_look_like_never():
    channel = Channel(GDDR5, t_wl=MOST_CYCLES, t_cdlr=MOST_CYCLES, burst_cycles=MOST_CYCLES)
    channel.write(0, bank=0)
    cycle = 0
    while channel.record.writes == 0:
        dram.tick(channel.record, channel.requests, cycle)
        cycle += 1
    channel.read(cycle, bank=1)
    while channel.record.reads == 0:
        cycle = int(dram.next_event(channel.record, cycle + 1))
        assert cycle < 10 * MOST_CYCLES
        dram.tick(channel.record, channel.requests, cycle)
        dram.finished(channel.record, channel.requests, cycle)
