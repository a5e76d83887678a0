"""A run that is killed and goes on from where it was saved ends as one that was not: every counter, table and byte."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.machine import machine as machines
from simtlab.machine.config import presets
from simtlab.machine.hooks import CHOICES
from simtlab.machine.saved_state import Chosen, move_of, stay_of
from simtlab.policies.choice import available
from tests.timing import mixed
from tests.timing.test_threads import ALWAYS, ATOMICS, counted, differing, started


class Killed(Exception):
    pass


@pytest.fixture(autouse=True)
def short_parts(monkeypatch):
    """A look at whether to save every 64 cycles, whatever the host."""
    monkeypatch.setattr(machines, "FEWEST_CYCLES", 64)
    monkeypatch.setattr(machines, "next_part", lambda cycles, seconds: 64)


def kill_at(gpu: sl.Gpu, cycle: int, file) -> None:
    """Save a run and end it, when it has come so far."""
    gpu.save_every(0, file)
    look = gpu.saving._look

    def once(machine, *given) -> None:
        if machine.cycle >= cycle:
            look(machine, *given)
            raise Killed

    gpu.saving._look = once


def check(file, work, make, cycle: int) -> None:
    """Work undisturbed, and killed and resumed: `work(gpu)` gives all that can be compared."""
    expected = work(make())
    killed = make()
    kill_at(killed, cycle, file)
    with pytest.raises(Killed):
        work(killed)
    again = make()
    again.resume(file)
    found = work(again)
    assert differing(expected[0], found[0]) == []
    assert found[1:] == expected[1:]


def of_mixed(ctas: int = 12, launches: int = 1):
    def work(gpu: sl.Gpu) -> tuple:
        for _ in range(launches):
            run, written = mixed.launch(gpu, ctas)
        return counted(gpu, run), written

    return work


def half_of(work, make) -> int:
    """A cycle in the middle of all that some work does."""
    gpu = make()
    work(gpu)
    return gpu.machine.cycle // 2


ONE_OF_EACH_KIND = ("caps-gtx480", "h200")


@pytest.mark.parametrize("preset", [
    name if name in ONE_OF_EACH_KIND else pytest.param(name, marks=pytest.mark.slow) for name in presets()
])  # fmt: skip
def test_every_preset(tmp_path, preset):
    check(tmp_path / "run", of_mixed(), lambda: started(1, preset), 700)


@pytest.mark.parametrize(("detail", "cycle"), [
    (1, 64), (2, 1200), (3, 320), *(pytest.param(*one, marks=pytest.mark.slow) for one in ((1, 2000), (2, 320), (3, 1200))),
])  # fmt: skip
def test_every_detail_at_any_time(tmp_path, detail, cycle):
    check(tmp_path / "run", of_mixed(24), lambda: started(1, "gtx480", 4, {"core.detail": detail}), cycle)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [2, 4])
def test_on_several_host_threads(tmp_path, threads):
    check(tmp_path / "run", of_mixed(), lambda: started(threads, "v100", least=ALWAYS), 700)


OF_POLICIES = [(slot, name) for slot in CHOICES if slot not in ("mechanism_2", "mechanism_3") for name in available(slot)]


@pytest.mark.slow  # a minute: no policy has a field of its own that is an address, which another test looks for
@pytest.mark.parametrize(("slot", "name"), OF_POLICIES)
def test_every_policy(tmp_path, slot, name):
    preset = "loads-c2050" if slot == "l1_allocation" else "caps-gtx480"
    check(tmp_path / "run", of_mixed(6), lambda: started(1, preset, 6, **{slot: name}), 900)


def test_launches_that_had_ended_are_not_timed_again(tmp_path):
    make, work = lambda: started(1, "v100"), of_mixed(12, launches=3)
    check(tmp_path / "run", work, make, half_of(work, make))


def test_the_order_of_atomics_goes_on(tmp_path):
    def work(gpu: sl.Gpu) -> tuple:
        arrays = [gpu.zeros(n, dtype) for n, dtype in ((1, "i4"), (4096, "i4"), (1, "f4"), (256, "i4"), (4096, "i4"))]
        run = gpu.compile(ATOMICS)["tickets"](32, 128, arrays)
        return counted(gpu, run), [array.numpy().tolist() for array in arrays]

    check(tmp_path / "run", work, lambda: started(1, "h200"), 4500)


def test_streams_go_on_together(tmp_path):
    def work(gpu: sl.Gpu) -> tuple:
        module, arrays = gpu.compile(ATOMICS), [gpu.array(np.full(1024, k, np.float32)) for k in range(3)]
        streams = [gpu.stream(priority) for priority in range(3)]
        runs = [module["add"](4, 256, [array, np.float32(j), np.int32(20 * (j + 1))], stream=stream)
                for j, (array, stream) in enumerate(zip(arrays, streams, strict=True))]  # fmt: skip
        gpu.synchronize()
        return counted(gpu, runs[-1]), [run.cycles for run in runs], [array.numpy().tolist() for array in arrays]

    check(tmp_path / "run", work, lambda: started(1), 400)


RECURSIVE = r"""
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
extern "C" __global__ void k(int *x) { int i = blockIdx.x * blockDim.x + threadIdx.x; x[i] = fib(3 + i % 5); }
"""


@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
def test_calls_under_way_go_on(tmp_path, isa):
    def work(gpu: sl.Gpu) -> tuple:
        x = gpu.zeros(256, "i4")
        run = gpu.compile(RECURSIVE)["k"](4, 64, [x])
        return counted(gpu, run), x.numpy().tolist()

    def make() -> sl.Gpu:
        return started(1, changes={"core.isa": isa})

    check(tmp_path / "run", work, make, half_of(work, make))


# Every host address is known ------------------------------------------------------------------------------------------


def words_in(table: np.ndarray, bounds: list[tuple[int, int]]) -> dict[int, int]:
    """The words of a table that lie within bounds, by their index."""
    words = table.reshape(-1).view(np.uint8).reshape(-1)[: table.nbytes // 8 * 8].view(np.int64)
    found = np.zeros(len(words), bool)
    for start, end in bounds:
        found |= (words >= start) & (words < end)
    return {int(k): int(words[k]) for k in np.flatnonzero(found)}


def places_of(field: np.ndarray) -> set[int]:
    """Where the words of a field lie."""
    base = field.ctypes.data
    if field.dtype.names:
        return {place for name in field.dtype.names for place in places_of(field[name])}
    found = np.array([base])
    for count, stride in zip(field.shape, field.strides, strict=True):
        found = np.add.outer(found, np.arange(count) * stride).ravel()
    return set(found.tolist())


@pytest.mark.parametrize(("preset", "policies"), [
    ("caps-gtx480", {"mechanism": "ccws", "dram_scheduler": "fcfs"}), ("gtx480", {"prefetcher": "caps"}), ("h200", {}),
    pytest.param("v100", {"mechanism": "mascar"}, marks=pytest.mark.slow),
    pytest.param("gtx480", {"l1_replacement": "lru", "l2_replacement": "lru"}, marks=pytest.mark.slow),
])  # fmt: skip
def test_no_field_but_those_listed_holds_a_host_address(preset, policies):
    """Two machines do the same in different places of the host's memory: what differs and leads to a table is an address."""
    filled = {slot: name for slot, name in policies.items() if name in available(slot)}
    gpus = [started(2, preset, **filled) for _ in range(2)]
    first, second = (addresses_at(gpu, 4500) for gpu in gpus)
    assert first.keys() == second.keys()
    found = {name: [k for k in first[name].keys() & second[name].keys() if first[name][k] != second[name][k]] for name in first}
    assert {name: len(places) for name, places in found.items() if places} == {}


def addresses_at(gpu: sl.Gpu, cycle: int) -> dict[str, dict[int, int]]:
    """By table, the words that may be host addresses that nobody moves."""
    seen = []

    def look(paused) -> None:
        if gpu.machine.cycle > cycle and not seen:
            seen.append(unlisted(gpu.machine))

    gpu.machine.on_pause = look
    mixed.launch(gpu, 12)
    return seen[0]


def unlisted(machine) -> dict[str, dict[int, int]]:
    tables = machine.tables()
    bounds = [(start, start + length) for start, length in tables.places().values() if length > 1]
    listed: set[int] = set()
    for field in stay_of(tables):
        listed |= places_of(field)
    for field, _ in move_of(tables):
        listed |= chosen_places(field) if isinstance(field, Chosen) else places_of(field)
    found = {}
    for name, contents in tables.contents().items():
        table = np.asarray(contents)
        base = table.ctypes.data
        found[name] = {k: word for k, word in words_in(table, bounds).items() if base + 8 * k not in listed}
    return found


def chosen_places(field) -> set[int]:
    places: set[int] = set()
    for core, cta in np.argwhere(field._which).tolist():
        places |= places_of(field._field[core, cta : cta + 1])
    return places


# What cannot go on ----------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    gpu = started(1)
    kill_at(gpu, 700, tmp_path / "run")
    with pytest.raises(Killed):
        mixed.launch(gpu, 12)
    return tmp_path / "run"


def refused(gpu: sl.Gpu, file, ctas: int = 12) -> str:
    def work() -> None:
        gpu.resume(file)
        mixed.launch(gpu, ctas)

    with pytest.raises(SimtlabError) as caught:
        work()
    return str(caught.value)


def test_another_machine_is_refused(saved):
    assert "had another machine" in refused(started(1, "gtx480"), saved)
    assert "had another machine" in refused(started(1, changes={"l1d.ways": 8}), saved)


def test_another_policy_is_refused(saved):
    assert "had another policies: " in refused(started(1, warp_scheduler="lrr"), saved)


def test_another_number_of_host_threads_is_refused(saved):
    assert "had another number of host threads: 1, and now it is 2" in refused(started(2), saved)


def test_another_launch_is_refused(saved):
    said = refused(started(1), saved, 16)
    assert "launch 1 was mixed of [12, 1, 1] CTAs of [128, 1, 1], and now it is mixed of [16, 1, 1]" in said


def test_other_arrays_are_refused(saved):
    gpu = started(1)
    gpu.resume(saved)
    gpu.zeros(100)
    with pytest.raises(SimtlabError, match="parameters differ"):
        mixed.launch(gpu, 12)


def test_another_simtlab_is_refused(saved, monkeypatch):
    monkeypatch.setattr("simtlab.host.saving.digest_of_sources", lambda *_: "another")
    assert "had another simtlab" in refused(started(1), saved)


@pytest.mark.parametrize("damage", ["missing", "text", "cut", "empty"])
def test_a_file_that_is_no_saved_run_is_refused(saved, tmp_path, damage):
    file = tmp_path / "other"
    if damage == "text":
        file.write_text("no saved run")
    if damage == "cut":
        file.write_bytes(saved.read_bytes()[:-2000])
    if damage == "empty":
        zipfile.ZipFile(file, "w").close()
    assert "no saved run that can be read" in refused(started(1), file)


def test_functional_and_sampled_runs_are_refused(tmp_path):
    with pytest.raises(SimtlabError, match="save_every is for timed runs in full"):
        sl.Gpu().save_every(1, tmp_path / "run")
    with pytest.raises(SimtlabError, match="and this GPU samples"):
        sl.Gpu("caps-gtx480", sample=True).resume(tmp_path / "run")


def test_there_must_be_a_folder(tmp_path):
    with pytest.raises(SimtlabError, match="there is no folder"):
        started(1).save_every(1, tmp_path / "nowhere" / "run")
    with pytest.raises(SimtlabError, match="0 or more, not -1"):
        started(1).save_every(-1, tmp_path / "run")


def test_a_kernel_that_asks_the_host_is_run_and_not_saved(tmp_path):
    gpu = started(1)
    gpu.prints = False
    gpu.save_every(0, tmp_path / "run")
    gpu.compile(ATOMICS)["say"](4, 32, [gpu.zeros(4, "i4")])
    assert not (tmp_path / "run").exists()


# A process that is killed ---------------------------------------------------------------------------------------------

PROGRAM = """
import json, sys
import numpy as np
import simtlab as sl
from tests.timing import mixed
gpu = sl.Gpu("v100", set={"core.cores": 8})
gpu.save_every(0.5, sys.argv[1])
if len(sys.argv) > 2:
    gpu.resume(sys.argv[1])
runs = [mixed.launch(gpu, ctas)[0] for ctas in (8, 400)]
print(json.dumps([[run.cycles, run.counters, run.stalls] for run in runs]))
"""


def test_a_process_that_was_killed_goes_on(tmp_path):
    file = tmp_path / "run"
    command = [sys.executable, "-c", PROGRAM, str(file)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    while not file.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    resumed = subprocess.run([*command, "resume"], env=environment, capture_output=True, check=True)
    undisturbed = subprocess.run([*command[:3], str(tmp_path / "other")], env=environment, capture_output=True, check=True)
    assert json.loads(resumed.stdout) == json.loads(undisturbed.stdout)
