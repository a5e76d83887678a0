"""Host threads that run one machine count what one counts: every counter, cause and table, whatever the machine and policies."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import CycleLimit, Deadlock, DeviceFault, SimtlabError
from simtlab.machine.config import load, presets
from simtlab.machine.hooks import CHOICES
from simtlab.machine.machine import Interrupted
from simtlab.machine.request import CAPACITY, FEW, balance, create, end, in_use, new_requests, share_out
from simtlab.policies.choice import available
from tests.everyday import every
from tests.timing import mixed

ATOMICS = r"""
extern "C" __global__ void tickets(int *next, int *mine, float *sum, volatile int *seen, int *found) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    mine[i] = atomicAdd(next, 1);
    atomicAdd(sum, 1.0f / (1 + mine[i]));
    found[i] = seen[(i * 7) & 255];
    seen[i & 255] = i;
    found[i] += seen[(i * 3) & 255] + atomicExch((int *)seen + (i & 63), -i);
}
extern "C" __global__ void stray(int *x) { if (blockIdx.x > 2) x[(1 << 28) + threadIdx.x * blockIdx.x] = 1; }
extern "C" __global__ void wait(volatile int *x) { while (x[blockIdx.x] == 0) {} }
extern "C" __global__ void say(int *x) { if (threadIdx.x == 0) { printf("CTA %d\n", blockIdx.x); x[blockIdx.x] = 1; } }
extern "C" __global__ void add(float *x, float by, int rounds) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    for (int k = 0; k < rounds; k++) v = v * 1.0f + by;
    x[i] = v;
}
"""


NEVER, ALWAYS = 1 << 40, 0  # units that are due from which on the other threads are called
FOR_EVER = 1 << 40  # the number of threads stays as it is


def started(
    threads: int, preset: str = "caps-gtx480", cores: int = 8, changes: dict | None = None, least: int = NEVER, **options
) -> sl.Gpu:
    """A machine in so many parts. On a host of two processors threads that meet three times a cycle take long: unless a test asks
    for them one ticks the parts, one after another, which shows nearly all that could go wrong."""
    usual = load(preset)
    cores -= cores % usual.core.cores_per_cluster
    few = {} if usual.network.kind == "mesh" else {"core.cores": cores}
    gpu = sl.Gpu(preset, set={**few, **(changes or {})}, threads=threads, **options)
    gpu.machine._crew["least"] = least
    gpu.machine._crew["at_work"]["workers"] = gpu.machine._crew["at_work"]["usual"] = threads
    gpu.machine._crew["at_work"]["epoch"] = FOR_EVER
    return gpu


def counted(gpu: sl.Gpu, run: sl.Run) -> dict:
    """All that a launch has counted."""
    timing = run.timing
    return {
        "cycles": (run.cycles, timing.elapsed, timing.start), "instructions": (run.instructions, timing.thread_instructions),
        "counters": run.counters, "stalls": run.stalls, "energy": timing.energy,
        "by scheduler": timing.stalls_by_scheduler.tolist(), "by instruction": timing.counts_by_instruction.tolist(),
        "loads": timing.loads.counted.tobytes(), "sharing": gpu.machine.sharing(),
        "intervals": {name: column.tolist() for name, column in gpu.machine.intervals().items()},
    }  # fmt: skip


def of_mixed(threads: int, *given, ctas: int = 12, launches: int = 2, **options) -> tuple[dict, bytes]:
    """What the last of some launches has counted, with caches as the others have left them."""
    gpu = started(threads, *given, **options)
    for _ in range(launches):
        run, written = mixed.launch(gpu, ctas)
    return counted(gpu, run), written


def differing(one: dict, other: dict) -> list[str]:
    return [name for name in one if one[name] != other[name]]


@pytest.mark.parametrize("preset", every(3, presets()))
def test_every_preset_counts_the_same(preset):
    (one, expected), (two, written) = (of_mixed(threads, preset, 8) for threads in (1, 4))
    assert (written, differing(one, two)) == (expected, [])


EVERYDAY = [(2, 2, ALWAYS), (3, 3, NEVER), (1, 8, NEVER), (3, 4, 3)]
OTHERS = [(detail, *one[1:]) for one in EVERYDAY for detail in (1, 2, 3) if detail != one[0]]


@pytest.mark.parametrize(
    ("detail", "threads", "least"), [*EVERYDAY, *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHERS)]
)
def test_every_detail_and_number_of_threads(detail, threads, least):
    changes = {"core.detail": detail, "network.kind": "crossbar"}
    (one, expected), (many, written) = (of_mixed(n, "gtx480", 11, changes, least=least, ctas=4) for n in (1, threads))
    assert (written, differing(one, many)) == (expected, [])


@pytest.mark.slow  # minutes on a host of two processors
@pytest.mark.parametrize("preset", presets())
def test_every_preset_with_threads_that_always_meet(preset):
    (one, expected), (many, written) = (of_mixed(n, preset, 8, least=ALWAYS) for n in (1, 4))
    assert (written, differing(one, many)) == (expected, [])


OF_POLICIES = [(slot, name) for slot in CHOICES if slot not in ("mechanism_2", "mechanism_3") for name in available(slot)]


@pytest.mark.parametrize(("slot", "name"), every(3, OF_POLICIES))
def test_every_policy(slot, name):
    preset, changes = ("loads-c2050", {}) if slot == "l1_allocation" else ("caps-gtx480", {})
    (one, expected), (many, written) = (of_mixed(n, preset, 6, changes, ctas=6, launches=1, **{slot: name}) for n in (1, 3))
    assert (written, differing(one, many)) == (expected, [])


def of_tickets(threads: int, preset: str, **options) -> tuple:
    gpu = started(threads, preset, **options)
    arrays = [gpu.zeros(n, dtype) for n, dtype in ((1, "i4"), (4096, "i4"), (1, "f4"), (256, "i4"), (4096, "i4"))]
    run = gpu.compile(ATOMICS)["tickets"](32, 128, arrays)
    return [array.numpy().tolist() for array in arrays], counted(gpu, run)


@pytest.mark.parametrize(("preset", "least"), [
    *((preset, NEVER) for preset in ("caps-gtx480", "v100", "h200")), ("caps-gtx480", ALWAYS), ("v100", ALWAYS),
    pytest.param("h200", ALWAYS, marks=pytest.mark.slow),
])  # fmt: skip
def test_the_order_of_atomics_and_of_stores_that_race_is_one(preset, least):
    """Who gets which ticket, the sum of floats, and what a load finds that races with stores of other cores."""
    one, *others = (of_tickets(threads, preset, least=least) for threads in (1, 2, 4))
    assert sorted(one[0][1]) == list(range(4096))
    for other in others:
        assert other[0] == one[0]
        assert differing(one[1], other[1]) == []


@pytest.mark.parametrize("least", [0, 1 << 40])
def test_stores_are_combined_with_those_that_the_l2_has_not_written(least):
    """Whether it has, cores ask of slices that another thread ticks in the same step."""
    changes = {"core.detail": 3, "core.cores": 3, "l1d.store_line_cycles": 1, "units.shift.unit": "sp",
               "l1d.store_combining_cycles": 1024, "l1i.line_cycles": 0, "dram.t_wr": 1}  # fmt: skip
    found = []
    for threads in (1, 2, 3):
        gpu = sl.Gpu("rtx2080ti", set=changes, memory_bytes=1 << 24, threads=threads, prefetcher="caps")
        gpu.machine._crew["least"] = least
        run, _ = mixed.launch(gpu, 6)
        found.append((run.cycles, run.counters["stores_combined"], run.counters["l2_writes"]))
    assert found[0][1] > 0
    assert found == [found[0]] * 3


def test_streams_count_the_same():
    def work(threads: int) -> tuple:
        gpu = started(threads)
        module, arrays = gpu.compile(ATOMICS), [gpu.array(np.full(1024, k, np.float32)) for k in range(3)]
        streams = [gpu.stream() for _ in arrays]
        runs = [module["add"](4, 256, [array, np.float32(j), np.int32(20 * (j + 1))], stream=stream)
                for j in range(3) for array, stream in zip(arrays, streams, strict=True)]  # fmt: skip
        gpu.synchronize()
        return [array.numpy().tolist() for array in arrays], [counted(gpu, run) for run in runs]

    one, many = work(1), work(4)
    assert one[0] == many[0]
    assert [differing(a, b) for a, b in zip(one[1], many[1], strict=True)] == [[]] * 9


def test_a_fault_is_told_of_in_the_same_words():
    def words(threads: int) -> str:
        gpu = started(threads)
        with pytest.raises(DeviceFault) as fault:
            gpu.compile(ATOMICS)["stray"](8, 64, [gpu.zeros(16, "i4")])
        assert mixed.launch(gpu, 6)[1] == mixed.expected(6)  # and the machine goes on
        return str(fault.value)

    assert words(1) == words(2) == words(4)


def test_a_deadlock_and_a_limit_of_cycles_are_told_of_in_the_same_words():
    def words(threads: int) -> list[str]:
        found = []
        for error, options in ((Deadlock, {}), (CycleLimit, {"max_cycles": 5000})):
            gpu = started(threads, **options)
            with pytest.raises(error) as raised:
                gpu.compile(ATOMICS)["wait"](4, 64, [gpu.zeros(16, "i4")])
            found.append(str(raised.value))
        return found

    assert words(1) == words(4)


def test_ctrl_c_stops_all_threads_and_the_machine_runs_again():
    gpu = started(4, least=3)
    x, kernel = gpu.zeros(2048), gpu.compile(ATOMICS)["add"]
    expected = kernel(8, 256, [x, np.float32(1), np.int32(400)]).cycles

    def stop(cycles: int, share: float) -> None:
        if cycles > 1000:
            raise KeyboardInterrupt

    kept = gpu.watch
    gpu.watch = lambda _: Telling(stop)
    with pytest.raises(Interrupted) as interrupted:
        kernel(8, 256, [x, np.float32(1), np.int32(40000)])
    assert interrupted.value.run.cycles > 1000
    gpu.watch = kept
    assert kernel(8, 256, [x, np.float32(1), np.int32(400)]).cycles == expected


class Telling:
    """A context whose value is told of progress."""

    def __init__(self, told):
        self.told = told

    def __enter__(self):
        return self.told

    def __exit__(self, *_):
        return None


def test_a_kernel_that_asks_the_host_and_a_state_of_the_whole_chip_are_run_by_one_thread():
    gpu = started(4)
    x = gpu.zeros(8, "i4")
    run = gpu.compile(ATOMICS)["say"](8, 64, [x])
    assert (gpu.machine._running, x.numpy().tolist()) == (1, [1] * 8)
    assert sorted(run.printed.splitlines()) == [f"CTA {k}" for k in range(8)]
    mixed.launch(gpu, 4)
    assert gpu.machine._running == 4
    shared = started(4, mechanism="medic")
    mixed.launch(shared, 4)
    assert (shared.machine._running == 1) == bool(shared.machine.records.gpu[0].shares_state)


def test_threads_that_run_out_of_requests_get_some_of_others():
    """Lines that an L1 writes back are born in one thread and end in another."""
    changes = {"l1d.write_global": "write-back", "l1d.write_allocate": True}
    gpu = started(2, changes=changes)
    one = of_mixed(1, changes=changes)
    run = gpu.compile(ATOMICS)["add"](2, 64, [gpu.zeros(128), np.float32(1), np.int32(2)])
    assert run.cycles > 0
    requests = new_requests()
    share_out(requests, 2)
    record = requests.view(np.recarray)[0]
    for _ in range(3 * FEW):
        end(record, 1, create(record, 0))
    before = int(record.pool[0].left)
    record.pool[0].left, record.pool[0].fresh = FEW - 1, CAPACITY // 2 - FEW + 1
    balance(record, 2)
    assert int(record.pool[0].left) > before // 2
    taken = {int(create(record, thread)) for thread in (0, 1) for _ in range(1000)}
    assert len(taken) == 2000
    assert int(in_use(record, 2)) == 2000
    assert differing(one[0], of_mixed(2, changes=changes)[0]) == []


@pytest.mark.parametrize("threads", [0, -1, 1.5])
def test_a_number_of_threads_that_is_none_is_refused(threads):
    with pytest.raises(SimtlabError, match="threads"):
        sl.Gpu("caps-gtx480", threads=threads)
