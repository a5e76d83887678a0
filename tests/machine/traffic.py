"""Traffic for the network tests: scripted senders, takers with a rhythm, and a log of who got what when."""

import os
import random
import subprocess
import sys
from types import ModuleType

from simtlab.machine.fifo import NOTHING
from simtlab.machine.request import new_requests

POOL = 8192


class Traffic:
    """One network, and every packet that goes through it."""

    def __init__(self, kind: ModuleType, network):
        self.kind, self.network = kind, network[0]
        self.requests = new_requests()[0]
        self.sent: list[tuple[int, int, int, int]] = []  # cycle, source, destination, flits; the place is the packet's number
        self.received: list[tuple[int, int, int]] = []  # cycle, destination, number

    def send(self, source, destination, flits, cycle) -> bool:
        number = len(self.sent)
        self.requests.entry[number].destination, self.requests.entry[number].flits = destination, flits
        accepted = self.kind.send(self.network, self.requests, number, source, cycle)
        if accepted:
            self.sent.append((cycle, source, destination, flits))
        return accepted

    def can_send(self, source, destination) -> bool:
        return self.kind.can_send(self.network, source, destination)

    def tick(self, cycle):
        self.kind.tick(self.network, cycle)

    def waiting(self, destination) -> int:
        return int(self.kind.receive(self.network, destination))

    def take(self, destination, cycle) -> bool:
        number = self.waiting(destination)
        if number == NOTHING:
            return False
        assert self.kind.take(self.network, destination) == number
        self.received.append((cycle, destination, number))
        return True

    def take_all(self, cycle):
        for destination in range(self.network.destinations):
            while self.take(destination, cycle):
                pass

    def next_event(self, cycle) -> int:
        return int(self.kind.next_event(self.network, cycle))

    def counter(self, name) -> int:
        return int(self.network.counters[name])

    def flood(self, pairs, flits, cycles):
        """Every source of the (source, destination) pairs sends whenever it can; every destination takes at once."""
        for cycle in range(cycles):
            self.tick(cycle)
            self.take_all(cycle)
            for source, destination in pairs:
                if self.can_send(source, destination):
                    self.send(source, destination, flits, cycle)

    def arrivals(self, destination) -> list[tuple[int, int]]:
        """The cycle and the source of every packet a destination has got."""
        return [(cycle, self.sent[number][1]) for cycle, there, number in self.received if there == destination]

    def flits_received(self, destination) -> int:
        return sum(self.sent[number][3] for _, there, number in self.received if there == destination)


def random_script(network, packets, mean_gap, seed):
    """For each source a list of (earliest cycle, destination, flits)."""
    dice = random.Random(seed)
    script: list[list[tuple[int, int, int]]] = []
    for _ in range(network[0].sources):
        cycle, lines = 0, []
        for _ in range(packets):
            cycle += dice.randrange(2 * mean_gap + 1)
            lines.append((cycle, dice.randrange(int(network[0].destinations)), dice.choice((1, 1, 2, 5, 9))))
        script.append(lines)
    return script


def play(traffic, script, rhythm, jump=False, watch=None):
    """Play a script to its end. Destination d takes one packet in cycles that are d modulo its rhythm.

    With `jump`, only the cycles with an event, a send, or a packet to take are visited.
    """
    ahead = [0] * len(script)
    cycle, total = 0, sum(map(len, script))
    while len(traffic.received) < total:
        assert cycle < 1_000_000, f"{total - len(traffic.received)} packets never arrive"
        if not jump or traffic.next_event(cycle) == cycle:
            traffic.tick(cycle)
        for destination in range(traffic.network.destinations):
            if cycle % rhythm[destination] == destination % rhythm[destination]:
                traffic.take(destination, cycle)
        for source, lines in enumerate(script):
            if ahead[source] < len(lines) and lines[ahead[source]][0] <= cycle:
                _, destination, flits = lines[ahead[source]]
                if traffic.can_send(source, destination):
                    assert traffic.send(source, destination, flits, cycle)
                    ahead[source] += 1
        if watch:
            watch(cycle)
        cycle = next_visit(traffic, script, ahead, cycle) if jump else cycle + 1
    return cycle


def next_visit(traffic, script, ahead, cycle):
    """The next cycle in which anything can happen."""
    visits = [traffic.next_event(cycle + 1)]
    for source, lines in enumerate(script):
        if ahead[source] < len(lines):
            start, destination, _ = lines[ahead[source]]
            if start > cycle or traffic.can_send(source, destination):
                visits.append(max(start, cycle + 1))
    return min(visits)


def assert_each_once_and_in_order(traffic):
    """Every packet sent was received once, where it was sent to, and in order for each source and destination."""
    assert sorted(number for _, _, number in traffic.received) == list(range(len(traffic.sent)))
    last: dict[tuple[int, int], int] = {}
    for _, destination, number in traffic.received:
        _, source, wanted, _ = traffic.sent[number]
        assert wanted == destination
        assert last.get((source, destination), -1) < number
        last[source, destination] = number


def uncompiled(expression: str) -> str:
    """What an expression over the tests' modules prints when nothing is compiled."""
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    modules = ", ".join(f"tests.machine.test_{name}" for name in ("crossbar", "half_routers", "mesh"))
    command = [sys.executable, "-c", f"import {modules}\nprint({expression})"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()
