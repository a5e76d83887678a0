"""RAY, ray tracing: spheres above a plane that mirror one another, one light, shadows.

Suite: ISPASS (GPGPU-Sim's benchmarks of 2009, after M. Boroujerdi). Irregular, compute-bound.
A thread has a pixel and follows its ray for up to five mirrorings; neighbours part at every edge of an object, of a shadow or
of a mirrored one. The scene is in constant memory, hits are kept in local memory, and global memory takes one store a pixel.
A point is in the shade of what lies between it and the light; the suite compares with another distance.
Where the last bit decides what a ray meets, single precision and the reference may see different things. Such pixels (a ray
turned by sixteen parts in a million, or sent on from a little higher or lower, sees another colour) are blank in what is
compared; they are a few in a hundred.
"""

from typing import Any

import numpy as np

from simtlab.workloads.errors import require

NAME = "RAY"
SUITE = "ISPASS 2009"
CATEGORY = "irregular"
PAPERS = ("DYNCTA",)
DYNCTA_TYPE = "Type-C"
ALIASES = ("rayTracing",)
SIZES = {
    "tiny": {"width": 32, "height": 24},
    "small": {"width": 320, "height": 288},
    "paper": {"width": 256, "height": 256},  # the suite's
}
TOLERANCE = {"pixels": (0.0, 2.0)}  # of 255: singles, approximate roots, and the fraction that is cut off
BLOCK = (16, 8)
MOST_OBJECTS, MIRRORINGS = 16, 5  # as in kernel.cu
OBJECT = np.dtype([("centre", "f4", 3), ("radius", "f4"), ("colour", "f4", 4), ("plane", "u4"), ("unused", "u4")])
SCENE = [  # the suite's: centre, radius, colour, whether it is a plane
    ((0.0, -1.5, 0.0), 0.5, (0, 1, 1, 1), 1, 0),
    ((-1.0, 0.0, -1.0), 0.5, (1, 0, 0, 1), 0, 0),
    ((1.0, 0.0, -1.0), 0.5, (0, 0, 1, 1), 0, 0),
    ((0.0, 0.0, -2.0), 0.75, (0, 1, 0, 1), 0, 0),
]
EYE, ANGLE, LIGHT = np.array([0.0, 0.5, 2.0]), np.deg2rad(65), np.array([10.0, 10.0, 10.0])
TURN, LIFT = 1.6e-5, 4e-6  # of a ray, and of a point from its surface, within which a colour must not change
FAR = 10000.0


def inputs(*, width: int, height: int, spheres: int = 3, seed: int = 0) -> dict[str, Any]:
    """The suite's scene for seed 0; more spheres, and all spheres of another seed, are anywhere before the camera."""
    require(width >= 1 and height >= 1, f"RAY: a picture of {width} x {height} pixels is none")
    require(0 <= spheres < MOST_OBJECTS, f"RAY: spheres is {spheres}; it must be from 0 to {MOST_OBJECTS - 1}")
    random = np.random.default_rng([seed, spheres])
    scene = np.zeros(1 + spheres, OBJECT)
    scene[: min(len(SCENE), 1 + spheres)] = np.array(SCENE, OBJECT)[: 1 + spheres]
    for k in range(1 if seed else len(SCENE), 1 + spheres):
        places = random.random(3) * (4, 2, -4) + (-2, -1, -0.5)
        scene[k] = (places, random.uniform(0.2, 0.8), (*random.random(3), 1), 0, 0)
    data = {"scene": scene.view("f4").reshape(-1, 10), "width": width, "height": height}
    changes = ((0, 0, 0), (1, 1, 0), (-1, 1, 0), (1, -1, 0), (-1, -1, 0), (0, 0, 1), (0, 0, -1))
    seen = np.stack([traced(data, (x * TURN, y * TURN), up * LIFT) for x, y, up in changes])
    return data | {"doubtful": np.ptp(seen, axis=0).max(-1) > 0.5 / 255}


def camera() -> np.ndarray:
    """Ahead, up and aside, with the eye's place in the last column; it looks at the origin."""
    ahead = -EYE / np.linalg.norm(EYE)
    up = np.array([0.0, 1.0, 0.0]) - ahead[1] * ahead
    up /= np.linalg.norm(up)
    return np.column_stack([np.stack([ahead, up, np.cross(ahead, up)]), EYE])


def focus() -> float:
    return float(1 / np.tan(ANGLE / 2))


def run(launcher: Any, data: dict[str, Any]) -> dict[str, np.ndarray]:
    width, height = data["width"], data["height"]
    launcher.module.variable("MView", "f4")[...] = camera().astype(np.float32).ravel()
    launcher.module.variable("cnode", "f4")[: data["scene"].size] = data["scene"].ravel()
    launcher.module.variable("numObj", "i4")[...] = np.array([len(data["scene"])], np.int32)
    result = launcher.zeros((height, width), "u4", label="result")
    grid = (-(-width // BLOCK[0]), -(-height // BLOCK[1]))
    sizes = np.uint32(width), np.uint32(height)
    launcher.launch("render", grid, BLOCK, [result, *sizes, np.float32(0), np.float32(focus())])
    return {"pixels": blanked(result.numpy().view(np.uint8).reshape(height, width, 4), data)}


def blanked(pixels: np.ndarray, data: dict[str, Any]) -> np.ndarray:
    return np.where(data["doubtful"][..., None], 0, pixels)


def reference(data: dict[str, Any]) -> dict[str, np.ndarray]:
    return {"pixels": blanked(np.floor(255 * traced(data).clip(0, 1)), data)}


# Ray tracing on whole arrays of doubles: rays are rows, what they hit is a column of a table ------------------------------------


def traced(data: dict[str, Any], turn: tuple[float, float] = (0.0, 0.0), lift: float = 0.0) -> np.ndarray:
    """Colours of all pixels, as light; `turn` moves every ray a little to the side and upwards, `lift` every point that is met."""
    width, height, view = data["width"], data["height"], camera()
    y, x = np.mgrid[0:height, 0:width].reshape(2, -1, 1)
    step = 2 / min(width, height)
    along = unit(focus() * view[0, :3] + (x - width / 2) * step * view[2, :3] + (y - height / 2) * step * view[1, :3])
    along = unit(along + turn[0] * view[2, :3] + turn[1] * view[1, :3])
    start, scene = np.broadcast_to(view[:, 3], along.shape), data["scene"].astype(np.float64)
    planes = data["scene"][:, 8].view("u4") != 0
    light, going = np.zeros((len(along), 4)), np.arange(len(along))
    light[:, 3] = 1
    for bounce in range(MIRRORINGS):
        distances = met(start, along, scene, planes)
        first = distances.argmin(1)
        hit = distances[np.arange(len(first)), first] < FAR
        going, start, along, first, distances = going[hit], start[hit], along[hit], first[hit], distances[hit]
        point = start + distances.min(1, initial=np.inf)[:, None] * along
        eye = -along
        normal = np.where(planes[first, None], (0.0, 1.0, 0.0), unit(point - scene[first, :3]))
        point = point + lift * normal
        shone = shining(point, normal, eye, scene[first, 4:8], (scene, planes))
        light[going] = shone if bounce == 0 else light[going] + 0.8**bounce * shone
        along = unit(2 * (normal * eye).sum(1, keepdims=True) * normal - eye)
        start = point + 0.0001 * along
    return light.reshape(height, width, 4)


def met(start: np.ndarray, along: np.ndarray, scene: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """How far along each ray each object is, infinite where it is missed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        plane = (scene[:, 1] - start[:, 1:2]) / along[:, 1:2]
        way = scene[None, :, :3] - start[:, None]
        ahead = np.einsum("rok,rk->ro", way, along)
        square, radius = (way**2).sum(2), scene[:, 3] ** 2
        half = np.sqrt(radius - (square - ahead**2))
        sphere = np.where(square > radius, ahead - half, ahead + half)
        plane = np.where(np.abs(along[:, 1:2]) < 0.0001, np.inf, plane)
        distance = np.where(planes, plane, sphere)
        return np.where(distance > 0, distance, np.inf)


def shining(point: np.ndarray, normal: np.ndarray, eye: np.ndarray, colour: np.ndarray, objects: Any) -> np.ndarray:
    """What a point sends to the eye by itself: Phong's model, with the middle between light and eye (Blinn)."""
    facing = normal * np.where((eye * normal).sum(1, keepdims=True) < 0, -1, 1)
    way = LIGHT - point
    to_light = unit(way)
    slope = (facing * to_light).sum(1)
    blocked = met(point + 0.0001 * to_light, to_light, *objects).min(1, initial=np.inf) < np.linalg.norm(way, axis=1)
    lit = ((slope > 0) & ~blocked)[:, None]
    highlight = (facing * unit(to_light + eye)).sum(1).clip(0, 1) ** 50
    shone = (0.05 + lit * 0.3 * slope.clip(None, 1)[:, None]) * colour
    shone[:, :3] += lit * 0.8 * highlight[:, None]
    return shone


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
