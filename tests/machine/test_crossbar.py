"""Is the crossbar's timing right, and does it carry every packet exactly once?"""

import numpy as np
import pytest

from simtlab.errors import SimtlabError
from simtlab.machine.fifo import NOTHING
from simtlab.machine.network import crossbar
from simtlab.machine.network.packet import COUNTERS, FAR_FUTURE, MAX_PORTS, flits_for
from tests.machine.flit_crossbar import FlitCrossbar
from tests.machine.traffic import Traffic, assert_each_once_and_in_order, play, random_script, uncompiled

SETTINGS = {"sources": 4, "destinations": 4, "flit_bytes": 16, "virtual_channels": 4, "buffer_flits": 4, "ejection_flits": 32,
            "routing_delay_cycles": 2, "channel_latency_cycles": 2, "input_speedup": 2}  # fmt: skip


def traffic(**changes):
    return Traffic(crossbar, crossbar.new_crossbar({**SETTINGS, **changes}))


def received_at(bench, destination, cycles):
    """The cycles at which packets can first be received."""
    seen = []
    for cycle in cycles:
        bench.tick(cycle)
        if bench.take(destination, cycle):
            seen.append(cycle)
    return seen


@pytest.mark.parametrize(("routing", "channel"), [(1, 1), (2, 2), (3, 7)])
@pytest.mark.parametrize("flits", [1, 2, 9])
def test_an_unloaded_packet_takes_routing_and_channel_and_a_cycle_for_each_further_flit(flits, routing, channel):
    bench = traffic(routing_delay_cycles=routing, channel_latency_cycles=channel)
    bench.tick(10)
    assert bench.send(1, 3, flits, 10)
    assert received_at(bench, 3, range(11, 60)) == [10 + routing + channel + flits - 1]
    assert bench.counter("latency_cycles") == routing + channel + flits - 1
    assert bench.counter("queueing_cycles") == 0


def test_a_packet_has_its_header_and_its_data_in_flits_of_16_bytes():
    assert flits_for(np.array([0, 8, 9, 32, 128]), header_bytes=8, flit_bytes=16).tolist() == [1, 1, 2, 3, 9]


def test_two_inputs_alternate_at_one_output_and_share_it_exactly():
    bench = traffic()
    bench.flood([(0, 2), (1, 2)], flits=3, cycles=300)
    arrivals = bench.arrivals(2)
    assert [source for _, source in arrivals[:6]] == [0, 1, 0, 1, 0, 1]
    assert [cycle for cycle, _ in arrivals] == list(range(6, 300, 3))  # first at 2 + 2 + 3 - 1, then every 3 cycles
    assert abs(sum(source for _, source in arrivals) * 2 - len(arrivals)) <= 1


def test_four_inputs_are_served_in_turn():
    bench = traffic()
    bench.flood([(source, 0) for source in range(4)], flits=2, cycles=100)
    assert [source for _, source in bench.arrivals(0)[:12]] == [0, 1, 2, 3] * 3


@pytest.mark.parametrize("flits", [1, 4, 5, 9])
def test_permutation_traffic_fills_every_output(flits):
    bench = traffic(sources=8, destinations=8)
    bench.flood([(source, (source + 3) % 8) for source in range(8)], flits, 500)
    first = 2 + 2 + flits - 1
    for destination in range(8):
        assert [cycle for cycle, _ in bench.arrivals(destination)] == list(range(first, 500, flits))


@pytest.mark.parametrize("flits", [1, 5])
def test_uniform_random_traffic_fills_most_of_the_outputs(flits):
    bench = traffic(sources=12, destinations=12)
    dice = np.random.default_rng(flits)
    wanted = dice.integers(0, 12, 12)
    for cycle in range(600):
        bench.tick(cycle)
        bench.take_all(cycle)
        for source in range(12):
            if bench.can_send(source, wanted[source]):
                bench.send(source, wanted[source], flits, cycle)
                wanted[source] = dice.integers(12)
    share = sum(bench.flits_received(destination) for destination in range(12)) / (12 * 600)
    assert 0.7 < share < 0.9  # more than the 0.59 of one queue at each input, less than the sources can send


def test_one_source_feeds_two_outputs_at_once_with_input_speedup_2():
    wide = {"injection_flits": 2}
    for speedup, each in ((2, 200), (1, 100)):
        bench = traffic(input_speedup=speedup, **wide)
        bench.flood([(0, 0), (0, 1)], flits=4, cycles=204)
        assert abs(bench.flits_received(0) - each) <= 8
        assert abs(bench.flits_received(1) - each) <= 8


def test_a_source_cannot_send_more_than_its_channel_brings():
    bench = traffic(input_speedup=2)
    bench.flood([(0, 0), (0, 1)], flits=4, cycles=203)
    assert bench.flits_received(0) + bench.flits_received(1) == 196  # one flit a cycle; complete packets of 4, from cycle 7 on


@pytest.mark.parametrize(("channels", "at"), [(1, None), (2, 103 + 4)])
def test_a_blocked_packet_holds_up_those_behind_it_on_the_same_virtual_channel_only(channels, at):
    bench = traffic(virtual_channels=channels, ejection_flits=9)
    for cycle in range(100):  # destination 0 takes nothing: nine flits fill it
        bench.tick(cycle)
        if cycle < 12:
            bench.send(0, 0, 1, cycle)
    assert bench.network.output[0].ejection.held == 9
    bench.tick(103)
    assert bench.send(0, 1, 1, 103)
    assert received_at(bench, 1, range(104, 150)) == ([at] if at else [])


def test_a_destination_that_takes_nothing_stops_its_senders():
    bench = traffic(ejection_flits=16)
    for cycle in range(200):
        bench.tick(cycle)
        for source in range(4):
            bench.send(source, 1, 5, cycle)
    assert bench.network.output[1].ejection.held == 16  # three packets of five, and the first flit of the fourth
    assert not any(bench.can_send(source, 1) for source in range(4))
    assert bench.next_event(200) == FAR_FUTURE
    accepted = len(bench.sent)
    refused = bench.counter("refused")
    assert refused == 4 * 200 - accepted
    for cycle in range(200, 400):
        bench.take_all(cycle)
        bench.tick(cycle)
    assert_each_once_and_in_order(bench)
    assert bench.counter("blocked_cycles") > 150


def test_room_is_used_in_the_tick_after_a_packet_is_taken():
    bench = traffic(ejection_flits=9)
    bench.send(0, 0, 9, 0)
    bench.send(1, 0, 1, 0)
    assert received_at(bench, 0, range(1, 12)) == []
    bench.tick(12)  # 0 + 2 + 2 + 9 - 1
    assert bench.take(0, 12)
    for cycle in range(13, 15):
        bench.tick(cycle)
        assert bench.waiting(0) == NOTHING
    bench.tick(15)  # crossed at 13, and two cycles of channel
    assert bench.waiting(0) == 1


def test_a_virtual_channel_has_room_again_in_the_cycle_after_a_flit_has_left():
    bench = traffic()
    bench.send(0, 0, 5, 0)  # crosses in cycles 2 to 6
    bench.tick(0)
    assert not bench.can_send(0, 0)
    for cycle in (1, 2, 3):
        bench.tick(cycle)
        assert not bench.can_send(0, 0), cycle
    bench.tick(4)
    assert bench.can_send(0, 0)  # two of the five have left: three of four places are taken


def test_a_full_buffer_holds_one_packet_more_while_the_first_has_crossed_and_not_left():
    bench = traffic(buffer_flits=64)
    for _ in range(63):
        assert bench.send(0, 0, 1, 0)
    for cycle in range(3):
        bench.tick(cycle)  # the first crosses in cycle 2
    assert bench.send(0, 0, 1, 3)
    assert bench.send(0, 0, 1, 3)
    for cycle in range(3, 100):
        bench.tick(cycle)
        bench.take_all(cycle)
    assert [number for _, _, number in bench.received] == list(range(65))


@pytest.mark.parametrize("seed", range(6))
def test_every_packet_arrives_once_and_in_order_and_credits_never_exceed_buffers(seed):
    network = crossbar.new_crossbar({**SETTINGS, "sources": 7, "destinations": 6, "virtual_channels": 1 + seed % 4,
                                     "ejection_flits": 9 + 7 * seed, "input_speedup": 1 + seed % 3})  # fmt: skip
    bench = Traffic(crossbar, network)

    def watch(cycle):
        held = network[0]["output"]["ejection"]["held"]
        assert (held >= 0).all()
        assert (held <= network[0].ejection_flits).all()
        assert (network[0]["input"]["channel"]["flits"] >= 0).all()
        assert (network[0]["input"]["channel"]["flits"] <= network[0].buffer_flits - 1 + 9).all()
        assert (network[0]["input"]["switching"] <= network[0].input_speedup).all()

    play(bench, random_script(network, 30, mean_gap=4, seed=seed), rhythm=[1, 1, 2, 3, 11, 40], watch=watch)
    assert_each_once_and_in_order(bench)
    assert all(bench.counter(name) > 0 for name, _, _ in COUNTERS if name != "refused")
    assert bench.counter("packets") == bench.counter("delivered") == 7 * 30
    assert bench.counter("flits") == bench.counter("flit_hops") == sum(flits for *_, flits in bench.sent)
    per_destination = [bench.flits_received(destination) for destination in range(6)]
    assert list(network[0]["output"]["flits"][:6]) == per_destination
    assert bench.next_event(10**6) == FAR_FUTURE
    assert (network[0]["output"]["ejection"]["held"] == 0).all()
    assert (network[0]["input"]["channel"]["flits"] == 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_grants_move_packets_exactly_as_single_flits_would_move(seed):
    settings = {**SETTINGS, "sources": 5, "destinations": 6, "virtual_channels": 1 + seed % 4,
                "ejection_flits": (9, 13, 40)[seed % 3], "buffer_flits": (1, 4, 3, 8)[seed // 2],
                "input_speedup": 1 + seed % 2, "injection_flits": 1}  # fmt: skip
    network = crossbar.new_crossbar(settings)
    fast, plain = Traffic(crossbar, network), FlitCrossbar(settings)
    plain.network = fast.network
    script = random_script(network, 80, mean_gap=(1, 6)[seed // 4], seed=seed)
    for bench in (fast, plain):
        play(bench, script, rhythm=[1, 1, 2, 3, 7, 20])
    assert fast.sent == plain.sent
    assert fast.received == plain.received


@pytest.mark.parametrize("seed", range(6))
def test_ticking_only_at_events_changes_nothing(seed):
    benches = []
    for jump in (False, True):
        network = crossbar.new_crossbar({**SETTINGS, "sources": 6, "destinations": 5, "ejection_flits": 9 + 8 * seed})
        bench = Traffic(crossbar, network)
        play(bench, random_script(network, 30, mean_gap=3 + 20 * (seed % 3), seed=seed), rhythm=[1] * 5, jump=jump)
        benches.append(bench)
    every, some = benches
    assert every.sent == some.sent
    assert every.received == some.received
    assert every.network.counters.tolist() == some.network.counters.tolist()


def test_an_empty_crossbar_has_no_event_and_a_packet_has_one_where_it_is_routed_and_one_where_it_arrives():
    bench = traffic()
    assert bench.next_event(5) == FAR_FUTURE
    bench.send(0, 0, 1, 5)
    assert bench.next_event(6) == 7  # routed
    bench.tick(7)
    assert bench.next_event(8) == 8  # its output is free again
    bench.tick(8)
    assert bench.next_event(9) == 9  # complete: 5 + 2 + 2
    bench.tick(9)
    assert bench.waiting(0) == 0
    assert bench.next_event(10) == FAR_FUTURE


def test_a_second_complete_packet_is_news_for_the_cycle_after_the_first_is_taken():
    bench = traffic()
    bench.send(0, 0, 1, 0)
    bench.send(1, 0, 1, 0)
    for cycle in range(1, 21):
        bench.tick(cycle)
    assert bench.next_event(21) == FAR_FUTURE  # both are there; nobody takes them
    assert bench.take(0, 20)
    assert bench.next_event(21) == 21
    bench.tick(21)
    assert bench.take(0, 21)
    assert bench.next_event(22) == FAR_FUTURE


def test_all_ports_of_the_largest_crossbar_work():
    bench = traffic(sources=MAX_PORTS, destinations=MAX_PORTS)
    for source in range(MAX_PORTS):
        bench.send(source, MAX_PORTS - 1 - source, 2, 0)
    for cycle in range(1, 6):
        bench.tick(cycle)
        bench.take_all(cycle)
    assert [cycle for cycle, _, _ in bench.received] == [5] * MAX_PORTS
    assert_each_once_and_in_order(bench)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sources": 161}, "sources = 161; allowed: 1 to 160"),
        ({"virtual_channels": 5}, "virtual_channels = 5; allowed: 1 to 4"),
        ({"ejection_flits": 8}, "ejection_flits = 8; the largest packet has 9 flits"),
        ({"routing_delay_cycles": 0}, "routing_delay_cycles = 0; allowed: 1 to 64"),
        ({"destinations": None}, "destinations = None; allowed: 1 to 160"),
    ],
)
def test_an_impossible_setting_is_named(changes, message):
    with pytest.raises(SimtlabError, match=message):
        crossbar.new_crossbar({**SETTINGS, **changes})


def small_case():
    network = crossbar.new_crossbar({**SETTINGS, "ejection_flits": 10})
    bench = Traffic(crossbar, network)
    play(bench, random_script(network, 8, mean_gap=3, seed=1), rhythm=[1, 2, 3, 9])
    return bench.received, network[0].counters.tolist()


def test_the_uncompiled_crossbar_does_the_same():
    assert uncompiled("tests.machine.test_crossbar.small_case()") == str(small_case())
