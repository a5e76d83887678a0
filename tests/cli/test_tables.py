"""Tables: aligned text for files and pipes, framed ones for terminals."""

import io

from rich.console import Console

from simtlab.cli.tables import show_facts, show_table

HEADER, ROWS = ["name", "count"], [["a[bold]", "7"], ["two\nlines", "1,000"]]


def drawn(terminal: bool, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, force_terminal=terminal, width=width, color_system=None, markup=False, highlight=False)
    show_table(console, HEADER, ROWS, right=(1,))
    return file.getvalue()


def test_plain_columns_line_up_without_spaces_at_the_ends():
    assert drawn(terminal=False) == "name     count\na[bold]      7\ntwo      1,000\nlines\n"


def test_plain_lines_are_never_broken():
    assert drawn(terminal=False, width=5) == drawn(terminal=False)


def test_a_terminal_gets_a_rule_under_the_header():
    lines = drawn(terminal=True).splitlines()
    assert lines[0].split() == ["name", "count"]
    assert set(lines[1].strip()) == {"─"}
    assert lines[2].split() == ["a[bold]", "7"]


def test_facts_line_up():
    file = io.StringIO()
    show_facts(Console(file=file, width=10), [("grid", "4096"), ("registers", "9 a thread")])
    assert file.getvalue() == "grid       4096\nregisters  9 a thread\n"
