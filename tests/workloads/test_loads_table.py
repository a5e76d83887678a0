"""What LOADS Table I counts, and what our programs come to when it is counted so; docs/loads.md has the numbers."""

import re
from pathlib import Path

import pytest

import simtlab as sl
from simtlab.workloads.counting import COUNT, COUNTER, GLOBAL_LOAD, HEADER
from simtlab.workloads.frame import Workload, workload
from simtlab.workloads.measured import CountingLauncher, stored

PAGE = (Path(__file__).parents[2] / "docs" / "loads.md").read_text()
INSTRUCTION = re.compile(r"^(?=[ \t]*(?:@!?%\w+[ \t]+)?[a-z][\w.]*(?:[ \t].*)?;$)", re.MULTILINE)
GENERIC_LOAD = re.compile(r"^(?=[ \t]*ld\.[us]\d+\b)", re.MULTILINE)
BY_LANES = COUNT.replace("@%sl_first ", "")  # every active lane adds one, not one lane for all
TABLE_1_BPR = 8_454_224  # global loads


def executed_by_threads(program: Workload, kind: re.Pattern[str]) -> int:
    """How many instructions of a kind the threads of a program execute, those with a guard that is false among them."""

    def counted(ptx: str) -> str:
        return kind.sub(BY_LANES, HEADER.sub(lambda line: f"{line[0]}\n.visible .global .align 8 .u64 {COUNTER};", ptx, count=1))

    gpu = sl.Gpu(threads=1)
    launcher = CountingLauncher(gpu, program.compile(gpu, counted))
    program.definition.run(launcher, program.inputs())
    return sum(launcher.loads)


def test_the_threads_of_backpropagation_execute_as_many_loads_as_the_table_has():
    assert executed_by_threads(workload("BPR", "paper"), GLOBAL_LOAD) == TABLE_1_BPR
    assert f"{TABLE_1_BPR:,}" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"),
    [("BPR", "paper"), ("BFS", "paper"), ("SSSP", "small"), ("CCL", "paper"), ("MST", "paper"), ("MIS", "small")],
)
def test_the_page_has_what_threads_execute(name, size):
    loads, instructions = (executed_by_threads(workload(name, size), kind) for kind in (GLOBAL_LOAD, INSTRUCTION))
    of_warps = stored()[name][size].load_share
    counts = f"{instructions / 1e6:.1f} | {loads / 1e6:.2f} | {loads / instructions:.1%} | {of_warps:.1%}"
    assert f"| {name} | `{size}` | {counts} |" in PAGE


@pytest.mark.slow
def test_without_optimisation_the_same_loads_are_fewer_among_more_instructions(monkeypatch):
    """The kernels of BFS have neither shared nor local memory: a generic load is a global one."""
    program = workload("BFS", "paper")
    monkeypatch.setattr(program.definition, "OPTIONS", ("-G",))
    loads, instructions = (executed_by_threads(program, kind) for kind in (GENERIC_LOAD, INSTRUCTION))
    assert f"{instructions / 1e6:.1f} M instructions and {loads / 1e6:.2f} M loads, {loads / instructions:.1%}" in PAGE
