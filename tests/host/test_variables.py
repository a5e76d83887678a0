"""A module's variables have the type they are declared with."""

import numpy as np
import pytest

import simtlab as sl

SOURCE = """
typedef float real;
struct Pair { int a, b; };
__constant__ real w[4];
__constant__ float filter[2][3];
__constant__ int t[100];
__constant__ Pair pairs[2];
__constant__ float2 points[2];
__device__ int count = -1;
__device__ unsigned char letters[4];
__device__ bool flags[4];
__device__ float *where;
namespace ns { __device__ double sums[3]; }
extern "C" __global__ void read(double *out) {
    int i = threadIdx.x;
    if (i < 4) out[i] = w[i];
    if (i < 6) out[4 + i] = filter[i / 3][i % 3];
    out[10 + i] = t[i];
    out[50] = count + letters[i % 4] + flags[i % 4] + ns::sums[i % 3] + pairs[i % 2].b + points[i % 2].y + (where != 0);
}
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture
def module(gpu):
    return gpu.compile(SOURCE)


def contents(gpu, module):
    out = gpu.zeros(64, "f8")
    module["read"](1, 32, [out])
    return out.numpy()


@pytest.mark.parametrize(
    ("name", "shape", "dtype"),
    [
        ("w", (4,), "f4"),
        ("filter", (2, 3), "f4"),
        ("t", (100,), "i4"),
        ("count", (1,), "i4"),
        ("letters", (4,), "u1"),
        ("flags", (4,), "?"),
        ("where", (1,), "u8"),
        ("sums", (3,), "f8"),
        ("ns::sums", (3,), "f8"),
    ],
)
def test_a_variable_has_its_declared_type_and_shape(module, name, shape, dtype):
    variable = module.variable(name)
    assert (variable.shape, variable.dtype) == (shape, np.dtype(dtype))


def test_a_number_is_written_as_the_declared_type(gpu, module):
    module.constant("w")[:] = 1.5
    module.constant("w")[2] = -3
    assert contents(gpu, module)[:4].tolist() == [1.5, 1.5, -3, 1.5]


def test_a_part_of_an_array_is_written_by_elements(gpu, module):
    module.constant("t")[:4] = np.array([1000, -2000, 3, 70000], np.int32)
    module.constant("t")[4:6] = [5.0, 6.0]
    assert contents(gpu, module)[10:17].tolist() == [1000, -2000, 3, 70000, 5, 6, 0]


def test_values_of_another_type_are_converted_as_numpy_does(gpu, module):
    module.constant("w")[:] = [1.0, 2.0, 3.0, 4.0]
    module.constant("filter")[:] = np.arange(6, dtype="i8")  # one value for each element, in another shape
    assert contents(gpu, module)[:10].tolist() == [1, 2, 3, 4, 0, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="broadcast"):
        module.constant("w")[:] = [1.0, 2.0, 3.0]


def test_a_signed_variable_reads_as_signed(module):
    assert module.variable("count")[0] == -1


def test_a_type_given_overrides_the_declared_one(module):
    assert module.constant("filter", "i4").shape == (6,)
    module.constant("filter", "i4")[1] = 0x3F800000
    assert module.constant("filter")[0, 1] == 1


@pytest.mark.parametrize("name", ["pairs", "points"])
def test_an_array_of_structures_takes_any_array_of_its_size(module, name):
    module.constant(name)[:] = np.array([1, 2, 3, 4], "i4")
    assert module.constant(name, "i4").numpy().tolist() == [1, 2, 3, 4]


def test_a_variable_of_which_only_the_bytes_are_known_refuses_parts_of_other_sizes(gpu):
    ptx = ".version 7.8\n.target sm_75\n.address_size 64\n.const .align 4 .b8 lut[16];\n"
    lut = gpu.load(ptx).constant("lut")
    lut[:] = np.array([1, 2, 3, 4], "f4")
    lut[3] = 7
    lut[4:6] = np.array([8, 9], "u1")
    assert lut[:6].tolist() == [0, 0, 128, 7, 8, 9]
    sentence = "^'lut' has 16 bytes, of what type the PTX does not say; {} bytes of {} do not fill it. "
    advice = r"Say the type: module.variable\('lut', '{}'\)$"
    for key, value, size, dtype, code in (
        (slice(None), [1.0, 2.0, 3.0, 4.0], 32, "float64", "f8"),
        (slice(0, 4), np.array([1, 2, 3, 4], "i4"), 16, "int32", "i4"),
        (slice(None), 1.5, 8, "float64", "f8"),
    ):
        with pytest.raises(sl.SimtlabError, match=(sentence + advice).format(size, dtype, code)):
            lut[key] = value
