"""Device memory as the host sees it."""

import numpy as np
import pytest

import simtlab as sl


@pytest.fixture
def gpu():
    return sl.Gpu(memory_bytes=1 << 24)


@pytest.mark.parametrize("dtype", ["u1", "i2", "f2", "f4", "i8", "f8", "c8", "?", "i4,f8"])
def test_an_array_comes_back_as_it_went(gpu, dtype):
    values = np.random.default_rng(1).integers(0, 256, 100 * np.dtype(dtype).itemsize, dtype=np.uint8)
    values = (values & 1 if dtype == "?" else values).view(dtype).reshape(4, 25)
    array = gpu.array(values)
    assert (array.shape, array.dtype, array.size, array.nbytes, len(array)) == ((4, 25), values.dtype, 100, values.nbytes, 4)
    assert array.numpy().tobytes() == values.tobytes()


def test_slices_read_copies_and_write_through(gpu):
    array = gpu.array(np.arange(12).reshape(3, 4), "f4")
    row = array[1]
    row[:] = 99
    assert array[1].tolist() == [4, 5, 6, 7]
    array[1, 2:] = [60, 70]
    array[2] += 1
    assert array[1].tolist() == [4, 5, 60, 70]
    assert array[2].tolist() == [9, 10, 11, 12]
    assert array[0, 3] == 3
    assert np.asarray(array).sum() == 3 + 3 + 4 + 5 + 60 + 70 + 42
    assert np.array(array, dtype="i4").dtype == np.int32


def test_a_fortran_ordered_or_strided_array_is_copied_in_order(gpu):
    values = np.arange(24).reshape(4, 6)
    for given in (values.T, values[:, ::2], np.asfortranarray(values)):
        np.testing.assert_array_equal(gpu.array(given).numpy(), given)


def test_arrays_begin_at_256_byte_boundaries_with_room_between(gpu):
    arrays = [gpu.zeros(n, "u1") for n in (1, 255, 256, 257, 0)]
    starts = [array.address for array in arrays]
    assert all(start % 256 == 0 for start in starts)
    for (start, array), following in zip(zip(starts, arrays, strict=True), starts[1:], strict=False):
        assert start + array.nbytes + 256 <= following


def test_zeros_are_zeros_even_where_something_was(gpu):
    for _ in range(40):
        array = gpu.zeros(1 << 18)
        assert not array.numpy().any()
        array[:] = 1
        array.free()


def test_an_empty_array(gpu):
    array = gpu.array([], "f4")
    assert array.numpy().shape == (0,)
    assert gpu.zeros((3, 0)).numpy().shape == (3, 0)


def test_a_freed_array_cannot_be_used(gpu):
    array = gpu.zeros(10)
    array.free()
    for use in (array.numpy, lambda: array[0], lambda: array.__setitem__(0, 1)):
        with pytest.raises(sl.SimtlabError, match=f"^the array at {array.address:#x} has been freed$"):
            use()


def test_freeing_a_wrong_address_is_refused(gpu):
    array = gpu.zeros(10, label="ten")
    with pytest.raises(
        sl.SimtlabError,
        match=rf"^free of {array.address + 8:#x}, which is not the start of an allocation "
        rf"\(8 bytes into the allocation 'ten' of 40 bytes at {array.address:#x}\)$",
    ):
        gpu.memory.free(array.address + 8)


def test_memory_runs_out_with_a_message(gpu):
    kept = gpu.zeros(1 << 22, "u1")
    with pytest.raises(sl.LaunchError, match=rf"^out of device memory: {1 << 25} bytes wanted, {1 << 22} of {1 << 24} in use$"):
        gpu.zeros(1 << 25, "u1")
    kept.free()


def test_freed_memory_is_used_again(gpu):
    for _ in range(100):
        arrays = [gpu.zeros(1 << 20, "u1") for _ in range(6)]
        for array in arrays[::2] + arrays[1::2]:
            array.free()
    assert len(gpu.memory) == 0


def test_memory_that_is_never_touched_costs_nothing():
    gpu = sl.Gpu()
    array = gpu.zeros(2 << 30, "u1")
    assert array[(2 << 30) - 1] == 0


def test_what_is_near_an_address(gpu):
    assert gpu.memory.describe(0x1234) == "there is no allocation yet"
    a, b = gpu.zeros(10, label="a"), gpu.zeros(4096, label="b")
    name = f"the allocation 'a' of 40 bytes at {a.address:#x}"
    assert gpu.memory.describe(a.address - 3) == f"3 bytes before {name}"
    assert gpu.memory.describe(a.address + 39) == f"39 bytes into {name}"
    assert gpu.memory.describe(a.address + 40) == f"right at the end of {name}"
    assert gpu.memory.describe(a.address + 44) == f"4 bytes past the end of {name}"
    assert gpu.memory.describe(b.address - 1).startswith("1 bytes before the allocation 'b'")


def test_labels_and_representations(gpu):
    array = gpu.zeros((2, 3), "i2")
    assert repr(array) == f"DeviceArray(shape=(2, 3), dtype=int16, address={array.address:#x})"


def test_a_view_of_other_elements(gpu):
    array = gpu.array(np.arange(6), "i4")
    wide = array.view("i8")
    wide[1] = -1
    assert array.numpy().tolist() == [0, 1, -1, -1, 4, 5]
    with pytest.raises(sl.SimtlabError, match=r"^24 bytes are no whole number of complex128 elements$"):
        array.view("c16")


def test_a_gpu_needs_a_thread_and_memory():
    with pytest.raises(sl.SimtlabError, match=r"^threads is 0; at least one is needed$"):
        sl.Gpu(threads=0)
    with pytest.raises(sl.SimtlabError, match=r"cannot reserve .* MiB of address space for device memory"):
        sl.Gpu(memory_bytes=1 << 60)


def test_two_gpus_do_not_share_memory(gpu):
    other = sl.Gpu(memory_bytes=1 << 24)
    a, b = gpu.zeros(4), other.zeros(4)
    a[:] = 1
    assert a.address == b.address
    assert not b.numpy().any()
