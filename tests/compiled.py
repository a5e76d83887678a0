"""Compile what nearly all tests need: python -m tests.compiled machine, and python -m tests.compiled functional."""

import sys

import simtlab as sl
from tests.execute.test_ptx_barriers import leave_one_by_one, steps

COUNT = 'extern "C" __global__ void count(int *out) { atomicAdd(out + threadIdx.x % 2, 1); }'
ADD = 'extern "C" __global__ void add(int *out) { out[threadIdx.x % 32] += 1; }'


def compile_machine() -> None:
    count(machine="caps-gtx480")


def compile_functional() -> None:
    for threads in (1, 2):
        count(threads=threads)
    device = sl.Gpu()
    device.paces.looks = True
    out = device.zeros(32, "i4")
    device.compile(ADD)["add"](1, 64, [out])  # its two warps race, so that they are run in step
    assert out.numpy().tolist() == [1] * 32
    assert steps(device, leave_one_by_one(2), 2, [])  # one instruction at a time


def count(**options) -> None:
    device = sl.Gpu(**options)
    out = device.zeros(2, "i4")
    device.compile(COUNT)["count"](4, 64, [out])
    assert out.numpy().tolist() == [128, 128]


if __name__ == "__main__":
    {"machine": compile_machine, "functional": compile_functional}[sys.argv[1]]()
