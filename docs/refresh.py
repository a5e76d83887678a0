"""Run what the guides show and put what it prints into them: python -m docs.refresh [PAGE ...].

For when the model of a machine has changed. Counts in the text are not touched: the tests of the pages name those that no output
has any more. Pictures have a script of their own, images/make.py.
"""

import contextlib
import difflib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.cli.conftest import invoke

import simtlab.cli.look  # noqa: F401  (adds `profile` to the commands)

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/why-is-my-kernel-slow.md", "docs/course.md", "docs/host-api.md", "docs/sampling.md",
         "docs/stalls.md")  # fmt: skip
STORIES = "why-is-my-kernel-slow.md", "course.md"  # whose later blocks use what earlier ones defined
LEFT_OUT = "…\n"
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def nearest(part: str, output: list[str], begin: int) -> tuple[str, int]:
    """The lines of the output, from `begin` on, that are most like the shown ones, and where they end."""
    shown = part.splitlines(keepends=True)
    places = range(begin, max(begin, len(output) - len(shown)) + 1)
    like = [difflib.SequenceMatcher(None, part, "".join(output[k : k + len(shown)])).ratio() for k in places]
    at = begin + like.index(max(like))
    return "".join(output[at : at + len(shown)]), at + len(shown)


def refreshed(shown: str, output: str) -> str:
    """The output, as far as the page shows it."""
    if LEFT_OUT not in shown:
        return output
    lines, at, parts = output.splitlines(keepends=True), 0, []
    for part in shown.split(LEFT_OUT):
        text, at = nearest(part, lines, at) if part else ("", at)
        parts.append(text)
    return LEFT_OUT.join(parts)


def run_command(block: str) -> str:
    end = re.search(r"(?<!\\)\n", block)
    assert end is not None
    command, shown = block[: end.end()], block[end.end() :]
    result = invoke(*shlex.split(re.sub(r" *\\\n *", " ", command))[2:])
    if result.exit_code:
        raise SystemExit(f"{command}\n{result.output}")
    return command + refreshed(shown, result.stdout)


def run_python(code: str, names: dict[str, object]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "page", "exec"), names)
    return out.getvalue()


def refresh(page: Path) -> None:
    """Each command's output, and that of each block of Python which a block of output follows."""
    text, at, printed = page.read_text(), 0, ""
    names: dict[str, object] = {}
    while found := FENCE.search(text, at):
        language, body = found.groups()
        if language == "python":
            printed = run_python(body, names if page.name in STORIES else {})
        elif not language and body.startswith("$ simtlab "):
            body, printed = run_command(body), ""
        elif not language and printed and text[at : found.start()].strip() == "":
            body, printed = printed, ""
        begin, end = found.span(2)
        text = text[:begin] + body + text[end:]
        at = begin + len(body) + 3
    page.write_text(text)


def main() -> None:
    pages = [Path(name).resolve() for name in sys.argv[1:]] or [ROOT / name for name in PAGES]
    os.environ["COLUMNS"] = "200"
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        os.chdir(folder)
        for page in pages:
            refresh(page)


if __name__ == "__main__":
    main()
