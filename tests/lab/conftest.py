"""A small program of the tests' own, studies of it, and ways to run them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from simtlab.lab.store.result import Result
from simtlab.lab.store.results import results
from simtlab.lab.sweep.sweep import Sweep

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-c", "from simtlab.cli import main; main()"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
SMALL_MACHINE = {"core.cores": 1, "l1d.mshr_entries": 16}

KERNEL = """
extern "C" __global__ void steps(const int *x, int *y, int n, int rounds)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int value = x[i % n];
    for (int k = 0; k < rounds; k++)
        value = value * 3 + x[(i + k) % n];
    y[i] = value;
}
"""
DEFINITION = '''
"""Steps: a chain of additions of what lies in an array."""
import os
from pathlib import Path

import numpy as np

NAME = "STEPS"
SUITE = "test"
CATEGORY = "regular"
SIZES = {"tiny": {"n": 64, "rounds": 2, "wrong": 0}, "small": {"n": 256, "rounds": 400, "wrong": 0}}


def inputs(*, n, rounds, wrong, seed=0):
    return {"x": np.random.default_rng(seed).integers(0, 100, n, dtype=np.int32), "rounds": rounds, "wrong": wrong}


def run(launcher, data):
    n = len(data["x"])
    x, y = launcher.array(data["x"]), launcher.zeros(n, "i4")
    if os.environ.get("STEPS_BEGUN"):
        Path(os.environ["STEPS_BEGUN"]).touch()
    launcher.launch("steps", n // 32, 32, [x, y, np.int32(n), np.int32(data["rounds"])])
    return {"y": y.numpy()}


def reference(data):
    x, i = data["x"].astype(np.int64), np.arange(len(data["x"]))
    value = x[i]
    for k in range(data["rounds"]):
        value = value * 3 + x[(i + k) % len(x)]
    return {"y": (value + data["wrong"]).astype(np.int32)}
'''
POLICY = '''
"""Lowest: the ready warp with the lowest slot."""
from simtlab.policies.hook import hook, next_after


@hook
def pick(core, own, ready, cycle):
    return next_after(ready, 63)
'''


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The folder of a workload that runs for milliseconds at size tiny."""
    folder = tmp_path / "steps"
    folder.mkdir()
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "workload.py").write_text(DEFINITION)
    return folder


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """A warp scheduler in a file of its own."""
    path = tmp_path / "lowest.py"
    path.write_text(POLICY)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "results.sqlite"


@pytest.fixture
def sweep(program: Path) -> Callable[..., Sweep]:
    """A sweep of that program on one core of a small machine; seeds make as many experiments as are wanted."""

    def make(seeds: int = 2, size: str = "tiny", **axes) -> Sweep:
        given = {"set": SMALL_MACHINE, "gpu": "caps-gtx480", "seed": list(range(seeds)), **axes}
        return Sweep([str(program)], size=size, **given)

    return make


@pytest.fixture
def study(tmp_path: Path, program: Path) -> Callable[..., Path]:
    """The same as a file."""

    def write(seeds: int = 2, size: str = "tiny", more: str = "") -> Path:
        path = tmp_path / "study.toml"
        path.write_text(
            f'workloads = "./steps"\nsize = "{size}"\ngpu = "caps-gtx480"\nseed = {list(range(seeds))}\n{more}\n'
            '[set]\ncore.cores = 1\nl1d.mshr_entries = 16\n'
        )
        return path

    return write


def simtlab(*arguments: object, **options) -> subprocess.CompletedProcess:
    """Run the command line in a process of its own."""
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=ENVIRONMENT, timeout=300, **options
    )


def start(*arguments: object, **options) -> subprocess.Popen:
    """Start the command line and leave it running."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([*PROGRAM, *map(str, arguments)], **{"env": ENVIRONMENT, **pipes, **options})


def marking(mark: Path) -> dict[str, str]:
    """An environment in which the program makes this file as it begins to run."""
    return {**ENVIRONMENT, "STEPS_BEGUN": str(mark)}


def wait_until(there: Callable[[], bool], what: str, seconds: float = 300) -> None:
    """Look until something is so, however busy the machine is."""
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, f"waited {seconds} seconds in vain until {what}"
        time.sleep(0.05)


def wait_for_results(store: Path, count: int) -> None:
    wait_until(lambda: store.exists() and len(results(store)) >= count, f"{count} results are stored")


def everything(store: Path) -> dict[str, tuple]:
    """All of a store that must not depend on how its results came about: counters, tables, machines, choices."""
    found = results(store, versions="all")
    return {result.key: (contents(result), tables(found, result.key)) for result in found}


def contents(result: Result) -> tuple:
    plain = {name: value for name, value in result.plain.items() if name not in ("seconds", "host", "finished")}
    return plain, result.inputs, result.changes, result.policies, result.counters, result.occupancy, result.machine


def tables(found, key: str) -> dict:
    return {name: found.record(key).table(name) for name in found.record(key).tables}
