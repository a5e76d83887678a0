"""HTW, heart wall: points of the inner and outer wall of a heart are tracked through an ultrasound film, a launch a frame.

Suite: Rodinia (`heartwall`). Regular in its addresses, with long loops of threads that idle.
A CTA of 256 has one of 51 points, so that there are never more than 51. Steps follow one another at barriers: cutting out, a
correlation of two small images from global memory, running sums by one thread a column and then by one a row (a row apart from
lane to lane), a search for the best. A point's arrays are its own and are read again and again. Sizes are in constant memory; the
arrays' addresses, which Rodinia keeps there too, are the kernel's arguments here.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require
from simtlab.workloads.images import natural

NAME = "HTW"
SUITE = "Rodinia"
CATEGORY = "regular"
PAPERS = ("LOADS",)
ALIASES = ("heartwall",)
SIZES = {
    "tiny": {"width": 60, "height": 50, "frames": 3, "points": 2, "half": 2, "reach": 4, "move": 1, "renew": 2},
    "small": {"width": 160, "height": 150, "frames": 3, "points": 51, "half": 4, "reach": 7, "move": 2, "renew": 2},
    # LOADS Table I: 104 frames of 609 x 590, 51 CTAs; the other numbers are Rodinia's
    "paper": {"width": 609, "height": 590, "frames": 104, "points": 51, "half": 25, "reach": 40, "move": 10, "renew": 10},
}
TOLERANCE = {"scores": (1e-2, 1e-3)}  # quotients of differences of running sums of singles
THREADS, MOST_COLUMNS = 256, 256
KEPT = 0.87  # of a template, when it is renewed
NOISE = 0.02


def inputs(
    *, width: int, height: int, frames: int, points: int, half: int, reach: int, move: int, renew: int, seed: int = 0
) -> dict[str, Any]:
    """A film of speckled tissue that beats about its middle, and points on two ellipses, 20 inner for 31 outer ones."""
    random = np.random.default_rng([seed, width, height, frames])
    columns = wide_columns(half, reach)
    require(1 <= half <= reach, f"HTW: half is {half}; it must be from 1 to reach, {reach}")
    require(columns <= MOST_COLUMNS, f"HTW: half {half} and reach {reach} need {columns} columns; there may be {MOST_COLUMNS}")
    require(1 <= move <= reach - half, f"HTW: move is {move}; it must be from 1 to reach - half, {reach - half}")
    require(frames >= 2 and points >= 1 and renew >= 1, "HTW: there must be 2 frames, 1 point and a renewal every frame at least")
    tissue = natural(height, width, seed) * (0.6 + 0.4 * random.random((height, width)))
    y, x = np.mgrid[0:height, 0:width]
    film = np.empty((frames, height, width), np.float32)
    amplitude = move / max(height, width)  # so that the edge moves less than `move` a frame
    for frame in range(frames):
        scale = 1 + amplitude * np.sin(0.8 * frame)
        rows = np.clip(np.rint((y - height / 2) * scale + height / 2), 0, height - 1).astype(int)
        film[frame] = tissue[rows, np.clip(np.rint((x - width / 2) * scale + width / 2), 0, width - 1).astype(int)]
    film += NOISE * random.standard_normal(film.shape).astype(np.float32)
    angle = 2 * np.pi * np.arange(points) / points
    radius = np.where(np.arange(points) % 51 < 20, 0.18, 0.3)
    places = np.stack([height * (0.5 + radius * np.sin(angle)), width * (0.5 + radius * np.cos(angle))]).astype(np.int32)
    sizes = {"half": half, "reach": reach, "move": move, "renew": renew}
    return {"film": film, "rows": places[0], "columns": places[1], **sizes}


def wide_columns(half: int, reach: int) -> int:
    return (2 * reach + 1) + 2 * (2 * half + 1) - 1


def layout(data: dict[str, Any]) -> np.ndarray:
    """What the constant memory holds, in the order of `struct Layout`."""
    _, height, width = data["film"].shape
    half, reach = data["half"], data["reach"]
    side, wide, padded = 2 * half + 1, 2 * reach + 1, wide_columns(half, reach)
    places = side + wide - 1
    lengths = [side**2, side**2, wide**2, places**2, padded**2, places * padded, *[places**2] * 4]
    *begins, of_point = np.cumsum(lengths).tolist()  # the template itself begins at 0
    numbers = [width, height, half, side, reach, wide, places, padded, data["move"], data["renew"], of_point, *begins]
    return np.array(numbers, np.int32)


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    film, points, constants = data["film"], len(data["rows"]), layout(data)
    launcher.module.variable("layout", "i4")[: len(constants)] = constants
    launcher.module.variable("keep", "f4")[:1] = np.array([KEPT], np.float32)
    memory = launcher.zeros(points * int(constants[10]), "f4", label="the points' arrays")
    rows, columns = launcher.array(data["rows"], label="rows"), launcher.array(data["columns"], label="columns")
    scores, picture = launcher.zeros(points, "f4", label="scores"), launcher.zeros(film[0].size, "f4", label="frame")
    tracks: dict[str, list[np.ndarray]] = {"rows": [], "columns": [], "scores": []}
    for number, frame in enumerate(film):
        picture[:] = frame.ravel()
        launcher.launch("kernel", points, THREADS, [picture, memory, rows, columns, scores, np.int32(number)])
        for name, array in (("rows", rows), ("columns", columns), ("scores", scores)):
            tracks[name].append(array.numpy())
    return {name: np.stack(found) for name, found in tracks.items()}


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    """Pearson's correlation of the template with every window that the point can have moved to, each by itself."""
    half, move, film = data["half"], data["move"], data["film"].astype(np.float64)
    around = half + move
    rows, columns = data["rows"].astype(int), data["columns"].astype(int)
    tracks = {"rows": [rows], "columns": [columns], "scores": [np.zeros(len(rows))]}
    templates = [piece(film[0], *place, half) for place in zip(rows, columns, strict=True)]
    for number, frame in enumerate(film[1:], 1):
        rows, columns, scores = rows.copy(), columns.copy(), np.zeros(len(rows))
        for k, template in enumerate(templates):
            searched = piece(frame, rows[k], columns[k], around)
            match = correlations(np.lib.stride_tricks.sliding_window_view(searched, template.shape), template)
            y, x = np.unravel_index(match.argmax(), match.shape)
            rows[k], columns[k], scores[k] = rows[k] + y - move, columns[k] + x - move, match[y, x]
            if number % data["renew"] == 0:
                templates[k] = KEPT * template + (1 - KEPT) * piece(frame, rows[k], columns[k], half)
        for name, found in (("rows", rows), ("columns", columns), ("scores", scores)):
            tracks[name].append(found)
    return {name: np.stack(found) for name, found in tracks.items()}


def piece(frame: np.ndarray, row: int, column: int, half: int) -> np.ndarray:
    """The square around a point; beyond the frame lies its edge."""
    near = np.arange(-half, half + 1)
    return frame[np.ix_((row + near).clip(0, frame.shape[0] - 1), (column + near).clip(0, frame.shape[1] - 1))]


def correlations(windows: np.ndarray, template: np.ndarray) -> np.ndarray:
    """Of every window with the template."""
    one = windows - windows.mean((2, 3), keepdims=True)
    other = template - template.mean()
    return (one * other).sum((2, 3)) / np.sqrt((one**2).sum((2, 3)) * (other**2).sum())
