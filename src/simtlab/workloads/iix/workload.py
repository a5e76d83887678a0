"""IIX, inverted index of Mars: which pages have a link to each URL, as a MapReduce job. Irregular.

A task has about a kilobyte of HTML, whole lines of one page, and goes through it byte by byte with a little state machine: the
lanes of a warp are a kilobyte apart and in different states. At `small` it has one line, some 44 bytes. Links are sorted by a hash
of theirs, and letter by letter where that is the same; there is no reduce.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.mars.stages import directory_of, map_records, sort_and_group

NAME = "IIX"
SUITE = "Mars"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("II", "InvertedIndex")
FILES = {"html": "text"}
SIZES = {
    "tiny": {"pages": 3, "page_bytes": 700, "part_bytes": 64},
    # As many CTAs, 90, as 5 M instructions allow: a line a task, and few links, at which warps spend most of their time.
    "small": {"pages": 107, "page_bytes": 9_300, "part_bytes": 1, "links": 0.05},
    # Mars makes 28 MB of three pages by repeating them; as many bytes, in pages of the size of its own. DYNCTA does not say.
    "paper": {"pages": 3_072, "page_bytes": 9_300, "part_bytes": 1024},
}

KEY = np.dtype([("text", "u8"), ("place", "i4"), ("hash", "i4")])
PART = np.dtype([("place", "i4"), ("bytes", "i4"), ("page", "i4")])
# As the kernel reads: where a tag is no link, reading goes on after the letter that showed it. A quotation has to end.
LINK = re.compile(rb'< *(?:a *(?:href[ =]*(?:"([^"]*)("?)|.)|.)|.)', re.DOTALL)
TAGS = ("<p>", "<br>", "</td><td>", "<b>", "</b>", '<td class="news">', "</p>", "<li>", "<abbr>", "<a name=top>")
WORDS = ("alumni", "association", "of", "the", "university", "news", "events", "home", "contact", "search", "about", "career")


def inputs(
    *, pages: int, page_bytes: int, part_bytes: int, links: float = 0.28, html: bytes | None = None, seed: int = 0
) -> dict[str, Any]:
    """Pages with a link in this share of the lines. A file of one's own has its pages one after the other."""
    require(part_bytes >= 1, f"IIX: part_bytes is {part_bytes}; it must be 1 at least")
    if html is None:
        require(min(pages, page_bytes) >= 1, "IIX: there must be 1 page of 1 byte at least")
        require(0 <= links <= 1, f"IIX: links is {links}; it must be a share of the lines, from 0 to 1")
        random = np.random.default_rng([seed, pages, page_bytes])
        html = b"".join(page_of(random, page_bytes, links) for _ in range(pages))
    ends = [match.end() for match in re.finditer(rb"</html>\s*", html)]
    if not ends or ends[-1] < len(html):
        ends.append(len(html))
    text = bytearray()
    parts: list[tuple[int, int, int, int]] = []  # where its page begins, its place in it, its bytes, the page's number
    begin = 0
    for number, end in enumerate(ends):
        parts += parts_of(html[begin:end], len(text), number, part_bytes)
        text += html[begin:end].rstrip(b"\n") + b"\0"
        begin = end
    for start, place, size, _ in parts:
        text[start + place + size - 1] = 0
    require(any(links_of(bytes(text), start + place, size) for start, place, size, _ in parts), "IIX: the pages have no link")
    return {"text": np.frombuffer(bytes(text), np.uint8), "parts": np.array(parts, np.int32)}


def page_of(random: np.random.Generator, size: int, links: float) -> bytes:
    """Lines of words, tags and links; few URLs have most of the links."""
    lines, length = ["<html>"], 0
    while length < size - 16:
        line = " ".join(WORDS[k] for k in random.integers(0, len(WORDS), random.integers(2, 9)))
        line += TAGS[random.integers(len(TAGS))]
        if random.random() < links or length == 0:
            target = min(int(random.zipf(1.6)), 5_000)
            line += f'<a href="http://www.site{target % 97}.edu/{WORDS[target % len(WORDS)]}/{target}.html">{WORDS[target % 7]}</a>'
        lines.append(line)
        length += len(line) + 1
    return "\n".join([*lines, "</html>", ""]).encode()


def parts_of(page: bytes, start: int, number: int, size: int) -> list[tuple[int, int, int, int]]:
    """Whole lines of `size` bytes and a little more; the line's end, or the page's, is the part's last byte."""
    body = page.rstrip(b"\n")
    parts, place = [], 0
    while place <= len(body):
        end = body.find(b"\n", place + size)
        end = len(body) if end < 0 else end
        parts.append((start, place, end + 1 - place, number))
        place = end + 1
    return parts


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    start, place, size, page = data["parts"].T
    text = launcher.array(data["text"], label="pages")
    keys, vals = np.zeros(len(page), KEY), np.zeros(len(page), PART)
    keys["text"], vals["place"], vals["bytes"], vals["page"] = text.address + start.astype(np.uint64), place, size, page
    directory = launcher.array(directory_of(len(page), KEY.itemsize, PART.itemsize))
    records = (launcher.array(keys.view(np.uint8)), launcher.array(vals.view(np.uint8)), directory)
    mapped = map_records(launcher, *records)
    links, pages, ranges, _ = sort_and_group(launcher, *mapped)

    found, on, whole = links.numpy().view(KEY), pages.numpy().view(np.int32), data["text"].tobytes()
    places = (found["text"] - np.uint64(text.address)).astype(np.int64) + found["place"]
    return in_order((whole[places[k] : whole.index(b'"', places[k])], on[k:end].tolist()) for k, end in ranges.numpy().tolist())


def in_order(index: Iterable[tuple[bytes, list[int]]]) -> dict[str, np.ndarray]:
    """Links by the alphabet, each with its pages; the program has them by their hash."""
    links = sorted((url, sorted(pages)) for url, pages in index)
    return {
        "urls": np.frombuffer(b"\n".join(url for url, _ in links), np.uint8),
        "links": np.array([len(pages) for _, pages in links], np.int32),
        "pages": np.array([page for _, pages in links for page in pages], np.int32),
    }


def links_of(text: bytes, begin: int, size: int) -> list[bytes]:
    """Links of a part, by a regular expression."""
    return [match[1] for match in LINK.finditer(text, begin, begin + size - 1) if match[2]]


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """A dictionary of what a regular expression finds."""
    text, index = data["text"].tobytes(), defaultdict(list)
    for start, place, size, page in data["parts"].tolist():
        for url in links_of(text, start + place, size):
            index[url].append(page)
    return in_order(index.items())
