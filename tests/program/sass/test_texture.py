"""Texture fetches and surface accesses of machine code: the words an H200 gave, operands of every form, what is refused."""

import numpy as np
import pytest

import simtlab as sl
from tests.execute.recorded_images import surfaces, textures
from tests.program.sass.images import fetch_kernels, joined, surface_kernels

ISAS = ("sm_75", "sm_90", "sm_120")
STEP = 9  # of the everyday tests
SOME = [pytest.param(isa, STEP if isa != "sm_90" else 1) for isa in ISAS]
EVERY = [pytest.param(isa, 1, marks=pytest.mark.slow) for isa in ISAS if isa != "sm_90"]


def fetched(gpu, module, case):
    """What a recorded case gives on a GPU."""
    s = case.settings
    texture = gpu.texture(
        case.texels if s["memory"] == "copied" else gpu.array(case.texels), filter=s["filter"], address=s["address"],
        normalized_coordinates=bool(s["normalized"]), read_as_float=bool(s["as_float"]), layered=s["geometry"] in ("a1d", "a2d"),
        cube=s["geometry"] == "cube", channels=s["channels"],
    )  # fmt: skip
    at, out = gpu.array(case.coordinates), gpu.zeros((s["points"], 4), np.uint32)
    kernel = module[joined("fetch", s["geometry"], s["type"], s["coordinates"])]
    kernel(-(-s["points"] // 128), 128, [np.uint64(texture.handle), at, out, s["points"]])
    got = out.numpy()
    for array in (texture.array, at, out):
        array.free()
    return got


@pytest.mark.parametrize(("isa", "step"), SOME + EVERY)
def test_fetches_give_the_bits_an_h200_gave(isa, step):
    cases = textures()[::step]
    gpu = sl.Gpu(isa=isa, threads=1)
    module = gpu.compile(fetch_kernels({(c.settings["geometry"], c.settings["type"], c.settings["coordinates"]) for c in cases}))
    wrong = {}
    for case in cases:
        got, s = fetched(gpu, module, case), case.settings
        bad = (got[:, : s["results"]] != case.results).any(1) | got[:, s["channels"] :].any(1)
        if bad.any():
            wrong[case.name] = [(case.coordinates[k].view("f4"), case.results[k], got[k]) for k in np.flatnonzero(bad)[:3]]
    assert not wrong


@pytest.mark.parametrize(("isa", "step"), SOME + EVERY)
def test_surface_accesses_give_the_bits_an_h200_gave(isa, step):
    cases = surfaces()[::step]
    gpu = sl.Gpu(isa=isa, threads=1)
    forms = {tuple(c.settings[key] for key in ("geometry", "form", "mode", "store")) for c in cases}
    module = gpu.compile(surface_kernels(sorted(forms)))
    wrong = []
    for case in cases:
        s = case.settings
        surface = gpu.surface(case.texels, channels=s["channels"], layered=s["geometry"] in ("a1d", "a2d"))
        at, values = gpu.array(case.coordinates), gpu.array(case.results if s["store"] else np.zeros_like(case.results))
        kernel = module[joined("store" if s["store"] else "load", s["geometry"], s["form"], s["mode"])]
        kernel(1, 1, [np.uint64(surface.handle), at, values, s["points"]])
        if not np.array_equal(values.numpy(), case.results) or surface.numpy().tobytes() != case.after.tobytes():
            wrong.append(case.name)
        for array in (surface.array, at, values):
            array.free()
    assert not wrong
