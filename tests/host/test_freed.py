"""Arrays that are not there: freed ones, another GPU's, and memory that others have used before."""

import numpy as np
import pytest

import simtlab as sl

SOURCE = """
struct Table { int values[64]; };
extern "C" __global__ void set(int *p, int v) { p[threadIdx.x] = v; }
extern "C" __global__ void sum(const __grid_constant__ Table table, int *out, int from) {
    const int *p = table.values;
    const int *volatile hidden = p;
    p = hidden;
    int s = 0;
    for (int i = from; i < 64; i++) s += p[i];
    *out = s;
}
extern "C" __global__ void look(cudaTextureObject_t t, float *out) { *out = tex1Dfetch<float>(t, 0); }
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def module(gpu):
    return gpu.compile(SOURCE)


def test_zeros_are_zeros_where_a_parameter_was():
    gpu = sl.Gpu()
    module = gpu.compile(SOURCE)
    assert module["sum"].program.takes_parameter_address
    out = gpu.zeros(1, "i4")
    module["sum"](1, 1, [np.arange(1, 65, dtype="i4"), out, 0])
    assert out[0] == 64 * 65 // 2
    assert not gpu.zeros(64, "i4").numpy().any()


def test_an_array_is_freed_once(gpu):
    first = gpu.zeros(4)
    first.free()
    second = gpu.zeros(4)
    assert first.address == second.address
    with pytest.raises(sl.SimtlabError, match=f"^the array at {first.address:#x} has been freed$"):
        first.free()
    assert second.numpy().tolist() == [0, 0, 0, 0]


def test_a_freed_array_is_no_argument(gpu, module):
    freed = gpu.zeros(32, "i4")
    view = freed.view("u4")
    freed.free()
    other = gpu.zeros(32, "i4")
    for given in (freed, view):
        sentence = f"^argument 0 of kernel 'set' is .u64: the array at {freed.address:#x} has been freed$"
        with pytest.raises(sl.LaunchError, match=sentence):
            module["set"](1, 32, [given, 1])
    assert not other.numpy().any()


def test_an_array_of_another_gpu_is_no_argument(gpu, module):
    foreign = sl.Gpu().zeros(32, "i4")
    sentence = rf"the array at {foreign.address:#x} is another GPU's; gpu.array\(x.numpy\(\)\) copies it$"
    with pytest.raises(sl.LaunchError, match=f"^argument 0 of kernel 'set' is .u64: {sentence}"):
        module["set"](1, 32, [foreign, 1])
    ours = gpu.array(foreign.numpy())
    module["set"](1, 32, [ours, 1])
    assert ours.numpy().tolist() == [1] * 32


def test_a_texture_of_another_gpu_or_of_freed_memory_is_no_argument(gpu, module):
    out = gpu.zeros(1)
    array = gpu.array(np.ones(4, "f4"))
    texture = gpu.texture(array)
    module["look"](1, 1, [texture, out])
    assert out[0] == 1
    array.free()
    with pytest.raises(sl.LaunchError, match=r"^argument 0 of kernel 'look' is .u64: the array at 0x\w+ has been freed$"):
        module["look"](1, 1, [texture, out])
    with pytest.raises(sl.LaunchError, match="is another GPU's"):
        module["look"](1, 1, [sl.Gpu().texture(np.ones(4, "f4")), out])


def test_a_stream_of_another_gpu_is_refused(gpu, module):
    with pytest.raises(sl.LaunchError, match=r"^kernel 'set' is on one GPU and its stream on another$"):
        module["set"](1, 32, [gpu.zeros(32, "i4"), 1], stream=sl.Gpu().stream())


def test_allocating_and_freeing_after_a_launch_in_a_stream_changes_nothing():
    for _ in range(20):
        gpu = sl.Gpu("caps-gtx480")
        x = gpu.zeros(32, "i4")
        spare = [gpu.zeros(1000) for _ in range(20)]
        set_ = gpu.compile(SOURCE)["set"]
        run = set_(1, 32, [x, 7], stream=gpu.stream())
        more = [gpu.zeros(100) for _ in range(50)]
        del spare, more
        gpu.synchronize()
        assert run.cycles > 0
        assert x.numpy().tolist() == [7] * 32


def test_freeing_waits_for_what_uses_the_array_in_a_stream():
    gpu = sl.Gpu("caps-gtx480")
    x = gpu.zeros(32, "i4")
    run = gpu.compile(SOURCE)["set"](1, 32, [x, 7], stream=gpu.stream())
    x.free()
    assert run.instructions > 0


def test_launches_side_by_side_see_what_the_other_allocates():
    source = """
    extern "C" __global__ void grow(int **p) { for (int k = 0; k < 100; k++) { p[k] = (int *)malloc(64); *p[k] = k; } }
    extern "C" __global__ void watch(int *a, int *b, int n) {
        for (int i = 0; i < n; i++) { volatile int *p = i & 1 ? a : b; p[threadIdx.x] = p[threadIdx.x] + 1; }
    }
    """
    gpu = sl.Gpu("caps-gtx480")
    module = gpu.compile(source)
    counts = [gpu.zeros(32, "i4") for _ in range(400)][:8]  # so that the table of allocations is a large piece of memory
    pointers = gpu.zeros(100, "u8")
    module["grow"](1, 1, [pointers], stream=gpu.stream())
    for a, b in zip(counts[::2], counts[1::2], strict=True):
        module["watch"](1, 32, [a, b, 400], stream=gpu.stream())
    gpu.synchronize()
    assert all(pointers.numpy())
    assert all((count.numpy() == 200).all() for count in counts)


@pytest.mark.parametrize("machine", [None, "caps-gtx480"])
def test_what_malloc_gives_for_nothing_can_be_freed(machine):
    gpu = sl.Gpu(machine)
    out = gpu.zeros(1, "i4")
    source = 'extern "C" __global__ void k(int *out) { void *p = malloc(0); free(p); free(malloc(8)); *out = 1; }'
    gpu.compile(source)["k"](1, 1, [out])
    assert out[0] == 1


@pytest.mark.parametrize("shape", [1 << 62, (1 << 32, 1 << 32), (1 << 40, 1 << 40)])
def test_a_huge_shape_is_too_large(gpu, shape):
    with pytest.raises(sl.LaunchError, match=r"^out of device memory: "):
        gpu.zeros(shape, "f4")


def test_a_shape_with_a_negative_size_is_refused(gpu):
    with pytest.raises(sl.SimtlabError, match=r"^the shape \(4, -1\) has a negative size$"):
        gpu.empty((4, -1))
