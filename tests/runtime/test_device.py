"""What an application is told about the device."""

import pytest

import simtlab as sl
from simtlab.runtime.requests import DEVICE
from simtlab.runtime.session import device_facts


@pytest.mark.parametrize(
    ("gpu", "isa", "capability"),
    [("caps-gtx480", None, (7, 5)), ("h200", "ptx", (9, 0)), ("rtx2080ti", None, (7, 5)), ("a100", None, (8, 0)),
     ("rtx4090", None, (8, 9)), ("rtx5090", None, (12, 0)), ("rtx5090", "ptx", (7, 5)), (None, "sm_86", (8, 6))],
)  # fmt: skip
def test_the_compute_capability_is_that_of_the_machine_code(gpu, isa, capability):
    facts = DEVICE.unpack(device_facts(sl.Gpu(gpu, isa=isa) if isa else sl.Gpu(gpu)))
    assert facts[13:15] == capability
