"""Device memory and a machine's records are address space of the host until they are touched."""

import os
import sys
from pathlib import Path

import pytest

from simtlab.host.memory import DEFAULT_BYTES, DeviceMemory
from simtlab.machine.core.state import core_t
from simtlab.machine.record import new_records

OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
sets_all_aside = not OVERCOMMIT.exists() or OVERCOMMIT.read_text().strip() == "2"


@pytest.mark.skipif(sys.platform != "linux" or sets_all_aside, reason="this host sets all memory aside at once")
@pytest.mark.parametrize(
    ("size", "make"),
    [(DEFAULT_BYTES, DeviceMemory), (132 * core_t.itemsize, lambda: new_records(132, core_t))],
    ids=["device memory", "cores"],
)
def test_a_process_with_many_gpus_can_be_forked(size, make):
    """Linux counts what is set aside for neighbouring mappings, touched or not: it forks no process with more than the host has."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    many = [make() for _ in range(3 * memory // (2 * size) + 2)]
    child = os.fork()
    if child == 0:
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert many
