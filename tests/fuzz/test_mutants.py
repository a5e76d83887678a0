"""PTX with something wrong in it runs or gives an error of simtlab's: never a traceback, a signal or a hang.

`make fuzz` tries more of it.
"""

import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
MUTANTS = """
from tests.fuzz.corpus import every_seed
from tests.fuzz.runner import campaign
report = campaign(first=1_000_000, count=400, processes=1, seeds=every_seed()[::6])
assert sum(report.outcomes.values()) == 400, report.outcomes
assert report.outcomes["ran"] > 40, report.outcomes  # many are good programs still
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


def test_400_mutants_give_nothing_but_good_runs_and_clean_errors():
    done = python(MUTANTS)
    assert done.returncode == 0, done.stderr


def test_a_write_past_guarded_memory_is_a_signal():
    assert python(STRAY.replace("OFFSET", "127")).returncode == 0
    for offset in ("128", "-8192"):
        assert python(STRAY.replace("OFFSET", offset)).returncode < 0
