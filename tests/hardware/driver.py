"""A real GPU by way of NVIDIA's driver library alone, for the recorders: no CuPy, no compiler, quick to start.

Kernels that fault or never end take their process with them, so `in_processes` runs each item in a process that can be lost.
"""

import ctypes
import multiprocessing
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

ILLEGAL_INSTRUCTION = 715  # CUDA_ERROR_ILLEGAL_INSTRUCTION
HANGS = -1


class DriverError(Exception):
    """A call of the driver failed with this code."""

    def __init__(self, code: int):
        super().__init__(code)
        self.code = code


class Device:
    """The first GPU, with a context of its own."""

    def __init__(self) -> None:
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        name = ctypes.create_string_buffer(100)
        self.call("cuDeviceGetName", name, 100, device)
        self.name = name.value.decode()

    def call(self, function: str, *arguments: Any) -> None:
        code = getattr(self.cuda, function)(*arguments)
        if code:
            raise DriverError(code)

    def load(self, cubin: bytes) -> ctypes.c_void_p:
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        return module

    def put(self, array: np.ndarray) -> np.uint64:
        """A copy of an array in the GPU's memory: where it lies."""
        place = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(place), ctypes.c_size_t(array.nbytes))
        self.call("cuMemcpyHtoD_v2", place, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes))
        return np.uint64(place.value)

    def get(self, place: np.uint64, array: np.ndarray) -> None:
        """Copy what lies there into an array."""
        self.call("cuMemcpyDtoH_v2", ctypes.c_void_p(array.ctypes.data), ctypes.c_uint64(int(place)), ctypes.c_size_t(array.nbytes))

    def launch(self, module: ctypes.c_void_p, kernel: str, grid: int, block: int, arguments: Sequence[np.generic]) -> None:
        """Launch and wait. An argument is a number of its parameter's type, or what `put` gave."""
        function, values = ctypes.c_void_p(), [np.array(argument) for argument in arguments]
        self.call("cuModuleGetFunction", ctypes.byref(function), module, kernel.encode())
        given = (ctypes.c_void_p * len(values))(*(value.ctypes.data for value in values))
        self.call("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, 0, None, given, None)
        self.call("cuCtxSynchronize")

    def run(self, module: ctypes.c_void_p, kernel: str, grid: int, block: int, arrays: list[np.ndarray]) -> None:
        """Launch on copies of the arrays, wait, and copy what the kernel left back into them."""
        places = [self.put(array) for array in arrays]
        self.launch(module, kernel, grid, block, places)
        for array, place in zip(arrays, places, strict=True):
            self.get(place, array)
            self.call("cuMemFree_v2", ctypes.c_uint64(int(place)))


def in_processes(work: Callable[[Device, Any], Any], items: list[Any], workers: int = 8, patience_seconds: float = 6) -> list[Any]:
    """What `work` gives for each item; a DriverError's code where it faults, HANGS where it does not end."""
    start = multiprocessing.get_context("spawn")
    results: list[Any] = [None] * len(items)
    shares = [list(range(k, len(items), workers)) for k in range(workers)]
    processes: list[Any] = [None] * workers
    while any(shares):
        for k, share in enumerate(shares):
            if not share:
                continue
            if processes[k] is None:
                ours, theirs = start.Pipe()
                process = start.Process(target=_serve, args=(work, [items[i] for i in share], theirs), daemon=True)
                process.start()
                theirs.close()
                processes[k] = (process, ours, time.monotonic() + 60)
            _collect(processes, k, share, results, patience_seconds)
        time.sleep(0.01)
    return results


def _collect(processes: list[Any], k: int, share: list[int], results: list[Any], patience_seconds: float) -> None:
    process, pipe, deadline = processes[k]
    finished = False
    try:
        while share and not finished and pipe.poll():
            message = pipe.recv()
            deadline = time.monotonic() + patience_seconds
            if not isinstance(message, str):
                results[share.pop(0)] = message
                finished = isinstance(message, int) or not share
    except (EOFError, ConnectionResetError):
        results[share.pop(0)], finished = process.exitcode or 0, True
    if not finished and time.monotonic() > deadline:
        results[share.pop(0)], finished = HANGS, True
    if finished:
        process.kill()
    processes[k] = None if finished else (process, pipe, deadline)


def _serve(work: Callable[[Device, Any], Any], items: list[Any], pipe: Any) -> None:
    device = Device()
    pipe.send("ready")
    for item in items:
        try:
            pipe.send(work(device, item))
        except DriverError as error:
            pipe.send(error.code)
            return
