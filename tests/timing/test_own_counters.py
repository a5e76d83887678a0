"""Counters that policies declare: added up over units, from zero at each launch, under names of their own; refused by name."""

import json

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError
from simtlab.machine.counters import COUNTERS
from simtlab.machine.hooks import SLOTS
from simtlab.policies.load import load
from tests.cli.conftest import SAXPY, SAXPY_ARGUMENTS, invoke
from tests.timing.machines import gpu, kernel

LOADS = """
    ld.param.u64 %d1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
    ld.global.u32 %r2, [%d3]; ld.global.u32 %r3, [%d3+4096]; ld.global.u32 %r4, [%d3+8192];
"""
POLICY = '''"""Counts loads, together and by the warp of the CTA."""
import numpy as np
from simtlab.policies.hook import hook

state = np.dtype([("loads", "i8"), ("by_warp", "i4", (4,)), ("from_one", "u2", (4,)), ("share", "f8"), ("most", "i8"),
                  ("large", "i8", (65,)), ("square", "i8", (2, 2))])
parameters = {"most": 3}
counters = {"loads": ("loads", "All."), "by_warp": ("loads", "By warp."), "from_one": ("loads", "By warp.", 1)}

@hook
def on_load(core, own, op, cycle):
    warp = core.slots[core.ops[op].slot].warp % 4
    own.loads += 1
    own.by_warp[warp] += 1
    own.from_one[warp] += 1
'''
PICKS = '''"""Counts its picks."""
import numpy as np
from simtlab.policies.hook import hook, next_after

state = np.dtype([("loads", "i8")])
counters = {"loads": ("picks", "Warps picked.")}

@hook
def pick(core, own, ready, cycle):
    return next_after(ready, 0)

@hook
def on_issue(core, own, warp, cycle):
    own.loads += 1
'''


@pytest.fixture
def counting(tmp_path):
    path = tmp_path / "counts_loads.py"
    path.write_text(POLICY)
    return path


def test_counters_are_added_up_over_cores_and_begin_anew_at_each_launch(counting):
    device = gpu({"core.cores": 3}, prefetcher=str(counting))
    data = device.zeros(1 << 14, "u4")
    for ctas in (6, 4):
        run = kernel(device, LOADS)(ctas, 96, [data, np.uint64(0)])
        own = {name: value for name, value in run.counters.items() if name.startswith("prefetcher.")}
        each = [3 * ctas, 3 * ctas, 3 * ctas, 0]  # three loads of three warps
        assert own == {
            "prefetcher.counts-loads.loads": 9 * ctas,
            **{f"prefetcher.counts-loads.by_warp.{k}": each[k] for k in range(4)},
            **{f"prefetcher.counts-loads.from_one.{k + 1}": each[k] for k in range(4)},
        }


def test_a_policy_that_only_counts_leaves_the_machines_counters_as_they_were(counting):
    runs = []
    for policies in ({}, {"prefetcher": str(counting)}):
        device = gpu(**policies)
        runs.append(kernel(device, LOADS)(4, 96, [device.zeros(1 << 14, "u4"), np.uint64(0)]))
    without, counted = runs
    assert {name: value for name, value in counted.counters.items() if "." not in name} == without.counters
    assert (counted.cycles, counted.stalls, counted.energy) == (without.cycles, without.stalls, without.energy)


def test_two_policies_of_one_name_and_field_are_told_apart_by_their_slots(counting, tmp_path):
    (tmp_path / "in").mkdir()
    picks = tmp_path / "in" / "counts_loads.py"
    picks.write_text(PICKS)
    device = gpu(prefetcher=str(counting), warp_scheduler=str(picks))
    run = kernel(device, LOADS)(2, 64, [device.zeros(1 << 14, "u4"), np.uint64(0)])
    assert run.counters["prefetcher.counts-loads.loads"] == 3 * 4
    assert run.counters["warp_scheduler.counts-loads.loads"] == run.instructions


def test_no_counter_of_the_machine_has_a_name_that_a_policys_could_have():
    assert not any("." in counter.name for counter in COUNTERS)
    assert not any("." in slot for slot in SLOTS)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ('{"lods": ("loads", "All.")}', "counters names 'lods', which is no whole-number field; its state counts in: loads, by"),
        ('{"share": ("loads", "All.")}', "counters names 'share', which is no whole-number field; its state counts in: loads"),
        ('{"most": ("loads", "All.")}', "counters names 'most', which is no whole-number field"),
        ('{"loads": "loads"}', r"counters of 'loads' = 'loads' is impossible: allowed is \(\"unit\", \"sentence\"\)"),
        ('{"loads": ("loads",)}', r"counters of 'loads' = \('loads',\) is impossible"),
        ('{"loads": ("loads", "")}', r"counters of 'loads' = \('loads', ''\) is impossible"),
        ('{"by_warp": ("loads", "All.", "1")}', r"counters of 'by_warp' = \('loads', 'All.', '1'\) is impossible"),
        ('{"large": ("loads", "All.")}', r"counters names 'large', an array of \(65,\); allowed is a number, or an array of"),
        ('{"square": ("loads", "All.")}', r"counters names 'square', an array of \(2, 2\); allowed is a number, or an array"),
        ('["loads"]', r"counters = \['loads'\] is impossible: allowed is a dict of fields"),
    ],
)
def test_counters_of_what_no_field_counts_are_refused(counting, wrong, words):
    begin = POLICY.index("counters = ") + len("counters = ")
    counting.write_text(POLICY[:begin] + wrong + POLICY[POLICY.index("\n", begin) :])
    with pytest.raises(ConfigError, match="policy '.*counts_loads.py': " + words):
        load("prefetcher", str(counting))


def test_the_command_line_gives_them_with_unit_and_meaning(counting):
    arguments = ["run", SAXPY, "--grid", 4, "--block", 128, *SAXPY_ARGUMENTS]
    result = invoke(*arguments, "--gpu", "caps-gtx480", "--policy", f"prefetcher={counting}", "--json")
    assert result.exit_code == 0, result.output
    counters = json.loads(result.stdout)["timing"]["counters"]
    assert counters["prefetcher.counts-loads.by_warp.2"] == {"value": 4 * 2, "unit": "loads", "meaning": "By warp."}
    assert len(counters) == len(COUNTERS) + 9


def test_the_store_keeps_them_with_unit_and_meaning(counting, tmp_path):
    store = tmp_path / "results.sqlite"
    policies = {"prefetcher": ["caps", str(counting)]}
    found = sl.Sweep("MM", size="tiny", gpu="caps-gtx480", policies=policies).run(store, processes=1)
    name = "prefetcher.counts-loads.loads"
    assert found.meanings()[name] == ("loads", "All.")
    assert found.meanings()["prefetcher.caps.lookups"][0] == "accesses"
    assert len(found.where(f"{name}>0")) == 1
    assert [result.value("prefetcher.threshold") for result in found] == [128, None]
    shown = invoke("results", next(iter(found.where(f"{name}>0"))).key, "--store", store).stdout
    assert " ".join([name, "576", "loads", "All."]) in " ".join(shown.split())
    assert list(found.to_pandas()[name].dropna()) == [2 * 4 * 9 * 8]  # two loads, four iterations, nine CTAs of eight warps
