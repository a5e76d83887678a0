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


@pytest.mark.parametrize("page", ["README.md", "docs/host-api.md"])
def test_the_first_block_prints_what_the_page_says(page):
    code, expected = blocks(page)[0]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, page, "exec"), {})
    assert out.getvalue() == expected


def test_the_quickstart_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    code, _ = blocks("docs/quickstart.md")[0]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "quickstart", "exec"), {})
    assert out.getvalue().endswith("warp instructions\n")
