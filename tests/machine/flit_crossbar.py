"""The crossbar again, as plainly as possible: every flit is moved in its own cycle, and every cycle is looked at."""


class FlitCrossbar:
    """The same interface as the crossbar's test bench, with Python lists."""

    def __init__(self, settings):
        self.__dict__.update(settings)
        ports = range(self.sources)
        self.queue = [[[] for _ in range(self.virtual_channels)] for _ in ports]  # [destination, flits left, ready, number]
        self.room = [[self.buffer_flits] * self.virtual_channels for _ in ports]  # falls below zero by the interface's flits
        self.freed = []  # places free from the next cycle on
        self.injecting_until = [0] * self.sources
        self.vc_turn = [self.virtual_channels - 1] * self.sources
        self.input_turn = [self.sources - 1] * self.destinations
        self.owner = [None] * self.destinations
        self.grant = [0] * self.destinations  # flits that the present grant still allows
        self.credits = [self.ejection_flits] * self.destinations
        self.arriving = [[] for _ in range(self.destinations)]  # [cycle, number, flits]
        self.sent, self.received = [], []

    def can_send(self, source, destination):
        return self.room[source][destination % self.virtual_channels] > 0

    def send(self, source, destination, flits, cycle):
        start = max(cycle, self.injecting_until[source])
        self.injecting_until[source] = start + flits
        vc = destination % self.virtual_channels
        self.room[source][vc] -= flits
        ready = start + self.routing_delay_cycles
        self.queue[source][vc].append([destination, flits, ready, len(self.sent), flits])
        self.sent.append((cycle, source, destination, flits))
        return True

    def tick(self, cycle):
        self.cycle = cycle
        for source, vc in self.freed:
            self.room[source][vc] += 1
        self.freed = []
        for source in range(self.sources):
            for queue in self.queue[source]:
                if queue and queue[0][1] == 0:
                    self.owner[queue.pop(0)[0]] = None
        self.allocate(cycle)
        for destination in range(self.destinations):
            if self.grant[destination]:
                self.move_flit(destination, cycle)

    def switch_ports_in_use(self, source):
        return sum(owner == source and self.grant[output] > 0 for output, owner in enumerate(self.owner))

    def allocate(self, cycle):
        offers = {}
        for destination in range(self.destinations):
            if not self.grant[destination] and self.credits[destination]:
                source = self.choose(destination, cycle)
                if source is not None:
                    offers.setdefault(source, []).append(destination)
        for source, outputs in offers.items():
            last = self.vc_turn[source]
            outputs.sort(key=lambda output: (output % self.virtual_channels - last - 1) % self.virtual_channels)
            for destination in outputs[: self.input_speedup - self.switch_ports_in_use(source)]:
                packet = self.queue[source][destination % self.virtual_channels][0]
                if self.owner[destination] is None:
                    self.owner[destination] = self.input_turn[destination] = source
                self.grant[destination] = min(packet[1], self.credits[destination])
                self.credits[destination] -= self.grant[destination]
                self.vc_turn[source] = destination % self.virtual_channels

    def choose(self, destination, cycle):
        first = self.input_turn[destination] + 1
        for source in [(first + step) % self.sources for step in range(self.sources)]:
            queue = self.queue[source][destination % self.virtual_channels]
            if not queue or queue[0][0] != destination or queue[0][2] > cycle:
                continue
            if self.owner[destination] in (None, source) and self.switch_ports_in_use(source) < self.input_speedup:
                return source
        return None

    def move_flit(self, destination, cycle):
        source, vc = self.owner[destination], destination % self.virtual_channels
        packet = self.queue[source][vc][0]
        self.grant[destination] -= 1
        packet[1] -= 1
        self.freed.append((source, vc))
        if packet[1] == 0:
            self.arriving[destination].append((cycle + self.channel_latency_cycles, packet[3], packet[4]))

    def take(self, destination, cycle):
        if not self.arriving[destination] or self.arriving[destination][0][0] > cycle:
            return False
        _, number, flits = self.arriving[destination].pop(0)
        self.credits[destination] += flits
        self.received.append((cycle, destination, number))
        return True
