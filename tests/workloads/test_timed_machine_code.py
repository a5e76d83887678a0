"""Workloads as machine code on timed machines leave the memory of their PTX runs.

Where they do not, ptxas has made one FFMA of a multiplication and an addition that PTX has apart, as PTX allows it: the same PTX
with `.rn`, which forbids that, gives equal bits.
"""

import re
from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.frontend.cuda import compile_cuda
from simtlab.machine.config import load
from simtlab.workloads.frame import KERNELS, Launcher

MACHINES = {"sm_75": "rtx2080ti", "sm_90": "h200", "sm_120": "rtx5090"}
FUSED = ("BLK", "CP", "FFT", "GAUS", "GRM", "JPEG", "LIB", "LU", "LUD", "WP")
BOUND = 2e-5  # of an array's largest number: GAUS comes to 1.6e-5 where it substitutes back, the others stay below 1e-6
EVERYDAY = [("sm_75", "BFS"), ("sm_90", "BLK"), ("sm_120", "HST")]
ROUNDED = re.compile(r"\b(mul|add|sub)\.(ftz\.)?(f32|f64)\b")


def cases(names):
    for name in names:
        for isa in MACHINES:
            yield pytest.param(isa, name, marks=() if (isa, name) in EVERYDAY else pytest.mark.slow)


@cache
def machine(isa: str) -> sl.Gpu:
    """Two cores and two memory channels of a GPU: one machine for all workloads, its clock and its L2 go on."""
    config = load(MACHINES[isa])
    assert config.core.isa == isa
    channels = {"dram.channels": 2, "l2.slices": 2 * config.l2.slices_per_channel}
    return sl.Gpu(config.replace({"core.cores": 2, **channels}), max_cycles=10_000_000)


@cache
def of_ptx(name: str) -> dict[str, np.ndarray]:
    return sl.workload(name, size="tiny").run(sl.Gpu(threads=1)).outputs


def bits(outputs: dict[str, np.ndarray]) -> dict[str, bytes]:
    return {key: array.tobytes() for key, array in outputs.items()}


@pytest.mark.parametrize(("isa", "name"), list(cases(sl.workloads())))
def test_a_timed_run_of_machine_code_leaves_the_memory_of_ptx(isa, name):
    gpu, expected = machine(isa), of_ptx(name)
    run = sl.workload(name, size="tiny").run(gpu)
    assert run.checked
    assert "EXIT" in run.module.sass
    if name in FUSED:
        assert bits(run.outputs) != bits(expected)
        for key, array in expected.items():
            assert np.abs(run.outputs[key] - array).max() <= BOUND * np.abs(array).max(), key
    else:
        assert bits(run.outputs) == bits(expected)
    slots = gpu.machine.config.core.cores * gpu.machine.config.issue.schedulers
    for launch in run.launches:
        assert sum(launch.stalls.values()) == launch.cycles * slots
    assert bits(run.outputs) == bits(sl.workload(name, size="tiny").run(sl.Gpu(isa=isa, threads=1)).outputs)


@pytest.mark.parametrize(("isa", "name"), list(cases(FUSED)))
def test_arithmetic_that_may_not_be_fused_leaves_the_bits_of_ptx(isa, name):
    gpu, program = machine(isa), sl.workload(name, size="tiny")
    source, given = program.folder / KERNELS, program.definition
    ptx = compile_cuda(source.read_text(), str(source), given.OPTIONS, [str(program.folder)], given.KERNEL_NAMES).ptx
    launcher = Launcher(gpu, gpu.load(ROUNDED.sub(r"\1.rn.\2\3", ptx)))
    outputs = given.run(launcher, program.inputs())
    launcher.free()
    assert bits(outputs) == bits(of_ptx(name))
