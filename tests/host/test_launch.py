"""Launches that cannot start say why, in a sentence."""

import re

import numpy as np
import pytest

import simtlab as sl

SOURCE = r"""
struct Pair { int a, b; };
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void takes_pair(Pair p, int *out) { *out = p.a * 1000 + p.b; }
extern "C" __global__ void takes_byte(unsigned char b, short s, double d, double *out) { *out = b + s + d; }
extern "C" __global__ void __launch_bounds__(128) bounded(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void shares(int *out) { __shared__ int s[1024]; s[threadIdx.x] = 1; __syncthreads(); *out = s[0]; }
__global__ void mangled(int *out) { *out = 5; }
__device__ int value = 3;
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def module(gpu):
    return gpu.compile(SOURCE)


def refused(sentence, kernel, *launch, error=sl.LaunchError, **options):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        kernel(*launch, **options)


def test_too_few_and_too_many_arguments(gpu, module):
    sentence = "kernel 'saxpy' takes 4 arguments (.u32, .f32, .u64, .u64), not {}"
    refused(sentence.format(2), module["saxpy"], 1, 32, [3, 1.0])
    refused(sentence.format(5), module["saxpy"], 1, 32, [3, 1.0, 0, 0, 0])
    refused(sentence.format(0), module["saxpy"], 1, 32)


@pytest.mark.parametrize(
    ("position", "value", "problem"),
    [
        (0, np.int64(5), "argument 0 of kernel 'saxpy' is .u32: it got a int64 of 8 bytes"),
        (0, np.float32(5), "argument 0 of kernel 'saxpy' is .u32: it got a float32; an integer value is needed"),
        (0, 2**32, "argument 0 of kernel 'saxpy' is .u32: 4294967296 does not fit in 32 bits"),
        (0, -(2**31) - 1, "argument 0 of kernel 'saxpy' is .u32: -2147483649 does not fit in 32 bits"),
        (
            0,
            1.5,
            "argument 0 of kernel 'saxpy' is .u32: it got the float 1.5; an integer is needed: int(1.5), "
            "or np.float32(1.5).view('u4') for its bits",
        ),
        (0, "3", "argument 0 of kernel 'saxpy' is .u32: it cannot take a str"),
        (0, None, "argument 0 of kernel 'saxpy' is .u32: it got None, which is the null pointer"),
        (1, np.float64(1), "argument 1 of kernel 'saxpy' is .f32: it got a float64 of 8 bytes"),
        (1, np.int32(1), "argument 1 of kernel 'saxpy' is .f32: it got a int32; a floating-point value is needed"),
        (
            2,
            np.zeros(4, np.float32),
            "argument 2 of kernel 'saxpy' is .u64: it got a NumPy array; copy it to the device with gpu.array(…) first",
        ),
        (
            2,
            [1.0, 2.0],
            "argument 2 of kernel 'saxpy' is .u64: it got a list; copy it to the device with gpu.array(…) first",
        ),
        (0, [1], "argument 0 of kernel 'saxpy' is .u32: it got a list"),
    ],
)
def test_an_argument_of_the_wrong_size_or_kind(gpu, module, position, value, problem):
    arguments = [4, 2.0, gpu.zeros(4), gpu.zeros(4)]
    arguments[position] = value
    refused(problem, module["saxpy"], 1, 32, arguments)


def test_a_device_array_where_a_number_is_wanted(gpu, module):
    array = gpu.zeros(4)
    problem = "argument {} of kernel 'saxpy' is {}: it cannot take a pointer or handle"
    refused(problem.format(0, ".u32"), module["saxpy"], 1, 32, [array, 1.0, array, array])
    refused(problem.format(1, ".f32"), module["saxpy"], 1, 32, [4, array, array, array])


def test_a_structure_of_the_wrong_size(gpu, module):
    out = gpu.zeros(1, "i4")
    refused("argument 0 of kernel 'takes_pair' is a structure of 8 bytes: it got 12 bytes",
            module["takes_pair"], 1, 1, [np.zeros(3, "i4"), out])  # fmt: skip
    refused("argument 0 of kernel 'takes_pair' is a structure of 8 bytes: "
            "pass a NumPy structured scalar, an array, a ctypes structure, a tuple, or bytes of that size",
            module["takes_pair"], 1, 1, [7, out])  # fmt: skip
    for pair in (np.array([3, 4], "i4"), np.array((3, 4), "i4,i4"), np.array([3, 4], "i4").tobytes()):
        module["takes_pair"](1, 1, [pair, out])
        assert out[0] == 3004


def test_python_numbers_are_taken_as_the_parameter_says(gpu, module):
    out = gpu.zeros(1, "f8")
    module["takes_byte"](1, 1, [255, -5, 3, out])
    assert out[0] == 253
    module["takes_byte"](1, 1, [True, np.int16(-1), np.float64(0.5), out])
    assert out[0] == 0.5
    sentence = "argument 0 of kernel 'takes_byte' is .u8: 256 does not fit in 8 bits"
    refused(sentence, module["takes_byte"], 1, 1, [256, 0, 0, out])


@pytest.mark.parametrize(
    ("grid", "block", "sentence"),
    [
        (1, 2000, "block.x is 2000; it must lie between 1 and 1024"),
        (1, (64, 32), "a block of (64, 32, 1) has 2048 threads; at most 1024 are possible"),
        (1, (1, 1, 65), "block.z is 65; it must lie between 1 and 64"),
        (0, 32, "grid.x is 0; it must lie between 1 and 2147483647"),
        ((1, 0), 32, "grid.y is 0; it must lie between 1 and 65535"),
        ((1, 1, 70000), 32, "grid.z is 70000; it must lie between 1 and 65535"),
        (-1, 32, "grid.x is -1; it must lie between 1 and 2147483647"),
        (1, 0, "block.x is 0; it must lie between 1 and 1024"),
        (1.0, 32, "grid must be one to three integers, not 1.0"),
        (1, (8, 8, 8, 1), "block must be one to three integers, not (8, 8, 8, 1)"),
        (1, (), "block must be one to three integers, not ()"),
        (1, ("a",), "block must be one to three integers, not ('a',)"),
    ],
)
def test_a_grid_or_block_that_cannot_be(gpu, module, grid, block, sentence):
    refused(sentence, module["saxpy"], grid, block, [0, 0.0, 0, 0])


def test_more_threads_than_the_launch_bounds(gpu, module):
    out = gpu.zeros(128, "i4")
    module["bounded"](1, 128, [out])
    refused("kernel 'bounded' allows at most 128 threads a block, not 129", module["bounded"], 1, 129, [out])


def test_too_much_shared_memory(gpu, module):
    out = gpu.zeros(1, "i4")
    most = 227 * 1024
    assert module["shares"].shared_bytes == 4096
    module["shares"](1, 32, [out], shared=most - 4096)
    refused(f"kernel 'shares' needs {most + 1} bytes of shared memory (4096 static and {most - 4095} dynamic); "
            f"at most {most} are possible", module["shares"], 1, 32, [out], shared=most - 4095)  # fmt: skip
    refused("shared is -1; it must not be negative", module["shares"], 1, 32, [out], shared=-1)


def test_a_missing_kernel_lists_those_there_are(module):
    names = "'saxpy', 'takes_pair', 'takes_byte', 'bounded', 'shares', 'mangled'"
    with pytest.raises(sl.LaunchError, match=f"^no kernel 'saxpi' here; the kernels are: {names}$"):
        module["saxpi"]
    assert len(module.kernels) == 6


def test_a_mangled_name_is_found_by_its_plain_one(gpu, module):
    out = gpu.zeros(1, "i4")
    for name in ("mangled", "_Z7mangledPi"):
        assert module[name](1, 1, [out]).kernel == "_Z7mangledPi"
    assert out[0] == 5


def test_one_name_for_two_kernels_is_refused(gpu):
    source = "template <class T> __global__ void f(T *p) { *p = 1; }"
    module = gpu.compile(source, names=["f<int>", "f<float>"])
    with pytest.raises(sl.LaunchError, match=r"^'f' names 2 kernels: f<(int|float)>, f<(int|float)>$"):
        module["f"]
    out = gpu.zeros(1)
    module["f<float>"](1, 1, [out])
    assert out[0] == 1


def test_a_missing_variable_lists_those_there_are(module):
    with pytest.raises(sl.SimtlabError, match=r"^no variable 'valeu' here; the variables are: 'value'$"):
        module.variable("valeu")
    assert module.variable("value")[0] == 3


def test_a_run_says_what_was_launched(gpu, module):
    x, y = gpu.array(np.arange(100, dtype="f4")), gpu.zeros(100)
    run = module["saxpy"]((4,), (32, 1), [100, 2.0, x, y])
    assert (run.kernel, run.grid, run.block, run.printed) == ("saxpy", (4, 1, 1), (32, 1, 1), "")
    assert 4 * 10 < run.instructions < 4 * 40
    np.testing.assert_array_equal(y.numpy(), 2 * np.arange(100))


def test_a_kernel_says_what_it_needs(module):
    kernel = module["saxpy"]
    assert 5 <= kernel.registers <= 12
    assert repr(kernel) == f"Kernel('saxpy', registers={kernel.registers}, shared_bytes=0)"


def test_a_required_block_size(gpu):
    module = gpu.load("""
.version 7.8
.target sm_75
.address_size 64
.visible .entry exact()
.reqntid 64, 2, 1
{
    ret;
}
""")
    module["exact"](1, (64, 2))
    with pytest.raises(sl.LaunchError, match=r"^kernel 'exact' requires blocks of \(64, 2, 1\), not \(128, 1, 1\)$"):
        module["exact"](1, 128)
