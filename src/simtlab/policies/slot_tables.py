"""The tables of slots and of events in docs/write-a-policy.md, from `simtlab.machine.hooks`.

    python -m simtlab.policies.slot_tables docs/write-a-policy.md
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from simtlab.machine.hooks import EVENTS, SLOTS, HookPoint


def slots() -> Iterator[str]:
    yield "| slot | hook | it is given | what it is asked, or told |"
    yield "|---|---|---|---|"
    for slot, entry in SLOTS.items():
        yield f"| `{slot}` | | `{entry.unit}` | **{entry.meaning}** |"
        for hook, point in entry.hooks.items():
            yield f"| | `{hook}` | {given(point)} | {point.meaning} |"


def events() -> Iterator[str]:
    yield "| event | it is given | what has happened |"
    yield "|---|---|---|"
    for name, event in EVENTS.items():
        yield f"| `{name}` | `{event.unit}`, {given(event)} | {event.meaning} |"


def given(point: HookPoint) -> str:
    name, colon, meaning = point.argument.partition(":")
    return f"`{name}`{colon}{meaning}"


def filled_in(page: str) -> str:
    """A page with both tables as they are now."""
    for name, rows in (("slots", slots()), ("events", events())):
        begin, end = f"<!-- {name}: python -m simtlab.policies.slot_tables -->", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n" + "\n".join(rows) + f"\n{end}{rest.split(end)[1]}"
    return page


def main() -> None:
    page = Path(sys.argv[1])
    page.write_text(filled_in(page.read_text()))


if __name__ == "__main__":
    main()
