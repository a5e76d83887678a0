"""simtlab: a GPU microarchitecture lab in Python.

    import simtlab as sl
    gpu = sl.Gpu()
    mod = gpu.compile("saxpy.cu")
    run = mod["saxpy"](grid, block, [n, a, x, y])

Names are imported on first use, so that `import simtlab` costs next to nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simtlab.errors import CompileError, CycleLimit, Deadlock, DeviceFault, LaunchError, PolicyError, PtxError, SimtlabError
    from simtlab.host.array import DeviceArray
    from simtlab.host.checkpoint import load_checkpoint
    from simtlab.host.gpu import Gpu
    from simtlab.host.launch import Run
    from simtlab.host.module import Module
    from simtlab.lab.store.results import results
    from simtlab.lab.sweep.sweep import Sweep
    from simtlab.workloads.errors import WrongResult
    from simtlab.workloads.frame import workload, workloads

_HOMES = {
    "Gpu": "simtlab.host.gpu",
    "Module": "simtlab.host.module",
    "DeviceArray": "simtlab.host.array",
    "Run": "simtlab.host.launch",
    "load_checkpoint": "simtlab.host.checkpoint",
    "SimtlabError": "simtlab.errors",
    "CompileError": "simtlab.errors",
    "PtxError": "simtlab.errors",
    "LaunchError": "simtlab.errors",
    "DeviceFault": "simtlab.errors",
    "CycleLimit": "simtlab.errors",
    "Deadlock": "simtlab.errors",
    "PolicyError": "simtlab.errors",
    "workload": "simtlab.workloads.frame",
    "workloads": "simtlab.workloads.frame",
    "WrongResult": "simtlab.workloads.errors",
    "Sweep": "simtlab.lab.sweep.sweep",
    "results": "simtlab.lab.store.results",
}
__all__ = [
    "CompileError", "CycleLimit", "Deadlock", "DeviceArray", "DeviceFault", "Gpu", "LaunchError", "Module", "PolicyError",
    "PtxError", "Run", "SimtlabError", "Sweep", "WrongResult", "load_checkpoint", "results", "workload", "workloads",
]  # fmt: skip
__version__ = "0.1.0"
PYTHONS = (3, 11), (3, 14)  # the first and the last that it is tested on; pyproject.toml says the same


def check_python(version: tuple[int, int]) -> None:
    """Compiled code is typed from Python's bytecode, which changes with every version: an unknown one gets a sentence here."""
    first, last = PYTHONS
    if not first <= version <= last:
        known = " to ".join(f"{major}.{minor}" for major, minor in PYTHONS)
        raise ImportError(f"simtlab runs on Python {known}; this is {version[0]}.{version[1]}")


check_python(sys.version_info[:2])


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'simtlab' has no attribute '{name}'")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
