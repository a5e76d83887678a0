"""Every workload gives what its reference says in a timed run too, whichever warp scheduler the machine has."""

from functools import cache

import pytest

import simtlab as sl
from simtlab.cli.workloads import resident_ctas
from simtlab.host.module import plain_name
from simtlab.policies.load import available
from simtlab.workloads.measured import stored

SCHEDULERS = {"caps-gtx480": ("two-level", "gto"), "dyncta-30core": ("lrr", "gto"), "loads-c2050": ("lrr", "gto")}
EVERYDAY = [(machine, schedulers[0]) for machine, schedulers in SCHEDULERS.items()]  # each program on one of these in turn
ALL = [(machine, name) for machine, schedulers in SCHEDULERS.items() for name in schedulers]


def cases():
    """Machine, scheduler and program: of every second program one every day."""
    for k, name in enumerate(sl.workloads()):
        for pair in ALL:
            yield pytest.param(*pair, name, marks=() if k % 2 == 0 and pair == EVERYDAY[k % len(EVERYDAY)] else pytest.mark.slow)


@cache
def machine_with(name, scheduler):
    """One machine for all programs: its clock and its L2 go on from one to the next."""
    return sl.Gpu(name, warp_scheduler=scheduler)


@pytest.mark.parametrize(("machine", "scheduler", "name"), list(cases()))
def test_a_timed_run_leaves_the_functional_runs_memory_and_every_scheduler_cycle_has_a_cause(machine, scheduler, name):
    gpu = machine_with(machine, scheduler)
    config = gpu.machine.config
    resident = {kernel.name: resident_ctas(kernel)[machine] for kernel in stored()[name]["tiny"].kernels}
    run, functional = (sl.workload(name, size="tiny").run(one) for one in (gpu, sl.Gpu(threads=1)))
    assert run.checked
    for key, array in functional.outputs.items():
        assert run.outputs[key].tobytes() == array.tobytes(), key
    for launch in run.launches:
        assert sum(launch.stalls.values()) == launch.cycles * config.core.cores * config.issue.schedulers
        fits = launch.timing.occupancy
        assert (fits.ctas, fits.limited_by) == resident[plain_name(launch.kernel)]


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", available("warp_scheduler"))
@pytest.mark.parametrize("name", sl.workloads())
def test_every_warp_scheduler_runs_every_program(name, scheduler):
    run = sl.workload(name, size="tiny").run(sl.Gpu("caps-gtx480", warp_scheduler=scheduler))
    assert run.checked
