"""However machine code's dependences are kept and its registers read, it leaves the same memory; and looking changes no cycle."""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.watch import Watch
from tests.timing import mixed

CUT = {"core.cores": 4, "dram.channels": 2, "l2.slices": 2}
WAYS = {
    "control bits": {},
    "control bits, collectors": {"register_file.reading": "collectors"},
    "two loops": {"core.detail": 2},
    "one loop": {"core.detail": 1},
    "scoreboard": {"issue.dependences": "scoreboard"},
    "scoreboard, collectors": {"issue.dependences": "scoreboard", "register_file.reading": "collectors"},
}


@cache
def functional(name: str) -> dict[str, bytes]:
    return written(sl.Gpu(isa="sm_90", threads=1), name)


def written(device: sl.Gpu, name: str) -> dict[str, bytes]:
    outputs = sl.workload(name, size="tiny").run(device).outputs
    return {key: np.asarray(array).tobytes() for key, array in outputs.items()}


@pytest.mark.parametrize("name", ["BFS", "HST", "MM"])
@pytest.mark.parametrize("way", WAYS)
def test_a_workload_leaves_the_memory_of_a_functional_run(way, name):
    assert written(sl.Gpu("h200", set=CUT | WAYS[way], max_cycles=5_000_000), name) == functional(name)


@pytest.mark.parametrize("way", WAYS)
def test_the_mixed_kernel_leaves_the_memory_of_a_functional_run(way):
    _, found = mixed.launch(sl.Gpu("h200", set=CUT | WAYS[way], memory_bytes=1 << 24, max_cycles=5_000_000), 6)
    assert found == mixed.launch(sl.Gpu(isa="sm_90", threads=1), 6)[1]


@pytest.mark.parametrize("way", ["control bits", "scoreboard"])
def test_watching_a_core_changes_no_cycle_of_machine_code(way):
    def run(watch: Watch | None) -> sl.Run:
        device = sl.Gpu("h200", set=CUT | WAYS[way], memory_bytes=1 << 24, max_cycles=5_000_000)
        device.machine.watch = watch
        return mixed.launch(device, 6)[0]

    plain, watch = run(None), Watch(0, 0, 20_000)
    watched = run(watch)
    assert plain.cycles == watched.cycles
    assert plain.counters == watched.counters
    assert sum(len(cycle.issued) for cycle in watch.cycles) > 100


def test_walking_cycle_by_cycle_counts_what_jumping_does():
    def run(jump: int) -> sl.Run:
        device = sl.Gpu("h200", set=CUT, memory_bytes=1 << 24, max_cycles=5_000_000)
        device.machine.records.gpu[0].jump = jump
        return mixed.launch(device, 6)[0]

    jumping, walking = run(1), run(0)
    assert jumping.cycles == walking.cycles
    assert jumping.counters == walking.counters
