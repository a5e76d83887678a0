"""LKC, leukocyte: white blood cells are found in a film's first frame and followed through the others.

Suite: Rodinia (`leukocyte`). Regular, compute-bound.
To find them, a thread reads the gradient along circles around its point, through textures, where constant memory says; a CTA is a
column of the frame. The scores are dilated, again through a texture, and peaks above a threshold are the cells. To follow them, a
CTA of 320 threads has the box around a cell in shared memory and iterates on it, two barriers for every 320 elements.
The program has no small input: a warp's 1,050 points of circles are 26 K instructions, and one iteration on one box 36 K. So
`small` cannot have three waves of CTAs, and `tiny` has smaller circles, boxes and elements too.
Three things are not Rodinia's. Its kernel lets a warp write to the box while another still reads it: a barrier more keeps them
apart. Boxes are found by their offsets, not by pointers. And the host's active contours, which say where the next boxes lie, are
left out: a box goes with the blood, at the speed the film has.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import grey_levels, natural

NAME = "LKC"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("leukocyte",)
WHOLE = {"circles": 7, "points": 150, "element": 12, "reach": 10}  # as in Rodinia
REDUCED = {"circles": 1, "points": 24, "element": 1, "reach": 4}
SIZES = {
    "tiny": {"rows": 32, "columns": 36, "cells": 1, "frames": 1, "iterations": 2, **REDUCED},
    "small": {"rows": 76, "columns": 92, "cells": 4, "frames": 1, "iterations": 8, **WHOLE},
    # The part of Rodinia's film that it looks at, and its run file's five frames; our guess is that DYNCTA ran the same.
    "paper": {"rows": 219, "columns": 640, "cells": 36, "frames": 5, "iterations": 500, **WHOLE},
}
# Singles against doubles; a score is a quotient whose variance is a sum of small differences.
TOLERANCE = {"gicov": (1e-3, 1e-4), "dilated": (1e-3, 1e-4), "fields": (1e-3, 1e-4)}
FILES = {"image": "image"}
DILATE_THREADS, TRACK_THREADS, MOST_THREADS = 176, 320, 1024
SMALLEST, THRESHOLD = 8, 1.8  # radius of the first circle; the next are larger by two each
VELOCITY, SMOOTH, CUTOFF, MU = 1.0, 1e-10, 1e-5, 0.5
CELL, CONTRAST, NOISE, DRIFT = 10, 0.25, 0.01, 2  # of the generated film: radius, grey levels of 1, columns a frame
APART, TRIES = 2.2, 200  # the least distance of two cells, in radii, and how many places are tried for it


def inputs(
    *,
    rows: int = 0,
    columns: int = 0,
    cells: int,
    frames: int,
    iterations: int,
    circles: int,
    points: int,
    element: int,
    reach: int,
    seed: int = 0,
    image: np.ndarray | None = None,
) -> dict[str, Any]:
    """A film of round cells that drift with the blood, or an image from a file as a film in which nothing moves."""
    limits = {"circles": (circles, 7), "points": (points, 150), "element": (element, 12), "reach": (reach, 10)}
    for name, (value, most) in limits.items():
        least = 2 if name == "points" else 1
        require(least <= value <= most, f"LKC: {name} is {value}; it must be from {least} to {most}")
    require(min(cells, frames, iterations) >= 1, "LKC: there must be 1 cell, 1 frame and 1 iteration at least")
    height, width = (rows, columns) if image is None else image.shape
    around = 2 * margin(circles)
    require(around < height <= around + MOST_THREADS and width > around,
            f"LKC: a frame of {height} rows and {width} columns is not possible; there must be more than {around} of each, "
            f"and {around + MOST_THREADS} rows at most, a CTA of a thread a row")  # fmt: skip
    if image is None:
        shown = moving_cells((rows, columns), cells, frames, circles, np.random.default_rng([seed, rows, columns, cells]))
    else:
        shown = np.broadcast_to(image, (frames + 1, *image.shape))
    sizes = {"cells": cells, "iterations": iterations, "circles": circles, "points": points, "element": element, "reach": reach}
    return {"film": grey_levels(shown), "drift": DRIFT if image is None else 0, **sizes}


def margin(circles: int) -> int:
    """How far from the frame's edge a point must be, so that the largest circle and the gradient are inside."""
    return SMALLEST + 2 * (circles - 1) + 2


def moving_cells(shape: tuple[int, int], cells: int, frames: int, circles: int, random: np.random.Generator) -> np.ndarray:
    """Bright cells with soft edges on an uneven ground, apart from each other where there is room."""
    ground = 0.4 + 0.1 * natural(*shape, int(random.integers(2**31)))
    radius, away = min(CELL, SMALLEST + 2 * (circles - 1)), margin(circles)
    centres: list[np.ndarray] = []
    for _ in range(cells):
        places = random.uniform(away, np.subtract(shape, away), (TRIES, 2))
        gaps = np.min([np.hypot(*(places - other).T) for other in centres] or [np.full(TRIES, np.inf)], 0)
        centres.append(places[np.argmax(gaps > APART * radius)])
    y, x = np.mgrid[: shape[0], : shape[1]]
    film = []
    for frame in range(frames + 1):
        distance = np.min([np.hypot(y - row, x - column - DRIFT * frame) for row, column in centres], 0)
        film.append(ground + CONTRAST / (1 + np.exp(distance - radius)) + NOISE * random.standard_normal(shape))
    return np.stack(film)


# The host's part ---------------------------------------------------------------------------------------------------------


def stencil(circles: int, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The angles of a circle's points, and where the points of each circle are, cut to whole columns and rows."""
    angle = 2 * np.pi * np.arange(points) / points
    radius = SMALLEST + 2.0 * np.arange(circles)[:, None]
    across, along = (np.trunc(np.round(radius * turn(angle), 9)).astype(np.int32) for turn in (np.cos, np.sin))
    return angle, across, along


def structuring_element(radius: int) -> np.ndarray:
    """A disk of ones."""
    y, x = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    return (x**2 + y**2 <= radius**2).astype(np.float32)


def peaks(gicov: np.ndarray, dilated: np.ndarray, most: int) -> list[tuple[int, int]]:
    """Where the cells are, by row and column: scores that none nearby exceeds, the highest ones first."""
    row, column = np.nonzero((gicov == dilated) & (gicov > THRESHOLD**2))
    order = np.argsort(-gicov[row, column], kind="stable")[:most]
    return [(int(row[k]), int(column[k])) for k in order]


def boxes(data: dict[str, Any], cells: list[tuple[int, int]], frame: int) -> list[np.ndarray]:
    """The strength of the gradient around each cell, from 0 to 1, cut at the frame's edges."""
    grey, reach = data["film"][frame] / 255.0, data["reach"]
    cut = []
    for row, column in cells:
        along = min(column + data["drift"] * frame, grey.shape[1] - 1)
        rows = slice(max(row - 2 * reach, 0), row + 2 * reach + 1)
        strength = np.hypot(*np.gradient(grey[rows, max(along - 4 * reach, 0) : along + 4 * reach + 1]))
        cut.append(((strength - strength.min()) / (np.ptp(strength) + 2.0**-52)).astype(np.float32))
    return cut


# On the GPU ----------------------------------------------------------------------------------------------------------------


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    gicov, dilated = found(launcher, data)
    cells = peaks(gicov, dilated, data["cells"])
    fields = [tracked(launcher, boxes(data, cells, frame), data["iterations"]) for frame in range(1, len(data["film"]))]
    return {"gicov": gicov, "dilated": dilated, "fields": np.concatenate(fields)}


def found(launcher: Any, data: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """The score of every point of the first frame, and the largest around it."""
    circles, points, element = data["circles"], data["points"], structuring_element(data["element"])
    angle, across, along = stencil(circles, points)
    tables = {"c_sin_angle": np.sin(angle), "c_cos_angle": np.cos(angle), "c_strel": element, "c_tX": across, "c_tY": along}
    for name, values in tables.items():
        dtype = "i4" if name in ("c_tX", "c_tY") else "f4"
        launcher.module.variable(name, dtype)[: values.size] = values.ravel().astype(dtype)
    rows, columns = data["film"][0].shape
    down, right = np.gradient(data["film"][0].astype(np.float32))
    gradients = [launcher.array(np.ascontiguousarray(values.T)) for values in (right, down)]
    textures = [launcher.gpu.texture(values.view("f4")) for values in gradients]
    gicov = launcher.zeros((columns, rows), "f4", label="gicov")
    away = margin(circles)
    sizes = [np.int32(k) for k in (away, circles, points)]
    launcher.launch("GICOV_kernel", columns - 2 * away, rows - 2 * away, [np.int32(rows), gicov, *textures, *sizes])

    dilated = launcher.zeros((rows, columns), "f4", label="dilated")
    shape = [np.int32(k) for k in (rows, columns, *element.shape)]
    ctas = -(-rows * columns // DILATE_THREADS)
    launcher.launch("dilate_kernel", ctas, DILATE_THREADS, [*shape, dilated, launcher.gpu.texture(gicov.view("f4"))])
    return gicov.numpy().T, dilated.numpy()


def tracked(launcher: Any, images: list[np.ndarray], iterations: int) -> np.ndarray:
    """The fields of all boxes of a frame, one after another."""
    if not images:
        return np.zeros(0, np.float32)
    flat = np.concatenate([image.ravel() for image in images])
    sizes = np.array([image.shape for image in images], np.int32)
    offsets = np.cumsum([0, *(image.size for image in images[:-1])]).astype(np.int64)
    fields = launcher.array(flat, label="fields")
    where = [launcher.array(flat, label="boxes"), launcher.array(offsets), *(launcher.array(sizes[:, k].copy()) for k in (0, 1))]
    how = [np.float32(k) for k in (VELOCITY, VELOCITY, SMOOTH)]
    launcher.launch("IMGVF_kernel", len(images), TRACK_THREADS, [fields, *where, *how, np.int32(iterations), np.float32(CUTOFF)])
    return fields.numpy()


# In doubles, on whole arrays -----------------------------------------------------------------------------------------------


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    gicov = scores(data)
    (height, width), padded = gicov.shape, np.pad(gicov, data["element"])
    inside = np.argwhere(structuring_element(data["element"]))
    dilated = np.max([padded[y : y + height, x : x + width] for y, x in inside], 0)
    cells = peaks(gicov, dilated, data["cells"])
    fields = [field(box, data["iterations"]) for frame in range(1, len(data["film"])) for box in boxes(data, cells, frame)]
    return {"gicov": gicov, "dilated": dilated, "fields": np.concatenate([np.zeros(0), *(one.ravel() for one in fields)])}


def scores(data: dict[str, Any]) -> np.ndarray:
    """Dong, Ray and Acton's measure of how well the best circle fits around each point (IEEE Trans. Medical Imaging 2005)."""
    down, right = np.gradient(data["film"][0].astype(np.float64))
    angle, across, along = stencil(data["circles"], data["points"])
    away = margin(data["circles"])
    height, width = (size - 2 * away for size in down.shape)
    best = np.zeros(down.shape)
    inner = best[away : away + height, away : away + width]
    for columns, rows in zip(across + away, along + away, strict=True):
        outward = np.stack([
            np.cos(turn) * right[y : y + height, x : x + width] + np.sin(turn) * down[y : y + height, x : x + width]
            for turn, x, y in zip(angle, columns, rows, strict=True)
        ])  # fmt: skip
        with np.errstate(invalid="ignore", divide="ignore"):
            np.fmax(inner, outward.mean(0) ** 2 / outward.var(0, ddof=1), out=inner)
    return best


def field(box: np.ndarray, iterations: int) -> np.ndarray:
    """The motion gradient vector field of one box (Ray and Acton, the same journal, 2004), all elements renewed at once."""
    edges = box.astype(np.float64)
    here, rate = edges, 1 / (8 * MU + 1)
    for _ in range(iterations):
        padded = np.pad(here, 1, mode="edge")
        flow = np.zeros_like(here)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                rise = padded[1 + dy : 1 + dy + here.shape[0], 1 + dx : 1 + dx + here.shape[1]] - here
                flow += rise * (np.arctan(rise * VELOCITY * (dx + dy) / SMOOTH) / np.pi + 0.5)
        before, here = here, here + MU * rate * flow
        here = here - rate * edges * (here - edges)
        if np.abs(here - before).mean() < CUTOFF:
            break
    return here
