"""Tables and bars: framed on a terminal, aligned text elsewhere, so that they can be cut, searched and compared."""

from collections.abc import Sequence
from itertools import zip_longest

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

BAR_LENGTH = 40


def show_table(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print rows of cells, which may have several lines. `right` are the columns of numbers."""
    if not console.is_terminal:
        _show_plain(console, header, rows, right)
        return
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for k, title in enumerate(header):
        table.add_column(title, justify="right" if k in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console.print(table)


def show_facts(console: Console, facts: Sequence[tuple[str, str]]) -> None:
    """Print names and their values, one pair a line."""
    width = max(len(name) for name, _ in facts)
    for name, value in facts:
        console.print(Text(f"{name:{width}}  ", "dim").append(value, "default not dim"), soft_wrap=True)


def show_bars(console: Console, title: str, shares: Sequence[tuple[str, float]]) -> None:
    """Print names with their shares of a whole, as percentages and as bars; the largest bar has full length."""
    if not shares:
        return
    mark, longest = ("█" if console.is_terminal else "#"), max(share for _, share in shares)
    rows = []
    for name, share in shares:
        length = max(1, round(BAR_LENGTH * share / longest)) if share else 0
        rows.append([name, f"{share:.1%}", mark * length])
    show_table(console, [title, "share", ""], rows, right=(1,))


def _show_plain(console: Console, header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int]) -> None:
    lines: list[list[str]] = [list(header)] if any(header) else []
    for row in rows:
        lines += map(list, zip_longest(*(cell.split("\n") for cell in row), fillvalue=""))
    widths = [max(len(line[k]) for line in lines) for k in range(len(header))]
    for line in lines:
        cells = [cell.rjust(w) if k in right else cell.ljust(w) for k, (cell, w) in enumerate(zip(line, widths, strict=True))]
        console.print("  ".join(cells).rstrip(), soft_wrap=True)
