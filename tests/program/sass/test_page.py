"""docs/sass.md says what the tables say, and its example runs."""

import contextlib
import io
import re
from pathlib import Path

from simtlab.program.sass.given import LOWERINGS
from simtlab.program.sass.table import as_markdown

PAGE = (Path(__file__).parents[3] / "docs" / "sass.md").read_text()


def test_the_tables_are_those_of_the_code():
    """`python -m simtlab.program.sass.table` prints them."""
    assert "\n".join(as_markdown()) in PAGE


def test_every_opcode_is_on_the_page():
    assert len(LOWERINGS) > 150
    assert all(f"`{opcode}`" in PAGE for opcode in LOWERINGS)


def test_the_example_prints_what_the_page_says():
    source, printed = re.search(r"```python\n(.*?)```\n```\n(.*?)```", PAGE, re.DOTALL).groups()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(source, {})
    assert out.getvalue() == printed
