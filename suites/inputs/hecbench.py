"""Inputs of the form that applications of HeCBench read; the suite keeps its own outside its repository.

    python hecbench.py grid FILE SIDE LOW HIGH        a number a line, SIDE x SIDE of them between LOW and HIGH (hotspot)
    python hecbench.py graph FILE NODES EDGES         first edge and number of edges of each node, source, weighted edges (bfs)
    python hecbench.py bitmap FILE WIDTH HEIGHT       a BMP file with 24 bits a pixel (sobel); WIDTH is a multiple of 4
"""

from __future__ import annotations

import random
import struct
import sys
from pathlib import Path


def grid(path: Path, side: str, low: str, high: str) -> None:
    drawn = (random.uniform(float(low), float(high)) for _ in range(int(side) ** 2))
    path.write_text("".join(f"{number:.6f}\n" for number in drawn))


def graph(path: Path, nodes: str, edges: str) -> None:
    """Every node has the same number of edges, to nodes drawn at random."""
    n, each = int(nodes), int(edges) // int(nodes)
    lines = [f"{n}", *(f"{node * each} {each}" for node in range(n)), "0", f"{n * each}"]
    lines += [f"{random.randrange(n)} {random.randint(1, 10)}" for _ in range(n * each)]
    path.write_text("\n".join(lines) + "\n")


def bitmap(path: Path, width: str, height: str) -> None:
    """Squares of one colour with some noise, so that there are edges to find."""
    w, h = int(width), int(height)
    colours = [[random.randrange(240) for _ in range(3)] for _ in range(64)]
    pixels = bytearray()
    for y in range(h):
        for x in range(w):
            pixels += bytes(level + random.randrange(16) for level in colours[(y // 8 * 7 + x // 8) % 64])
    head = struct.pack("<2sIHHI", b"BM", 54 + len(pixels), 0, 0, 54)
    info = struct.pack("<IiiHHIIiiII", 40, w, h, 1, 24, 0, len(pixels), 2835, 2835, 0, 0)
    path.write_bytes(head + info + pixels)


KINDS = {"grid": grid, "graph": graph, "bitmap": bitmap}

if __name__ == "__main__":
    random.seed(1)
    kind, file, *parameters = sys.argv[1:]
    KINDS[kind](Path(file), *parameters)
