"""Does a mesh with half-routers turn packets at full routers only, never deadlock, and carry many-to-few traffic as well?"""

from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from simtlab.errors import SimtlabError
from simtlab.machine.build import mesh_crosspoints
from simtlab.machine.config import load
from simtlab.machine.fifo import NOTHING
from simtlab.machine.network.checkerboard import crosspoints, half_routers
from simtlab.machine.network.router import MAX_LINKS, Direction
from tests.everyday import every
from tests.machine.test_mesh import check_credits, received_at, traffic
from tests.machine.traffic import assert_each_once_and_in_order, play, random_script, uncompiled

HALVED = {"half_routers": True}
ROWS = (Direction.EAST, Direction.WEST)
CYCLES = 1000  # of traffic that fills the mesh
SHAPES = [(1, 6), (2, 5), (3, 3), (4, 4), (5, 4), (8, 8)]


def ends(width, height):
    """Routers of sources and of destinations: all to the half-routers, as requests go, and back, as replies go."""
    everywhere, halves = list(range(width * height)), half_routers(width, height)
    return [(everywhere, halves), (halves, everywhere)]


def lanes_of_packet(bench, source, destination, start):
    """The link and the virtual channel of each step of a lone packet, and the cycle in which it arrives."""
    lanes, cycle = [], start
    assert bench.send(source, destination, 1, cycle)
    while bench.waiting(destination) == NOTHING:
        cycle = bench.next_event(cycle + 1)
        bench.tick(cycle)
        lanes += [(int(port), int(vc)) for port, vc in np.argwhere(bench.network["input"]["lane"]["count"][:MAX_LINKS])
                  if (port, vc) not in lanes[-1:]]  # fmt: skip
    bench.take(destination, cycle)
    return lanes, cycle


@cache
def all_ways(width, height):
    """Of every pair that may talk: its routers, the lanes between them, and how long a packet took."""
    found = []
    for sources, destinations in ends(width, height):
        bench, cycle = traffic(sources, destinations, width=width, height=height, **HALVED), 0
        for source, start in enumerate(sources):
            for destination, end in enumerate(destinations):
                lanes, arrived = lanes_of_packet(bench, source, destination, cycle)
                found.append((start, end, lanes, arrived - cycle))
                cycle = arrived + 10
        assert bench.counter("queueing_cycles") == 0
    return found


@pytest.mark.parametrize(("width", "height"), every(3, SHAPES))
def test_every_way_is_a_shortest_one_and_turns_at_full_routers_only(width, height):
    halves = set(half_routers(width, height))
    turns = set()
    for start, end, lanes, cycles in all_ways(width, height):
        links = abs(start % width - end % width) + abs(start // width - end // width)
        assert len(lanes) == links
        assert cycles == (links + 1) * (2 + 2)
        for (before, _), (after, _) in pairwise(lanes):
            if (before % 4 in ROWS) != (after % 4 in ROWS):
                turns.add(after // 4)
    assert not turns & halves
    assert turns or width == 1


@pytest.mark.parametrize(("width", "height"), every(3, SHAPES))
def test_no_cycle_of_lanes_waits_for_itself_and_one_would_if_xy_and_yx_shared_them(width, height):
    apart: dict[tuple[int, int], set[tuple[int, int]]] = {}
    shared: dict[int, set[int]] = {}
    for _, _, lanes, _ in all_ways(width, height):
        for before, after in pairwise(lanes):
            apart.setdefault(before, set()).add(after)
            shared.setdefault(before[0], set()).add(after[0])
    TopologicalSorter(apart).prepare()
    if width > 3:
        with pytest.raises(CycleError):
            TopologicalSorter(shared).prepare()


def test_a_packet_goes_xy_if_it_can_else_yx_else_by_a_row_between():
    """4 x 4: full routers are 0, 2, 5, 7, 8, 10, 13, 15."""

    def directions(start, end):
        lanes, _ = lanes_of_packet(traffic([start], [end], virtual_channels=2, **HALVED), 0, 0, 0)
        return [(Direction(link % 4).name[0], vc) for link, vc in lanes]

    assert directions(0, 6) == [("E", 0), ("E", 0), ("S", 0)]  # by 2
    assert directions(0, 9) == [("S", 1), ("S", 1), ("E", 1)]  # by 8, as 1 is half
    assert directions(1, 11) == [("S", 1), ("E", 1), ("E", 1), ("S", 0)]  # by 5 and 7, as 3 and 9 are half
    assert directions(1, 3) == [("E", 0), ("E", 0)]
    assert directions(1, 9) == [("S", 0), ("S", 0)]


def test_two_phase_packets_use_every_row_between():
    bench = traffic([1], [51, 53, 55], width=8, height=8, **HALVED)
    by = [lanes_of_packet(bench, 0, destination, 100 * destination)[0] for destination in range(3)]
    assert {link // 4 // 8 for lanes in by for link, _ in lanes if link % 4 in ROWS} == {1, 3, 5}


@pytest.mark.parametrize(("start", "end"), [(0, 3), (3, 0), (1, 13), (12, 0), (7, 4)])
def test_a_straight_way_takes_as_long_as_with_full_routers(start, end):
    cycles = []
    for changes in ({}, HALVED):
        bench = traffic([start], [end], **changes)
        bench.send(0, 0, 4, 0)
        cycles.append(received_at(bench, 0, range(1, 60)))
    assert cycles[0] == cycles[1] == [(3 + 1) * (2 + 2) + 4 - 1]


@pytest.mark.parametrize(("width", "height", "channels"), every(3, [(4, 4, 2), (5, 5, 2), (5, 4, 3), (2, 6, 4)]))
@pytest.mark.parametrize("direction", [0, 1])
def test_random_traffic_with_slow_takers_never_deadlocks_and_loses_nothing(width, height, channels, direction):
    sources, destinations = ends(width, height)[direction]
    bench = traffic(sources, destinations, width=width, height=height, virtual_channels=channels, ejection_flits=9,
                    buffer_flits=1, **HALVED)  # fmt: skip
    script = random_script([bench.network], 40, mean_gap=2, seed=width)
    play(bench, script, [1 + place % 5 for place in range(len(destinations))], watch=lambda cycle: check_credits(bench.network))
    assert_each_once_and_in_order(bench)
    assert bench.counter("packets") == bench.counter("delivered") == 40 * len(sources)
    assert (bench.network["input"]["lane"]["count"] == 0).all()
    assert (bench.network["output"]["owner"] == NOTHING).all()


@pytest.mark.parametrize("seed", range(3))
def test_ticking_only_at_events_changes_nothing(seed):
    benches = []
    for jump in (False, True):
        bench = traffic(*ends(4, 4)[seed % 2], ejection_flits=9 + 8 * seed, virtual_channels=2 + seed, **HALVED)
        rhythm = [1] * bench.network.destinations
        play(bench, random_script([bench.network], 30, mean_gap=3 + 30 * (seed % 2), seed=seed), rhythm, jump=jump)
        benches.append(bench)
    every, some = benches
    assert every.received == some.received
    assert every.network.counters.tolist() == some.network.counters.tolist()


def test_a_half_router_has_no_crosspoints_between_rows_and_columns():
    """3 x 3, a source at each router and destinations at two. A full router in the middle has 4 links that take from 3 others;
    a half-router at a border has 3, of which two take from each other."""
    settings = {"width": 3, "height": 3, "node_of_source": list(range(9)), "node_of_destination": [1, 7]}
    links, ejection = 24, 2 * (3 + 1)
    assert crosspoints(settings) == 12 + 4 * 6 + 4 * 2 + links + ejection
    assert crosspoints(settings | HALVED) == 12 + 4 * 2 + 4 * 2 + links + ejection


@pytest.mark.parametrize(
    ("sources", "destinations", "changes", "message"),
    [
        ([0], [1], {"virtual_channels": 1}, "virtual_channels = 1; with half_routers XY and YX packets need one each"),
        ([0], [5], {}, "no way leads from router 0 to router 5: both are full, an odd number of rows and of columns apart"),
    ],
)
def test_an_impossible_mesh_is_named(sources, destinations, changes, message):
    with pytest.raises(SimtlabError, match=message):
        traffic(sources, destinations, **changes, **HALVED)


def many_to_few(halved, replies):
    """Flits a cycle that an 8 x 8 mesh carries between 56 cores and 8 memory nodes, when all send as fast as they can."""
    memory = [8 * row + (5 if row % 2 == 0 else 4) for row in range(8)]
    cores = [router for router in range(64) if router not in memory]
    near, far = (memory, cores) if replies else (cores, memory)
    bench = traffic(near, far, width=8, height=8, half_routers=halved)
    dice = np.random.default_rng(1)
    wanted = dice.integers(len(far), size=(len(near), CYCLES)).tolist()
    sent = [0] * len(near)
    for cycle in range(CYCLES):
        bench.tick(cycle)
        bench.take_all(cycle)
        for source, destinations in enumerate(wanted):
            if bench.can_send(source, destinations[sent[source]]):
                sent[source] += bench.send(source, destinations[sent[source]], 5 if replies else 1, cycle)
    return sum(flits for _, _, _, flits in bench.sent) / CYCLES


@pytest.mark.slow  # tests/timing/test_parts.py has whole machines stream through both
@pytest.mark.parametrize("replies", [False, True])
def test_half_routers_carry_many_to_few_traffic_as_well_as_full_ones(replies):
    full, halved = (many_to_few(flag, replies) for flag in (False, True))
    assert 0.95 * full < halved < 1.15 * full


def small_case():
    bench = traffic(*ends(4, 4)[1], virtual_channels=2, ejection_flits=9, **HALVED)
    play(bench, random_script([bench.network], 3, mean_gap=3, seed=1), rhythm=[1] * 16)
    return bench.received, bench.network.counters.tolist()


def test_the_uncompiled_mesh_does_the_same():
    assert uncompiled("tests.machine.test_half_routers.small_case()") == str(small_case())


def test_the_page_has_the_crosspoints_that_half_routers_save():
    placed = load("dyncta-56core").replace({"network.slice_placement": "checkerboard"})
    full, halved = (mesh_crosspoints(placed.replace({"network.half_routers": flag})) for flag in (False, True))
    page = (Path(__file__).parents[2] / "docs" / "machine.md").read_text()
    assert f"{full:,} crosspoints to {halved:,}" in " ".join(page.split())
