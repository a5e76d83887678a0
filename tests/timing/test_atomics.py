"""Atomics are carried out at the L2, each once, those of one address in the order in which they come there."""

import json
import os
import subprocess
import sys

import numpy as np

from simtlab.machine.memory import l2_slice
from simtlab.machine.request import Kind
from tests.timing.machines import gpu, kernel, loop

ADD = "ld.param.u64 %d1, [a];\n" + loop("red.global.add.u32 [%d1], 1;\n", 4)


def test_every_atomic_is_counted_at_the_l2():
    device = gpu()
    x = device.zeros(1, "u4")
    run = kernel(device, ADD)(1, 256, [x, x])
    assert run.counters["l2_atomics"] == 8 * 4
    assert x.numpy() == 256 * 4


def arrivals_by_answer() -> list[int]:
    """When the atomics of six warps came to the L2, in the order in which they were answered; runs uncompiled."""
    came: list[int] = []
    answer = l2_slice.answer

    def log(chip, slice, requests, number):
        if requests.entry[number].kind == Kind.ATOMIC:
            came.append(int(requests.entry[number].born + requests.entry[number].arrived))
        answer(chip, slice, requests, number)

    l2_slice.answer = log
    device = gpu()
    x = device.zeros(1, "u4")
    kernel(device, ADD)(1, 192, [x, x])
    assert np.array_equal(x.numpy(), [192 * 4])
    return came


def test_atomics_of_one_address_are_answered_in_the_order_they_came():
    script = "import json; from tests.timing.test_atomics import arrivals_by_answer; print(json.dumps(arrivals_by_answer()))"
    environment = dict(os.environ, NUMBA_DISABLE_JIT="1")
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    came = json.loads(done.stdout)
    assert len(came) == 6 * 4
    assert came == sorted(came)
