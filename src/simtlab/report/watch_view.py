"""A watched core to step through: cycle by cycle as text, or as a page with buttons."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from simtlab.frontend.listing import statement_texts
from simtlab.machine.watch import StackEntry, Watch, WatchedCycle, WatchedWarp
from simtlab.report.markup import Markup, element, join
from simtlab.report.page import part_of_page

MOST_PAGE_CYCLES = 5000
WARP_COLUMNS = ("Warp", "CTA", "Next instruction", "Lanes", "SIMT stack", "Buffer", "Waits for", "Scoreboard")
KEYS = "Arrow keys step by one cycle, Page Up and Page Down by ten, Home and End go to the ends of the window."
BANKS = Markup('<p class="note" id="banks"></p>')
BUTTONS = {"first": "First", "back10": "-10", "back": "Previous", "next": "Next", "next10": "+10", "last": "Last"}


def texts_of(watch: Watch) -> list[list[str]]:
    """The instructions of each kernel, as their text has them."""
    return [statement_texts(p.module.text, (one.origin.position for one in p.lowered)) for p in watch.programs]


def lines_of(watch: Watch) -> Iterator[str]:
    """Every cycle as a few lines of text."""
    texts = texts_of(watch)
    for cycle in watch.cycles:
        yield from _cycle_lines(cycle, texts)
        yield ""


def _cycle_lines(cycle: WatchedCycle, texts: list[list[str]]) -> Iterator[str]:
    kernels = {warp.slot: warp.kernel for warp in cycle.warps}

    def text(slot: int, pc: int) -> str:
        return f"warp {slot}  {pc:4}  {texts[kernels.get(slot, 0)][pc]}"

    yield f"cycle {cycle.cycle}: " + ", ".join(f"scheduler {k} {why.replace('_', ' ')}" for k, why in enumerate(cycle.causes))
    yield from (f"  issued     {text(slot, pc)}" for slot, pc in cycle.issued)
    for one in cycle.collectors:
        banks = ", ".join(f"bank {bank} {'read' if read else 'to read'}" for bank, read in zip(one.banks, one.read, strict=True))
        yield f"  collector  {text(one.slot, one.pc)}  {banks}"
    for flight in cycle.instructions:
        if flight.stage != "collect":
            yield f"  {flight.unit if flight.stage == 'execute' else flight.stage:9}  {text(flight.slot, flight.pc)}"
    for what, used in (("read", cycle.banks_read), ("written", cycle.banks_written)):
        if used:
            yield f"  banks      {what}: {', '.join(bank_text(*bank) for bank in used)}"
    if cycle.mshrs:
        yield f"  MSHRs      {', '.join(f'{line:#x}' for line in cycle.mshrs)}"
    for warp in cycle.warps:
        waits = f"{warp.waits or 'ready'}{pending_text(warp)}"
        yield f"  warp {warp.slot:2}  CTA {warp.cta}  pc {warp.pc:4}  {stack_text(warp)}  {waits}"


def bank_text(sub_core: int, bank: int) -> str:
    return f"{sub_core}.{bank}"


def stack_text(warp: WatchedWarp) -> str:
    """The entries of the SIMT stack, the top first: pc, where its lanes meet the others, lanes."""
    return " | ".join(f"{entry.pc} -> {meeting(entry)}: {entry.mask:08x}" for entry in warp.stack)


def meeting(entry: StackEntry) -> str:
    return "end" if entry.reconverge is None else str(entry.reconverge)


def pending_text(warp: WatchedWarp) -> str:
    return f"  [{' '.join(f'r{register}' for register in warp.pending)}]" if warp.pending else ""


def data_of(watch: Watch) -> dict[str, Any]:
    """What the page steps through."""
    lines = [[one.origin.source.line if one.origin.source else 0 for one in program.lowered] for program in watch.programs]
    return {"core": watch.core, "texts": texts_of(watch), "lines": lines, "cycles": [_cycle_data(cycle) for cycle in watch.cycles]}


def _cycle_data(cycle: WatchedCycle) -> dict[str, Any]:
    warps = [[w.slot, w.cta, w.kernel, w.pc, f"{w.mask:08x}", [[e.pc, meeting(e), f"{e.mask:08x}"] for e in w.stack], w.buffered,
              w.waits, [f"r{register}" for register in w.pending]] for w in cycle.warps]  # fmt: skip
    flights = [[f.slot, f.pc, f.stage, f.unit, f.accesses, f.served, f.outstanding, f.issued] for f in cycle.instructions]
    collectors = [[c.slot, c.pc, list(c.banks), list(map(int, c.read))] for c in cycle.collectors]
    return {"cycle": cycle.cycle, "causes": [why.replace("_", " ") for why in cycle.causes], "issued": cycle.issued, "warps": warps,
            "flights": flights, "collectors": collectors, "mshrs": [f"{line:#x}" for line in cycle.mshrs],
            "read": [bank_text(*bank) for bank in cycle.banks_read],
            "written": [bank_text(*bank) for bank in cycle.banks_written]}  # fmt: skip


def write_watch_page(watch: Watch, path: str | PathLike, title: str) -> None:
    """One HTML file with every cycle of the window."""
    Path(path).write_text(watch_page(watch, title), encoding="utf-8")


def watch_page(watch: Watch, title: str) -> str:
    head = join([
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'),
        element("title", title), element("style", Markup(part_of_page("page.css") + part_of_page("watch.css"))),
    ])  # fmt: skip
    data = json.dumps(data_of(watch), separators=(",", ":")).replace("<", "\\u003c")
    body = join([
        element("header", element("h1", title), element("button", "Dark theme", type="button", id="theme", aria_pressed="false"),
                class_="top"),
        element("main", _controls(watch), *_panels(), id="main"),
        element("script", Markup(data), type="application/json", id="watch-data"),
        element("script", Markup(part_of_page("watch.js"))),
    ])  # fmt: skip
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def _controls(watch: Watch) -> Markup:
    buttons = [element("button", label, type="button", id=f"go-{name}") for name, label in BUTTONS.items()]
    last = max(0, len(watch.cycles) - 1)
    slider = Markup(f'<input type="range" id="cycle" min="0" max="{last}" value="0" aria-label="Cycle of the window">')
    shown = element("output", "", id="cycle-shown", aria_live="polite")
    note = element("p", KEYS, class_="note")
    return element("div", element("div", *buttons, shown, class_="controls"), slider, note, class_="steps")


def _panels() -> list[Markup]:
    """Filled in by the script."""
    header = element("tr", *(element("th", name, scope="col") for name in WARP_COLUMNS))
    return [
        _panel("Schedulers", element("ul", id="schedulers")),
        _panel("Warps", element("div", element("table", element("thead", header), element("tbody", id="warps")), class_="scroll")),
        element("div", _panel("Operand collectors", join([element("ul", id="collectors"), BANKS])),
                _panel("Units", element("ul", id="units")), class_="pair"),
        element("div", _panel("Load/store unit and memory", element("ul", id="memory")), _panel("MSHRs", element("ul", id="mshrs")),
                class_="pair"),
    ]  # fmt: skip


def _panel(name: str, body: Markup) -> Markup:
    return element("section", element("h2", name), body)
