"""What a kernel may not do, and how the message says who did it, where, and what was near."""

import re

import numpy as np
import pytest

import simtlab as sl
from tests.kernels.library import line_of, source


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def faults(gpu):
    return gpu.compile(source("faults"))


def fault(kernel, grid, block, arguments, **options):
    with pytest.raises(sl.DeviceFault) as error:
        kernel(grid, block, arguments, **options)
    return str(error.value)


def place(kernel, block, thread, instruction, marker):
    """The end of a message, as a regular expression."""
    where = f"{re.escape(str(source('faults')))}:{line_of('faults', marker)}"
    who = rf"in kernel '{kernel}', block \({block}, 0, 0\), thread \({thread}, 0, 0\)"
    return rf"{who}, at '{instruction}' \(faults.ptx:\d+, {where}\)$"


def test_one_element_past_the_end_names_everything(gpu, faults):
    given, out = gpu.zeros(256, "f4", label="in"), gpu.zeros(256)
    message = fault(faults["one_past_the_end"], 4, 64, [given, out])
    end = given.address + 1024
    start = (
        rf"load of 4 bytes at {end:#x} is outside every allocation "
        rf"\(right at the end of the allocation 'in' of 1024 bytes at {given.address:#x}\) "
    )
    assert re.match(start + place("one_past_the_end", 3, 63, r"ld\.global\.f32[^']*", "reads past the end"), message)


def test_the_distance_to_the_nearest_allocation(gpu, faults):
    out = gpu.zeros(64, "f4", label="result")
    message = fault(faults["before_the_start"], 1, 64, [out])
    assert f"store of 4 bytes at {out.address - 32:#x} is outside every allocation" in message
    assert f"(32 bytes before the allocation 'result' of 256 bytes at {out.address:#x})" in message
    given, small = gpu.zeros(65), gpu.zeros(40, label="small")
    message = fault(faults["one_past_the_end"], 1, 64, [given, small])
    assert "(right at the end of the allocation 'small' of 160 bytes" in message
    assert "thread (40, 0, 0)" in message


def test_a_misaligned_access(gpu, faults):
    given, out = gpu.zeros(400, "u1", label="bytes"), gpu.zeros(32, "i4")
    message = fault(faults["misaligned"], 1, 32, [given, out])
    address = given.address + 5
    assert message.startswith(
        f"misaligned load of 4 bytes at {address:#x}, which is not a multiple of 4 "
        f"(5 bytes into the allocation 'bytes' of 400 bytes at {given.address:#x}) in kernel 'misaligned', "
        "block (0, 0, 0), thread (1, 0, 0)"
    )


def test_an_access_that_begins_inside_and_ends_outside(gpu, faults):
    given, out = gpu.zeros(6, label="six"), gpu.zeros(64)
    message = fault(faults["straddling"], 1, 2, [given, out])
    assert message.startswith(
        f"load of 16 bytes at {given.address + 16:#x} reaches 8 bytes past the end of the "
        f"allocation 'six' of 24 bytes at {given.address:#x} in kernel 'straddling', block (0, 0, 0), thread (1, 0, 0)"
    )


@pytest.mark.parametrize(
    ("kernel", "what", "marker"),
    [("write_to_constant", "store", "writes constant"), ("add_to_constant", "atomic", "atomic on constant")],
)
def test_constant_memory_cannot_be_written(faults, kernel, what, marker):
    message = fault(faults[kernel], 1, 8, [5])
    address = faults.constant("fixed").address
    assert f"{what} of 4 bytes at {address:#x} writes to constant memory (0 bytes into the allocation 'fixed'" in message
    assert f"faults.cu:{line_of('faults', marker)})" in message
    assert faults.constant("fixed", "i4").numpy().tolist() == [1, 2, 3, 4]


def test_a_null_pointer(faults):
    message = fault(faults["null_pointer"], 1, 8, [0])
    assert message.startswith("store of 4 bytes at 0x8 is outside every allocation (")
    assert re.search(place("null_pointer", 0, 3, r"st\.global\.[ub]32[^']*", "through null"), message)


def test_use_after_the_host_freed_it(gpu, faults):
    array = gpu.zeros(100)
    kernel = faults["fill"]
    kernel(1, 32, [array, 100, 1.0])
    array.free()
    address = array.address
    assert f"store of 4 bytes at {address:#x} is outside every allocation" in fault(kernel, 1, 32, [address, 100, 2.0])


def test_shared_memory_out_of_range(gpu, faults):
    out = gpu.zeros(64, "i4")
    faults["shared_out_of_range"](1, 64, [out, 0])
    message = fault(faults["shared_out_of_range"], 1, 64, [out, 1])
    assert message.startswith("load of 4 bytes at 0x100 is outside the block's 256 bytes of shared memory in kernel")
    assert re.search(place("shared_out_of_range", 0, 63, r"ld\.shared\.[ub]32[^']*", "shared read"), message)
    message = fault(faults["shared_out_of_range"], 1, 64, [out, -1])
    below = r"at 0x(3|ffffffff)?fffffffc is outside the block's 256 bytes of shared memory"  # the compiler may use 32 bits or 64
    assert re.search(below, message)


def test_shared_memory_out_of_range_through_a_generic_pointer(gpu, faults):
    out = gpu.zeros(64, "i4")
    faults["shared_through_a_pointer"](1, 64, [out, 0])
    message = fault(faults["shared_through_a_pointer"], 1, 64, [out, 2])
    assert "is outside the block's 256 bytes of shared memory" in message
    assert "thread (62, 0, 0)" in message


def test_local_memory_out_of_range(gpu, faults):
    out = gpu.zeros(32, "i4")
    faults["local_out_of_range"](1, 32, [out, 3])
    message = fault(faults["local_out_of_range"], 1, 32, [out, 4])
    assert re.search(r"store of 4 bytes at 0x[0-9a-f]+ is outside the thread's \d+ bytes of local memory", message)
    assert f"faults.cu:{line_of('faults', 'local store')})" in message


def test_endless_recursion_overflows_the_stack(gpu, faults):
    message = fault(faults["stack_overflow"], 1, 32, [gpu.zeros(32, "i4")])
    assert "stack overflow" in message
    assert f"faults.cu:{line_of('faults', 'recurses')})" in message


def test_a_trap(gpu, faults):
    flags = np.zeros(200, "i4")
    flags[[70, 130]] = 1
    message = fault(faults["traps"], 4, 50, [gpu.array(flags)])
    assert re.match("trap " + place("traps", 1, 20, "trap;", "// traps"), message)


def test_lanes_that_exit_leave_the_others_alone(gpu, faults):
    flags = np.random.default_rng(1).integers(0, 2, 64).astype("i4")
    out = gpu.zeros(64, "i4")
    faults["stops"](2, 32, [gpu.array(flags), out])
    np.testing.assert_array_equal(out.numpy(), 1 - flags)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ([0, 3, 1, 1, 0, 1], "block (2, 0, 0)"),
        ([3, 3, 3, 3, 3, 1, 1], "block (5, 0, 0)"),
        ([0] * 7 + [2, 1, 1], "block (7, 0, 0) warp 0"),
        ([3, 2, 1, 1], "block (1, 0, 0) warp 0"),
        ([3, 1, 2, 2], "block (1, 0, 0), thread"),
    ],
)
def test_the_lowest_block_in_trouble_is_reported_whatever_the_number_of_threads(threads, what, expected):
    gpu = sl.Gpu(threads=threads)
    kernel = gpu.compile(source("faults"))["each_its_own"]
    given, out = gpu.array(what, "i4"), gpu.zeros(len(what), "i4")
    with pytest.raises(sl.SimtlabError) as error:
        kernel(len(what), 64, [given, out])
    assert expected in str(error.value)
    first = next(kind for kind in what if kind in (1, 2))
    assert isinstance(error.value, sl.DeviceFault if first == 1 else sl.Deadlock)


@pytest.mark.parametrize(("number", "threads"), [(16, 32), (3, 33)])
def test_a_barrier_that_cannot_be(faults, number, threads):
    message = fault(faults["bad_barrier"], 1, 32, [number, threads])
    assert message.startswith("barrier number above 15 or thread count not a multiple of 32 in kernel 'bad_barrier'")
    assert f"faults.cu:{line_of('faults', 'bad barrier')})" in message


def test_a_call_through_a_pointer_that_is_no_function(gpu, faults):
    pointer, out = gpu.zeros(1, "u8"), gpu.zeros(32, "i4")
    faults["get_pointer"](1, 1, [pointer])
    targets = np.full(32, pointer[0])
    faults["call_pointer"](1, 32, [gpu.array(targets), out])
    np.testing.assert_array_equal(out.numpy(), 2 * np.arange(32))
    for wrong in (0, int(pointer[0]) + 8, 12345, 2**63):
        targets[5] = wrong
        message = fault(faults["call_pointer"], 1, 32, [gpu.array(targets), out])
        assert f"call through a pointer that is no function ({wrong:#x})" in message
        assert "thread (5, 0, 0)" in message


def test_a_large_local_array_leaves_the_stack_its_room(gpu, faults):
    pointer, out = gpu.zeros(1, "u8"), gpu.array(np.full(32, 5999), "i4")
    faults["get_pointer"](1, 1, [pointer])
    faults["local_array_and_calls"](1, 32, [pointer, out])
    np.testing.assert_array_equal(out.numpy(), 2 * (5999 + np.arange(32)))


def test_a_faulting_launch_leaves_the_gpu_usable(gpu, faults):
    fault(faults["null_pointer"], 1, 8, [0])
    array = gpu.zeros(10)
    faults["fill"](1, 32, [array, 10, 3.0])
    assert (array.numpy() == 3).all()


def test_a_null_pointer_where_nothing_is_allocated_reads_as_a_sentence():
    module = sl.Gpu().compile('extern "C" __global__ void k(int *p) { *p = 1; }')
    with pytest.raises(sl.DeviceFault, match=r"store of 4 bytes at 0x0 is outside every allocation \(there is no allocation yet\)"):
        module["k"](1, 1, [0])
