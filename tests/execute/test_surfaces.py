"""Surface reads and writes: what an H200 gave, what NumPy says, and what is refused."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute.state import warp_t
from simtlab.program.action import Action
from tests.execute.recorded_images import surface_kernel, surfaces

KERNELS = r"""
extern "C" __global__ void invert(cudaSurfaceObject_t image, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    uchar4 pixel;
    surf2Dread(&pixel, image, x * 4, y);
    surf2Dwrite(make_uchar4(255 - pixel.x, 255 - pixel.y, 255 - pixel.z, pixel.w), image, x * 4, y);
}
extern "C" __global__ void fill(cudaSurfaceObject_t volume) {
    surf3Dwrite((unsigned char)(threadIdx.x + 10 * threadIdx.y + 100 * threadIdx.z), volume,
                threadIdx.x, threadIdx.y, threadIdx.z);
}
extern "C" __global__ void through(cudaSurfaceObject_t image, cudaTextureObject_t same, float *out) {
    surf2Dwrite(threadIdx.x * 2.0f, image, threadIdx.x * 4, 1);
    out[threadIdx.x] = tex2D<float>(same, threadIdx.x + 0.5f, 0.5f);
}
extern "C" __global__ void poke(cudaSurfaceObject_t image, int x, int y) { surf2Dwrite(1.0f, image, x, y); }
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu(threads=1)


@pytest.fixture(scope="module")
def kernels(gpu):
    return gpu.compile(KERNELS)


@pytest.fixture(scope="module")
def walkers(gpu):
    loaded = {}

    def load(*form):
        if form not in loaded:
            loaded[form] = gpu.load(surface_kernel(*form))["walk"]
        return loaded[form]

    return load


@pytest.mark.parametrize("case", surfaces(), ids=lambda case: case.name)
def test_accesses_give_the_bits_an_h200_gave(gpu, walkers, case):
    s = case.settings
    surface = gpu.surface(case.texels, channels=s["channels"], layered=s["geometry"] in ("a1d", "a2d"))
    at, values = gpu.array(case.coordinates), gpu.array(case.results if s["store"] else np.zeros_like(case.results))
    walkers(s["geometry"], s["form"], s["mode"], s["store"])(1, 1, [surface, at, values, s["points"]])
    np.testing.assert_array_equal(values.numpy(), case.results)
    assert surface.numpy().tobytes() == case.after.tobytes()
    for array in (surface.array, at, values):
        array.free()


def test_pixels_are_read_and_written_in_place(gpu, kernels):
    image = np.random.default_rng(1).integers(0, 256, (6, 10, 4), np.uint8)
    surface = gpu.surface(image, channels=4)
    kernels["invert"](6, 10, [surface, 10])
    expected = 255 - image
    expected[..., 3] = image[..., 3]
    np.testing.assert_array_equal(surface.numpy(), expected)


def test_a_volume_of_bytes(gpu, kernels):
    surface = gpu.surface(np.zeros((2, 3, 5), np.uint8))
    kernels["fill"](1, (5, 3, 2), [surface])
    z, y, x = np.mgrid[:2, :3, :5]
    np.testing.assert_array_equal(surface.numpy(), x + 10 * y + 100 * z)


def test_a_texture_and_a_surface_share_an_image(gpu, kernels):
    texture, out = gpu.texture(np.arange(16, dtype=np.float32).reshape(2, 8)), gpu.zeros(8)
    surface = gpu.surface(texture)
    kernels["through"](1, 8, [surface, texture, out])
    np.testing.assert_array_equal(out.numpy(), np.arange(8))
    np.testing.assert_array_equal(texture.numpy()[1], 2 * np.arange(8))


@pytest.mark.parametrize(("x", "y"), [(32, 0), (-4, 0), (0, 2), (0, -1)])
def test_an_access_outside_is_a_fault(gpu, kernels, x, y):
    surface = gpu.surface(np.zeros((2, 8), np.float32))
    with pytest.raises(sl.DeviceFault, match=r"of 4 bytes at .* in kernel 'poke', .* at 'sust\.b\.2d\.b32\.trap"):
        kernels["poke"](1, 1, [surface, x, y])
    assert not surface.numpy().any()


def test_a_message_can_say_where_on_the_surface_an_access_goes(gpu, kernels):
    program = kernels["poke"].program
    (pc,) = np.flatnonzero(program.code["action"] == Action.SURFACE)
    row, surface = program.code[pc], gpu.surface(np.zeros((2, 8), np.float32))
    registers = np.zeros(1 << 16, np.uint8)
    registers[row.operands[4] :][: 8 * 32].view(np.int64)[3] = surface.handle
    for operand, value in zip(row.operands[6:8], (-4, 1), strict=True):
        registers[operand:][: 4 * 32].view(np.int32)[3] = value
    warp = np.zeros(1, warp_t).view(np.recarray)[0]
    warp.window = registers.ctypes.data
    expected = "access of 4 bytes at x = -4, y = 1 (x in bytes) of a surface of 8 × 2 × 1 texels of 4 bytes"
    assert gpu.textures.describe_access(row, warp, 3) == expected


def test_an_unaligned_access_is_a_fault(gpu, kernels):
    with pytest.raises(sl.DeviceFault, match="misaligned"):
        kernels["poke"](1, 1, [gpu.surface(np.zeros((2, 8), np.float32)), 6, 0])


def test_a_texture_is_no_surface(gpu, kernels):
    texture = gpu.texture(np.zeros((2, 8), np.float32))
    with pytest.raises(sl.DeviceFault, match=f"access through {texture.handle:#x}, which is no texture"):
        kernels["poke"](1, 1, [texture, 0, 0])


def test_constant_memory_cannot_be_a_surface(gpu):
    module = gpu.compile('__constant__ float table[16]; extern "C" __global__ void k(float *o) { *o = table[threadIdx.x]; }')
    with pytest.raises(sl.SimtlabError, match="constant memory"):
        gpu.surface(module.variable("table", "f4"))
