"""The policy that docs/write-a-policy.md walks through runs as it stands there. About 2 s."""

import re
import shutil
from pathlib import Path

import pytest

import simtlab as sl
from tests.timing.machines import kernel
from tests.timing.test_accounting import launch

ROOT = Path(__file__).parents[2]


@pytest.fixture
def blocks(tmp_path, monkeypatch):
    """The page's blocks of Python, and a folder with what they need, the policy saved in it."""
    found = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "write-a-policy.md").read_text(), re.DOTALL)
    (tmp_path / "bursts.py").write_text(found[0])
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return found


def test_the_policy_is_about_twenty_lines(blocks):
    lines = [line for line in blocks[0].splitlines() if line.strip()]
    assert len(lines) <= 20


def test_the_page_runs_as_it_stands_there(blocks, capsys):
    exec(compile(blocks[1], "write-a-policy.md", "exec"), {})
    cycles, ipc = capsys.readouterr().out.split()
    assert int(cycles) > 0
    assert 0 < float(ipc) < 30  # 15 cores with a scheduler each, and some room


def test_the_prefetcher_of_the_page_fetches_the_lines_after_those_that_miss(blocks, tmp_path):
    (tmp_path / "mine.py").write_text(next(block for block in blocks if "def on_miss" in block))
    one_by_one = "ld.param.u64 %d1, [a];\n" + "".join(
        f"ld.global.u32 %r1, [%d1+{128 * line}];\nadd.u32 %r2, %r1, 1;\n" for line in range(8)
    )
    device = sl.Gpu("caps-gtx480", prefetcher="mine.py", warp_scheduler="gto")
    found = kernel(device, one_by_one)(1, 32, [device.zeros(1024)] * 2).counters
    # Lines 0, 2, 4, 6 miss and bring 1, 3, 5, 7 along, which the next load finds there or in flight.
    assert (found["l1_misses"], found["prefetches_issued"], found["prefetches_used"]) == (4, 4, 4)


def test_the_counters_of_the_page_are_those_of_the_run(blocks, tmp_path, capsys):
    policy, code = blocks[-2:]
    (tmp_path / "spread.py").write_text(policy)
    exec(compile(code, "write-a-policy.md", "exec"), {})
    page = (ROOT / "docs" / "write-a-policy.md").read_text()
    assert capsys.readouterr().out == re.search(re.escape(code) + r"```\n```\n(.*?)```", page, re.DOTALL)[1]


def test_bursts_compute_what_other_schedulers_compute(blocks):
    run, y, count = launch(sl.Gpu("caps-gtx480", warp_scheduler="bursts.py"))
    other, expected, expected_count = launch(sl.Gpu("caps-gtx480", warp_scheduler="lrr"))
    assert (y == expected).all()
    assert count == expected_count
    assert run.instructions == other.instructions
    assert run.cycles != other.cycles


HEAD = """import numpy as np
from simtlab.policies.hook import bit_of, hook, next_after

state = np.dtype([("current", "i8"), ("table", "i8", (8,))])


@hook
def pick(core, own, ready, cycle):
"""
GO_ON = "\n    return next_after(ready, own.current)"


def test_the_messages_of_the_page_are_those_of_the_policies_it_names(blocks, tmp_path):
    page = (ROOT / "docs" / "write-a-policy.md").read_text()
    wrong = ["return own.current + 1", "core.slots[0].age = 0" + GO_ON, "return own.curent", "own.table[cycle & 15] += 1" + GO_ON]
    said = []
    for body in [*wrong, "while own.current >= 0:\n        own.current += 1\n    return 0"]:
        (tmp_path / "mine.py").write_text(f"{HEAD}    {body}\n")
        with pytest.raises(sl.PolicyError) as caught:
            exec(compile(blocks[1].replace("bursts.py", "mine.py"), "write-a-policy.md", "exec"), {})
        said.append(str(caught.value))
    assert "\n".join(said) == re.search(r"```\n(policy .*?)\n```", page, re.DOTALL)[1]
