"""Texture fetches and surface accesses recorded on an H200, and the one-instruction kernels that repeat them.

`textures.npz` holds flat arrays; its two indices (JSON) say how many numbers of each belong to a case. A case without
texel bytes is a ramp: texel i has the value i.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

RECORDED = Path(__file__).parents[1] / "data" / "hardware" / "textures.npz"
DTYPES = {"u8": "u1", "s8": "i1", "u16": "u2", "s16": "i2", "u32": "u4", "s32": "i4", "f16": "f2", "f32": "f4"}
COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3}
HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


@dataclass
class Case:
    """What was recorded of one image: its settings, its texels, coordinates and what came back."""

    settings: dict
    texels: np.ndarray
    coordinates: np.ndarray
    results: np.ndarray
    after: np.ndarray | None = None

    @property
    def name(self) -> str:
        return self.settings["name"]


def image_shape(settings: dict) -> tuple[int, ...]:
    depth, height, width = settings["shape"]
    shape = {"1d": (width,), "2d": (height, width), "a1d": (depth, width), "cube": (6, width, width)}
    return (*shape.get(settings["geometry"], (depth, height, width)), settings["channels"])


class Reader:
    """Hands out the flat arrays piece by piece."""

    def __init__(self, archive: np.lib.npyio.NpzFile):
        self.archive, self.at = {name: archive[name] for name in archive.files}, {}

    def take(self, name: str, count: int) -> np.ndarray:
        start = self.at.get(name, 0)
        self.at[name] = start + count
        return self.archive[name][start : start + count]

    def cases(self, index: str) -> list[dict]:
        return json.loads(self.archive[index].tobytes())


@cache
def textures() -> list[Case]:
    return list(_textures(Reader(np.load(RECORDED))))


def _textures(reader: Reader) -> Iterator[Case]:
    for settings in reader.cases("index"):
        points, axes, results = settings["points"], settings["axes"], settings["results"]
        raw = reader.take("texels", settings["bytes"])
        shape, dtype = image_shape(settings), DTYPES[settings["format"]]
        texels = np.frombuffer(raw.tobytes(), dtype) if len(raw) else np.arange(np.prod(shape)).astype(dtype)
        coordinates = np.zeros((points, 4), np.uint32)
        coordinates[:, :axes] = reader.take("coordinates", points * axes).reshape(points, axes)
        yield Case(settings, texels.reshape(shape), coordinates, reader.take("results", points * results).reshape(points, -1))


@cache
def surfaces() -> list[Case]:
    return list(_surfaces(Reader(np.load(RECORDED))))


def _surfaces(reader: Reader) -> Iterator[Case]:
    for settings in reader.cases("surface_index"):
        points, size = settings["points"], settings["bytes"]
        shape, dtype = image_shape(settings), DTYPES[settings["format"]]
        before = np.frombuffer(reader.take("surface_before", size).tobytes(), dtype).reshape(shape)
        coordinates = reader.take("surface_coordinates", 4 * points).reshape(points, 4)
        values = reader.take("surface_values", 4 * points).reshape(points, 4)
        after = before
        if settings["store"]:
            after = np.frombuffer(reader.take("surface_after", size).tobytes(), dtype).reshape(shape)
        yield Case(settings, before, coordinates, values, after)


def fetch_kernel(geometry: str, type: str, coordinates: str) -> str:
    """PTX: thread i fetches at in[i] and stores the four results at out[i]."""
    count = COORDINATES[geometry]
    names = [f"%c{k}" for k in range(count)]
    if geometry in ("a1d", "a2d"):
        names[0] = "%r4"
    names += names[2:]
    register = "%f" if type == "f32" else "%b"
    results = ", ".join(f"{register}{k}" for k in range(4))
    moves = " ".join(f"mov.b32 %c{k}, %r{4 + k};" for k in range(3))
    return f"""{HEADER}
.visible .entry fetch(.param .u64 texture, .param .u64 in, .param .u64 out, .param .u32 n) {{
  .reg .b64 %d<4>; .reg .b32 %r<8>; .reg .{coordinates} %c<3>; .reg .f32 %f<4>; .reg .b32 %b<4>; .reg .pred %p;
  ld.param.u64 %d0, [texture]; ld.param.u64 %d1, [in]; ld.param.u64 %d2, [out]; ld.param.u32 %r0, [n];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
  setp.ge.u32 %p, %r1, %r0; @%p ret;
  mul.wide.u32 %d3, %r1, 16; add.u64 %d1, %d1, %d3; add.u64 %d2, %d2, %d3;
  ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d1]; {moves}
  tex.{geometry}.v4.{type}.{coordinates} {{{results}}}, [%d0, {{{", ".join(names)}}}];
  st.global.v4.{"f32" if type == "f32" else "b32"} [%d2], {{{results}}};
  ret;
}}"""


def surface_kernel(geometry: str, form: str, mode: str, store: bool) -> str:
    """PTX: one thread carries out the accesses at in[0], in[1], … one after another; values are 32 bytes apart."""
    vector, _, type = form.rpartition(".")
    count = int(vector[1:]) if vector else 1
    register = {"b8": "%h", "b16": "%h", "b32": "%w", "b64": "%l"}[type]
    width = {"b8": "u16", "b16": "u16", "b32": "u32", "b64": "u64"}[type]
    names = [f"%r{4 + k}" for k in range(COORDINATES[geometry])]
    names += names[2:]
    address, data = f"[%d0, {{{', '.join(names)}}}]", ", ".join(f"{register}{k}" for k in range(count))
    if store:
        values = " ".join(f"ld.global.{width} {register}{k}, [%d2+{8 * k}];" for k in range(count))
        body = f"{values} sust.b.{geometry}.{form}.{mode} {address}, {{{data}}};"
    else:
        values = " ".join(f"st.global.{width} [%d2+{8 * k}], {register}{k};" for k in range(count))
        body = f"suld.b.{geometry}.{form}.{mode} {{{data}}}, {address}; {values}"
    return f"""{HEADER}
.visible .entry walk(.param .u64 surface, .param .u64 in, .param .u64 values, .param .u32 n) {{
  .reg .b64 %d<3>; .reg .b32 %r<8>; .reg .b64 %l<4>; .reg .b32 %w<4>; .reg .b16 %h<4>; .reg .pred %p;
  ld.param.u64 %d0, [surface]; ld.param.u64 %d1, [in]; ld.param.u64 %d2, [values]; ld.param.u32 %r0, [n]; mov.u32 %r1, 0;
again:
  ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d1];
  {body}
  add.u64 %d1, %d1, 16; add.u64 %d2, %d2, 32; add.u32 %r1, %r1, 1;
  setp.lt.u32 %p, %r1, %r0; @%p bra again;
  ret;
}}"""
