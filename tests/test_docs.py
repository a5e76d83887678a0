"""The code in the documentation runs and prints what the pages say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def blocks(page: str) -> list[tuple[str, str]]:
    """Python blocks of a page with the output block that follows, if any."""
    text = (ROOT / page).read_text()
    return re.findall(r"```python\n(.*?)```\n(?:```\n(.*?)```)?", text, re.DOTALL)


ON_HOST_API = [("docs/host-api.md", number) for number in range(len(blocks("docs/host-api.md")))]


@pytest.mark.parametrize(("page", "number"), [("README.md", 0), ("docs/sampling.md", 0), *ON_HOST_API])
def test_a_block_prints_what_the_page_says(page, number):
    code, expected = blocks(page)[number]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, f"{page}, block {number}", "exec"), {})
    assert out.getvalue() == expected


@pytest.mark.parametrize("page", sorted(page.name for page in (ROOT / "docs").glob("*.md") if not page.name.startswith("write-a-")))
def test_python_files_that_a_page_names_exist(page):
    """By the last parts of their path. Those of the pages that let the reader write something are the reader's own."""
    there = [path.as_posix() for folder in ("src", "tests", "examples", "benchmarks") for path in (ROOT / folder).rglob("*.py")]
    named = set(re.findall(r"`([a-z]\w*/[\w/]+\.py)`", (ROOT / "docs" / page).read_text()))
    assert [name for name in named if not any(path.endswith(f"/{name}") for path in there)] == []


def test_the_quickstart_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    code, _ = blocks("docs/quickstart.md")[0]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "quickstart", "exec"), {})
    assert out.getvalue().endswith("warp instructions\n")
