"""Every workload gives what its reference says in a timed run too, whichever warp scheduler the machine has."""

from functools import cache

import pytest

import simtlab as sl
from simtlab.host.module import plain_name
from simtlab.policies.load import available
from simtlab.workloads.loading import find, load
from simtlab.workloads.measured import stored

MACHINE = "caps-gtx480"


@pytest.fixture(scope="module", params=available("warp_scheduler"))
def gpu(request):
    """One machine for all programs: its clock and its L2 go on from one to the next."""
    return sl.Gpu(MACHINE, warp_scheduler=request.param)


@pytest.mark.parametrize("name", sl.workloads())
def test_a_timed_run_equals_the_reference_and_every_scheduler_cycle_has_a_cause(gpu, name):
    config = gpu.machine.config
    resident = {kernel.name: kernel.resident for kernel in stored()[name]["tiny"].kernels}
    run = sl.workload(name, size="tiny").run(gpu)
    assert run.checked
    for launch in run.launches:
        assert sum(launch.stalls.values()) == launch.cycles * config.core.cores * config.issue.schedulers
        fits = launch.timing.occupancy
        assert (fits.ctas, fits.limited_by) == resident[plain_name(launch.kernel)]


@pytest.mark.parametrize("scheduler", ["lrr", "gto"])
@pytest.mark.parametrize("name", [name for name in sl.workloads() if "LOADS" in load(find(name)).PAPERS])
def test_the_programs_of_loads_leave_a_functional_runs_memory_on_its_machine(name, scheduler):
    timed, functional = (sl.workload(name, size="tiny").run(gpu) for gpu in (loads_machine(scheduler), sl.Gpu()))
    assert timed.cycles > 0
    for key, array in functional.outputs.items():
        assert timed.outputs[key].tobytes() == array.tobytes(), key


@cache
def loads_machine(scheduler):
    return sl.Gpu("loads-c2050", warp_scheduler=scheduler)
