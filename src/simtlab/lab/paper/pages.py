"""Pages from a few kinds of blocks, as Markdown and as one HTML file that needs no other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

CSS = """
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.2; } h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; padding-bottom: .3rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } th { border-bottom: 2px solid #999; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; flex: 1 1 24rem; min-width: 0; }
figure svg { max-width: 100%; height: auto; } figcaption { color: #666; font-size: 13px; }
"""


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Table:
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Images:
    """Figures side by side: SVG files with captions."""

    files: Sequence[tuple[Path, str]]


Block = Heading | Text | Table | Images


def as_markdown(blocks: Sequence[Block]) -> str:
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Images):
        return "\n\n".join(f"![{caption}]({path.name})" for path, caption in block.files)
    lines = [block.header, ["---"] + ["--:"] * (len(block.header) - 1), *block.rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def as_html(title: str, blocks: Sequence[Block]) -> str:
    body = "\n".join(_html(block) for block in blocks)
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
            f"<style>{CSS}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n")  # fmt: skip


def _html(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Images):
        shown = (f"<figure>{_svg(path)}<figcaption>{escape(caption)}</figcaption></figure>" for path, caption in block.files)
        return f'<div class="figures">{"".join(shown)}</div>'
    head = "".join(f"<th>{escape(cell)}</th>" for cell in block.header)
    rows = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in block.rows)
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"


def _svg(path: Path) -> str:
    """The drawing itself, without the header of a file."""
    text = path.read_text()
    return text[text.index("<svg") :]
