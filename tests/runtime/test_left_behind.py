"""What is left of an application when it has ended: nothing that holds the GPU."""

import gc
import time
import weakref

from simtlab.host.gpu import Gpu
from simtlab.runtime.application import run_application
from simtlab.runtime.session import Log
from tests.runtime.conftest import needs_library

STARTS = """
int cudaMalloc(void **, unsigned long);
int main() { void *memory; return cudaMalloc(&memory, 4096); }
"""


@needs_library
def test_nobody_holds_the_gpu_of_an_application_that_has_ended(in_c):
    """16 GiB of address space for each, and all that its kernels had written."""
    program, left = in_c(STARTS), []
    for _ in range(3):
        gpu = Gpu(memory_in_file=True)
        left.append(weakref.ref(gpu.memory))
        assert run_application([str(program)], gpu, Log()) == 0
        del gpu
    until = time.monotonic() + 10  # threads that served it see the end of its connection a little later
    while any(one() is not None for one in left) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.02)
    assert [one() for one in left] == [None] * 3
