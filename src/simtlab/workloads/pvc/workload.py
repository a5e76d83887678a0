"""PVC, page-view count of Mars: which addresses viewed each page of a web server's log, as two MapReduce jobs. Irregular.

A line of the log is a page's URL, the visitor's address and a number, with tabs between them. The first job leaves out lines
that are there twice, the second groups the others by their URL. A task reads its line byte by byte from anywhere in the log; keys
are 16 bytes with a pointer into it, so that a step of the sort gathers entries, keys, and letters where hashes are the same.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.mars.stages import directory_of, map_records, reduce_groups, sort_and_group

NAME = "PVC"
SUITE = "Mars"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-M"
ALIASES = ("PageViewCount",)
FILES = {"log": "text"}
SIZES = {
    "tiny": {"lines": 32, "pages": 20},
    "small": {"lines": 8_192, "pages": 1024},  # 32 CTAs; the sorts' next power of two is 11 M instructions
    "paper": {"lines": 1_000_000, "pages": 1024},  # what Mars's own script generates; DYNCTA does not say
}

KEY = np.dtype([("text", "u8"), ("place", "i4"), ("hash", "i4")])
VALUE = np.dtype([("bytes", "i4"), ("job", "i4")])
EMITTED_BYTES = 20  # of a task, in the map's shared memory
REPEATED = 0.1  # of the lines; a page loaded again from the same address


def inputs(*, lines: int, pages: int, log: bytes | None = None, seed: int = 0) -> dict[str, Any]:
    """A log in which every page is as likely as any other, as in Mars's generator, and some lines are there twice."""
    if log is None:
        require(min(lines, pages) >= 1, "PVC: there must be 1 line and 1 page at least")
        random = np.random.default_rng([seed, lines, pages])
        page, numbers = random.integers(0, pages, lines), random.integers(0, 256, (lines, 4))
        drawn = np.column_stack([page, numbers, random.integers(0, 1000, lines)])
        again = random.random(lines) < REPEATED
        drawn[again] = drawn[random.integers(0, lines, int(again.sum()))]
        made = [f"http://www.abcdefg.com/{page}.html\t{a}.{b}.{c}.{d}\t{n}" for page, a, b, c, d, n in drawn.tolist()]
        log = "\n".join(made).encode()
    whole = [line for line in log.replace(b"\r\n", b"\n").split(b"\n") if line]
    for number, line in enumerate(whole, 1):
        require(line.count(b"\t") >= 2, f"PVC: entry {number} of the log must be 'URL<tab>ADDRESS<tab>...', and has no two tabs")
    require(bool(whole), "PVC: the log has no entry")
    return {"log": np.frombuffer(b"\0".join(whole) + b"\0", np.uint8)}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    ends = np.flatnonzero(data["log"] == 0) + 1
    begins = np.concatenate([[0], ends[:-1]])
    log = launcher.array(data["log"], label="log")
    keys, vals = np.zeros(len(ends), KEY), np.zeros(len(ends), VALUE)
    keys["text"], keys["place"], vals["bytes"] = log.address, begins, ends - begins
    directory = launcher.array(directory_of(len(ends), KEY.itemsize, VALUE.itemsize))
    records = (launcher.array(keys.view(np.uint8)), launcher.array(vals.view(np.uint8)), directory)

    mapped = map_records(launcher, *records, shared=EMITTED_BYTES)
    lines, details, ranges, groups = sort_and_group(launcher, *mapped)
    keys, vals, directory, n = reduce_groups(launcher, lines, details, mapped[2], ranges, groups)
    mapped = map_records(launcher, keys, vals, launcher.array(directory.numpy()[:n]), shared=EMITTED_BYTES)
    urls, addresses, ranges, groups = sort_and_group(launcher, *mapped)
    return table(data["log"].tobytes(), urls.numpy().view(KEY)["place"], addresses.numpy().view(np.int32), ranges.numpy())


def table(log: bytes, urls: np.ndarray, addresses: np.ndarray, ranges: np.ndarray) -> dict[str, np.ndarray]:
    """What the last job left, with words instead of places in the log."""

    def word(place: int) -> bytes:
        return log[place : log.index(b"\t", place)]

    return in_order([(word(urls[first]), [word(place) for place in addresses[first:end]]) for first, end in ranges.tolist()])


def in_order(views: Iterable[tuple[bytes, list[bytes]]]) -> dict[str, np.ndarray]:
    """Pages and their visitors by the alphabet; the program has them by their hash."""
    pages = sorted((url, sorted(visitors)) for url, visitors in views)
    return {
        "urls": np.frombuffer(b"\n".join(url for url, _ in pages), np.uint8),
        "views": np.array([len(visitors) for _, visitors in pages], np.int32),
        "visitors": np.frombuffer(b"\n".join(b" ".join(visitors) for _, visitors in pages), np.uint8),
    }


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """A set of lines, and a dictionary of URLs."""
    views = defaultdict(list)
    for line in set(data["log"].tobytes().split(b"\0")[:-1]):
        url, address, _ = line.split(b"\t", 2)
        views[url].append(address)
    return in_order(views.items())
