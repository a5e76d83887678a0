"""Kernel arguments: what people pass, what is understood, and what a refusal says."""

import ctypes
import re

import numpy as np
import pytest

import simtlab as sl

SOURCE = r"""
struct Mixed { float scale; double *sums; short n; };
struct Ints { int a, b; };
__global__ void copy(const float *x, float *y, int n) { int i = threadIdx.x; if (i < n) y[i] = x[i]; }
__global__ void words(unsigned int *x, short *h, long long *l, bool *b, char *c, void *v, float **p, float2 *f) { x[0] = 1; }
template <class T, int N> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by * N; }
namespace ns { __global__ void inner(double *x) { *x = 1; } }
__global__ void takes_vectors(float2 a, uchar4 b, double3 c, dim3 d, double *out) {
    out[0] = a.x; out[1] = a.y; out[2] = b.w; out[3] = c.z; out[4] = d.y;
}
extern "C" __global__ void plain_pair(float2 a, float *out) { out[0] = a.x; out[1] = a.y; }
extern "C" __global__ void takes_mixed(Mixed m, double *out) { out[0] = m.scale; out[1] = m.n; out[2] = m.sums ? m.sums[1] : -1; }
extern "C" __global__ void takes_ints(Ints m, int *out) { out[0] = m.a; out[1] = m.b; }
extern "C" __global__ void is_null(const float *p, int *out) { *out = p == 0; }
extern "C" __global__ void takes_all(int i, float f, unsigned char b, short s, double d, double *out) {
    out[0] = i; out[1] = f; out[2] = b; out[3] = s; out[4] = d;
}
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def module(gpu):
    return gpu.compile(SOURCE, names=["scale<float, 4>", "scale<double, 2>"])


def refused(sentence, kernel, *launch, error=sl.LaunchError, **options):
    with pytest.raises(error, match=f"^{re.escape(sentence)}$"):
        kernel(*launch, **options)


# Arrays ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f8", "i4", "f2", "?", "i8"])
def test_an_array_of_other_elements_than_the_pointer_points_to_is_refused(gpu, module, dtype):
    given = np.dtype(dtype)
    refused(f"argument 0 of kernel 'copy' is const float*: it got an array of {given}; "
            "gpu.array(values, 'float32') makes one of float32, x.view('float32') takes the bytes as they are",
            module["copy"], 1, 32, [gpu.zeros(4, dtype), gpu.zeros(4), 4])  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "c8", "u1", "f4,i4"])
def test_bytes_structures_and_complex_numbers_may_be_floats(gpu, module, dtype):
    module["copy"](1, 32, [gpu.zeros(16, dtype), gpu.zeros(4), 4])


def test_the_advice_of_that_refusal_works(gpu, module):
    x, y = gpu.array(np.arange(4), "f8"), gpu.zeros(4)
    module["copy"](1, 32, [gpu.array(x.numpy(), "float32"), y, 4])
    assert y.numpy().tolist() == [0, 1, 2, 3]
    module["copy"](1, 32, [x.view("float32"), y, 4])
    assert y.numpy().tobytes() == x.numpy().tobytes()[:16]


def test_the_sign_of_integers_and_the_elements_of_other_pointers_do_not_matter(gpu, module):
    types = ["i4", "u2", "u8", "?", "u1", "f8", "u8", "c8"]
    module["words"](1, 1, [gpu.zeros(4, dtype) for dtype in types])
    module["words"](1, 1, [gpu.zeros(4, "u4"), gpu.zeros(4, "f2"), *(gpu.zeros(4, dtype) for dtype in types[2:])])
    refused("argument 2 of kernel 'words' is long long*: it got an array of int32; "
            "gpu.array(values, 'int64') makes one of int64, x.view('int64') takes the bytes as they are",
            module["words"], 1, 1, [gpu.zeros(4, dtype) for dtype in ("u4", "u2", "i4", *types[3:])])  # fmt: skip


def test_a_kernel_whose_name_says_nothing_of_types_takes_any_array(gpu, module):
    out = gpu.zeros(1, "i4")
    module["is_null"](1, 1, [gpu.zeros(4, "f8"), out])
    assert out[0] == 0


def test_types_and_names_in_messages_are_those_of_the_source(gpu, module):
    refused("kernel 'scale<float, 4>' takes 2 arguments (float*, float), not 1", module["scale<float, 4>"], 1, 1, [gpu.zeros(1)])
    refused("argument 2 of kernel 'copy' is int: it got the float 4.0; an integer is needed: int(4.0), "
            "or np.float32(4.0).view('u4') for its bits", module["copy"], 1, 32, [gpu.zeros(4), gpu.zeros(4), 4.0])  # fmt: skip
    refused("a block of (64, 32, 1) has 2048 threads; at most 1024 are possible", module["inner"], 1, (64, 32), [0])
    with pytest.raises(sl.DeviceFault, match=r"in kernel 'ns::inner', block \(0, 0, 0\), thread \(0, 0, 0\), at 'st\.global"):
        module["inner"](1, 1, [4096])
    with pytest.raises(sl.LaunchError, match=r"^no kernel 'scail' here; the kernels are: 'copy', .*'scale<float, 4>', "):
        module["scail"]


def test_a_null_pointer_is_none(gpu, module):
    out = gpu.zeros(1, "i4")
    module["is_null"](1, 1, [None, out])
    assert out[0] == 1
    refused("argument 2 of kernel 'copy' is int: it got None, which is the null pointer", module["copy"], 1, 1, [0, 0, None])


def test_a_pointer_into_an_array(gpu, module):
    x, y = gpu.array(np.arange(8, dtype="f4")), gpu.zeros(8)
    module["copy"](1, 32, [x.at(2), y.at(5), 3])
    assert y.numpy().tolist() == [0, 0, 0, 0, 0, 2, 3, 4]
    module["copy"](1, 32, [x.address + 4, y, 1])
    assert y[0] == 1


# Numbers ---------------------------------------------------------------------------------------------------------------


def test_numbers_in_another_byte_order_and_without_axes(gpu, module):
    out = gpu.zeros(5, "f8")
    given = [np.array(-7, ">i4"), np.array(1.5, ">f4"), np.array(200, "u1"), np.array(-3, ">i2"), np.array(0.25, ">f8")]
    module["takes_all"](1, 1, [*given, out])
    assert out.numpy().tolist() == [-7, 1.5, 200, -3, 0.25]


def test_numbers_of_ctypes(gpu, module):
    out = gpu.zeros(5, "f8")
    given = [ctypes.c_int(-7), ctypes.c_float(1.5), ctypes.c_ubyte(200), ctypes.c_short(-3), ctypes.c_double(0.25)]
    module["takes_all"](1, 1, [*given, ctypes.c_void_p(out.address)])
    assert out.numpy().tolist() == [-7, 1.5, 200, -3, 0.25]


def test_the_advice_for_a_float_where_an_integer_is_wanted_works(gpu, module):
    out = gpu.zeros(5, "f8")
    module["takes_all"](1, 1, [int(4.0), 0, 0, np.float16(1.5).view("u2"), 0, out])
    assert out.numpy()[[0, 3]].tolist() == [4, 0x3E00]
    module["takes_all"](1, 1, [np.float32(1.5).view("u4"), 0, 0, 0, 0, out])
    assert out[0] == 0x3FC00000


# Structures ------------------------------------------------------------------------------------------------------------


def test_tuples_for_vectors(gpu, module):
    out = gpu.zeros(5, "f8")
    module["takes_vectors"](1, 1, [(1, 2.5), (1, 2, 3, 200), (0, 0, -1), (1, 7, 1), out])
    assert out.numpy().tolist() == [1, 2.5, 200, -1, 7]
    refused("argument 0 of kernel 'takes_vectors' is float2, a structure of 8 bytes: it got 3 members, not 2",
            module["takes_vectors"], 1, 1, [(1, 2, 3), (0, 0, 0, 0), (0, 0, 0), (1, 1, 1), out])  # fmt: skip


def test_a_tuple_of_floats_for_a_structure_of_floats_whose_name_is_not_known(gpu, module):
    out = gpu.zeros(2)
    module["plain_pair"](1, 1, [(1.5, 2.5), out])
    assert out.numpy().tolist() == [1.5, 2.5]
    refused("argument 0 of kernel 'plain_pair' is a structure of 8 bytes: of what type the member 1 is, nobody knows: "
            "give it one, as in np.float32(1)", module["plain_pair"], 1, 1, [(1, 2), out])  # fmt: skip


def test_a_tuple_of_typed_members_is_laid_out_as_in_c(gpu, module):
    out, sums = gpu.zeros(3, "f8"), gpu.array(np.array([10.0, 20.0]))
    module["takes_mixed"](1, 1, [(np.float32(1.5), sums, np.int16(-3)), out])
    assert out.numpy().tolist() == [1.5, -3, 20]
    module["takes_mixed"](1, 1, [(ctypes.c_float(2.5), None, np.array(4, ">i2")), out])
    assert out.numpy().tolist() == [2.5, 4, -1]
    refused("argument 0 of kernel 'takes_mixed' is a structure of 24 bytes: it got 16 bytes",
            module["takes_mixed"], 1, 1, [(np.float32(1.5), sums), out])  # fmt: skip


def test_structures_of_ctypes(gpu, module):
    class Mixed(ctypes.Structure):
        _fields_ = (("scale", ctypes.c_float), ("sums", ctypes.c_void_p), ("n", ctypes.c_short))

    out, sums = gpu.zeros(3, "f8"), gpu.array(np.array([10.0, 20.0]))
    module["takes_mixed"](1, 1, [Mixed(1.5, sums.address, -3), out])
    assert out.numpy().tolist() == [1.5, -3, 20]
    sentence = "argument 0 of kernel 'takes_ints' is a structure of 8 bytes: it got 24 bytes"
    refused(sentence, module["takes_ints"], 1, 1, [Mixed(), out])


def test_structures_in_another_byte_order(gpu, module):
    out = gpu.zeros(2, "i4")
    for pair in (np.array((3, 4), ">i4,>i4"), np.array([3, 4], ">i4")):
        module["takes_ints"](1, 1, [pair, out])
        assert out.numpy().tolist() == [3, 4]
        out.fill(0)


# The call --------------------------------------------------------------------------------------------------------------


def test_arguments_that_are_no_list(gpu, module):
    x = gpu.zeros(4)
    sentence = ("the arguments of kernel 'copy' are one list, shared and stream are named: "
                "kernel(grid, block, [x, y, n], shared=0)")  # fmt: skip
    for launch in ((4, 256, x, x, 4), (4, 256, x), (1, 32, [x, x, 4], 1024), (1, 32, "xyz")):
        refused(sentence, module["copy"], *launch)


def test_strings_where_lists_are_wanted(gpu):
    source = "__global__ void k(int *p) { *p = 1; }"
    for name, value in (("options", "-DN=4"), ("include_paths", "/tmp"), ("names", "f<int>")):
        sentence = f"{name} is '{value}'; it must be a list of strings: {name}=['{value}']"
        refused(sentence, gpu.compile, source, error=sl.SimtlabError, **{name: value})


@pytest.mark.parametrize("source", ["", "  "])
def test_an_empty_source(gpu, source):
    for read in (gpu.compile, gpu.load):
        refused("the source is empty; give it as text, or give the path of a file", read, source, error=sl.SimtlabError)


def test_a_source_in_bytes(gpu):
    refused("the source is bytes; give it as a string, or give the path of a file", gpu.compile, b"", error=sl.SimtlabError)


def test_keys_that_are_no_dict():
    sentence = "set is ['l1d.ways=8']; it must be a dict of keys and values, as in set={'l1d.ways': 8}"
    refused(sentence, sl.Gpu, "caps-gtx480", set=["l1d.ways=8"], error=sl.SimtlabError)


def test_keys_without_a_machine():
    sentence = "a key of the configuration (set) is for timed runs: name a machine, as in Gpu('caps-gtx480')"
    refused(sentence, sl.Gpu, set={"l1d.ways": 8}, error=sl.SimtlabError)


# Names -----------------------------------------------------------------------------------------------------------------


def test_template_instances_of_loaded_ptx_by_their_c_plus_plus_names(gpu):
    from simtlab.frontend.cuda import compile_cuda

    names = ["scale<float, 4>", "scale<double, 2>"]
    module = gpu.load(compile_cuda(SOURCE, name_expressions=names).ptx)
    x = gpu.array(np.ones(32, "f4"))
    for name in ("scale<float, 4>", "scale<float,4>", "scale< float , 4 >(float*, float)", "scale<float, 4u>"):
        assert module[name].name == "_Z5scaleIfLi4EEvPT_S0_"
    module["scale<float, 4>"](1, 32, [x, 2.0])
    assert x[0] == 8
    assert module["ns::inner"].name == module["inner"].name == "_ZN2ns5innerEPd"
    with pytest.raises(sl.LaunchError, match=r"^'scale' names 2 kernels: scale<\w+, \d>, scale<\w+, \d>$"):
        module["scale"]


def test_overloaded_kernels_are_told_apart_by_their_parameters(gpu):
    module = gpu.compile("__global__ void f(int *p) { *p = 1; } __global__ void f(float *p) { *p = 2; }")
    out = gpu.zeros(1)
    module["f(float *)"](1, 1, [out])
    assert out[0] == 2
    with pytest.raises(sl.LaunchError, match=r"^'f' names 2 kernels: f\((int|float)\*\), f\((int|float)\*\)$"):
        module["f"]
