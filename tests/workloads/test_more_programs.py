"""What is special to single programs: sizes off the beaten path, inputs from files, launches one by one."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.bpr.workload import backwards, squashed
from simtlab.workloads.ccl.workload import reference as union_find
from simtlab.workloads.errors import WorkloadError
from simtlab.workloads.frame import Launcher, workload


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu(memory_bytes=256 << 20)


def kernels(run) -> list[str]:
    return [launch.kernel for launch in run.launches]


def test_mri_q_takes_an_odd_number_of_samples_and_a_short_last_launch(gpu):
    run = workload("MRQ", "tiny", samples=19, samples_per_launch=8, voxels_per_side=6).run(gpu)
    assert kernels(run) == ["ComputePhiMag_GPU"] + 3 * ["ComputeQ_GPU"]
    assert run.launches[1].grid == (1, 1, 1)  # 216 voxels, padded to 256


def test_the_stencil_has_the_grid_of_parboils_inputs(gpu):
    run = workload("STE", "tiny", nx=128, ny=128, nz=4, steps=1).run(gpu)
    assert run.launches[0].grid == (2, 32, 1)


def test_the_stencil_stops_at_grids_that_fill_no_whole_cta(gpu):
    workload("STE", "tiny", nx=45, ny=7, nz=5, steps=2).run(gpu)
    workload("STE", "tiny", nx=97, ny=9, nz=3, steps=1).run(gpu)


def test_convolution_crosses_from_cta_to_cta_in_both_directions(gpu):
    run = workload("CNV", "tiny", width=256, height=128).run(gpu)
    assert [launch.grid for launch in run.launches] == [(2, 32, 1), (16, 2, 1)]


def test_convolution_cuts_an_image_to_whole_tiles_and_refuses_a_smaller_one():
    definition = workload("CNV", "tiny").definition
    assert definition.inputs(width=0, height=0, image=np.zeros((100, 300), "f4"))["image"].shape == (64, 256)
    with pytest.raises(WorkloadError, match="at least 128x64 pixels, not 100x300"):
        definition.inputs(width=0, height=0, image=np.zeros((300, 100), "f4"))


def test_histogram_counts_a_single_colour_where_all_lanes_fight_for_one_bin(gpu):
    chosen = workload("HST", "tiny")
    definition = chosen.definition
    data = definition.inputs(width=0, height=0, frames=1, partial_256=3, merge_threads=32, image=np.full((50, 41), 0.5, "f4"))
    outputs = definition.run(Launcher(gpu, chosen.compile(gpu)), data)
    assert outputs["histogram256"][128] == outputs["histogram64"][32] == 50 * 41 // 16 * 16
    assert outputs["histogram256"].sum() == outputs["histogram64"].sum() == 50 * 41 // 16 * 16


def test_histograms_threads_never_count_past_a_byte(gpu):
    """15,360 bytes are what a CTA of the 64-bin kernel can count; one vector more needs a second CTA."""
    for height, ctas in ((15, 1), (16, 2)):
        run = workload("HST", "tiny", width=1024, height=height).run(gpu)
        assert run.launches[0].grid == (ctas, 1, 1)


def test_fft_of_a_tone_is_one_line(gpu):
    chosen = workload("FFT", "tiny")
    tone = np.exp(2j * np.pi * 37 * np.arange(512) / 512)[None].astype(np.complex64)
    outputs = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), {"signal": tone})
    expected = np.zeros((1, 512), np.complex64)
    expected[0, 37] = 512
    assert np.allclose(outputs["spectrum"].view(np.complex64), expected, rtol=0, atol=1e-3)


def test_page_view_rank_works_for_one_page_and_for_a_power_of_two(gpu):
    for pages in (1, 256, 1024):
        run = workload("PVR", "tiny", pages=pages, clicks=500).run(gpu)
        assert ("SortPad" in kernels(run)) == (pages == 1)


def test_page_view_rank_scans_the_sums_of_blocks_from_513_tasks_on(gpu):
    """Three scans of the map's sizes and one of the groups' starts are that long; the reduction has few groups."""
    assert kernels(workload("PVR", "tiny", pages=512, clicks=9).run(gpu)).count("ScanAddSums") == 0
    assert kernels(workload("PVR", "tiny", pages=513, clicks=9).run(gpu)).count("ScanAddSums") == 4


def test_components_of_scale_free_and_road_like_graphs_have_their_lowest_node_as_label(gpu):
    for kind in ("rmat", "road", "uniform"):
        run = workload("CCL", "tiny", kind=kind, nodes=700, degree=2).run(gpu)
        label = run.outputs["label"]
        assert (label <= np.arange(len(label))).all()
        assert (label[label] == label).all()


def test_components_of_a_long_chain_need_many_jumps(gpu):
    nodes = 2000
    order = np.random.default_rng(1).permutation(nodes).astype(np.int32)
    data = {"nodes": nodes, "source": order[:-1], "target": order[1:]}
    chosen = workload("CCL", "tiny")
    launcher = Launcher(gpu, chosen.compile(gpu))
    outputs = chosen.definition.run(launcher, data)
    assert (outputs["label"] == 0).all()
    assert (union_find(data)["label"] == 0).all()
    names = [launch.kernel for launch in launcher.launches]
    assert names.count("kernel_pointer_jumping") > names.count("kernel_hooking") > 2


def test_what_back_propagation_gives_the_hidden_layer_is_the_slope_of_the_error():
    """The host's part of BPR, which the program and its reference share: minus the derivative, here by differences."""
    random = np.random.default_rng(5)
    sums, weights, target = random.standard_normal(16), random.standard_normal((17, 2)), np.array([0.1])

    def error(sums):
        output = squashed(weights[0, 1] + squashed(sums) @ weights[1:, 1])
        return 0.5 * (target[0] - output) ** 2

    step = 1e-5
    slope = [(error(sums + step * one) - error(sums - step * one)) / (2 * step) for one in np.eye(16)]
    active, delta = backwards(sums, weights, target)
    assert np.allclose(active, 1 / (1 + np.exp(-sums)))
    assert delta[0] == 0
    assert np.allclose(delta[1:], np.negative(slope), rtol=1e-6, atol=1e-10)
