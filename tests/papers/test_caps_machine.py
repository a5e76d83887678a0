"""Prefetchers on the whole machine: what they may never change, what an ideal one reaches, what the port counts."""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.policies.load import available
from tests.hardware.test_programs import BLOCKS, THREADS, WORDS, recorded
from tests.papers.bench import RECORDER, loads_of
from tests.timing.machines import gpu, kernel

PREFETCHERS = available("prefetcher")
SCHEDULERS = {"caps": "pas", "lap": "orchestrated"}  # those that have one of their own
WORKLOADS = ("MM", "LPS", "BFS", "HST", "PVR")
STREAM = """
    ld.param.u64 %d1, [a]; ld.param.u64 %d4, [b];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x;
    mad.lo.u32 %r4, %r2, %r3, %r1;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d1, %d2; add.u64 %d5, %d4, %d2;
    mov.f32 %f1, 0f00000000;
    mov.u32 %r39, 4;
L:  ld.global.f32 %f2, [%d3];
    add.f32 %f1, %f1, %f2;
    add.u64 %d3, %d3, 4096;
    sub.u32 %r39, %r39, 1;
    setp.ne.u32 %p3, %r39, 0;
@%p3 bra L;
    st.global.f32 [%d5], %f1;
"""
CTAS, CTA_THREADS, STEP_FLOATS = 4, 96, 1024


def stream(**policies):
    """Four CTAs of three warps, each warp reading four lines a step of 4 KB apart: 48 lines, which the L1 holds."""
    device = gpu(**policies)
    values = np.random.default_rng(0).random(4 * STEP_FLOATS, dtype=np.float32)
    source, target = device.array(values), device.zeros(CTAS * CTA_THREADS)
    run = kernel(device, STREAM)(CTAS, CTA_THREADS, [source, target])
    expected = values.reshape(4, STEP_FLOATS)[:, : CTAS * CTA_THREADS]
    assert (target.numpy() == ((expected[0] + expected[1]) + expected[2]) + expected[3]).all()
    return device, run.timing


@pytest.fixture
def recorder(tmp_path):
    path = tmp_path / "recorder.py"
    path.write_text(RECORDER)
    return str(path)


def test_a_prefetcher_that_prefetches_nothing_leaves_every_counter_as_it_was(recorder):
    _, without = stream()
    device, recorded_run = stream(prefetcher=recorder)
    assert len(loads_of(device)) == 48
    assert recorded_run.counters == without.counters
    assert (recorded_run.cycles, recorded_run.stalls) == (without.cycles, without.stalls)


def test_a_load_tells_the_lowest_address_it_wants_of_a_line(recorder):
    """Lanes 3 to 31 of a warp, whose line begins at the array."""
    device = gpu(prefetcher=recorder)
    values = device.array(np.zeros(32, "f4"))
    body = """
        ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
        setp.gt.u32 %p1, %r1, 2;
    @%p1 ld.global.f32 %f1, [%d3];
    """
    kernel(device, body)(1, 32, [values, np.uint64(0)])
    assert [address - values.address for _, _, address, _ in loads_of(device)] == [12]


ORACLE = '''
"""Knows all loads of a run: at each, it asks for the line of the one `ahead` of it."""
import numpy as np
from simtlab.policies.hook import hook, prefetch

FUTURE = np.array({future})
state = np.dtype([("at", "i8"), ("ahead", "i8")])
parameters = {{"ahead": 12}}


@hook
def on_load(core, own, op, cycle):
    own.at = max(own.at, 1)
    while own.at < FUTURE.size and own.at <= core.loads_finished + own.ahead:
        prefetch(core, FUTURE[own.at], 0, 0, cycle)
        own.at += 1
'''


def test_an_ideal_predictor_fed_the_future_addresses_is_always_right(recorder, tmp_path):
    device, without = stream(prefetcher=recorder)
    path = tmp_path / "oracle.py"
    path.write_text(ORACLE.format(future=[address for _, _, address, _ in loads_of(device)]))
    _, run = stream(prefetcher=str(path))
    counters = run.counters
    assert counters["prefetches_issued"] > 20
    assert counters["prefetches_used"] == counters["prefetches_issued"]
    assert counters["prefetches_evicted"] == 0
    assert counters["request_packets"] == without.counters["request_packets"]
    assert run.cycles < without.cycles


ASK = '''
"""Asks for the line `offset` from each load's, `times` times."""
import numpy as np
from simtlab.policies.hook import hook, prefetch

state = np.dtype([("offset", "i8"), ("times", "i8")])
parameters = {"offset": 0, "times": 1}
limits = {"offset": (-4096, 4096)}


@hook
def on_load(core, own, op, cycle):
    for _ in range(own.times):
        prefetch(core, core.ops[op].lines[0] + own.offset, core.ops[op].slot, core.ops[op].pc, cycle)
'''


def asked(tmp_path, **parameters):
    path = tmp_path / "ask.py"
    path.write_text(ASK)
    given = "".join(f",{name}={value}" for name, value in parameters.items())
    _, run = stream(prefetcher=f"{path}{given}")
    return {name.removeprefix("prefetches_"): count for name, count in run.counters.items() if name.startswith("prefetches_")}


def test_the_demand_that_goes_first_drops_the_prefetch_of_its_own_line(tmp_path):
    """A load's own line is asked for before its access is made; the access then goes first."""
    counts = asked(tmp_path)
    assert counts["asked"] == counts["dropped_overtaken"] == 48
    assert counts["issued"] == 0


def test_every_prefetch_is_issued_or_dropped_for_one_reason(tmp_path):
    counts = asked(tmp_path, offset=128, times=2)
    dropped = sum(count for name, count in counts.items() if name.startswith("dropped"))
    assert counts["asked"] == 96 == counts["issued"] + dropped
    assert counts["dropped_pending"] > 0
    assert counts["filled"] == counts["issued"] >= counts["used"] + counts["evicted"]
    assert 0 < counts["late"] <= counts["used"]


def test_a_full_queue_drops(tmp_path):
    counts = asked(tmp_path, offset=128, times=40)
    assert counts["dropped_full"] > 0


@pytest.mark.parametrize(("last", "early"), [(1, 1), (3, 0)])
def test_a_line_that_is_asked_for_after_it_was_pushed_out_came_too_early(tmp_path, last, early):
    """Loads of one set of the L1, each of which prefetches the next line of it: the first prefetch is evicted by the others."""
    path = tmp_path / "ask.py"
    path.write_text(ASK)
    device = gpu({"l1d.index": "linear"}, prefetcher=f"{path},offset=4096")
    values = device.array(np.zeros(1 << 16, "u4"))
    step = "mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; ld.global.u32 %r1, [%d1+{}];\n"  # after the load before it
    loads = "".join(step.format(4096 * place) for place in (0, 5, 7, 9, last))
    run = kernel(device, f"ld.param.u64 %d1, [a]; mov.u32 %r1, 0;\n{loads}")(1, 1, [values, np.uint64(0)])
    assert run.counters["prefetches_evicted"] >= 2
    assert run.counters["prefetches_early"] == early


def test_caps_with_one_cta_a_core_prefetches_nothing_and_with_several_it_does():
    for most, some in ((1, False), (8, True)):
        device = gpu({"core.max_ctas": most}, prefetcher="caps", warp_scheduler="pas")
        values = device.array(np.zeros(16 * STEP_FLOATS, "f4"))
        run = kernel(device, STREAM)(8, 128, [values, device.zeros(8 * 128)])
        assert (run.timing.counters["prefetches_asked"] > 0) is some


@cache
def expected(name):
    return sl.workload(name, size="tiny").run(sl.Gpu()).outputs


@pytest.mark.parametrize("prefetcher", PREFETCHERS)
def test_a_prefetcher_never_changes_what_a_program_computes(prefetcher):
    """Two cores, so that each has several CTAs of these small inputs."""
    scheduler = SCHEDULERS.get(prefetcher, "two-level")
    device = gpu({"core.cores": 2, "issue.schedulers": 2}, prefetcher=prefetcher, warp_scheduler=scheduler)
    prefetched = 0
    for name in WORKLOADS:
        run = sl.workload(name, size="tiny").run(device)
        for output, values in expected(name).items():
            assert np.array_equal(run.outputs[output], values), (name, output)
        prefetched += sum(launch.timing.counters["prefetches_asked"] for launch in run.launches)
    assert (prefetched > 0) == (prefetcher != "warp-distance"), "only that one looks on"


@pytest.mark.parametrize("prefetcher", PREFETCHERS)
def test_hardware_programs_write_the_same_words_with_any_prefetcher(prefetcher):
    texts, words, table = recorded()
    device = gpu(prefetcher=prefetcher, warp_scheduler=SCHEDULERS.get(prefetcher, "two-level"))
    for number in range(0, 60, 12):
        out = device.zeros((BLOCKS, THREADS, WORDS), "u4")
        device.load(texts[number])["k"](BLOCKS, THREADS, [out, device.array(table)])
        assert (out.numpy() == words[number]).all()
