"""Every workload at `tiny` gives what an H200 gave for the same PTX and inputs (`record_on_gpu.py` recorded it)."""

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.check import compare
from simtlab.workloads.frame import Launcher, workload, workloads
from tests.workloads.record_on_gpu import compiled_kernels, digest_of_ptx

DATA = Path(__file__).parents[1] / "data" / "hardware"
# CP and FFT use `.approx` functions (rsqrt, sin, cos), and FFT has products without a rounding modifier, which the
# assembler may fuse with a sum. BPR's host computes exponentials between its kernels, which differ from one host to another.
IN_LAST_BITS = {"BPR", "CP", "FFT"}
# Written after the recording; the next one has them.
UNRECORDED = {"2MM", "BLK", "DWT", "GAUS", "GRM", "HTW", "LU", "MIS", "MST", "SCP", "SPMV", "SRAD", "SSSP"}


@cache
def recorded() -> tuple[dict, dict[str, np.ndarray]]:
    programs = json.loads((DATA / "workloads.json").read_text())["programs"]
    with np.load(DATA / "workloads.npz") as file:
        return programs, dict(file)


def arrays(name: str, direction: str) -> dict[str, np.ndarray]:
    start = f"{name}/{direction}/"
    return {key.removeprefix(start): array for key, array in recorded()[1].items() if key.startswith(start)}


def test_every_workload_was_recorded_or_is_known_not_to_be():
    assert not UNRECORDED & set(recorded()[0])
    assert sorted({*recorded()[0], *UNRECORDED}) == workloads()


def test_the_recorded_outputs_are_the_ones_that_were_digested():
    for name, program in recorded()[0].items():
        for key, array in arrays(name, "out").items():
            assert hashlib.sha256(array.tobytes()).hexdigest() == program["output_sha256"][key]


@pytest.mark.parametrize("name", sorted(recorded()[0]))
def test_outputs_are_the_hardwares(name):
    """Bit for bit if the compiler gives the PTX that was recorded; within the workload's tolerance with any other compiler."""
    chosen = workload(name, "tiny")
    gpu = sl.Gpu(memory_bytes=64 << 20)
    outputs = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), chosen.inputs() | arrays(name, "in"))
    same_ptx = digest_of_ptx(compiled_kernels(chosen).ptx) == recorded()[0][name]["ptx_sha256"]
    expected = arrays(name, "out")
    assert sorted(outputs) == sorted(expected)
    for key, array in expected.items():
        if same_ptx and name not in IN_LAST_BITS:
            assert outputs[key].tobytes() == array.tobytes(), key
        else:
            compare(name, key, outputs[key], array, chosen.definition.TOLERANCE.get(key))
