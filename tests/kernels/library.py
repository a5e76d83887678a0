"""The CUDA sources beside this file, and the GPU they run on."""

import json
import os
from pathlib import Path

import simtlab as sl

FOLDER = Path(__file__).parent
SOURCES = sorted(FOLDER.glob("*.cu"))


def source(name: str) -> Path:
    """The path of `<name>.cu`."""
    return FOLDER / f"{name}.cu"


def line_of(name: str, marker: str) -> int:
    """The line of a source that holds a marker, for messages that name lines."""
    lines = source(name).read_text().splitlines()
    (number,) = [k for k, line in enumerate(lines, 1) if marker in line]
    return number


def new_gpu() -> sl.Gpu:
    """A functional GPU, unless the environment says otherwise: `SIMTLAB_TEST_GPU='{"machine": "v100"}'`, arguments of `sl.Gpu`."""
    return sl.Gpu(**json.loads(os.environ.get("SIMTLAB_TEST_GPU", "{}")))
