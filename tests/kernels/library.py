"""The CUDA sources beside this file, and the GPU they run on."""

import json
import os
from pathlib import Path

import pytest

import simtlab as sl

FOLDER = Path(__file__).parent
FROM_ENVIRONMENT = json.loads(os.environ.get("SIMTLAB_TEST_GPU", "{}"))
MACHINE_CODE = ["sm_90", *(pytest.param(name, marks=pytest.mark.slow) for name in ("sm_75", "sm_120"))]
ISAS = [FROM_ENVIRONMENT.get("isa", "ptx")] if FROM_ENVIRONMENT else ["ptx", *MACHINE_CODE]
SOURCES = sorted(FOLDER.glob("*.cu"))


def source(name: str, kind: str = "cu") -> Path:
    """The path of `<name>.cu`, or of PTX."""
    return FOLDER / f"{name}.{kind}"


def line_of(name: str, marker: str) -> int:
    """The line of a source that holds a marker, for messages that name lines."""
    lines = source(name).read_text().splitlines()
    (number,) = [k for k, line in enumerate(lines, 1) if marker in line]
    return number


def new_gpu(isa: str) -> sl.Gpu:
    """A functional GPU, unless the environment says otherwise: `SIMTLAB_TEST_GPU='{"machine": "v100"}'`, arguments of `sl.Gpu`."""
    return sl.Gpu(**{"isa": isa, **FROM_ENVIRONMENT})


def reserved_shared(gpu: sl.Gpu) -> int:
    """Bytes of shared memory that come before a CTA's own: the driver has the first KiB on sm_90 and later."""
    return 0 if gpu.isa == "ptx" or int(gpu.isa.removeprefix("sm_")) < 90 else 1024
