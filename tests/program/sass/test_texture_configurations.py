"""Every configuration of a texture gives as machine code what it gives as PTX: kinds of image, of texel, of filter, of address.

Of the 471 configurations that were recorded on an H200, 384 are stored with its words, and machine code gives them
(test_texture.py). The words of the others are not kept: here are all combinations that there can be, beside PTX.
"""

from functools import cache
from itertools import product

import numpy as np
import pytest

import simtlab as sl
from simtlab.machine.config import MachineConfig, load
from tests.execute.recorded_images import DTYPES
from tests.program.sass.images import fetch_kernels, joined

POINTS = 96
STEP = 61  # of the everyday tests
SHAPES = {"1d": (13,), "2d": (6, 11), "3d": (3, 5, 7), "a1d": (4, 9), "a2d": (3, 5, 7), "cube": (6, 8, 8)}
LAYERED = ("a1d", "a2d")
NARROW = ("u8", "s8", "u16", "s16")
EDGES = np.array([0, -0.0, 0.5, 1, -1, 1 - 2**-24, 1 + 2**-23, 2**-130, 1e9, -1e9, 3e38, np.inf, -np.inf, np.nan], np.float32)


@cache
def configurations() -> list[tuple]:
    """Geometry, format, channels, whether read as float, filter, address, whether normalised, coordinates."""
    found = []
    for geometry, format, channels, as_float in product(SHAPES, DTYPES, (1, 2, 4), (False, True)):
        if as_float and format not in NARROW:
            continue
        texel = (geometry, format, channels, as_float)
        for address, normalized in product(("clamp", "border", "wrap", "mirror"), (False, True)):
            found.append((*texel, "point", address, normalized, "f32"))
            if as_float or format in ("f16", "f32"):
                found.append((*texel, "linear", address, normalized, "f32"))
        if geometry != "cube":
            found += [(*texel, "point", address, False, "s32") for address in ("clamp", "border")]
    return found


def type_of(format: str, as_float: bool) -> str:
    return "f32" if as_float or format in ("f16", "f32") else "s32" if format[0] == "s" else "u32"


def form_of(one: tuple) -> tuple[str, str, str]:
    """What its kernel is: geometry, type of the results, type of the coordinates."""
    return one[0], type_of(one[1], one[3]), one[-1]


def compiled(isa: str, chosen: list[tuple], preset: str | None = None):
    gpu = sl.Gpu(on_two_cores(preset) if preset else None, isa=isa, threads=1, memory_bytes=1 << 24)
    return gpu, gpu.compile(fetch_kernels(sorted({form_of(one) for one in chosen})))


def on_two_cores(preset: str) -> MachineConfig:
    config = load(preset)
    return config.replace({"core.cores": 2, "dram.channels": 2, "l2.slices": 2 * config.l2.slices_per_channel})


def texels_of(rng: np.random.Generator, geometry: str, format: str, channels: int) -> np.ndarray:
    dtype, shape = np.dtype(DTYPES[format]), (*SHAPES[geometry], channels)
    if dtype.kind == "f":
        return rng.normal(0, 100, shape).astype(dtype)
    return np.frombuffer(rng.bytes(int(np.prod(shape)) * dtype.itemsize), dtype).reshape(shape)


def coordinates_of(rng: np.random.Generator, geometry: str, normalized: bool, kind: str) -> np.ndarray:
    """Inside, around and far away; the layer of layered images is an integer. Directions of a cube map are finite and not zero."""
    if kind == "s32":
        return rng.integers(-3, 16, (POINTS, 4), np.int32).view(np.uint32)
    at = rng.uniform(-1.5, 2.5, (POINTS, 4)) * (1 if normalized or geometry == "cube" else 8)
    at = at.astype(np.float32)
    if geometry != "cube":
        at[: POINTS // 3, :] = rng.choice(EDGES, (POINTS // 3, 4))
    words = at.view(np.uint32)
    if geometry in LAYERED:
        words[:, 0] = rng.integers(-2, 7, POINTS, np.int32).view(np.uint32)
    return words


def fetched(gpu, module, one: tuple, texels: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
    geometry, _, channels, as_float, filter, address, normalized, kind = one
    texture = gpu.texture(
        texels if kind == "f32" or geometry != "1d" else gpu.array(texels), filter=filter, address=address,
        normalized_coordinates=normalized, read_as_float=as_float, layered=geometry in LAYERED, cube=geometry == "cube",
        channels=channels,
    )  # fmt: skip
    at, out = gpu.array(coordinates), gpu.zeros((POINTS, 4), np.uint32)
    module[joined("fetch", *form_of(one))](1, POINTS, [np.uint64(texture.handle), at, out, POINTS])
    got = out.numpy()
    for array in (texture.array, at, out):
        array.free()
    return got


def compare(isa: str, chosen: list[tuple], preset: str | None = None) -> None:
    wrong, of_ptx, of_machine_code = [], compiled("ptx", chosen), compiled(isa, chosen, preset)
    for number, one in enumerate(chosen):
        rng = np.random.default_rng(number)
        given = texels_of(rng, *one[:3]), coordinates_of(rng, one[0], one[6], one[7])
        if not np.array_equal(fetched(*of_ptx, one, *given), fetched(*of_machine_code, one, *given)):
            wrong.append(one)
    assert not wrong


def test_there_are_as_many_as_the_page_says():
    assert len(configurations()) == len(set(configurations())) == 2952
    assert {one[0] for one in configurations()[::STEP]} == set(SHAPES)


@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_some_configurations_give_what_ptx_gives(isa):
    compare(isa, configurations()[::STEP])


@pytest.mark.slow
@pytest.mark.parametrize("geometry", SHAPES)
@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
def test_every_configuration_gives_what_ptx_gives(isa, geometry):
    compare(isa, [one for one in configurations() if one[0] == geometry])


@pytest.mark.slow
@pytest.mark.parametrize(("isa", "preset"), [("sm_75", "rtx2080ti"), ("sm_90", "h200"), ("sm_120", "rtx5090")])
def test_every_third_configuration_gives_what_ptx_gives_on_a_machine(isa, preset):
    assert on_two_cores(preset).core.isa == isa
    compare(isa, configurations()[::3], preset)
