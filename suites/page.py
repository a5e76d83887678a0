"""docs/suites.md: which applications of public suites run, what each needed, and why others do not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from run import Application

PAGE = Path(__file__).parent.parent / "docs" / "suites.md"
HEAD = """# Applications of public suites

```
$ python suites/run.py --suite rodinia --only bfs
```

clones the suite, builds its application unmodified with [`simtlab nvcc`](applications.md), runs it, and looks at its own check.
Without options it does so for all below, which takes hours; `--timed` runs those that are small enough on a timed machine, too.
This page is made by `python suites/run.py --page` from what came of it (`suites/results`).

Nothing of the suites is in this repository. Where a suite has its inputs elsewhere, `suites/inputs` makes some of the same form;
where a default is meant for a real GPU's speed, arguments are smaller. What an application was given is in `suites/catalogue`.
"""


def page_of(suites: dict[str, tuple[dict[str, str], list[Application]]], results: dict[str, dict[str, Any]]) -> str:
    """The page's text."""
    parts = [HEAD, totals(suites, results)]
    for name, (about, applications) in suites.items():
        found = results.get(name, {})
        link = f"[{about['source'].removeprefix('https://')}]({about['source']}) at `{about['commit'][:10]}`"
        parts += [f"## {about['title']}\n\n{link}. {about.get('note', '')}".rstrip()]
        parts += [table(applications, found)]
        others = [f"- **{one.name}**: {why_not(one, found.get(one.name))}" for one in applications if not passed(one, found)]
        if others:
            parts += ["Those that do not run:\n\n" + "\n".join(others)]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def passed(one: Application, found: dict[str, Any]) -> bool:
    return not one.fails and bool(found.get(one.name, {}).get("passed"))


def why_not(one: Application, found: dict[str, Any] | None) -> str:
    if one.fails:
        return one.fails
    if found is None:
        return "not tried yet."
    last = found["said"].splitlines()[-1] if found["said"] else "?"
    return f"{'its check fails' if found['built'] else 'it is not built'}: `{last}`"


def totals(suites: dict[str, tuple[dict[str, str], list[Application]]], results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, (about, applications) in suites.items():
        found = results.get(name, {})
        good = [one for one in applications if passed(one, found)]
        timed = [one for one in good if found[one.name].get("timed", {}).get("passed")]
        rows += [f"| {about['title']} | {len(applications)} | {len(good)} | {len(timed)} |"]
    return "\n".join(["| suite | tried | check passed | and on a timed machine |", "|---|---|---|---|", *rows])


def table(applications: list[Application], results: dict[str, Any]) -> str:
    lines = ["| application | launches | warp instructions | s | timed: cycles | s | its check | needed |"]
    lines += ["|---|--:|--:|--:|--:|--:|---|---|"]
    for one in applications:
        if not passed(one, results):
            continue
        found = results[one.name]
        timed = found.get("timed", {})
        cells = [f"{timed['cycles']:,}", f"{timed['seconds']}"] if timed.get("passed") else ["", ""]
        numbers = [f"{found['launches']:,}", f"{found['instructions']:,}", f"{found['run_s']}", *cells]
        lines += ["| " + " | ".join([one.name, *numbers, one.how, one.note]) + " |"]
    return "\n".join(lines)
