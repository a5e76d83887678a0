"""docs/stalls.md says what the code says: every stall reason, every counter, every rule; and its examples print what it shows."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

from simtlab.machine.core import stall
from simtlab.machine.core.kinds import Stall
from simtlab.machine.counters import COUNTERS
from simtlab.report import advice
from simtlab.report.counter_table import BEGIN, END, counter_table
from tests.test_docs import ROOT, blocks

PAGE = (ROOT / "docs" / "stalls.md").read_text()


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def first_columns(text: str) -> list[str]:
    """The names in backquotes in the first column of the tables of a text."""
    return [name for cell in re.findall(r"^\| (`.*?) \|", text, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", cell)]


@pytest.mark.parametrize("number", range(len(blocks("docs/stalls.md"))))
def test_a_block_prints_what_the_page_says(number, monkeypatch):
    monkeypatch.chdir(ROOT)
    code, expected = blocks("docs/stalls.md")[number]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, f"docs/stalls.md, block {number}", "exec"), {})
    assert out.getvalue() == expected


def test_the_page_explains_every_stall_reason_once():
    assert sorted(first_columns(section("The stall reasons"))) == sorted(cause.name.lower() for cause in Stall)


def test_the_page_has_the_table_of_counters_that_the_code_prints():
    assert PAGE.split(BEGIN + "\n")[1].split("\n" + END)[0] == counter_table(), (
        "docs/stalls.md is out of date: python -m simtlab.report.counter_table"
    )


def test_the_page_has_every_counter_once():
    assert first_columns(section("All counters")) == [counter.name for counter in COUNTERS]


def test_the_module_prints_the_table():
    done = subprocess.run([sys.executable, "-m", "simtlab.report.counter_table"], capture_output=True, text=True, check=True)
    assert done.stdout == counter_table() + "\n"


def test_the_page_has_the_causes_in_the_order_in_which_the_machine_looks_for_them():
    """Of those in which no warp has all it needs; `why_not` looks for them in its order of statements."""
    source = Path(stall.__file__).read_text().split("def why_not(")[1].split("\n@compiled")[0]
    names = {name: cause.name.lower() for name, cause in [*((cause.name, cause) for cause in Stall), ("AT_BARRIER", Stall.BARRIER)]}
    order = dict.fromkeys(names[name] for name in re.findall(r"return (\w+), lowest_bit", source))
    told = section("How a cycle gets its cause").split("3. No warp is that far.")[1].split("\n\n")[0]
    assert re.findall(r"`(\w+)`", told) == list(order)


def test_the_page_has_every_rule_of_the_advice():
    folder = Path(advice.__file__).parent / "rules"
    texts = [path.read_text() for path in sorted(folder.glob("*.py"))]
    named = {name for text in texts for name in re.findall(r'Finding\(\s*"([a-z0-9-]+)"', text)}
    named |= {name for text in texts for name in re.findall(r'"(\w+-bandwidth)"', text)}
    named |= {name for text in texts for name in re.findall(r'": \("([a-z-]+)", "', text)}
    assert set(first_columns(section("The rules of the advice"))) == named


def test_the_page_has_the_thresholds_of_the_rules():
    from simtlab.report.rules import grid, memory

    rules = section("The rules of the advice")
    assert f"explains {advice.WORTH_SAYING:.0%} of" in rules
    assert rules.count(f"{memory.BUSY:.0%}") == 2
    assert f"needs {grid.FEWEST_INTERVALS} intervals" in rules
    assert grid.HALF == 0.5
