"""Texture fetches and surface accesses of machine code: the words an H200 gave, operands of every form, what is refused."""

import numpy as np
import pytest

import simtlab as sl
from tests.execute.recorded_images import surfaces, textures
from tests.execute.test_textures import TEXREF
from tests.program.sass.images import fetch_kernels, joined, surface_kernels

ISAS = ("sm_75", "sm_90", "sm_120")
STEP = 9  # of the everyday tests
SOME = [(isa, STEP) for isa in ISAS]
EVERY = [pytest.param(isa, 1, marks=pytest.mark.slow) for isa in ISAS]
EVERY += [pytest.param(isa, 4, marks=pytest.mark.slow) for isa in ("sm_80", "sm_86", "sm_89", "sm_100")]


def fetched(gpu, module, case):
    """What a recorded case gives on a GPU."""
    s = case.settings
    texture = gpu.texture(
        case.texels if s["memory"] == "copied" else gpu.array(case.texels), filter=s["filter"], address=s["address"],
        normalized_coordinates=bool(s["normalized"]), read_as_float=bool(s["as_float"]), layered=s["geometry"] in ("a1d", "a2d"),
        cube=s["geometry"] == "cube", channels=s["channels"],
    )  # fmt: skip
    at, out = gpu.array(case.coordinates), gpu.zeros((s["points"], 4), np.uint32)
    kernel = module[joined("fetch", s["geometry"], s["type"], s["coordinates"])]
    kernel(-(-s["points"] // 128), 128, [np.uint64(texture.handle), at, out, s["points"]])
    got = out.numpy()
    for array in (texture.array, at, out):
        array.free()
    return got


@pytest.mark.parametrize(("isa", "step"), SOME + EVERY)
def test_fetches_give_the_bits_an_h200_gave(isa, step):
    cases = textures()[::step]
    gpu = sl.Gpu(isa=isa, threads=1)
    module = gpu.compile(fetch_kernels({(c.settings["geometry"], c.settings["type"], c.settings["coordinates"]) for c in cases}))
    wrong = {}
    for case in cases:
        got, s = fetched(gpu, module, case), case.settings
        bad = (got[:, : s["results"]] != case.results).any(1) | got[:, s["channels"] :].any(1)
        if bad.any():
            wrong[case.name] = [(case.coordinates[k].view("f4"), case.results[k], got[k]) for k in np.flatnonzero(bad)[:3]]
    assert not wrong


@pytest.mark.parametrize(("isa", "step"), SOME + EVERY)
def test_surface_accesses_give_the_bits_an_h200_gave(isa, step):
    cases = surfaces()[::step]
    gpu = sl.Gpu(isa=isa, threads=1)
    forms = {tuple(c.settings[key] for key in ("geometry", "form", "mode", "store")) for c in cases}
    module = gpu.compile(surface_kernels(sorted(forms)))
    wrong = []
    for case in cases:
        s = case.settings
        surface = gpu.surface(case.texels, channels=s["channels"], layered=s["geometry"] in ("a1d", "a2d"))
        at, values = gpu.array(case.coordinates), gpu.array(case.results if s["store"] else np.zeros_like(case.results))
        kernel = module[joined("store" if s["store"] else "load", s["geometry"], s["form"], s["mode"])]
        kernel(1, 1, [np.uint64(surface.handle), at, values, s["points"]])
        if not np.array_equal(values.numpy(), case.results) or surface.numpy().tobytes() != case.after.tobytes():
            wrong.append(case.name)
        for array in (surface.array, at, values):
            array.free()
    assert not wrong


KERNELS = r"""
extern "C" __global__ void line(cudaTextureObject_t image, const float *at, float *out) {
    out[threadIdx.x] = tex1D<float>(image, at[threadIdx.x]);
}
extern "C" __global__ void plane(cudaTextureObject_t image, const float2 *at, float *out) {
    out[threadIdx.x] = tex2D<float>(image, at[threadIdx.x].x, at[threadIdx.x].y);
}
extern "C" __global__ void gather(cudaTextureObject_t table, const int *index, float *out) {
    out[threadIdx.x] = tex1Dfetch<float>(table, index[threadIdx.x]);
}
extern "C" __global__ void levels(cudaTextureObject_t image, cudaTextureObject_t volume, const float *level, float *out) {
    int i = threadIdx.x;
    out[i] = tex2DLod<float>(image, i % 4 + 0.5f, i / 4 + 0.5f, level[i]);
    out[i + 32] = tex2DLod<float>(image, i % 4 + 0.5f, i / 4 + 0.5f, 0.0f);
    out[i + 64] = tex3DLod<float>(volume, i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16 + 0.5f, level[i]);
    out[i + 96] = tex3DLod<float>(volume, i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16 + 0.5f, 0.0f);
}
extern "C" __global__ void own(const cudaTextureObject_t *images, const int *which, float *out) {
    int i = threadIdx.x;
    if (i % 5 == 4) return;
    out[i] = tex1D<float>(images[which[i]], i + 0.5f);
    out[i + 32] = tex1Dfetch<float>(images[which[i] + 4], i);
    out[i + 64] = tex3D<float>(images[which[i] + 8], i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16 + 0.5f);
    out[i + 96] = tex2DLayered<float>(images[which[i] + 12], i % 4 + 0.5f, i / 4 % 4 + 0.5f, i / 16);
}
extern "C" __global__ void of_cta(const cudaTextureObject_t *images, float *out) {
    out[32 * blockIdx.x + threadIdx.x] = tex1D<float>(images[blockIdx.x], threadIdx.x + 0.5f);
}
struct Images { int n; cudaTextureObject_t image[4]; };
extern "C" __global__ void in_struct(Images images, float *out) {
    out[threadIdx.x] = tex1D<float>(images.image[2], threadIdx.x + 0.5f);
    out[threadIdx.x + 32] = tex1D<float>(images.image[images.n], threadIdx.x + 0.5f);
}
extern "C" __global__ void copy(const cudaSurfaceObject_t *surfaces, const int *which) {
    int i = threadIdx.x, value;
    surf2Dread(&value, surfaces[which[i]], 4 * i, 0);
    surf2Dwrite(value + 1, surfaces[which[i] + 4], 4 * i, 1);
}
extern "C" __global__ void poke(cudaSurfaceObject_t image, int x, int y) { surf2Dwrite(1.0f, image, x, y); }
"""


def masked_kernel(mask: int) -> str:
    """Stores the channels of a mask; the compiler fetches no others."""
    stores = " ".join(f"out[{k} * 32 + i] = v.{'xyzw'[k]};" for k in range(4) if mask >> k & 1)
    return f"""
extern "C" __global__ void channels_{mask}(cudaTextureObject_t image, unsigned *out) {{
    int i = threadIdx.x; uint4 v = tex2D<uint4>(image, i % 8 + 0.5f, i / 8 + 0.5f); {stores} }}
extern "C" __global__ void fetched_{mask}(cudaTextureObject_t image, unsigned *out) {{
    int i = threadIdx.x; uint4 v = tex1Dfetch<uint4>(image, i); {stores} }}"""


NOT_UNDERSTOOD = {
    "TXD": "tex2DGrad<float>(image, 0, 0, make_float2(1, 0), make_float2(0, 1))",
    "TLD4": "tex2Dgather<float4>(image, 0, 0, 0).x",
}


def refused_kernel(opcode: str) -> str:
    body = f"*out = {NOT_UNDERSTOOD[opcode]};"
    return f'extern "C" __global__ void refused_{opcode}(cudaTextureObject_t image, float *out) {{ {body} }}\n'


@pytest.fixture(scope="module", params=ISAS)
def gpu(request):
    return sl.Gpu(isa=request.param, threads=1)


@pytest.fixture(scope="module")
def kernels(gpu):
    """In one source: to disassemble a cubin takes most of a second."""
    return gpu.compile(KERNELS + "".join(map(masked_kernel, range(1, 16))) + "".join(map(refused_kernel, NOT_UNDERSTOOD)))


def test_channels_that_are_wanted_lie_in_the_registers_one_behind_the_other(gpu, kernels):
    texels = np.random.default_rng(5).integers(0, 2**32, (4, 8, 4), np.uint32)
    plane, line = gpu.texture(texels, channels=4), gpu.texture(gpu.array(texels.reshape(32, 4)), channels=4)
    for mask in range(1, 16):
        wanted = np.array([mask >> k & 1 for k in range(4)], bool)
        for kernel, image in (("channels", plane), ("fetched", line)):
            out = gpu.zeros((4, 32), np.uint32)
            kernels[f"{kernel}_{mask}"](1, 32, [image, out])
            np.testing.assert_array_equal(out.numpy(), np.where(wanted[:, None], texels.reshape(32, 4).T, 0))


def test_there_is_one_level(gpu, kernels):
    texels = np.random.default_rng(6).random((4, 4, 4), np.float32)
    image, volume, out = gpu.texture(texels.reshape(16, 4)), gpu.texture(texels), gpu.zeros((4, 32))
    kernels["levels"](1, 32, [image, volume, gpu.array(np.arange(32, dtype=np.float32)), out])
    np.testing.assert_array_equal(out.numpy(), np.tile(texels.reshape(-1)[:32], (4, 1)))


def test_lanes_may_have_different_textures(gpu, kernels):
    texels = np.random.default_rng(7).random((4, 32), np.float32)
    lines = [gpu.texture(row) for row in texels]
    tables = [gpu.texture(gpu.array(row)) for row in texels]
    volumes = [gpu.texture(row.reshape(2, 4, 4)) for row in texels]
    layers = [gpu.texture(row.reshape(2, 4, 4), layered=True) for row in texels]
    handles = gpu.array([image.handle for image in (*lines, *tables, *volumes, *layers)], np.uint64)
    which, out = np.random.default_rng(8).integers(0, 4, 32, np.int32), gpu.zeros((4, 32))
    kernels["own"](1, 32, [handles, gpu.array(which), out])
    lanes = np.arange(32)
    np.testing.assert_array_equal(out.numpy(), np.tile(np.where(lanes % 5 == 4, 0, texels[which, lanes]), (4, 1)))


def test_a_handle_may_come_from_memory_or_from_within_a_parameter(gpu, kernels):
    texels = np.random.default_rng(9).random((4, 32), np.float32)
    handles = np.array([gpu.texture(row).handle for row in texels], np.uint64)
    out = gpu.zeros((4, 32))
    kernels["of_cta"](4, 32, [gpu.array(handles), out])
    np.testing.assert_array_equal(out.numpy(), texels)
    images = np.zeros((), np.dtype([("n", "i4"), ("image", "u8", 4)], align=True))
    images["n"], images["image"] = 3, handles
    kernels["in_struct"](1, 32, [images, out])
    np.testing.assert_array_equal(out.numpy()[:2], texels[2:])


def test_a_texture_reference_stands_for_what_it_is_bound_to(gpu):
    module, out = gpu.load(TEXREF.replace("sm_80", "sm_75")), gpu.zeros((6, 2))
    image = np.arange(24, dtype=np.float32).reshape(2, 6, 2)
    for texels in (image, image + 1):
        module.bind("image", gpu.texture(texels, channels=2))
        module["old_style"](1, 6, [out])
        np.testing.assert_array_equal(out.numpy(), texels[1])


def test_lanes_may_have_different_surfaces(gpu, kernels):
    texels = np.random.default_rng(10).integers(0, 1000, (8, 2, 32), np.int32)
    surfaces = [gpu.surface(image) for image in texels]
    which, lanes = np.random.default_rng(11).integers(0, 4, 32, np.int32), np.arange(32)
    kernels["copy"](1, 32, [gpu.array([one.handle for one in surfaces], np.uint64), gpu.array(which)])
    texels[which + 4, 1, lanes] = texels[which, 0, lanes] + 1
    np.testing.assert_array_equal([one.numpy() for one in surfaces], texels)


def test_a_line_is_filtered_along_its_axis_alone(gpu, kernels):
    at, out = np.linspace(-2, 10, 32, dtype=np.float32), gpu.zeros(32)
    kernels["line"](1, 32, [gpu.texture(np.arange(8, dtype=np.float32), filter="linear"), gpu.array(at), out])
    np.testing.assert_allclose(out.numpy(), np.clip(at - 0.5, 0, 7), atol=1 / 512 + 1e-6)


@pytest.mark.parametrize("handle", [0, 1, 0x7E57_0000_0000 + 10**6, 2**63 + 5])
def test_a_number_that_is_no_handle_is_a_fault_that_names_its_lower_word(gpu, kernels, handle):
    with pytest.raises(sl.DeviceFault, match=f"access through {handle & 0xFFFFFFFF:#x}, which is no texture.* at 'TLD"):
        kernels["gather"](1, 4, [np.uint64(handle), gpu.zeros(4, np.int32), gpu.zeros(4)])


def test_an_image_of_another_geometry_is_a_fault(gpu, kernels):
    volume = gpu.texture(np.zeros((2, 2, 2), np.float32))
    with pytest.raises(sl.DeviceFault, match=f"access through {volume.handle:#x}, which is no texture or surface of this kind"):
        kernels["plane"](1, 4, [volume, gpu.zeros((4, 2)), gpu.zeros(4)])


def test_linear_memory_takes_whole_indices_only(gpu, kernels):
    with pytest.raises(sl.DeviceFault, match="no texture or surface of this kind"):
        kernels["line"](1, 4, [gpu.texture(gpu.zeros(8)), gpu.zeros(4), gpu.zeros(4)])


@pytest.mark.parametrize(("x", "y"), [(32, 0), (-4, 0), (0, 2), (0, -1)])
def test_a_surface_access_outside_is_a_fault_that_says_where(gpu, kernels, x, y):
    surface = gpu.surface(np.zeros((2, 8), np.float32))
    where = rf"4 bytes at x = {x}, y = {y} \(x in bytes\) .* in kernel 'poke', .* at 'SUST\.D\.BA\.2D"
    with pytest.raises(sl.DeviceFault, match=where):
        kernels["poke"](1, 1, [surface, x, y])
    assert not surface.numpy().any()


@pytest.mark.parametrize("opcode", NOT_UNDERSTOOD)
def test_a_fetch_that_is_not_understood_is_named(gpu, kernels, opcode):
    with pytest.raises(sl.SimtlabError, match=f"machine code that simtlab does not execute: '{opcode}"):
        kernels[f"refused_{opcode}"](1, 1, [gpu.texture(np.zeros((2, 2), np.float32)), gpu.zeros(1)])


@pytest.mark.parametrize("name", ["LKC", *(pytest.param(name, marks=pytest.mark.slow) for name in ("AES", "JPEG", "MUM", "SAD"))])
def test_workloads_with_textures_are_right(gpu, name):
    assert sl.workload(name, size="tiny").run(sl.Gpu(isa=gpu.isa)).checked
