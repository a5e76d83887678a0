"""The line that is shown while simtlab compiles itself."""

import io
import sys

import pytest

from simtlab import compiling
from simtlab.compiling import CompilationLine


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(compiling.time, "monotonic", lambda: now[0])
    return now


def compile_for(line, clock, seconds, functions):
    with line:
        for _ in range(functions):
            clock[0] += seconds / functions
            line.function_done()


def test_a_terminal_sees_how_far_it_is_and_a_clean_line_at_the_end(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    compile_for(CompilationLine(), clock, 30, 300)
    lines = sys.stderr.getvalue().split("\r")
    assert lines[-3].strip() == "simtlab compiles itself, once; it takes about a minute: 299 functions, 30 s"
    assert lines[-1] == ""
    assert lines[-2].strip() == ""


def test_what_is_quick_shows_nothing(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    compile_for(CompilationLine(), clock, 0.5, 20)
    assert sys.stderr.getvalue() == ""


def test_a_file_gets_nothing(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    compile_for(CompilationLine(), clock, 30, 300)
    assert sys.stderr.getvalue() == ""


def test_a_function_compiled_within_another_does_not_end_the_line(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    line = CompilationLine()
    with line:
        compile_for(line, clock, 5, 5)
        clock[0] += 1
        line.function_done()
    assert "6 functions, 6 s" in sys.stderr.getvalue()


def test_a_function_for_a_policy_shows_nothing(monkeypatch, clock):
    monkeypatch.setattr(sys, "stderr", Terminal())
    CompilationLine().function_done()
    assert sys.stderr.getvalue() == ""
