"""Arrays go to the device and come back whole: padding, byte order, no axes; and what can be done with them there."""

import numpy as np
import pytest

import simtlab as sl

PADDED = np.dtype([("a", "u1"), ("b", "f8"), ("c", "i2")], align=True)


@pytest.fixture
def gpu():
    return sl.Gpu(memory_bytes=1 << 24)


def padded(count):
    """Structures whose padding is not zero."""
    raw = np.random.default_rng(3).integers(1, 255, count * PADDED.itemsize, dtype=np.uint8)
    return np.frombuffer(raw.tobytes(), PADDED)


def stale(gpu):
    """Memory that holds something."""
    array = gpu.empty(4096, "u1")
    array[:] = 0xAB
    array.free()


def test_the_padding_of_structures_is_copied(gpu):
    values = padded(10)
    stale(gpu)
    array = gpu.array(values)
    assert array.view("u1").numpy().tobytes() == values.tobytes()
    assert array.numpy().tobytes() == values.tobytes()
    assert array[2:5].tobytes() == values[2:5].tobytes()
    assert array[3].tobytes() == values[3].tobytes()
    array[5:] = values[:5]
    array[0] = values[9]
    assert array.view("u1").numpy().tobytes() == values[9:].tobytes() + values[1:5].tobytes() + values[:5].tobytes()


def test_structures_that_are_not_side_by_side_are_copied_with_their_padding(gpu):
    values = padded(12)
    stale(gpu)
    assert gpu.array(values[::3]).view("u1").numpy().tobytes() == b"".join(values[k].tobytes() for k in (0, 3, 6, 9))


def test_fields_of_structures_are_read_and_written(gpu):
    values = padded(4)
    array = gpu.array(values)
    array["c"] = 7
    assert array["c"].tolist() == [7] * 4
    assert array["b"].tobytes() == values["b"].tobytes()


@pytest.mark.parametrize("dtype", [">f4", ">i2", ">u8", ">c8", [("a", ">i4"), ("b", ">f8")]])
def test_big_endian_arrays_are_swapped(gpu, dtype):
    values = np.zeros(5, dtype)
    for part in [values] if values.dtype.names is None else [values["a"], values["b"]]:
        part[:] = np.arange(5)
    array = gpu.array(values)
    assert array.dtype == values.dtype.newbyteorder("<")
    assert array.view("u1").numpy().tobytes() == values.astype(array.dtype).tobytes()
    assert gpu.zeros(3, dtype).dtype == array.dtype


def test_arrays_without_axes(gpu):
    array = gpu.array(np.array(2.5, ">f4"))
    assert (array.shape, array.size, array.nbytes, array[()]) == ((), 1, 4, 2.5)
    array[...] = 3
    assert array.numpy() == 3
    with pytest.raises(TypeError, match="no length"):
        len(array)


def test_python_objects_are_refused(gpu):
    sentence = r"^Python objects cannot lie in device memory; give the array a dtype, such as 'f4'$"
    with pytest.raises(sl.SimtlabError, match=sentence):
        gpu.array([None, 1])


def test_fill_and_copy(gpu):
    array = gpu.array(np.arange(6).reshape(2, 3), "i4")
    other = array.copy()
    array.fill(-1)
    assert array.numpy().tolist() == [[-1] * 3] * 2
    assert (other.numpy().tolist(), other.shape, other.dtype) == ([[0, 1, 2], [3, 4, 5]], (2, 3), np.int32)
    other.free()
    array.free()
    for use in (other.copy, lambda: other.fill(1)):
        with pytest.raises(sl.SimtlabError, match="has been freed"):
            use()


def test_a_copy_has_the_padding_too(gpu):
    values = padded(3)
    stale(gpu)
    assert gpu.array(values).copy().view("u1").numpy().tobytes() == values.tobytes()


def test_an_array_from_an_element_on(gpu):
    array = gpu.array(np.arange(12).reshape(3, 4), "i4")
    assert array.at(1).numpy().tolist() == list(range(4, 12))
    assert array.at(1, 2).numpy().tolist() == list(range(6, 12))
    assert array.at(1, 2).at(3).address == array.address + 4 * 9
    assert array.at(3).numpy().tolist() == array.at(2, 4).numpy().tolist() == []
    array.at(2, 1)[:2] = [90, 91]
    assert array[2].tolist() == [8, 90, 91, 11]
    assert array.at(1).view("i8").address == array.address + 16
    for index in ((4,), (-1,), (0, 5), (3, 1), (0, 0, 0), ()):
        with pytest.raises(sl.SimtlabError, match=r"^an array of shape \(3, 4\) has no element"):
            array.at(*index)


def test_a_part_of_an_array_is_not_freed_alone(gpu):
    array = gpu.zeros(8)
    with pytest.raises(sl.SimtlabError, match=r"^the array at 0x\w+ begins within another one, which is the one to free$"):
        array.at(2).free()
    array.free()
    with pytest.raises(sl.SimtlabError, match="has been freed"):
        array.at(2).numpy()
