"""One mutant tried: loaded, built and launched, on a functional GPU or a timed one."""

import signal
import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.frontend.sass import disassemble
from simtlab.machine.config import load
from tests.fuzz import machine_code

BUFFER_BYTES = 4096
MOST_KERNELS = 2
SECONDS = 1.0  # for all of a mutant that is Python; a launch has less
MAX_CYCLES = 20_000
MEMORY_BYTES = 1 << 24
TIMED_USES = 20  # mutants that one timed GPU runs

Mutant = str | bytes | machine_code.Answer  # PTX, a cubin, or what nvdisasm says of one


@dataclass(frozen=True)
class Result:
    """How a mutant ended. `finding` is empty where it ran or gave an error of simtlab's, else what came instead."""

    outcome: str
    finding: str = ""


class OutOfTime(BaseException):
    """An endless kernel, stopped between two of its calls to the host."""


class Trials:
    """Tries mutants one after another."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        warnings.simplefilter("error")
        signal.signal(signal.SIGALRM, self.stop)
        self.timed_gpu: sl.Gpu | None = None
        self.uses = 0

    @staticmethod
    def stop(*_: Any) -> None:
        raise OutOfTime

    def gpu(self, timed: bool, isa: str = "ptx") -> sl.Gpu:
        if not timed:
            return sl.Gpu(memory_bytes=MEMORY_BYTES, threads=1, stack_bytes=1024, isa=isa)
        if self.timed_gpu is None or self.uses == TIMED_USES:
            config = load("caps-gtx480").replace({"core.cores": 1, "core.max_ctas": 1})
            self.timed_gpu, self.uses = sl.Gpu(config, memory_bytes=MEMORY_BYTES, stack_bytes=1024, max_cycles=MAX_CYCLES), 0
        self.uses += 1
        return self.timed_gpu

    def run(self, mutant: Mutant, timed: bool) -> Result:
        try:
            return self.within_time(mutant, timed)
        except OutOfTime:  # wherever it came: the alarm may ring while it is being turned off
            self.timed_gpu = None
            return Result("stopped")

    def within_time(self, mutant: Mutant, timed: bool) -> Result:
        signal.setitimer(signal.ITIMER_REAL, self.seconds)
        try:
            if isinstance(mutant, str):
                launch_all(self.gpu(timed), mutant + "\n")
            else:
                launch_machine_code(self.gpu(False, machine_code.ISA), mutant)
            return Result("ran")
        except SimtlabError as error:
            return Result(type(error).__name__)
        except Exception as error:
            self.timed_gpu = None
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{frame.filename.rpartition('simtlab/')[2]}:{frame.lineno}"
            return Result("traceback", f"{type(error).__name__} in {where}: {error}"[:300])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def launch_all(gpu: sl.Gpu, text: str) -> None:
    module = gpu.load(text)
    for name in module.kernels[:MOST_KERNELS]:
        kernel = module[name]
        threads = 64 if "bar" in text else 32
        kernel(2, threads, [argument(gpu, parameter) for parameter in kernel.program.kernel.parameters])


def launch_machine_code(gpu: sl.Gpu, mutant: bytes | machine_code.Answer) -> None:
    """A mutant of the cubin, or the cubin itself with a mutant of what nvdisasm says of it."""
    if isinstance(mutant, machine_code.Answer):
        functions = disassemble.functions_in(mutant.text.encode())
        disassemble.listing = lambda _: functions  # type: ignore[assignment]
    module = gpu.load_cubin(mutant if isinstance(mutant, bytes) else machine_code.cubin())
    module["k"](2, 64, [gpu.zeros(64, "i4"), gpu.array(np.arange(64, dtype="i4")), 5])


def argument(gpu: sl.Gpu, parameter: Any) -> Any:
    """Something for a parameter: a buffer for 64 bits, a small number for less, bytes for a structure."""
    if parameter.count is not None:
        return bytes(min(parameter.size, 1 << 16))
    if parameter.size == 8 and not parameter.type.startswith("f"):
        return gpu.array(np.arange(BUFFER_BYTES // 4, dtype="u4"))
    return 1.0 if parameter.type in ("f32", "f64") else 33
