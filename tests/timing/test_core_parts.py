"""Parts of a core and what stands around it that are settings, each by the cycles or requests it must add. About 10 s."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.policies import load as policies
from simtlab.policies.hook import NO_CORE
from tests.timing.machines import cycles, gpu, kernel, loop, one_core
from tests.timing.test_stall_reasons import ADD_CYCLES, LINE_APART, NOTHING, START, added, machine, stalls, to_l2_and_back

REGISTERS = range(1, 13)
APART = "".join(f"add.u32 %r{k}, %r20, {k};\n" for k in REGISTERS)  # each writes a register that none of them reads
SHIFTED = "".join(f"add.u32 %r{k}, %r{k % 12 + 1}, 1;\n" for k in REGISTERS)  # each writes a register that the one before reads
THREE_SOURCES = "".join(f"fma.rn.f32 %f{k}, %f20, %f21, %f22;\n" for k in REGISTERS)
USE = (
    "mov.u32 %r13, 1;\n"
    + "".join(f"add.u32 %r13, %r13, %r{k};\n" for k in REGISTERS)
    + "".join(f"add.f32 %f13, %f13, %f{k};\n" for k in REGISTERS)
)  # so that each has a register of its own


def cycles_each(device: sl.Gpu, twelve: str) -> float:
    """Cycles for each of twelve instructions of a lone warp."""

    def per_iteration(copies: int) -> float:
        before = "mov.u32 %r20, 1;\nmov.f32 %f20, 0f3F800000;\nmov.f32 %f21, 0f3F800000;\nmov.f32 %f22, 0f3F800000;\n"
        few, many = (cycles(device, before + loop(twelve * copies, times) + USE) for times in (20, 60))
        return (many - few) / 40

    return (per_iteration(6) - per_iteration(2)) / 4 / 12


@pytest.mark.parametrize("entries", [1, 2, 3, 6, 16])
def test_coons_scoreboard_lets_as_many_results_of_a_warp_be_pending_as_it_has_entries(entries):
    device = machine({"issue.scoreboard": "coon", "issue.scoreboard_entries": entries})
    assert cycles_each(device, APART) == max(ADD_CYCLES / entries, 1)


def test_a_scoreboard_of_a_bit_for_each_register_lets_a_warp_issue_in_every_cycle():
    assert cycles_each(machine(), APART) == 1


IN_ORDER, ON_COMMIT, ON_READ, BLOOMBOARD = "in-order", "release-on-commit", "release-on-read", "bloomboard"
READ_ONE, READ_THREE = 1 + 1, 1 + 3  # from an issue to the cycle in which all operands are there


@pytest.mark.parametrize(
    ("protection", "instructions", "each"),
    [
        (IN_ORDER, APART, 1),
        (IN_ORDER, SHIFTED, 1),
        (IN_ORDER, THREE_SOURCES, 1),
        (ON_COMMIT, APART, ADD_CYCLES),
        (ON_COMMIT, SHIFTED, ADD_CYCLES),
        (ON_COMMIT, THREE_SOURCES, READ_THREE + 5),
        (ON_READ, APART, READ_ONE),
        (ON_READ, SHIFTED, READ_ONE),
        (ON_READ, THREE_SOURCES, READ_THREE),
        (BLOOMBOARD, APART, 1),
        (BLOOMBOARD, SHIFTED, READ_ONE),
        (BLOOMBOARD, THREE_SOURCES, 1),
    ],
)
def test_a_later_write_waits_for_an_earlier_read_as_long_as_its_protection_says(protection, instructions, each):
    assert cycles_each(machine({"register_file.war_protection": protection}), instructions) == each


@pytest.mark.parametrize("detail", [1, 2, 3])
@pytest.mark.parametrize("resolve", [0, 1, 7, 30])
def test_a_branch_of_a_lone_warp_takes_the_cycles_of_its_resolution_more(detail, resolve):
    device = machine({"core.detail": detail, "issue.branch_resolve_cycles": resolve})
    found = added(device, lambda k: f"bra.uni B{k};\nadd.u32 %r2, %r2, 1;\nB{k}: ")
    assert sum(found.values()) == 1 + resolve


@pytest.mark.parametrize(("sub_cores", "on_both", "on_one"), [(1, 16, 16), (2, 16, 32)])
def test_a_sub_core_cannot_use_the_units_of_another(sub_cores, on_both, on_one):
    """Two units that take a warp every four cycles, eight warps at work: on both sub-cores, or all on one."""
    settings = {"issue.schedulers": 2, "issue.fetch_width": 2, "units.sp_units": 2, "units.sfu_units": 2}
    device = machine(settings | {"core.sub_cores": sub_cores, "units.sp_mad.initiation_cycles": 4})
    fma = "fma.rn.f32 %f1, %f1, %f1, %f1;\n"
    even_warps_only = "mov.u32 %r2, %warpid;\nand.b32 %r2, %r2, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 ret;\n"
    both = added(device, fma, threads=256)
    one = added(device, fma, before=even_warps_only, threads=512)
    assert [sum(found.values()) / 2 for found in (both, one)] == pytest.approx([on_both, on_one], rel=0.05)


@pytest.mark.parametrize(("allocate", "tag_waits"), [("on-miss", True), ("on-fill", False)])
def test_lines_taken_on_fill_let_a_set_have_more_misses_than_ways(allocate, tag_waits):
    """16 lines of a set of 4 ways, twice: on fill no miss waits for a way, and the last four to come are there."""
    changes = {"shared_memory.shares_l1": False, "l1d.index": "linear", "l1d.allocate": allocate}
    device = gpu(changes)
    stride = 128 * device.machine.config.l1d.sets
    spread = f"mov.u32 %r1, %tid.x;\nmul.wide.u32 %d2, %r1, {stride};\nadd.u64 %d1, %d1, %d2;\n"
    load = "ld.global.u32 %r10, [%d1];\nadd.u32 %r10, %r10, 1;\n"
    array = device.zeros(16 * stride // 4, "u4")
    found = kernel(device, START + spread + load + load)(1, 16, [array, NOTHING]).counters
    assert (found["l1_fail_tag"] > 0) == tag_waits
    assert (found["l1_misses"], found["l1_hits"]) == ((32, 0) if tag_waits else (28, 4))


@pytest.mark.parametrize(("schedulers", "sub_cores"), [(2, 1), (4, 1), (4, 2), (4, 4)])
def test_all_schedulers_of_a_sub_core_have_instructions_to_issue(schedulers, sub_cores):
    """Sixteen warps, as many on each scheduler, that do nothing but add: each of them issues as much as the others."""
    parts = {"issue.schedulers": schedulers, "core.sub_cores": sub_cores, "issue.fetch_width": 4, "issue.decode_width": 2}
    units = {"units.sp_units": schedulers, "units.sfu_units": sub_cores, "register_file.collectors_sp": 8}
    device = gpu(parts | units)
    run = kernel(device, loop("add.u32 %r1, %r1, 1;\n" * 8, 20))(1, 512, [NOTHING] * 2)
    issued = run.timing.stalls_by_scheduler[0, :, list(run.stalls).index("issued")]
    assert issued.tolist() == [run.instructions // schedulers] * schedulers


LOCAL = ".reg .b32 %r<40>; .reg .b64 %d<40>; .local .align 4 .b8 l[64];"


@pytest.mark.parametrize("write_global", ["write-through", "write-back"])
@pytest.mark.parametrize(("write_local", "requests"), [("write-through", 4), ("write-evict", 4), ("write-back", 2)])
def test_stores_to_local_memory_leave_the_core_one_by_one_unless_it_is_written_back(write_local, requests, write_global):
    """Two words, each written twice: their lines leave a write-back L1 once, at the end of the run."""
    device = gpu({"l1d.write_local": write_local, "l1d.write_global": write_global, "l1d.write_allocate": True})
    body = "mov.u64 %d2, l;\n" + 2 * "st.local.u32 [%d2], %r1;\nst.local.u32 [%d2+4], %r1;\n"
    found = kernel(device, body, LOCAL)(1, 32, [NOTHING] * 2).counters
    assert found["l2_writes"] == found["request_packets"] - found["l1i_misses"] == requests


@pytest.mark.parametrize("write_local", ["write-through", "write-back"])
@pytest.mark.parametrize(("write_global", "requests"), [("write-through", 2), ("write-evict", 2), ("write-back", 1)])
def test_stores_to_global_memory_leave_the_core_one_by_one_unless_it_is_written_back(write_local, requests, write_global):
    device = gpu({"l1d.write_local": write_local, "l1d.write_global": write_global, "l1d.write_allocate": True})
    found = kernel(device, START + 2 * "st.global.u32 [%d1], %r1;\n")(1, 32, [device.zeros(32, "u4"), NOTHING]).counters
    assert found["l2_writes"] == found["request_packets"] - found["l1i_misses"] == requests


def test_a_fence_takes_what_is_left_of_the_way_of_the_stores_before_it():
    """32 lines stored, and a chain of additions under way meanwhile: with a fence at its end a load begins when all are there."""
    device = machine()
    array = device.zeros(1024, "u4")
    store = LINE_APART + "st.global.u32 [%d1], %r2;\n" + "add.u32 %r2, %r2, 1;\n" * 8
    trip = stalls(device, store, a=array)
    fenced = stalls(device, store + "membar.gl;\n", a=array)
    assert fenced["membar"] == pytest.approx(trip["drain"], abs=2)
    assert fenced["drain"] <= 2
    assert stalls(device, "add.u32 %r2, %r2, 1;\nmembar.gl;\n")["membar"] == 0


@pytest.mark.parametrize(("together", "ports"), [(1, 2), (2, 1)])
def test_two_cores_on_one_port_take_twice_the_time_to_store(together, ports):
    """A line is four flits of data, one of header: five network cycles, ten of a core."""
    device = gpu({"core.cores": 2, "core.cores_per_cluster": together, "l1d.enabled": False}, warp_scheduler="lrr")
    array = device.zeros(1 << 11, "u4")
    place = "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\nmad.lo.u32 %r1, %r2, 1024, %r1;\nmul.wide.u32 %d2, %r1, 4;\n"
    body = START + place + "add.u64 %d1, %d1, %d2;\n" + loop("st.global.u32 [%d1], %r1;\n", 100)
    lines = 2 * 32 * 100
    assert cycles(device, body, threads=1024, grid=2, a=array) == pytest.approx(10 * lines / ports, rel=0.05)


LOGGED = """
import numpy as np
from numba import njit
inner = njit(choose.function)
state = np.dtype(STATE + [("count", "i8"), ("room", "i8", (64, 3)), ("resident", "i8", (64, 3)), ("choice", "i8", (64,))])

@hook
def choose(gpu, own, kernel, cycle):
    c = inner(gpu, own, kernel, cycle)
    for k in range(3):
        own.room[own.count, k], own.resident[own.count, k] = gpu.room[k], gpu.resident[k]
    own.choice[own.count] = c
    own.count += 1
    return c
"""


def dispatched(folder, policy: str) -> list[tuple[list[int], list[int], int]]:
    """Four long CTAs on three cores, beside them a short one and then another: where there was room, who was there, the choice."""
    text = (policies.FOLDER / "cta_dispatch" / f"{policy}.py").read_text()
    path = folder / f"{policy}.py"
    path.write_text(text + LOGGED.replace("STATE", "state.descr" if "state =" in text else "[]"))
    device = sl.Gpu(one_core().replace({"core.cores": 3}), cta_dispatch=str(path), memory_bytes=1 << 26)
    made = kernel(device, "ld.param.u32 %r1, [a];\n" + loop("", 1).replace("%r39, 1;\nL", "%r39, %r1;\nL"))
    long, short = device.stream(), device.stream()
    made(4, 32, [np.uint64(2000), NOTHING], stream=long)
    for _ in range(2):
        made(1, 32, [np.uint64(20), NOTHING], stream=short)
    device.synchronize()
    own = device.machine._own["cta_dispatch"][0]
    asked = [(own.room[k].tolist(), own.resident[k].tolist(), int(own.choice[k])) for k in range(int(own.count))]
    assert all((choice == NO_CORE) == (not any(room)) for room, _, choice in asked)
    return [one for one in asked if any(one[0])]


def test_load_balanced_dispatch_takes_the_core_with_the_fewest_ctas(tmp_path):
    log = dispatched(tmp_path, "load_balanced")
    for room, resident, choice in log:
        assert resident[choice] == min(resident[c] for c in range(3) if room[c])
    assert log[-1] == ([1, 1, 1], [2, 1, 1], 1)  # the short CTA has left core 1


def test_round_robin_dispatch_takes_the_next_core_however_many_ctas_it_has(tmp_path):
    log = dispatched(tmp_path, "round_robin")
    assert [c for _, _, c in log] == [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(("before", "detail"), [("st", 1), ("st", 2), ("st", 3), ("red", 2), ("red", 3)])
def test_a_fence_right_after_a_store_or_an_atomic_waits_for_it(before, detail):
    """But at one loop, where a warp waits for its atomic before anything else."""
    device = machine({"core.detail": detail})
    operation = {"st": "st.global.u32", "red": "red.global.add.u32"}[before]
    found = stalls(device, f"{START}{operation} [%d1], %r2;\nmembar.gl;\n", a=device.zeros(32, "u4"))
    assert found["membar"] > to_l2_and_back(device)


@pytest.mark.parametrize("detail", [1, 2, 3])
@pytest.mark.parametrize("ways", [1, 2])
def test_warps_that_push_each_others_instructions_out_of_a_tiny_cache_all_come_to_their_end(detail, ways):
    """Sixteen warps in sixteen pieces of code of two lines each, in a cache of two lines."""
    device = gpu({"core.detail": detail, "l1i.bytes": 256, "l1i.ways": ways, "l1i.mshr_entries": 2})
    ways_to_go = "".join(f"setp.eq.u32 %p1, %r1, {w};\n@%p1 bra PIECE{w};\n" for w in range(16))
    pieces = "".join(
        f"PIECE{w}: mov.u32 %r39, 3;\nAGAIN{w}: " + "add.u32 %r2, %r2, 1;\n" * 24
        + f"sub.u32 %r39, %r39, 1;\nsetp.ne.u32 %p3, %r39, 0;\n@%p3 bra AGAIN{w};\nbra DONE;\n"
        for w in range(16)
    )  # fmt: skip
    found = kernel(device, f"mov.u32 %r1, %tid.x;\nshr.u32 %r1, %r1, 5;\n{ways_to_go}{pieces}DONE:")(1, 512, [device.zeros(1)] * 2)
    assert found.counters["l1i_misses"] >= 16 * 2 * 3
