"""Every workload gives what an H200 gave for the same PTX and inputs (`record_on_gpu.py` recorded it), at `tiny` and `small`."""

import hashlib
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.check import compare
from simtlab.workloads.frame import Launcher, workload, workloads
from tests.workloads.record_on_gpu import compiled_kernels, digest_of_ptx, digests_of, sample

DATA = Path(__file__).parents[1] / "data" / "hardware"
# What the PTX leaves open differs in the last bits: products without a rounding modifier, which the assembler may fuse with a sum.
# BPR's host computes exponentials between its kernels, which differ from one host to another.
FUSED = {"BLK", "CP", "FFT", "GAUS", "GRM", "JPEG", "LIB", "LU", "LUD", "RAY", "WP"}
# Products in doubles, by the host's BLAS, of matrices in floats that the kernels wrote: their last bits are the host's.
MULTIPLIED = {"LU": ("product",), "LUD": ("product",)}
IN_LAST_BITS = FUSED | {"BPR"}


@cache
def recorded() -> tuple[dict, dict[str, np.ndarray]]:
    programs = json.loads((DATA / "workloads.json").read_text())["programs"]
    with np.load(DATA / "workloads.npz") as file:
        return programs, dict(file)


def arrays(name: str, direction: str) -> dict[str, np.ndarray]:
    start = f"{name}/{direction}/"
    return {key.removeprefix(start): array for key, array in recorded()[1].items() if key.startswith(start)}


def test_every_workload_was_recorded():
    assert sorted(recorded()[0]) == workloads()


@pytest.mark.parametrize("name", sorted(FUSED))
def test_a_program_that_may_differ_has_what_the_ptx_leaves_open(name):
    assert re.search(r"\bmul(\.ftz)?\.f32", compiled_kernels(workload(name, "tiny")).ptx)


@pytest.mark.parametrize("name", sorted(FUSED))
def test_machine_code_leaves_nothing_open(name):
    """The assembler has fused what it fuses: the outputs are an H200's, bit for bit."""
    chosen, gpu = workload(name, "tiny"), sl.Gpu(isa="sm_90", memory_bytes=64 << 20)
    if digest_of_ptx(compiled_kernels(chosen).ptx) != recorded()[0][name]["ptx_sha256"]:
        pytest.skip("another compiler gave other PTX than was recorded")
    outputs = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), chosen.inputs() | arrays(name, "in"))
    for key, array in arrays(name, "out").items():
        if key in MULTIPLIED.get(name, ()):
            np.testing.assert_allclose(outputs[key], array, rtol=0, atol=1e-13)
        else:
            assert outputs[key].tobytes() == array.tobytes(), key
    assert set(outputs) == set(arrays(name, "out"))


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


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
@pytest.mark.parametrize("name", sorted(recorded()[0]))
def test_outputs_of_small_are_the_hardwares(name, isa):
    """By their digests; where those differ, a sample lies within the workload's tolerance. Machine code leaves nothing open."""
    chosen, told = workload(name, "small"), recorded()[0][name]
    if digest_of_ptx(compiled_kernels(chosen).ptx) != told["ptx_sha256"]:
        pytest.skip("another compiler gave other PTX than was recorded")
    gpu, data = sl.Gpu(isa=isa, threads=1), chosen.inputs()
    assert digests_of(data) == told["small"]["input_sha256"]
    outputs = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), data)
    digests = digests_of(outputs)
    others = [key for key in outputs if digests[key] != told["small"]["output_sha256"][key]]
    assert not others or name in (IN_LAST_BITS if isa == "ptx" else {"BPR"})
    with np.load(DATA / "workloads_small.npz") as file:
        for key in others:
            compare(name, key, sample(outputs[key]), file[f"{name}/{key}"], chosen.definition.TOLERANCE.get(key))
