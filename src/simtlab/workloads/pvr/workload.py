"""PVR, page-view rank of Mars: pages of a click log ordered by their views, as a MapReduce job. Irregular.

Directory entries are loaded with one stride, and through them keys and URLs of
uneven length, byte by byte, from anywhere in a buffer; sorting moves entries in shared memory and gathers keys at each step.
"""

from typing import Any

import numpy as np

from simtlab.workloads.mars.stages import THREADS, group, scan, sort

NAME = "PVR"
SUITE = "Mars"
CATEGORY = "irregular"
PAPERS = ("CAPS", "DYNCTA")
DYNCTA_TYPE = "Type-M"
ALIASES = ("PageViewRank",)
OPTIONS = ()
KERNEL_NAMES = ()
SIZES = {
    "tiny": {"pages": 300, "clicks": 2_000},
    "small": {"pages": 1 << 15, "clicks": 320_000},  # 128 CTAs; the sort's next power of two is 10.3 M instructions
    "paper": {"pages": 1 << 19, "clicks": 1 << 23},  # 23 MB of URLs
}
TOLERANCE: dict[str, tuple[float, float]] = {}

CURSOR_BYTES = 20  # of a thread, in the emitting kernel's shared memory
POPULARITY = 1.0  # exponent of Zipf's law for pages of the web (Breslau et al., INFOCOM 1999, have 0.6 to 0.9)
HOSTS, TOPICS = ("www", "news", "shop", "m", "blog"), ("sport", "index", "weather", "users", "search", "a", "archive/images")


def inputs(*, seed: int = 0, pages: int, clicks: int) -> dict[str, Any]:
    """A click log, counted: each page's URL and how often it was viewed, in no order. Few pages have most of the views."""
    rng = np.random.default_rng(seed)
    weight = np.arange(1, pages + 1) ** -POPULARITY
    viewed = rng.choice(pages, size=clicks, p=weight / weight.sum())
    views = rng.permutation(1 + np.bincount(viewed, minlength=pages)).astype(np.int32)
    host, topic = rng.integers(len(HOSTS), size=pages), rng.integers(len(TOPICS), size=pages)
    site = rng.integers(1 + pages // 8, size=pages)
    choices = enumerate(zip(host, site, topic, strict=True))
    urls = [f"http://{HOSTS[h]}.site{s}.com/{TOPICS[t]}/{n}.html" for n, (h, s, t) in choices]
    lengths = np.array([len(url) for url in urls], np.int32)
    places = np.cumsum(lengths) - lengths
    directory = np.stack([places, lengths, 4 * np.arange(pages), np.full(pages, 4)], axis=1).astype(np.int32)
    return {"urls": np.frombuffer("".join(urls).encode(), np.uint8), "views": views, "directory": directory}


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    records = len(data["directory"])
    keys, vals, entries = map_records(launcher, data)
    sort(launcher, keys, entries, records, last_key=keys.nbytes - 4)
    ranges, groups = group(launcher, keys, entries, records)
    ranks = reduce(launcher, keys, vals, entries, ranges, groups)
    order = entries.numpy()[:records]
    return {"views": keys.numpy()[order[:, 0] // 4], "urls": gather(vals.numpy(), order[:, 2], order[:, 3]), "ranks": ranks}


def map_records(launcher: Any, data: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Count, scan, emit: keys are views, values are URLs. One key is left at zero, and the directory has a power of two
    of entries, as the sort needs it."""
    records = len(data["directory"])
    urls, views, directory = (launcher.array(data[name]) for name in ("urls", "views", "directory"))
    sizes = [launcher.zeros(records, np.int32) for _ in range(3)]
    grid = -(-records // THREADS)
    launcher.launch("MapperCount", grid, THREADS, [urls, views, directory, *sizes, records, 1, records])
    places, totals = zip(*(scan(launcher, size, records) for size in sizes), strict=True)
    keys, vals = launcher.zeros(totals[0] // 4 + 1, np.int32), launcher.zeros(totals[1], np.uint8)
    entries = launcher.zeros((max(THREADS, 1 << (totals[2] - 1).bit_length()), 4), np.int32)
    arguments = [urls, views, directory, *places, *sizes[:2], keys, vals, entries, records, 1, records]
    launcher.launch("Mapper", grid, THREADS, arguments, shared=CURSOR_BYTES * THREADS)
    return keys, vals, entries


def reduce(launcher: Any, keys: Any, vals: Any, entries: Any, ranges: Any, groups: int) -> np.ndarray:
    """Count, scan, emit: views, rank and number of pages of every group."""
    sizes = [launcher.zeros(groups, np.int32) for _ in range(3)]
    grid = -(-groups // THREADS)
    launcher.launch("ReducerCount", grid, THREADS, [keys, vals, entries, ranges, *sizes, groups, 1, groups])
    places, totals = zip(*(scan(launcher, size, groups) for size in sizes), strict=True)
    output_keys, output_vals = launcher.zeros(totals[0] // 4, np.int32), launcher.zeros((totals[1] // 8, 2), np.int32)
    output_entries = launcher.zeros((totals[2], 4), np.int32)
    outputs = [output_keys, output_vals, output_entries]
    launcher.launch("Reducer", grid, THREADS, [keys, vals, entries, ranges, *places, *outputs, groups, 1, groups])
    at = output_entries.numpy()
    return np.column_stack([output_keys.numpy()[at[:, 0] // 4], output_vals.numpy()[at[:, 2] // 8]])


def gather(values: np.ndarray, places: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Pieces of a buffer, one after the other."""
    ends = np.cumsum(lengths)
    return values[np.repeat(places - (ends - lengths), lengths) + np.arange(ends[-1])]


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """A stable sort by views, and the runs of equal views."""
    order = np.argsort(-data["views"], kind="stable")
    text = data["urls"].tobytes()
    urls = b"".join(text[start : start + length] for start, length in data["directory"][order, :2].tolist())
    views, pages = np.unique(data["views"], return_counts=True)
    views, pages = views[::-1], pages[::-1]
    ranks = np.column_stack([views, 1 + np.cumsum(pages) - pages, pages]).astype(np.int32)
    return {"views": data["views"][order], "urls": np.frombuffer(urls, np.uint8), "ranks": ranks}
