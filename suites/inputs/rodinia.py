"""Inputs for Rodinia, whose data are not in its repository, and comparisons for those of its applications that have no check.

python rodinia.py graph graph.txt 4096 6               makes a file
python rodinia.py compare ours.txt theirs.txt 1e-3     ends with 1 if a number differs
"""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

RANDOM = np.random.default_rng(7)
NUMBER = re.compile(rb"[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|nan|inf)")


def write(path: str, lines: Iterable[str]) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("\n".join(lines) + "\n")


def graph(path: str, nodes: str, degree: str) -> None:
    """bfs: where each node's edges begin and how many they are, the source, then every edge's end and cost."""
    counts = RANDOM.integers(1, 2 * int(degree), int(nodes))
    begins = np.cumsum(counts) - counts
    ends = RANDOM.integers(0, int(nodes), counts.sum())
    rows = [f"{begin} {count}" for begin, count in zip(begins, counts, strict=True)]
    write(path, [nodes, *rows, "", "0", "", f"{len(ends)}", *(f"{end} 1" for end in ends)])


def values(path: str, count: str, low: str, high: str) -> None:
    """hotspot, hotspot3D: a number in each line; hybridsort."""
    write(path, (f"{value:.6f}" for value in RANDOM.uniform(float(low), float(high), int(count))))


def features(path: str, points: str, dimensions: str) -> None:
    """kmeans: a name and coordinates in each line, around five centres."""
    centres = RANDOM.uniform(0, 100, (5, int(dimensions)))
    near = centres[RANDOM.integers(0, 5, int(points))] + RANDOM.normal(0, 25, (int(points), int(dimensions)))
    write(path, (f"{at} " + " ".join(f"{value:.3f}" for value in point) for at, point in enumerate(near)))


def hurricanes(path: str, count: str) -> None:
    """nn: records of 49 characters, latitude at 28, longitude at 33, and a list with their file."""
    places = zip(RANDOM.uniform(7, 70, int(count)), RANDOM.uniform(0, 99, int(count)), strict=True)
    rows = [f"{1950 + at % 55:4} {1 + at % 12:2} {1 + at % 28:2} {at % 4 * 6:2} {at % 28:2} "
            f"{f'STORM{at % 10000}':<11}{north:5.1f}{east:5.1f} {10 + at % 155:4}"
            for at, (north, east) in enumerate(places)]  # fmt: skip
    write(path, (row.ljust(48) for row in rows))
    write(f"{path}.list", [path])


def system(path: str, size: str) -> None:
    """gaussian: a matrix, which needs no pivots, and a right-hand side."""
    matrix = RANDOM.uniform(-1, 1, (int(size), int(size))) + np.eye(int(size)) * int(size)
    rows = [" ".join(f"{value:.4f}" for value in row) for row in (*matrix, RANDOM.uniform(-9, 9, int(size)))]
    write(path, [size, "", *rows[:-1], "", rows[-1]])


def keys(path: str, count: str) -> None:
    """b+tree: how many, then the keys, each once."""
    write(path, [count, *(f"{key}" for key in RANDOM.permutation(int(count)))])


def text(path: str, *lines: str) -> None:
    write(path, lines)


def mesh(path: str, side: str) -> None:
    """cfd: four-sided cells over a wall (0) with a bump, the far field (-2) around; for each face its neighbour and its normal."""
    size = int(side)
    rows = []

    def corner(column: int, row: int) -> np.ndarray:
        return np.array([column, row + 0.3 * np.sin(np.pi * column / size) ** 2 * (1 - row / size)]) / size

    def beside(column: int, row: int) -> int:
        inside = 0 <= column < size and 0 <= row < size
        return 1 + row * size + column if inside else 0 if row < 0 else -2

    for row, column in np.ndindex(size, size):
        around = [corner(column + right, row + up) for right, up in ((0, 0), (1, 0), (1, 1), (0, 1))]
        faces = [after - before for before, after in zip(around, around[1:] + around[:1], strict=True)]
        across, along = around[2] - around[0], around[3] - around[1]
        others = [beside(column + right, row + up) for right, up in ((0, -1), (1, 0), (0, 1), (-1, 0))]
        area = (across[0] * along[1] - across[1] * along[0]) / 2
        sides = " ".join(f"{other} {face[1]:.6f} {-face[0]:.6f} 0" for other, face in zip(others, faces, strict=True))
        rows += [f"{area:.6f} {sides}"]
    write(path, [f"{size * size}", *rows])


def image(path: str, rows: str, columns: str) -> None:
    """srad_v1: a grey picture as text."""
    write(path, ["P2", f"{columns} {rows}", "255", *(" ".join(map(str, row)) for row in picture(int(rows), int(columns)))])


def raw_image(path: str, side: str) -> None:
    """dwt2d: red, green, blue, a byte each."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(np.stack([picture(int(side), int(side)) for _ in range(3)], axis=-1).astype(np.uint8).tobytes())


def video(path: str, rows: str, columns: str, frames: str, cells: str = "0") -> None:
    """heartwall, leukocyte: grey frames, not compressed, a byte for a pixel; a picture or cells that drift by a pixel a frame."""
    height, width, count = int(rows), int(columns), int(frames)
    wide = (discs(height, width + count, int(cells)) if int(cells) else picture(height, width + count)).astype(np.uint8)

    def chunk(name: bytes, *parts: bytes) -> bytes:
        content = b"".join(parts)
        return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)

    size = height * width
    header = struct.pack("<14I", 40000, size * 25, 0, 0x10, count, 0, 1, size, width, height, 0, 0, 0, 0)
    stream = b"vidsDIB " + struct.pack("<10I4H", 0, 0, 0, 1, 25, 0, count, size, 0, 0, 0, 0, width, height)
    kind = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, size, 0, 0, 256, 0)
    pictures = [chunk(b"00db", wide[:, at : at + width].tobytes()) for at in range(count)]
    places = [struct.pack("<4s3I", b"00db", 0x10, 4 + at * len(pictures[0]), size) for at in range(count)]
    streams = chunk(b"LIST", b"strl", chunk(b"strh", stream), chunk(b"strf", kind))
    parts = [chunk(b"LIST", b"hdrl", chunk(b"avih", header), streams), chunk(b"LIST", b"movi", *pictures), chunk(b"idx1", *places)]
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(chunk(b"RIFF", b"AVI ", *parts))


def discs(rows: int, columns: int, count: int) -> np.ndarray:
    """Round cells with a radius of ten along the middle of a dark ground."""
    y, x = np.mgrid[0:rows, 0:columns]
    ground = RANDOM.uniform(60, 70, (rows, columns))
    for at in range(count):
        off = np.hypot(x - columns * (at + 0.5) / count, y - rows / 2 - 30 * (-1) ** at)
        ground += 120 / (1 + np.exp(off - 10))
    return ground


def picture(rows: int, columns: int) -> np.ndarray:
    """Soft shapes with speckle, 1 to 255."""
    y, x = np.mgrid[0:rows, 0:columns]
    soft = 120 + 60 * np.sin(x / 23) * np.cos(y / 31)
    return np.clip(soft * RANDOM.uniform(0.7, 1.3, (rows, columns)), 1, 255).astype(int)


def sequences(path: str, length: str, queries: str) -> None:
    """mummergpu: a reference, and pieces of it with a letter in five hundred changed."""
    letters = np.array(list("ACGT"))
    reference = RANDOM.choice(letters, int(length))
    write(path, [">reference", *("".join(reference[at : at + 70]) for at in range(0, len(reference), 70))])
    pieces = []
    for number, at in enumerate(RANDOM.integers(0, int(length) - 100, int(queries))):
        piece = np.where(RANDOM.random(100) < 0.002, RANDOM.choice(letters, 100), reference[at : at + 100])
        pieces += [f">query{number}", "".join(piece)]
    write(f"{path}.queries", pieces)


def symbols(path: str, count: str) -> None:
    """huffman: bytes, some far more frequent than others."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(np.minimum(RANDOM.geometric(0.2, int(count)), 255).astype(np.uint8).tobytes())


def compare(path: str, other: str, tolerance: str, begin: str = "") -> None:
    """Every number of two files, from the last line on that has `begin` in it; relative for large, absolute for small ones."""
    ours, theirs = (numbers(each, begin) for each in (path, other))
    if len(ours) != len(theirs) or len(ours) == 0:
        sys.exit(f"{path} has {len(ours)} numbers, {other} has {len(theirs)}")
    off = np.abs(ours - theirs) / np.maximum(1, np.abs(theirs))
    if not (off <= float(tolerance)).all():
        at = int(np.nanargmax(off))
        sys.exit(f"number {at} is {ours[at]}, should be {theirs[at]}; {(off > float(tolerance)).sum()} of {len(ours)} are off")
    print(f"{len(ours)} numbers are within {off.max():g}")


def numbers(path: str, begin: str) -> np.ndarray:
    content = Path(path).read_bytes()
    if begin:
        content = content[content.rindex(begin.encode()) + len(begin) :]
    return np.array([float(found) for found in NUMBER.findall(content)])


def solved(path: str, printed: str) -> None:
    """gaussian: its solution, put into the system."""
    size, *rest = (float(word) for word in Path(path).read_text().split())
    matrix, right = np.split(np.array(rest), [int(size) ** 2])
    off = np.abs(matrix.reshape(int(size), -1) @ numbers(printed, "solution") - right).max()
    if not off < 1e-3:
        sys.exit(f"the system is not solved, {off} off")


def nearest(path: str, printed: str, count: str, north: str, east: str) -> None:
    """nn: the distances that it printed are those of the nearest records."""
    records = Path(path).read_text().splitlines()
    places = np.array([(float(record[28:33]), float(record[33:38])) for record in records])
    expected = np.sort(np.hypot(places[:, 0] - float(north), places[:, 1] - float(east)))[: int(count)]
    found = [float(line.split("Distance=")[1]) for line in Path(printed).read_text().splitlines() if "Distance=" in line]
    if len(found) != int(count) or not np.allclose(found, expected, atol=1e-4):
        sys.exit(f"found {found}, expected {expected}")


def heated(temperature: str, power: str, steps: str, found: str) -> None:
    """hotspot: its heat equation in double precision, for a chip of 16 mm and 0.5 mm thick; 1e-5 of it."""
    now, heat = (np.loadtxt(path) for path in (temperature, power))
    side = int(len(now) ** 0.5)
    now, heat, cell = now.reshape(side, side), heat.reshape(side, side), 0.016 / side
    capacity = 0.5 * 1.75e6 * 0.0005 * cell * cell
    step = 0.001 / (3e6 / (0.5 * 0.0005 * 1.75e6)) / capacity
    for _ in range(int(steps)):
        around = np.pad(now, 1, mode="edge")
        beside = around[:-2, 1:-1] + around[2:, 1:-1] + around[1:-1, :-2] + around[1:-1, 2:] - 4 * now
        now = now + step * (heat + beside * (2 * 100 * 0.0005) + (80 - now) * (100 * cell * cell / 0.0005))
    theirs = np.loadtxt(found)[:, 1].reshape(side, side)
    if not np.allclose(theirs, now, rtol=1e-5):
        sys.exit(f"temperatures are off by up to {np.abs(theirs - now).max()}")


def shortest(printed: str) -> None:
    """pathfinder: the rows that it printed, added up along the cheapest way from above, are its last line."""
    lines = [line for line in Path(printed).read_text().splitlines() if re.fullmatch(r"(\d+ )+", line)]
    *rows, first, last = (np.array(line.split(), int) for line in lines)
    cost = rows[0]
    for row in rows[1:]:
        beside = np.pad(cost, 1, mode="edge")
        cost = row + np.minimum(cost, np.minimum(beside[:-2], beside[2:]))
    if not ((first == rows[0]).all() and (last == cost).all()):
        sys.exit(f"{(last != cost).sum()} of {len(cost)} costs are wrong")


def clustered(path: str, printed: str) -> None:
    """kmeans: the centres that it printed are the means of the points that are nearest to them."""
    points = np.loadtxt(path)[:, 1:]
    text = Path(printed).read_text()
    found = np.array([line.split()[1:] for line in text.splitlines() if re.match(r"\d+: ", line)], float)
    nearest_of = np.linalg.norm(points[:, None] - found[None], axis=2).argmin(axis=1)
    means = np.array([points[nearest_of == centre].mean(axis=0) for centre in range(len(found))])
    if len(found) == 0 or not np.allclose(means, found, atol=0.02):
        sys.exit(f"centres are off by up to {np.abs(means - found).max() if len(found) else '?'}")


def wavelets(path: str, side: str, levels: str, found: str) -> None:
    """dwt2d: the 5/3 transform of the red part, that of JPEG 2000 but with C's division; low parts first, 0 to 255."""

    def lift(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        even, odd = rows[::2].astype(float), rows[1::2].astype(float)
        odd = odd - np.trunc((even + np.vstack([even[1:], even[-1:]])) / 2)
        return even + np.trunc((np.vstack([odd[:1], odd[:-1]]) + odd + 2) / 4), odd

    low = np.fromfile(path, np.uint8).reshape(int(side), int(side), 3)[..., 0].astype(int) - 128
    parts: list[np.ndarray] = []
    for _ in range(int(levels)):
        up, down = lift(low)
        (low, right), (left, both) = ((half.T for half in lift(rows.T)) for rows in (up, down))
        parts = [right.ravel(), left.ravel(), both.ravel(), *parts]
    expected = np.clip(np.concatenate([low.ravel(), *parts]) + 128, 0, 255)
    theirs = np.fromfile(found, np.uint8)
    if len(theirs) != len(expected) or (theirs != expected).any():
        sys.exit(f"{(theirs[: len(expected)] != expected[: len(theirs)]).sum()} of {len(expected)} coefficients differ")


MAKE = (graph, values, features, hurricanes, system, keys, text, mesh, image, raw_image, video, symbols, sequences)
CHECK = (compare, solved, nearest, shortest, clustered, heated, wavelets)
KINDS: dict[str, Callable[..., None]] = {kind.__name__.replace("_", "-"): kind for kind in (*MAKE, *CHECK)}

if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in KINDS:
        sys.exit(f"{__doc__}\nkinds: {', '.join(KINDS)}")
    KINDS[sys.argv[1]](*sys.argv[2:])
