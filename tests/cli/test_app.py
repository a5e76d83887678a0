"""Help, version, lists, and how soon they come."""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import get_type_hints

from typer.models import OptionInfo

import simtlab
from simtlab.cli.app import app, lists
from simtlab.cli.ptx_table import as_markdown, written
from simtlab.isa import table
from tests.cli.conftest import ENVIRONMENT, ROOT, invoke, subprocess_run


def test_simtlab_alone_shows_help():
    result = invoke()
    assert result.exit_code == 0
    for command in ("run", "inspect", "list"):
        assert command in result.stdout


def test_version():
    assert invoke("--version").stdout == f"simtlab {simtlab.__version__}\n"


def test_help_comes_within_half_a_second():
    def processor_seconds() -> float:
        """Not those of the clock, which other work on the machine lengthens."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess_run("--help")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode == 0
        assert "Usage: simtlab" in done.stdout
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(processor_seconds() for _ in range(3)) < 0.5


def test_help_imports_neither_numba_nor_numpy():
    code = "import sys, simtlab.cli.app; print(sorted({'numba', 'numpy', 'llvmlite'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True)
    assert done.stdout == "[]\n"


def test_list_ptx_names_every_pattern_under_its_family():
    result = invoke("list", "ptx")
    assert result.exit_code == 0
    for row in table.rows():
        assert f"  {written(row)}  " in result.stdout
    assert "\ninteger: " in result.stdout
    assert "  mov.{b32,b64}    T = E…" in result.stdout  # a packed move, not PTX's own word for it


def test_the_page_about_ptx_is_what_the_table_says():
    page = invoke("list", "ptx", "--markdown").stdout
    assert page == as_markdown()
    assert (ROOT / "docs" / "ptx.md").read_text(encoding="utf-8") == page, (
        "docs/ptx.md is out of date: simtlab list ptx --markdown > docs/ptx.md"
    )


def options_of(command: Callable) -> Iterator[tuple[str, OptionInfo]]:
    for name, hint in get_type_hints(command, include_extras=True).items():
        for told in getattr(hint, "__metadata__", ()):
            if isinstance(told, OptionInfo):
                yield name, told


def test_an_option_with_its_own_name_for_its_value_says_how_it_is_spelt():
    """Else Typer 0.27 takes the value's name for the flag: --isa ISA was --ISA."""
    commands = [command.callback for command in (*app.registered_commands, *lists.registered_commands)]
    found = [(command.__name__, name) for command in commands for name, told in options_of(command)
             if told.metavar and told.metavar.lower() == name and not str(told.default).startswith("--")]  # fmt: skip
    assert len(commands) > 10
    assert found == []
