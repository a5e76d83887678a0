"""Workloads as machine code give what their references say."""

import pytest

import simtlab as sl

NAMES = sl.workloads()
EVERYDAY = NAMES[::6]


@pytest.mark.parametrize("name", EVERYDAY)
def test_some_workloads_as_machine_code_equal_the_reference(name):
    assert sl.workload(name, size="tiny").run(sl.Gpu(isa="sm_90")).checked


@pytest.mark.slow
@pytest.mark.parametrize("isa", ["sm_75", "sm_90", "sm_120"])
@pytest.mark.parametrize("name", NAMES)
def test_every_workload_as_machine_code_equals_the_reference(name, isa):
    assert sl.workload(name, size="tiny").run(sl.Gpu(isa=isa)).checked
