"""The command line under test, in this process and in one of its own, and kernels to give it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from simtlab.cli import correlate, look  # noqa: F401
from simtlab.cli.app import app

ROOT = Path(__file__).parents[2]
SAXPY = ROOT / "examples" / "saxpy.cu"
SAXPY_ARGUMENTS = ["--arg", "i32:1000", "--arg", "f32:2", "--arg", "f32[1000]=arange", "--arg", "f32[1000]=ones"]
PROGRAM = [sys.executable, "-c", "from simtlab.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def invoke(*arguments: object) -> Result:
    """Run `simtlab` in this process; anything but an exit is a failure of the test."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], prog_name="simtlab")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(status: int, *arguments: object) -> str:
    """The message of a run that must fail with this status: one `error: …` on stderr, nothing on stdout."""
    result = invoke(*arguments)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    return result.stderr


def subprocess_run(*arguments: object, **options) -> subprocess.CompletedProcess:
    command = [*PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, **options)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file in a folder of the test's own; gives its path."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_file
