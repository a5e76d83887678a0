"""The prefetch port: what becomes of every line a policy asks for, counted one by one."""

import numpy as np
import pytest

from tests.timing.machines import gpu as small
from tests.timing.machines import kernel

NEXT = '''"""After a load of line n, lines n + 1 .. n + ahead."""
import numpy as np
from simtlab.policies.hook import hook, prefetch

state = np.dtype([("ahead", "i8"), ("came", "i8")])
parameters = {"ahead": 1}

@hook
def on_load(core, own, op, cycle):
    for k in range(own.ahead):
        prefetch(core, core.ops[op].lines[0] + 128 * (k + 1), core.ops[op].slot, core.ops[op].pc, cycle)

@hook
def on_fill(core, own, address, cycle):
    own.came += 1
'''
ADDRESS = "ld.param.u64 %d1, [a]; mov.u32 %r1, %laneid; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;\n"
LOAD = "ld.global.u32 %r2, [%d1+{offset}]; add.u32 %r3, %r3, %r2;\n"
SPIN = "mov.u32 %r39, 500;\nL{n}: sub.u32 %r39, %r39, 1;\nsetp.ne.u32 %p3, %r39, 0;\n@%p3 bra L{n};\n"


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "ahead.py"
    path.write_text(NEXT)
    return str(path)


def counters(policy: str, body: str, changes: dict | None = None) -> dict[str, int]:
    device = small(changes, prefetcher=policy)
    data = device.zeros(1 << 16, "u4")
    run = kernel(device, ADDRESS + body + "st.global.u32 [%d1], %r3;")(1, 32, [data, np.uint64(0)])
    return {name.removeprefix("prefetches_"): value for name, value in run.counters.items() if name.startswith("prefetch")} | {
        "misses": run.counters["l1_misses"], "hits": run.counters["l1_hits"], "reserved": run.counters["l1_hits_reserved"],
    }  # fmt: skip


def test_a_prefetch_in_time_turns_a_miss_into_a_hit(policy):
    found = counters(policy, LOAD.format(offset=0) + SPIN.format(n=1) + LOAD.format(offset=128))
    assert (found["asked"], found["issued"], found["filled"], found["used"], found["late"]) == (2, 2, 2, 1, 0)
    assert (found["misses"], found["hits"]) == (1, 1)
    assert found["prefetch_distance_cycles"] > 500


def test_a_demand_that_comes_early_merges_with_the_prefetch(policy):
    found = counters(policy, LOAD.format(offset=0) + LOAD.format(offset=128))
    assert (found["used"], found["late"], found["misses"], found["reserved"]) == (1, 1, 1, 1)
    assert 0 < found["prefetch_distance_cycles"] < 1000


def test_a_line_in_the_cache_or_on_its_way_is_not_fetched_again(policy):
    again = LOAD.format(offset=0) + SPIN.format(n=1) + LOAD.format(offset=0) + LOAD.format(offset=512)
    found = counters(policy, again)
    assert found["dropped_present"] == 1
    twice = "ld.global.u32 %r4, [%d1+128];\nld.global.u32 %r5, [%d1];\nadd.u32 %r3, %r4, %r5;\n"  # the second predicts line 1
    assert counters(policy, twice)["dropped_pending"] == 1


def test_a_full_queue_drops_the_newest(policy):
    found = counters(f"{policy},ahead=8", LOAD.format(offset=0), {"l1d.prefetch_queue_entries": 4})
    assert (found["asked"], found["dropped_full"], found["issued"]) == (8, 4, 4)


def test_prefetches_leave_demands_the_last_mshr_no_more_than_any_miss(policy):
    """Two MSHRs: the load has one, prefetches take the other in turn, and all of them come."""
    found = counters(f"{policy},ahead=6", LOAD.format(offset=0), {"l1d.mshr_entries": 2})
    assert (found["issued"], found["filled"]) == (6, 6)


def test_a_prefetched_line_pushed_out_before_use_is_counted(policy):
    """Loads of one set of four ways push the prefetched line of the next set out: 16 KB / 4 ways = 4096 bytes apart."""
    body = LOAD.format(offset=0) + SPIN.format(n=1)
    for k in range(1, 6):
        body += LOAD.format(offset=4096 * k) + SPIN.format(n=k + 1)
    found = counters(policy, body, {"l1d.index": "linear"})
    assert found["evicted"] == 2  # six prefetched lines of one set with four ways
    assert found["issued"] == found["filled"] == 6


def test_every_prefetch_is_accounted_for(policy):
    found = counters(f"{policy},ahead=5", LOAD.format(offset=0) + LOAD.format(offset=256) + SPIN.format(n=1))
    assert found["asked"] == found["issued"] + found["dropped_present"] + found["dropped_pending"] + found["dropped_full"]
    assert found["filled"] == found["issued"]


def test_a_prefetcher_that_asks_for_nothing_changes_no_counter(policy):
    body = LOAD.format(offset=0) + LOAD.format(offset=128)

    def run(**policies):
        device = small(**policies)
        result = kernel(device, ADDRESS + body + "st.global.u32 [%d1], %r3;")(4, 64, [device.zeros(4096, "u4"), np.uint64(0)])
        return result.cycles, result.counters, result.stalls

    assert run() == run(prefetcher=f"{policy},ahead=0")
