"""Every slot of the machine: a policy in it is asked, is obeyed, and changes time but no result."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.hooks import SLOTS
from simtlab.policies.load import FOLDER, available
from tests.timing.machines import cycles, kernel, loop
from tests.timing.machines import gpu as small
from tests.timing.test_accounting import launch

SHIPPED = [(slot, name) for slot in SLOTS for name in available(slot)]


@pytest.fixture(scope="module")
def plain():
    return launch(sl.Gpu("caps-gtx480"))


def test_every_slot_has_a_policy():
    assert {slot for slot, _ in SHIPPED} == set(SLOTS)


@pytest.mark.quick
@pytest.mark.parametrize(("slot", "name"), SHIPPED, ids=lambda part: part)
def test_a_policy_changes_no_result_and_no_instruction(slot, name, plain):
    run, y, count = launch(sl.Gpu("caps-gtx480", **{slot: name}))
    assert np.array_equal(y, plain[1])
    assert count == plain[2]
    assert run.instructions == plain[0].instructions


@pytest.mark.parametrize(
    ("slot", "name"),
    [("l1_replacement", "lru"), ("l2_replacement", "lru"), ("dram_scheduler", "fr-fcfs"), ("cta_dispatch", "round-robin"),
     ("cta_throttle", "static,ctas=8")],
)  # fmt: skip
def test_a_policy_that_decides_as_the_machine_does_gives_its_very_counters(slot, name, plain):
    run = launch(sl.Gpu("caps-gtx480", **{slot: name}))[0]
    assert (run.cycles, run.stalls, run.counters) == (plain[0].cycles, plain[0].stalls, plain[0].counters)


@pytest.mark.parametrize("name", ["oldest_first", "fr_fcfs"])
def test_a_dram_policy_is_obeyed(name, tmp_path):
    """One that holds every command back until a cycle: no run ends before it."""
    held = tmp_path / "held.py"
    source = (FOLDER / "dram_scheduler" / f"{name}.py").read_text()
    held.write_text(source.replace("    best", "    if cycle < 6000:\n        return NO_BANK\n    best", 1))
    free = launch(sl.Gpu("caps-gtx480", dram_scheduler=name))[0]
    late = launch(sl.Gpu("caps-gtx480", dram_scheduler=str(held)))[0]
    assert free.cycles < 6000 * 1400 // 924 < late.cycles


def test_an_l1_bypass_policy_leaves_non_deterministic_loads_out_of_the_cache():
    body = """ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
    ld.global.u32 %r2, [%d1]; ld.global.u32 %r3, [%d1]; add.u32 %r4, %r2, %r3;
    ld.param.u64 %d5, [a]; mul.wide.u32 %d6, %r4, 4; add.u64 %d6, %d5, %d6; ld.global.u32 %r5, [%d6]; ld.global.u32 %r6, [%d6];
    add.u32 %r7, %r5, %r6; st.global.u32 [%d1], %r7;"""
    counts = {}
    for policy in ({}, {"l1_allocation": "skip-non-deterministic"}):
        device = small(**policy)
        run = kernel(device, body)(1, 32, [device.zeros(64, "u4"), np.uint64(0)])
        counts[bool(policy)] = run.counters["l1_hits"] + run.counters["l1_hits_reserved"], run.counters["l1_misses"]
    assert counts[False] == (3, 1)  # all four read one line
    assert counts[True] == (1, 3)  # the two indirect ones go to the L2 each time


def test_a_throttle_keeps_ctas_out_and_lets_them_in_when_others_leave():
    """Two CTAs at most of one warp each: as slow as a core that has room for two."""
    body = "mov.u32 %r1, 0;\n" + loop("add.u32 %r1, %r1, 1;\n" * 8, 40)
    machines = small({"core.max_ctas": 2}), small(cta_throttle="static,ctas=2"), small()
    few, throttled, free = (cycles(device, body, grid=32) for device in machines)
    assert throttled == few
    assert free < 0.8 * few


THROTTLE = '''"""Two CTAs until the core has run a while, then one: the younger pauses."""
import numpy as np
from simtlab.policies.hook import hook

state = np.dtype([("period", "i8"), ("calls", "i8")])
parameters = {"period": 100}

@hook
def sample(core, own, most, cycle):
    own.calls += 1
    return 2 if own.calls < 3 else 1
'''


def test_a_throttle_can_pause_the_youngest_cta(tmp_path):
    """Two CTAs of eight warps share a busy core; when the younger pauses, the older one is done sooner than it would be."""
    path = tmp_path / "pausing.py"
    path.write_text(THROTTLE)
    body = """ld.param.u64 %d1, [a]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 8; add.u64 %d1, %d1, %d2;
    mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0; mov.u32 %r5, 0;
    """ + loop("add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 1; add.u32 %r4, %r4, 1; add.u32 %r5, %r5, 1;\n" * 4, 60)
    ends = []
    for device in (small(cta_throttle=str(path), warp_scheduler="lrr"), small(warp_scheduler="lrr")):
        end = device.zeros(2, "u8")
        run = kernel(device, body + "mov.u64 %d3, %clock64; st.global.u64 [%d1], %d3;")(2, 256, [end, np.uint64(0)])
        ends.append((*end.numpy().tolist(), run.instructions))
    assert ends[0][0] < 0.8 * ends[1][0]
    assert ends[0][2] == ends[1][2]


def test_a_dispatch_policy_says_which_core_takes_a_cta(tmp_path):
    path = tmp_path / "last.py"
    path.write_text('''"""The last core with room."""
from simtlab.policies.hook import NO_CORE, hook

@hook
def choose(gpu, own, kernel, cycle):
    for c in range(gpu.cores - 1, -1, -1):
        if gpu.room[c]:
            return c
    return NO_CORE
''')  # fmt: skip
    device = sl.Gpu("caps-gtx480", cta_dispatch=str(path))
    out = device.zeros(15, "u4")
    body = """ld.param.u64 %d1, [a]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2; mov.u32 %r2, %smid;
    st.global.u32 [%d1], %r2;"""
    kernel(device, body)(15, 32, [out, np.uint64(0)])
    assert out.numpy().tolist() == list(range(14, -1, -1))


def test_a_divergence_policy_says_which_side_runs_first(tmp_path):
    body = """ld.param.u64 %d1, [a]; mov.u32 %r1, %laneid; setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;
    atom.global.add.u32 %r3, [%d1], 1; bra.uni END;
    LOW: atom.global.add.u32 %r3, [%d1], 1; END: mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d1, %d2; st.global.u32 [%d2+4], %r3;"""
    first = {}
    for policy in ({}, {"divergence": "taken-first"}):
        device = small(**policy)
        out = device.zeros(33, "u4")
        kernel(device, body)(1, 32, [out, np.uint64(0)])
        first[bool(policy)] = int(out[1]) < int(out[17])
    assert first == {False: False, True: True}


@pytest.mark.parametrize("kind", ["crossbar", "mesh"])
def test_an_arbiter_is_asked_on_every_network(kind, tmp_path, plain):
    """One that always takes the last contestant gives another time and the same results."""
    path = tmp_path / "last.py"
    path.write_text('''"""The last one."""
from simtlab.policies.hook import hook

@hook
def choose(contest, own, count, cycle):
    return contest.count - 1
''')  # fmt: skip
    changes = {"network.kind": kind, "network.mesh_width": 6, "network.mesh_height": 5}
    usual, turned = (launch(sl.Gpu("caps-gtx480", set=changes, **policy)) for policy in ({}, {"network_arbiter": str(path)}))
    assert usual[0].cycles != turned[0].cycles
    assert np.array_equal(turned[1], plain[1])


def test_a_hook_of_another_slot_is_refused(tmp_path):
    path = tmp_path / "confused.py"
    path.write_text("from simtlab.policies.hook import hook\n@hook\ndef pick(core, own, ready, cycle): return 0\n")
    with pytest.raises(sl.SimtlabError, match="has a hook 'pick' that prefetcher knows nothing of"):
        sl.Gpu("caps-gtx480", prefetcher=str(path))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ({"warp_scheduler": "fetch-groups,group_size=0"}, "group_size = 0 is impossible: allowed is from 1 to 64"),
        ({"warp_scheduler": "two-level,active_warps=2.5"}, "allowed is a whole number, from 1 to 64"),
        ({"warp_scheduler": "two-level,warps=2"}, "has no parameter 'warps'"),
        ({"warp_schedular": "gto"}, "no policy slot 'warp_schedular'; did you mean 'warp_scheduler'"),
        ({"warp_scheduler": "two-level,active_warps"}, "'active_warps' is no parameter with a value"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(policy, message):
    with pytest.raises(sl.SimtlabError, match=message):
        sl.Gpu("caps-gtx480", **policy)


def test_a_policy_without_a_machine_is_refused():
    with pytest.raises(sl.SimtlabError, match="name a machine"):
        sl.Gpu(warp_scheduler="gto")
