"""Texture fetches: what an H200 gave, what NumPy says, and what is refused."""

import numpy as np
import pytest

import simtlab as sl
from tests.everyday import every
from tests.execute.recorded_images import HEADER, fetch_kernel, textures

KERNELS = r"""
extern "C" __global__ void sample(cudaTextureObject_t image, const float2 *at, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2D<float>(image, at[i].x, at[i].y);
}
extern "C" __global__ void gather(cudaTextureObject_t table, const int *index, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<float>(table, index[i]);
}
extern "C" __global__ void pixels(cudaTextureObject_t image, uchar4 *out, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    out[y * width + x] = tex2D<uchar4>(image, x + 0.5f, y + 0.5f);
}
extern "C" __global__ void level(cudaTextureObject_t image, float *out) {
    out[threadIdx.x] = tex2DLod<float>(image, threadIdx.x + 0.5f, 0.5f, 3.0f);
}
extern "C" __global__ void layers(cudaTextureObject_t image, float *out, int width) {
    out[blockIdx.x * width + threadIdx.x] = tex2DLayered<float>(image, threadIdx.x + 0.5f, 0.5f, blockIdx.x);
}
extern "C" __global__ void directions(cudaTextureObject_t cube, const float *d, float *out) {
    int i = threadIdx.x;
    out[i] = texCubemap<float>(cube, d[3 * i], d[3 * i + 1], d[3 * i + 2]);
}
extern "C" __global__ void two(cudaTextureObject_t a, cudaTextureObject_t b, float *out) {
    out[threadIdx.x] = tex1Dfetch<float>(threadIdx.x % 3 ? a : b, threadIdx.x);
}
"""


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu(threads=1)


@pytest.fixture(scope="module")
def kernels(gpu):
    return gpu.compile(KERNELS)


@pytest.fixture(scope="module")
def fetchers(gpu):
    loaded = {}

    def load(*form):
        if form not in loaded:
            loaded[form] = gpu.load(fetch_kernel(*form))["fetch"]
        return loaded[form]

    return load


def texture_of(gpu, case):
    s = case.settings
    texels = case.texels if s["memory"] == "copied" else gpu.array(case.texels)
    return gpu.texture(
        texels, filter=s["filter"], address=s["address"], normalized_coordinates=bool(s["normalized"]),
        read_as_float=bool(s["as_float"]), layered=s["geometry"] in ("a1d", "a2d"), cube=s["geometry"] == "cube",
        channels=s["channels"],
    )  # fmt: skip


@pytest.mark.parametrize("case", every(2, textures()), ids=lambda case: case.name)
def test_fetches_give_the_bits_an_h200_gave(gpu, fetchers, case):
    texture, s = texture_of(gpu, case), case.settings
    at, out = gpu.array(case.coordinates), gpu.zeros((s["points"], 4), np.uint32)
    fetchers(s["geometry"], s["type"], s["coordinates"])(-(-s["points"] // 128), 128, [texture, at, out, s["points"]])
    got = out.numpy()
    for array in (texture.array, at, out):
        array.free()
    wrong = np.flatnonzero((got[:, : s["results"]] != case.results).any(1))
    assert not len(wrong), [(case.coordinates[k].view("f4"), case.results[k], got[k]) for k in wrong[:3]]
    assert not got[:, s["channels"] :].any()  # channels the image has not, alpha included


def test_point_sampling_is_indexing(gpu, kernels):
    image = np.random.default_rng(1).random((20, 30), np.float32)
    at = np.random.default_rng(2).uniform(-5, 35, (500, 2)).astype(np.float32)
    out = gpu.zeros(500)
    kernels["sample"](2, 256, [gpu.texture(image), gpu.array(at), out, 500])
    x, y = np.clip(np.floor(at[:, 0]), 0, 29).astype(int), np.clip(np.floor(at[:, 1]), 0, 19).astype(int)
    np.testing.assert_array_equal(out.numpy(), image[y, x])


def test_linear_filtering_stays_within_the_weights_resolution_of_exact_interpolation(gpu, kernels):
    rows, columns = np.mgrid[:16, :16]
    image = (3 * columns + 5 * rows).astype(np.float32)
    at = np.random.default_rng(3).uniform(0.5, 15.5, (400, 2)).astype(np.float32)
    out = gpu.zeros(400)
    kernels["sample"](2, 256, [gpu.texture(image, filter="linear"), gpu.array(at), out, 400])
    exact = 3 * (at[:, 0] - 0.5) + 5 * (at[:, 1] - 0.5)
    np.testing.assert_allclose(out.numpy(), exact, atol=(3 + 5) / 512 + 1e-4)


def test_linear_memory_is_bound_without_copying_and_reads_zero_outside(gpu, kernels):
    table, out = gpu.array(np.arange(10, dtype=np.float32)), gpu.zeros(6)
    texture = gpu.texture(table)
    index = gpu.array([0, 9, 10, -1, 3, 2**31 - 1], np.int32)
    table[3] = 33
    kernels["gather"](1, 32, [texture, index, out, 6])
    np.testing.assert_array_equal(out.numpy(), [0, 9, 0, 0, 33, 0])
    assert texture.array is table


def test_four_channels_of_bytes_come_as_integers(gpu, kernels):
    image = np.random.default_rng(4).integers(0, 256, (5, 8, 4), np.uint8)
    out = gpu.zeros((5, 8, 4), np.uint8)
    kernels["pixels"](5, 8, [gpu.texture(image, channels=4), out, 8])
    np.testing.assert_array_equal(out.numpy(), image)


def test_there_is_one_level(gpu, kernels):
    image, out = np.arange(8, dtype=np.float32).reshape(1, 8), gpu.zeros(8)
    kernels["level"](1, 8, [gpu.texture(image), out])
    np.testing.assert_array_equal(out.numpy(), image[0])


def test_layers_are_not_filtered_into_each_other(gpu, kernels):
    image, out = np.arange(24, dtype=np.float32).reshape(3, 1, 8), gpu.zeros((4, 8))
    kernels["layers"](4, 8, [gpu.texture(image, layered=True, filter="linear"), out, 8])
    np.testing.assert_array_equal(out.numpy(), image[[0, 1, 2, 2], 0])  # the last layer for indices beyond it


def test_a_cube_map_is_looked_up_by_direction(gpu, kernels):
    faces = np.repeat(np.arange(6, dtype=np.float32), 16).reshape(6, 4, 4)
    directions = np.array([[2, 1, -1], [-2, 1, 1], [0, 3, 1], [1, -3, 0], [0, 0, 1], [0.5, 0.5, -1]], np.float32)
    out = gpu.zeros(6)
    kernels["directions"](1, 6, [gpu.texture(faces, cube=True), gpu.array(directions), out])
    np.testing.assert_array_equal(out.numpy(), np.arange(6))


def test_lanes_may_have_different_textures(gpu, kernels):
    a, b, out = gpu.texture(gpu.array(np.arange(32.0), "f4")), gpu.texture(gpu.array(-np.arange(32.0), "f4")), gpu.zeros(32)
    kernels["two"](1, 32, [a, b, out])
    lanes = np.arange(32.0)
    np.testing.assert_array_equal(out.numpy(), np.where(lanes % 3, lanes, -lanes))


TEXREF = f"""{HEADER}
.global .texref image;
.visible .entry old_style(.param .u64 out) {{
  .reg .b64 %d<2>; .reg .b32 %r<2>; .reg .f32 %f<6>;
  ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; cvt.rn.f32.u32 %f4, %r0; mov.f32 %f5, 0f3F800000;
  tex.2d.v4.f32.f32 {{%f0, %f1, _, _}}, [image, {{%f4, %f5}}];
  mul.wide.u32 %d1, %r0, 8; add.u64 %d0, %d0, %d1; st.global.v2.f32 [%d0], {{%f0, %f1}};
  ret;
}}"""


def test_a_texture_reference_stands_for_what_it_is_bound_to(gpu):
    module, out = gpu.load(TEXREF), gpu.zeros((6, 2))
    image = np.arange(24, dtype=np.float32).reshape(2, 6, 2)
    module.bind("image", gpu.texture(image, channels=2))
    module["old_style"](1, 6, [out])
    np.testing.assert_array_equal(out.numpy(), image[1])
    module.bind("image", gpu.texture(image + 1, channels=2))
    module["old_style"](1, 6, [out])
    np.testing.assert_array_equal(out.numpy(), image[1] + 1)


def test_an_unbound_reference_is_a_fault(gpu):
    with pytest.raises(sl.DeviceFault, match="which is no texture or surface of this kind in kernel 'old_style'"):
        gpu.load(TEXREF)["old_style"](1, 6, [gpu.zeros((6, 2))])


@pytest.mark.parametrize("handle", [0, 1, 0x7E57_0000_0000 + 10**6, 2**63 + 5])
def test_a_number_that_is_no_handle_is_a_fault_that_names_it(gpu, kernels, handle):
    with pytest.raises(sl.DeviceFault, match=f"access through {handle:#x}, which is no texture"):
        kernels["gather"](1, 32, [np.uint64(handle), gpu.zeros(4, np.int32), gpu.zeros(4), 4])


def test_a_freed_image_is_a_fault(gpu, kernels):
    table = gpu.array(np.arange(10, dtype=np.float32))
    texture = gpu.texture(table)
    table.free()
    with pytest.raises(sl.DeviceFault, match="is no texture"):
        kernels["gather"](1, 32, [texture.handle, gpu.zeros(4, np.int32), gpu.zeros(4), 4])


def test_an_image_of_another_geometry_is_a_fault(gpu, kernels):
    with pytest.raises(sl.DeviceFault, match="no texture or surface of this kind"):
        kernels["sample"](1, 32, [gpu.texture(np.zeros(8, np.float32)), gpu.zeros((4, 2)), gpu.zeros(4), 4])


@pytest.mark.parametrize(
    ("shape", "dtype", "options", "problem"),
    [
        ((4, 4), "f8", {}, "texels of type float64 are not possible; these are: uint8"),
        ((4, 4), "f4", {"filter": "cubic"}, "filter is 'cubic'; it must be one of 'point', 'linear'"),
        ((4, 4), "u1", {"filter": "linear"}, "uint8 texels need read_as_float=True"),
        ((4, 4), "u4", {"read_as_float": True}, "for integers of 8 and 16 bits, not for uint32"),
        ((4, 4), "f4", {"address": "repeat"}, "address is 'repeat'; it must be one of 'clamp', 'wrap'"),
        ((4, 4, 3), "f4", {"channels": 3}, "it must be 1, 2 or 4"),
        ((2, 2, 2, 2), "f4", {}, "pass channels=… if the last are channels"),
        ((4, 0), "f4", {}, "has no texels"),
        ((5, 4, 4), "f4", {"cube": True}, r"a cube map has the shape \(6, n, n\)"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_texture_is_refused(gpu, shape, dtype, options, problem):
    with pytest.raises(sl.SimtlabError, match=problem):
        gpu.texture(np.zeros(shape, dtype), **options)


def test_linear_memory_has_no_filter(gpu):
    with pytest.raises(sl.SimtlabError, match="is linear memory, which has neither filter"):
        gpu.texture(gpu.zeros(16), filter="linear")
