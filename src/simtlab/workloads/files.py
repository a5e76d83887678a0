"""A user's input files: graphs, matrices, images, text and sequences. What is wrong with one is told with its file and line."""

from __future__ import annotations

import re
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from simtlab.workloads import graphs, matrices
from simtlab.workloads.errors import InputFileError, WorkloadError
from simtlab.workloads.sequences import Sequence
from simtlab.workloads.text import Lines, read_bytes, read_text

MOST_NODES = 2**31 - 2
COMMENTS = ("#", "%")
BASES = frozenset("ACGTURYSWKMBDHVN")  # and the letters of IUPAC for one of several
SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1}  # the sign of the element across the diagonal


def read_input(path: str | PathLike, kind: str) -> Any:
    """What a file of this kind holds; its suffix says the format."""
    if kind not in READERS:
        raise WorkloadError(f"'{kind}' is no kind of input file; there are: {', '.join(READERS)}")
    place = Path(path)
    for _, suffixes, reader in READERS[kind]:
        if place.suffix.lower() in suffixes:
            return reader(place)
    known = ", ".join(f"{what} ({', '.join(suffixes)})" for what, suffixes, _ in READERS[kind])
    raise InputFileError(path, None, f"a {kind} is expected, in one of these formats: {known}")


# Graphs ---------------------------------------------------------------------------------------------------------------


def read_dimacs(path: Path) -> graphs.Graph:
    """DIMACS shortest-path format: `p sp NODES ARCS`, then `a FROM TO LENGTH`; nodes are counted from 1."""
    lines = Lines(path)
    nodes, arcs = 0, -1
    found: list[tuple[int, int, float]] = []
    for words in lines:
        if words[0] == "c":
            continue
        if words[0] == "p":
            if arcs >= 0:
                raise lines.wrong("there is a second line 'p'")
            if len(words) != 4 or words[1] != "sp":
                raise lines.wrong("'p sp NODES ARCS' is expected")
            nodes, arcs = lines.whole(words[2], "the number of nodes", 1, MOST_NODES), lines.whole(words[3], "of arcs", 0)
        elif words[0] == "a":
            if arcs < 0:
                raise lines.wrong("'p sp NODES ARCS' is expected before the first arc")
            if len(words) != 4:
                raise lines.wrong("'a FROM TO LENGTH' is expected")
            one, other = (lines.whole(word, "a node", 1, nodes) - 1 for word in words[1:3])
            found.append((one, other, lines.real(words[3], "a length")))
        else:
            raise lines.wrong(f"a line 'c', 'p' or 'a' is expected, not '{words[0]}'")
    if arcs < 0:
        raise lines.wrong("'p sp NODES ARCS' is expected, and there is no such line")
    if len(found) != arcs:
        raise lines.wrong(f"{arcs} arcs are expected, and there are {len(found)}")
    return _graph(nodes, found)


def read_edge_list(path: Path) -> graphs.Graph:
    """`FROM TO` or `FROM TO WEIGHT` on each line; nodes are counted from 0; `#` and `%` begin comments."""
    lines = Lines(path)
    found: list[tuple[int, int, float]] = []
    columns = 0
    for words in lines:
        if words[0].startswith(COMMENTS):
            continue
        if len(words) not in (2, 3) or (columns and len(words) != columns):
            expected = {0: "'FROM TO' or 'FROM TO WEIGHT'", 2: "'FROM TO'", 3: "'FROM TO WEIGHT'"}[columns]
            raise lines.wrong(f"{expected} is expected{', as on the lines before' if columns else ''}")
        columns = len(words)
        one, other = (lines.whole(word, "a node", 0, MOST_NODES) for word in words[:2])
        found.append((one, other, lines.real(words[2], "a weight") if columns == 3 else 1.0))
    if not found:
        raise lines.wrong("at least one edge is expected")
    return _graph(1 + max(max(one, other) for one, other, _ in found), found)


def read_matrix_as_graph(path: Path) -> graphs.Graph:
    """A square Matrix Market file as the graph whose edges are its entries."""
    matrix = read_matrix_market(path)
    if matrix.shape[0] != matrix.shape[1]:
        raise InputFileError(path, None, f"a graph's matrix must be square, and this one is {_times(matrix.shape)}")
    return graphs.Graph(matrix.offsets, matrix.columns, matrix.values)


def _graph(nodes: int, edges: list[tuple[int, int, float]]) -> graphs.Graph:
    table = np.array(edges, np.float64).reshape(-1, 3)
    return graphs.from_edges(nodes, table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 2])


# Matrices -------------------------------------------------------------------------------------------------------------


def read_matrix_market(path: Path) -> matrices.Matrix:
    """Matrix Market: coordinate or array, real, integer or pattern, general, symmetric or skew-symmetric."""
    lines = Lines(path)
    layout, field, symmetry = _matrix_header(lines)
    body = (words for words in lines if not words[0].startswith("%"))
    sizes = next(body, None)
    names = ["rows", "columns", "entries"][: 3 if layout == "coordinate" else 2]
    if sizes is None or len(sizes) != len(names):
        raise lines.wrong(f"the sizes are expected: {', '.join(names)}")
    numbers = [lines.whole(word, f"the number of {name}", 0, MOST_NODES) for word, name in zip(sizes, names, strict=True)]
    shape = (numbers[0], numbers[1])
    if symmetry != "general" and shape[0] != shape[1]:
        raise lines.wrong(f"a {symmetry} matrix must be square, and this one is {_times(shape)}")
    places = None if layout == "coordinate" else _array_places(shape, symmetry)
    wanted = numbers[2] if places is None else len(places)
    entries: dict[tuple[int, int], float] = {}
    for words in body:
        if len(entries) == wanted:
            raise lines.wrong(f"{wanted} entries are expected, and there are more")
        if places is None:
            place, value = _coordinate_entry(lines, words, field, shape)
        else:
            if len(words) != 1:
                raise lines.wrong("one number is expected")
            place, value = places[len(entries)], lines.real(words[0], "an element")
        if place in entries:
            raise lines.wrong(f"row {place[0] + 1}, column {place[1] + 1} was given before")
        entries[place] = value
    if len(entries) != wanted:
        raise lines.wrong(f"{wanted} entries are expected, and there are {len(entries)}")
    return _matrix(shape, entries, SYMMETRIES[symmetry])


def _matrix_header(lines: Lines) -> tuple[str, str, str]:
    words = [word.lower() for word in next(iter(lines), [])]
    allowed = (("%%matrixmarket",), ("matrix",), ("coordinate", "array"), ("real", "integer", "pattern"), tuple(SYMMETRIES))
    if len(words) != len(allowed) or words[0] != "%%matrixmarket":
        raise lines.wrong("'%%MatrixMarket matrix coordinate real general' or the like is expected in the first line")
    for word, choices in zip(words, allowed, strict=True):
        if word not in choices:
            raise lines.wrong(f"{' or '.join(choices)} is expected, not '{word}'")
    layout, field, symmetry = words[2:]
    if layout == "array" and field == "pattern":
        raise lines.wrong("an array cannot be a pattern")
    return layout, field, symmetry


def _coordinate_entry(lines: Lines, words: list[str], field: str, shape: tuple[int, int]) -> tuple[tuple[int, int], float]:
    if len(words) != (2 if field == "pattern" else 3):
        raise lines.wrong("'ROW COLUMN' is expected" if field == "pattern" else "'ROW COLUMN VALUE' is expected")
    row, column = lines.whole(words[0], "a row", 1, shape[0]), lines.whole(words[1], "a column", 1, shape[1])
    return (row - 1, column - 1), 1.0 if field == "pattern" else lines.real(words[2], "a value")


def _array_places(shape: tuple[int, int], symmetry: str) -> list[tuple[int, int]]:
    """Where an array's numbers go, which are given column by column; only the lower triangle where it decides the rest."""
    first = {"general": lambda column: 0, "symmetric": lambda column: column, "skew-symmetric": lambda column: column + 1}
    return [(row, column) for column in range(shape[1]) for row in range(first[symmetry](column), shape[0])]


def _matrix(shape: tuple[int, int], entries: dict[tuple[int, int], float], across: int) -> matrices.Matrix:
    if across:
        entries = entries | {(j, i): across * value for (i, j), value in entries.items() if i != j}
    places = np.array(list(entries), np.int64).reshape(-1, 2)
    return matrices.from_entries(shape, places[:, 0], places[:, 1], np.array(list(entries.values()), np.float32))


def _times(shape: tuple[int, int]) -> str:
    return f"{shape[0]} x {shape[1]}"


# Images ---------------------------------------------------------------------------------------------------------------


def read_pgm(path: Path) -> np.ndarray:
    """Portable grey map, as text (P2) or binary (P5)."""
    data = read_bytes(path)
    kind = data[:2]
    if kind not in (b"P2", b"P5"):
        raise InputFileError(path, 1, "'P2' or 'P5' is expected, the mark of a grey map")
    numbers, end = [], 2
    for what in ("the width", "the height", "the largest value"):
        match = re.compile(rb"(?:\s|#[^\n]*\n)*(\S+)").match(data, end)
        line = data.count(b"\n", 0, match.start(1) if match else len(data)) + 1
        if match is None or not match[1].isdigit() or int(match[1]) < 1:
            raise InputFileError(path, line, f"{what} is expected, a whole number of at least 1")
        numbers.append(int(match[1]))
        end = match.end()
    width, height, largest = numbers
    if largest > 65535:
        raise InputFileError(path, line, f"the largest value is {largest}; it must be from 1 to 65535")
    if kind == b"P2":
        pixels = _grey_words(path, data, end, width * height, largest)
    else:
        type = np.dtype("u1" if largest < 256 else ">u2")
        body = data[end + 1 :]
        if len(body) < width * height * type.itemsize:
            raise InputFileError(path, None, f"{width * height * type.itemsize} bytes of pixels are expected, "
                                             f"and there are {len(body)}")  # fmt: skip
        pixels = np.frombuffer(body, type, width * height).astype(np.float64)
    return (pixels.reshape(height, width) / largest).clip(0, 1).astype(np.float32)


def _grey_words(path: Path, data: bytes, start: int, count: int, largest: int) -> np.ndarray:
    line = data.count(b"\n", 0, start) + 1
    values: list[int] = []
    for number, text in enumerate(data[start:].split(b"\n"), line):
        for word in text.split(b"#")[0].split():
            if not word.isdigit() or int(word) > largest:
                shown = word.decode("ascii", "replace")
                raise InputFileError(path, number, f"a grey value from 0 to {largest} is expected, not '{shown}'")
            values.append(int(word))
    if len(values) != count:
        raise InputFileError(path, None, f"{count} grey values are expected, and there are {len(values)}")
    return np.array(values, np.float64)


def read_png(path: Path) -> np.ndarray:
    """A PNG image as grey levels, by whichever of Pillow and Matplotlib is installed."""
    read_bytes(path)  # so that a missing file is told as for every other format
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return _read_png_by_matplotlib(path)
    try:
        with Image.open(path) as image:
            if image.mode.startswith("I"):  # 16 bits, which the conversion to 8 would clip
                return (np.asarray(image, np.float64) / 65535).clip(0, 1).astype(np.float32)
            return (np.asarray(image.convert("L"), np.float64) / 255).astype(np.float32)
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError):
        raise InputFileError(path, None, "a PNG image is expected, and this is none or is damaged") from None


def _read_png_by_matplotlib(path: Path) -> np.ndarray:
    try:
        from matplotlib.image import imread
    except ImportError:
        problem = "reading PNG needs Pillow or Matplotlib (pip install pillow); PGM needs neither"
        raise InputFileError(path, None, problem) from None
    try:
        pixels = np.atleast_3d(imread(path))
    except (OSError, SyntaxError, ValueError):
        raise InputFileError(path, None, "a PNG image is expected, and this is none or is damaged") from None
    grey = pixels[..., :3] @ (0.299, 0.587, 0.114) if pixels.shape[2] >= 3 else pixels[..., 0]  # ITU-R BT.601
    return grey.astype(np.float32)


# Sequences ------------------------------------------------------------------------------------------------------------


def read_fasta(path: Path) -> list[Sequence]:
    """FASTA: a line `>NAME` and what else it says, then the sequence's bases on any number of lines."""
    lines = Lines(path)
    found: list[tuple[str, list[str]]] = []
    for words in lines:
        if words[0].startswith(">"):
            if found and not found[-1][1]:
                raise lines.wrong(f"bases of '{found[-1][0]}' are expected before the next sequence")
            found.append((words[0][1:], []))
            continue
        if not found:
            raise lines.wrong("'>NAME' is expected before the first base")
        bases = "".join(words).upper()
        other = sorted(set(bases) - BASES)
        if other:
            raise lines.wrong(f"bases are expected (A, C, G, T, or N and the like), not '{other[0]}'")
        found[-1][1].append(bases)
    if not found:
        raise lines.wrong("at least one sequence is expected, '>NAME' and its bases")
    if not found[-1][1]:
        raise lines.wrong(f"bases of '{found[-1][0]}' are expected, and the file ends")
    return [Sequence(name, "".join(parts).encode()) for name, parts in found]


READERS: dict[str, list[tuple[str, tuple[str, ...], Callable[[Path], Any]]]] = {
    "graph": [
        ("DIMACS", (".gr",), read_dimacs),
        ("edge list", (".txt", ".edges", ".el"), read_edge_list),
        ("Matrix Market", (".mtx",), read_matrix_as_graph),
    ],
    "matrix": [("Matrix Market", (".mtx",), read_matrix_market)],
    "image": [("PGM", (".pgm",), read_pgm), ("PNG", (".png",), read_png)],
    "text": [("text", (".txt", ".log", ".tsv", ".html", ".htm"), read_text)],
    "fasta": [("FASTA", (".fasta", ".fa", ".fna"), read_fasta)],
}
