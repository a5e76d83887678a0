"""Is the mesh's timing right, does it route by dimension order, and does it carry every packet exactly once?"""

import numpy as np
import pytest

from simtlab.errors import SimtlabError
from simtlab.machine.fifo import NOTHING
from simtlab.machine.network import mesh
from simtlab.machine.network.packet import COUNTERS, FAR_FUTURE
from simtlab.machine.network.router import MAX_LINKS, Direction
from tests.machine.traffic import Traffic, assert_each_once_and_in_order, play, random_script, uncompiled

SETTINGS = {"width": 4, "height": 4, "flit_bytes": 16, "virtual_channels": 4, "buffer_flits": 4, "ejection_flits": 32,
            "routing_delay_cycles": 2, "channel_latency_cycles": 2, "input_speedup": 2}  # fmt: skip


def traffic(sources, destinations, **changes):
    """Traffic over a mesh with sources and destinations at these routers."""
    ports = {"sources": len(sources), "destinations": len(destinations)}
    nodes = {"node_of_source": sources, "node_of_destination": destinations}
    return Traffic(mesh, mesh.new_mesh({**SETTINGS, **ports, **nodes, **changes}))


def received_at(bench, destination, cycles):
    seen = []
    for cycle in cycles:
        bench.tick(cycle)
        if bench.take(destination, cycle):
            seen.append(cycle)
    return seen


def links_used(bench):
    """Router and direction of every link that has carried a flit."""
    used = np.flatnonzero(bench.network["output"]["flits"][:MAX_LINKS])
    return {(int(link) // 4, Direction(int(link) % 4)) for link in used}


@pytest.mark.parametrize(("source", "destination", "hops"), [(5, 5, 0), (5, 6, 1), (0, 15, 6), (15, 0, 6), (8, 2, 4)])
@pytest.mark.parametrize("flits", [1, 4])
def test_each_router_and_link_on_the_way_takes_its_cycles(source, destination, hops, flits):
    bench = traffic([source], [destination])
    bench.tick(10)
    assert bench.send(0, 0, flits, 10)
    assert received_at(bench, 0, range(11, 80)) == [10 + (hops + 1) * (2 + 2) + flits - 1]
    assert bench.counter("queueing_cycles") == 0
    assert bench.counter("flit_hops") == (hops + 1) * flits


def test_a_packet_longer_than_the_buffers_keeps_its_pace_if_they_cover_the_credit_loop():
    bench = traffic([0], [3], buffer_flits=5)
    bench.send(0, 0, 9, 0)
    assert received_at(bench, 0, range(1, 80)) == [4 * 4 + 8]


def test_packets_go_along_the_row_first_and_then_along_the_column():
    bench = traffic([0], [14])
    bench.send(0, 0, 1, 0)
    received_at(bench, 0, range(1, 40))
    assert links_used(bench) == {(0, Direction.EAST), (1, Direction.EAST), (2, Direction.SOUTH), (6, Direction.SOUTH),
                                 (10, Direction.SOUTH)}  # fmt: skip
    back = traffic([14], [0])
    back.send(0, 0, 1, 0)
    received_at(back, 0, range(1, 40))
    assert links_used(back) == {(14, Direction.WEST), (13, Direction.WEST), (12, Direction.NORTH), (8, Direction.NORTH),
                                (4, Direction.NORTH)}  # fmt: skip


@pytest.mark.parametrize("flits", [1, 3, 9])
def test_a_link_carries_one_flit_a_cycle(flits):
    bench = traffic([0], [1], buffer_flits=8)
    bench.flood([(0, 0)], flits, 300)
    assert [cycle for cycle, _ in bench.arrivals(0)] == list(range(8 + flits - 1, 300, flits))


def test_four_buffers_and_a_credit_loop_of_five_cycles_give_four_flits_in_five_cycles():
    bench = traffic([0], [1], buffer_flits=4)
    bench.flood([(0, 0)], 1, 508)
    assert bench.flits_received(0) == 400


def test_virtual_channels_share_a_link_flit_by_flit():
    bench = traffic([0, 0], [1, 1], buffer_flits=8)
    bench.flood([(0, 0), (1, 1)], 4, 400)
    assert abs(bench.flits_received(0) - bench.flits_received(1)) <= 4
    assert 385 <= bench.flits_received(0) + bench.flits_received(1) <= 392


def test_two_sources_get_equal_shares_of_one_destination():
    bench = traffic([0, 2], [1])
    bench.flood([(0, 0), (1, 0)], 3, 309)
    arrivals = bench.arrivals(0)
    assert [source for _, source in arrivals[:6]] in ([0, 1] * 3, [1, 0] * 3)
    assert abs(2 * sum(source for _, source in arrivals) - len(arrivals)) <= 1
    assert 98 <= len(arrivals) <= 100


def test_sources_at_one_router_take_turns():
    bench = traffic([5, 5, 5], [5])
    bench.flood([(source, 0) for source in range(3)], 2, 66)
    assert [source for _, source in bench.arrivals(0)[:9]] == [0, 1, 2] * 3
    assert [cycle for cycle, _ in bench.arrivals(0)] == list(range(5, 66, 2))


def test_a_destination_that_takes_nothing_stops_its_senders_and_no_others():
    bench = traffic([0, 4], [3, 7], ejection_flits=9)
    for cycle in range(200):
        bench.tick(cycle)
        bench.take(1, cycle)
        bench.send(0, 0, 5, cycle)
        bench.send(1, 1, 5, cycle)
    assert bench.network.ejection[0].held == 9
    assert not bench.can_send(0, 0)
    assert len(bench.arrivals(1)) > 25
    for cycle in range(200, 400):
        bench.tick(cycle)
        bench.take_all(cycle)
    assert_each_once_and_in_order(bench)
    assert bench.counter("blocked_cycles") > 100
    assert bench.counter("refused") > 100


def check_credits(network):
    credits, held = network["output"]["credits"][:MAX_LINKS], network["ejection"]["held"]
    assert (credits >= 0).all()
    assert (credits + network["input"]["lane"]["count"][:MAX_LINKS] == network["buffer_flits"]).all()
    assert (held >= 0).all()
    assert (held <= network["ejection_flits"]).all()


@pytest.mark.parametrize(("width", "height", "channels"), [(3, 3, 1), (4, 2, 2), (1, 5, 4), (4, 4, 3)])
def test_all_to_all_traffic_with_slow_takers_never_deadlocks_and_loses_nothing(width, height, channels):
    nodes = list(range(width * height))
    bench = traffic(nodes, nodes, width=width, height=height, virtual_channels=channels, ejection_flits=9, buffer_flits=2)
    script = random_script([bench.network], 40, mean_gap=2, seed=width)
    play(bench, script, rhythm=[1 + node % 5 for node in nodes], watch=lambda cycle: check_credits(bench.network))
    assert_each_once_and_in_order(bench)
    assert bench.counter("packets") == bench.counter("delivered") == 40 * len(nodes)
    assert all(bench.counter(name) > 0 for name, _, _ in COUNTERS if name != "refused")
    assert bench.next_event(10**6) == FAR_FUTURE
    assert (bench.network["input"]["lane"]["count"] == 0).all()
    assert (bench.network["output"]["owner"] == NOTHING).all()


@pytest.mark.parametrize("size", [8, 11])
def test_the_larger_systems_of_dyncta_carry_many_to_few_traffic(size):
    cores, controllers = list(range(size * (size - 1))), list(range(size * (size - 1), size * size))
    bench = traffic(cores, controllers, width=size, height=size)
    play(bench, random_script([bench.network], 4, mean_gap=20, seed=size), rhythm=[1] * size)
    assert_each_once_and_in_order(bench)


@pytest.mark.parametrize("seed", range(4))
def test_ticking_only_at_events_changes_nothing(seed):
    benches = []
    for jump in (False, True):
        bench = traffic([0, 1, 5, 5, 15], [3, 12, 6, 6], ejection_flits=9 + 8 * seed, virtual_channels=1 + seed)
        play(bench, random_script([bench.network], 50, mean_gap=3 + 30 * (seed % 2), seed=seed), rhythm=[1] * 4, jump=jump)
        benches.append(bench)
    every, some = benches
    assert every.sent == some.sent
    assert every.received == some.received
    assert every.network.counters.tolist() == some.network.counters.tolist()


def test_an_empty_mesh_has_no_event():
    bench = traffic([0], [15])
    assert bench.next_event(5) == FAR_FUTURE
    bench.send(0, 0, 1, 5)
    assert bench.next_event(6) == 7


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 12, "height": 12}, "width x height = 12 x 12; allowed: 1 to 128"),
        ({"node_of_source": [16]}, r"node_of_source = \[16\]; allowed: a router from 0 to 15 for each of 1"),
        ({"node_of_destination": [1, 2]}, r"node_of_destination = \[1, 2\]"),
    ],
)
def test_an_impossible_setting_is_named(changes, message):
    with pytest.raises(SimtlabError, match=message):
        traffic([0], [1], **changes)


def test_a_router_has_eleven_sources_at_most():
    assert traffic([3] * 11, [0]).can_send(10, 0)
    with pytest.raises(SimtlabError, match="node_of_source puts more than 11 sources at router 3"):
        traffic([3] * 12, [0])


def small_case():
    bench = traffic([0, 5, 10], [3, 12], ejection_flits=9)
    play(bench, random_script([bench.network], 6, mean_gap=3, seed=1), rhythm=[1, 5])
    return bench.received, bench.network.counters.tolist()


def test_the_uncompiled_mesh_does_the_same():
    assert uncompiled("tests.machine.test_mesh.small_case()") == str(small_case())
