"""PTX with something wrong in it runs or gives an error of simtlab's: never a traceback, a signal or a hang.

`make fuzz` tries more of it.
"""

import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MUTANTS = """
from tests.fuzz import runner
from tests.fuzz.corpus import every_seed
runner.ONE_IN_TIMED = {one_in}
report = runner.campaign(first=1_000_001, count={count}, processes=1, seeds=every_seed()[::{step}])
assert sum(report.outcomes.values()) == {count}, report.outcomes
assert report.outcomes["ran"] > {count} // 20, report.outcomes  # many are good programs still
assert not report.findings, report.findings
"""
STRAY = """
import ctypes
from tests.fuzz.guarded import guarded_bytes
memory = guarded_bytes(100)
assert memory.size == 128
memory[:] = 1
ctypes.memset(memory.ctypes.data + OFFSET, 1, 1)
"""


def python(code):
    return subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, timeout=900)


@pytest.mark.slow
def test_60_mutants_give_nothing_but_good_runs_and_clean_errors():
    done = python(MUTANTS.format(count=60, one_in=10**9, step=40))
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_mutants_give_nothing_but_good_runs_and_clean_errors_on_a_timed_machine():
    done = python(MUTANTS.format(count=200, one_in=1, step=6))
    assert done.returncode == 0, done.stderr


def test_a_write_past_guarded_memory_is_a_signal():
    assert python(STRAY.replace("OFFSET", "127")).returncode == 0
    for offset in ("128", "-4096"):
        assert python(STRAY.replace("OFFSET", offset)).returncode < 0
