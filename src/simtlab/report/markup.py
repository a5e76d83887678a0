"""Pieces of HTML: every text is escaped here, every number is written here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

THIN = "\u202f"  # narrow no-break space
PREFIXES = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"), (1e-12, "p")]


class Markup(str):
    """Text that is HTML already."""


def html(value: Any) -> Markup:
    """Anything as HTML: markup as it is, text escaped, numbers with their digits grouped, nothing for None."""
    if isinstance(value, Markup):
        return value
    if value is None:
        return Markup('<span class="none">–</span>')
    if isinstance(value, bool | str):
        return Markup(escape(str(value)))
    return Markup(grouped(value))


def element(name: str, *children: Any, **attributes: Any) -> Markup:
    """An element. `class_` is class, `data_pc` is data-pc; an attribute that is None or False is left out."""
    written = "".join(f" {attribute}" for attribute in (written_attribute(*pair) for pair in attributes.items()) if attribute)
    return Markup(f"<{name}{written}>{''.join(map(html, children))}</{name}>")


def written_attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return name if value is True else f'{name}="{escape(str(value))}"'


def join(parts: Iterable[Any]) -> Markup:
    return Markup("".join(map(html, parts)))


def grouped(value: float) -> str:
    """A whole number in full, any other with three digits that count."""
    if isinstance(value, int) or float(value).is_integer():
        return f"{int(value):,}".replace(",", THIN)
    if abs(value) >= 1000:
        return f"{value:,.0f}".replace(",", THIN)
    digits = 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:.{digits}f}" if abs(value) >= 0.001 else f"{value:.2g}"


def percent(share: float | None) -> str:
    """A share of 1; what is above zero and would be rounded to it says so."""
    if share is None:
        return "–"
    return f"<0.1{THIN}%" if 0 < share < 0.0005 else f"{100 * share:.1f}{THIN}%"


def scaled(value: float, unit: str) -> str:
    """A quantity with the prefix that suits it: 0.000123, "s" is 123 µs."""
    if not value:
        return f"0{THIN}{unit}"
    factor, prefix = next((pair for pair in PREFIXES if abs(value) >= 0.9995 * pair[0]), PREFIXES[-1])
    digits = f"{value / factor:.3g}" if abs(value) < 999.5 * factor else f"{value / factor:.0f}"
    return f"{digits}{THIN}{prefix}{unit}"


def byte_count(count: float) -> str:
    """Bytes in units of 1024."""
    for factor, unit in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if count >= factor:
            return f"{count / factor:.4g}{THIN}{unit}"
    return f"{count:.0f}{THIN}B"


def bar(share: float, kind: str = "") -> Markup:
    """A bar as long as a share of 1; the number stands beside it, so it is hidden from screen readers."""
    width = min(max(share, 0.0), 1.0)
    return Markup(f'<span class="bar {kind}" aria-hidden="true"><i style="width:{100 * width:.2f}%"></i></span>')


def table(caption: Any, headings: Sequence[Any], rows: Iterable[Any], **attributes: Any) -> Markup:
    """A table that scrolls in a frame of its own; rows are of `row`."""
    head = element("thead", element("tr", *(cell if is_cell(cell) else element("th", cell, scope="col") for cell in headings)))
    whole = element("table", element("caption", caption), head, element("tbody", *rows), **attributes)
    return element("div", whole, class_="scroll", role="region", aria_label=plain(caption))


def is_cell(value: Any) -> bool:
    return isinstance(value, Markup) and value.startswith(("<th", "<td"))


def plain(caption: Any) -> str:
    """A caption without its marks."""
    return str(caption).split("<")[0].strip() or "table"


def row(first: Any, *cells: Any, attributes: Mapping[str, Any] | None = None) -> Markup:
    """A row whose first cell is its heading; numbers stand to the right."""
    head = first if is_cell(first) else element("th", first, scope="row")
    return element("tr", head, *(cell if is_cell(cell) else as_cell(cell) for cell in cells), **(attributes or {}))


def as_cell(value: Any) -> Markup:
    number = isinstance(value, int | float) or value is None or (isinstance(value, str) and value[:1].isdigit())
    return element("td", value, class_="n" if number and not isinstance(value, Markup) else None)


def number_cell(text: Any, key: float | None = None) -> Markup:
    """A cell with a number; the key is what it is sorted by."""
    return element("td", text, class_="n", data_key=None if key is None else f"{key:.10g}")
