"""Warp schedulers by what they were asked and what they picked, on one core with one scheduler. About 15 s."""

from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.policies import hook, load
from tests.timing import machine_code
from tests.timing.machines import kernel, loop, one_core

LOGGED = """
from numba import njit
inner = njit(pick.function)
state = np.dtype(state.descr + [("count", "i8"), ("asked", "u8", (8192,)), ("given", "i8", (8192,)), ("held", "u8", (8192,))])

@hook
def pick(core, own, ready, cycle):
    w = inner(core, own, ready, cycle)
    k = own.count % 8192
    own.asked[k], own.given[k], own.held[k] = ready, w, HELD
    own.count += 1
    return w
"""
OLDER = """
import numpy as np
state = np.dtype([("unused", "i8")])

@njit
def older(core, ready, w):
    found = np.uint64(0)
    for k in range(core.warp_slots):
        if (ready >> np.uint64(k)) & np.uint64(1) and core.slots[k].age < core.slots[w].age:
            found |= np.uint64(1) << np.uint64(k)
    return found
"""
ADDITIONS = "".join(f"add.u32 %r{k}, %r1, {k};\n" for k in range(10, 26))
MISSES = "mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d2, %d2, %d1;\n" + "ld.global.u32 %r30, [%d2];\nadd.u32 %r31, %r30, 1;\n" + ADDITIONS
MIXED = "add.u32 %r9, %r9, 1;\n" * 2 + "".join(f"add.u32 %r{k}, %r{k}, 1;\n" for k in range(10, 18))  # two wait, eight do not
BARRIER = ADDITIONS + "bar.sync 0;\n" + ADDITIONS
LONG_BUFFER = {"issue.instruction_buffer_entries": 8, "issue.decode_width": 8}


def run(folder: Path, policy: str, body: str, warps: int, changes: dict | None = None, limit: int = 8, grid: int = 1) -> list[dict]:
    """Run a policy that keeps a log; for each scheduler: the sets it was asked to pick from, its picks, its active set
    (of oldest: the ready warps that are older than its pick)."""
    text = (load.FOLDER / "warp_scheduler" / f"{policy}.py").read_text()
    held = {"two_level": "own.active", "oldest": "older(core, ready, w)"}.get(policy, "np.uint64(0)")
    path = folder / f"{policy}.py"
    logged = LOGGED.replace("HELD", held)
    if policy == "oldest":
        logged = "from numba import njit" + OLDER + logged
    path.write_text(text.replace('"warps": 8', f'"warps": {limit}') + logged)
    device = sl.Gpu(one_core().replace(LONG_BUFFER | (changes or {})), warp_scheduler=str(path), memory_bytes=1 << 26)
    array = device.zeros(1 << 16, "u4")
    kernel(device, f"ld.param.u64 %d1, [a];\nmov.u32 %r1, %tid.x;\n{body}")(grid, 32 * warps, [array, array])
    logs = []
    for own in device.machine._own["warp_scheduler"][: device.machine.config.issue.schedulers]:
        n = int(own.count)
        assert 0 < n < 8192
        logs.append({"asked": [int(m) for m in own.asked[:n]], "given": own.given[:n].tolist(), "held": own.held[:n]})
    return logs


def choices(log: dict) -> list[tuple[int, int, int]]:
    """(the warp before, the set asked about, the pick) from the second pick on."""
    return list(zip(log["given"], log["asked"][1:], log["given"][1:], strict=False))


def has(warps: int, w: int) -> bool:
    return bool(warps >> w & 1)


def lowest(warps: int) -> int:
    return (warps & -warps).bit_length() - 1


def following(warps: int, w: int) -> int:
    later = warps >> w + 1
    return w + 1 + lowest(later) if later else lowest(warps)


def test_greedy_then_oldest_stays_on_a_warp_until_it_stalls(tmp_path):
    (log,) = run(tmp_path, "gto", loop(ADDITIONS, 10), warps=4)
    stays = [pick == before for before, asked, pick in choices(log) if has(asked, before)]
    assert all(stays)
    assert len(stays) > 40
    falls_back = [(asked, pick) for before, asked, pick in choices(log) if not has(asked, before)]
    assert all(pick == lowest(asked) for asked, pick in falls_back)  # one CTA: its warps are as old as their slots are low
    assert len(falls_back) > 3


def test_loose_round_robin_takes_the_next_ready_warp(tmp_path):
    (log,) = run(tmp_path, "lrr", loop(ADDITIONS, 10), warps=4)
    assert all(pick == following(asked, before) for before, asked, pick in choices(log))
    both_ready = [(before, pick) for before, asked, pick in choices(log) if asked == 0b1111]
    assert len(both_ready) > 10
    assert all(pick == (before + 1) % 4 for before, pick in both_ready)


def test_oldest_first_leaves_a_warp_for_an_older_one(tmp_path):
    (log,) = run(tmp_path, "oldest", loop(MIXED, 20), warps=4)
    assert all(pick == lowest(asked) for asked, pick in zip(log["asked"], log["given"], strict=True))
    left = [(before, pick) for before, asked, pick in choices(log) if has(asked, before) and pick != before]
    assert all(pick < before for before, pick in left)
    assert len(left) > 40


def test_the_oldest_warp_need_not_be_in_the_lowest_slot(tmp_path):
    """Room for two CTAs; the first is short, so that the third takes its slots while the second is at work."""
    longer = "mov.u32 %r2, %ctaid.x;\nand.b32 %r2, %r2, 1;\nmad.lo.u32 %r2, %r2, 20, 4;\n"
    body = longer + loop(MIXED, 1).replace("%r39, 1;\nL", "%r39, %r2;\nL")
    (log,) = run(tmp_path, "oldest", body, warps=2, changes={"core.max_ctas": 2}, grid=4)
    assert not np.any(log["held"])
    assert sum(pick != lowest(asked) for asked, pick in zip(log["asked"], log["given"], strict=True)) > 20


def test_two_level_has_at_most_eight_active_warps(tmp_path):
    (log,) = run(tmp_path, "two_level", MISSES, warps=24)
    sizes = [int(held).bit_count() for held in log["held"]]
    assert max(sizes) == 8
    assert all(has(int(held), pick) for held, pick in zip(log["held"], log["given"], strict=True) if pick >= 0)
    assert {pick for pick in log["given"] if pick >= 0} == set(range(24))


def test_two_level_does_not_switch_while_active_warps_are_ready(tmp_path):
    """Without memory or barriers nobody leaves the active set but by ending: warp 8 begins when one of 0 to 7 has ended."""
    (log,) = run(tmp_path, "two_level", ADDITIONS, warps=24)
    first = log["given"].index(8)
    assert set(log["given"][:first]) <= set(range(8)) | {hook.NO_WARP}
    counts = np.bincount([w for w in log["given"][:first] if w >= 0], minlength=8)
    assert counts.max() == 19  # its first warp is through: two moves, 16 additions, the end


def test_eight_warps_at_a_barrier_do_not_block_the_other_sixteen(tmp_path):
    (log,) = run(tmp_path, "two_level", BARRIER, warps=24)
    picks = [w for w in log["given"] if w >= 0]
    assert np.bincount(picks, minlength=24).min() == np.bincount(picks, minlength=24).max()


def test_fetch_groups_stay_with_a_group_while_it_has_a_ready_warp(tmp_path):
    (log,) = run(tmp_path, "fetch_groups", MISSES, warps=24)
    stayed = changed = 0
    for before, asked, pick in choices(log):
        group = before // 8
        if asked >> 8 * group & 0xFF:
            assert pick // 8 == group
            stayed += 1
        else:
            changed += pick // 8 != group
    assert stayed > 100
    assert changed >= 3


def test_a_static_limit_of_two_lets_only_the_two_oldest_issue(tmp_path):
    (log,) = run_limited(tmp_path, 8, 2)
    order = list(dict.fromkeys(w for w in log["given"] if w >= 0))
    assert order == sorted(order)
    first_of = {w: log["given"].index(w) for w in order}
    last_of = {w: len(log["given"]) - 1 - log["given"][::-1].index(w) for w in order}
    for w in range(2, 8):
        assert sum(last_of[older] > first_of[w] for older in range(w)) <= 1  # at most one older warp is still at work


def run_limited(folder: Path, warps: int, limit: int, body: str = ADDITIONS, changes: dict | None = None) -> list[dict]:
    return run(folder, "static_limit", body, warps, changes, limit)


def test_each_scheduler_has_a_static_limit_of_its_own(tmp_path):
    """Two schedulers, limit 2: warps 0 and 2, and 1 and 3, are at work at once; the limit is not the core's."""
    logs = run_limited(tmp_path, 8, 2, changes={"issue.schedulers": 2})
    for parity, log in enumerate(logs):
        third = log["given"].index(parity + 4)
        assert {w for w in log["given"][:third] if w >= 0} == {parity, parity + 2}


@pytest.mark.parametrize("limit", [1, 2])
def test_a_static_limit_below_the_warps_of_a_cta_does_not_hang_at_a_barrier(tmp_path, limit):
    (log,) = run_limited(tmp_path, 8, limit, BARRIER)
    picks = np.bincount([w for w in log["given"] if w >= 0], minlength=8)
    assert picks.min() == picks.max() == 2 * 16 + 1 + 3


# Compiler-guided schedulers. Machine code, because nothing of PTX yields: 16 warps, four of each of four schedulers.

YIELDING = "FADD R8, R9, R10 | stall=1\nFADD R11, R12, R13 | stall=1 yields\nFADD R14, R15, R16 | stall=3\n"


def guided(folder: Path, policy: str, warps: int = 16) -> list[tuple[int, int, int, int]]:
    """(the warp before, the set asked about, those whose last instruction yielded, the pick) of all schedulers' picks."""
    text = (load.FOLDER / "warp_scheduler" / f"{policy}.py").read_text()
    path = folder / f"{policy}.py"
    path.write_text(text + LOGGED.replace("HELD", "core.yielded"))
    changes = {"core.cores": 1, "l1i.ideal": True}
    device = sl.Gpu("h200", set=changes, warp_scheduler=str(path), memory_bytes=1 << 24)
    out = device.zeros((32 * warps, machine_code.STAMPS), "u4")
    machine_code.written(device, 6 * YIELDING)(1, 32 * warps, [out, out])
    found = []
    for own in device.machine._own["warp_scheduler"][:4]:
        n = int(own.count)
        given, asked, held = own.given[:n].tolist(), [int(m) for m in own.asked[:n]], [int(m) for m in own.held[:n]]
        found += zip(given, asked[1:], held[1:], given[1:], strict=False)
    return found


@pytest.mark.parametrize("policy", ["cggty", "cgrr"])
def test_a_guided_scheduler_keeps_a_warp_that_has_not_yielded(tmp_path, policy):
    kept = [pick == before for before, asked, yielded, pick in guided(tmp_path, policy) if has(asked & ~yielded, before)]
    assert all(kept)
    assert len(kept) > 40


@pytest.mark.parametrize("policy", ["cggty", "cgrr"])
def test_a_warp_that_yielded_is_not_kept_while_another_is_ready(tmp_path, policy):
    others = [
        (before, pick)
        for before, asked, yielded, pick in guided(tmp_path, policy)
        if has(asked & yielded, before) and asked != 1 << before
    ]
    assert all(pick != before for before, pick in others)
    assert len(others) > 10


def test_greedy_then_youngest_takes_the_youngest(tmp_path):
    """One CTA: its warps are as young as their slots are high."""
    for before, asked, yielded, pick in guided(tmp_path, "cggty"):
        if not has(asked & ~yielded, before):
            others = asked & ~(1 << before) or asked
            assert pick == others.bit_length() - 1


def test_guided_round_robin_takes_the_next_in_turn(tmp_path):
    for before, asked, yielded, pick in guided(tmp_path, "cgrr"):
        if not has(asked & ~yielded, before):
            assert pick == following(asked, before)
