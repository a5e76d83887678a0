"""What is special to Rodinia's programs of DYNCTA: known answers, wavefronts and shrinking grids, odd sizes, bad inputs."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads import tracking
from simtlab.workloads.errors import InputFileError, WorkloadError
from simtlab.workloads.frame import Launcher, workload
from simtlab.workloads.lkc.workload import margin, peaks, stencil
from simtlab.workloads.nw.workload import AMINO_ACIDS, substitutions

HEADER = "%%MatrixMarket matrix array real general\n"


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu(memory_bytes=256 << 20)


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_text(content)
        return path

    return write_file


def matrix_file(write, name, rows):
    columns = np.asarray(rows).T
    numbers = "\n".join(f"{value:g}" for value in columns.ravel())
    return write(name, f"{HEADER}{columns.shape[1]} {columns.shape[0]}\n{numbers}\n")


def outputs_of(gpu, name, data):
    """What a program computes from an input made by hand."""
    chosen = workload(name, "tiny")
    return chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), data)


def refused(name, files=None, **parameters):
    with pytest.raises(WorkloadError) as caught:
        workload(name, "tiny", files=files, **parameters).inputs()
    return str(caught.value)


def launches(run, kernel):
    return [(launch.grid, launch.block) for launch in run.launches if launch.kernel == kernel]


# LUD


def test_blocked_decomposition_has_one_corner_a_row_of_the_perimeter_and_a_square_inside(gpu):
    run = workload("LUD", "tiny", n=48).run(gpu)
    assert launches(run, "lud_diagonal") == 3 * [((1, 1, 1), (16, 1, 1))]
    assert launches(run, "lud_perimeter") == [((2, 1, 1), (32, 1, 1)), ((1, 1, 1), (32, 1, 1))]
    assert launches(run, "lud_internal") == [((2, 2, 1), (16, 16, 1)), ((1, 1, 1), (16, 16, 1))]


def test_blocked_decomposition_of_a_single_block_and_of_a_product_of_known_factors(gpu, write):
    random = np.random.default_rng(2)
    for n in (16, 32):
        lower = np.tril(random.integers(-1, 2, (n, n)), -1) + np.eye(n)
        upper = np.triu(random.integers(-1, 2, (n, n)), 1) + 2 * np.eye(n)
        run = workload("LUD", "tiny", files={"a": matrix_file(write, "a.mtx", lower @ upper)}).run(gpu)
        assert np.array_equal(run.outputs["product"], lower @ upper)


def test_blocked_decomposition_refuses_a_matrix_that_is_no_whole_blocks_not_square_or_has_no_pivot(write):
    whole = "it must be a multiple of 16, 16 at least"
    assert refused("LUD", n=40) == f"LUD: n is 40; {whole}"
    assert refused("LUD", n=-16) == f"LUD: n is -16; {whole}"
    assert refused("LUD", {"a": matrix_file(write, "a.mtx", np.eye(15))}) == f"LUD: n is 15; {whole}"
    wide = {"a": matrix_file(write, "a.mtx", np.ones((16, 17)))}
    assert refused("LUD", wide) == "LUD: the matrix has 16 rows and 17 columns; it must be square, 2 at least"
    ones = {"a": matrix_file(write, "a.mtx", np.ones((16, 16)))}
    assert refused("LUD", ones) == "LUD: the pivot of row 1 is 0; this decomposition does not exchange rows"
    with pytest.raises(InputFileError, match="256 entries are expected, and there are 2"):
        workload("LUD", "tiny", files={"a": write("a.mtx", f"{HEADER}16 16\n1\n2\n")}).inputs()


# NW


def letters(text):
    return np.array([AMINO_ACIDS.index(letter) for letter in text])


def test_the_wavefront_grows_to_all_blocks_of_the_diagonal_and_shrinks_again(gpu):
    run = workload("NW", "tiny", n=64).run(gpu)
    assert [launch.grid[0] for launch in run.launches] == [1, 2, 3, 4, 3, 2, 1]
    assert {launch.block for launch in run.launches} == {(16, 1, 1)}
    assert [launch.kernel for launch in run.launches] == 4 * ["needle_cuda_shared_1"] + 3 * ["needle_cuda_shared_2"]


def test_an_alignment_by_hand(gpu):
    """AW against AGW: A with A is 4, W with W 11, W with G -2, A with G 0 and A with W -3; a gap costs 8."""
    one, other = (letters(text + "A" * (16 - len(text))) for text in ("AW", "AGW"))
    scores = outputs_of(gpu, "NW", {"one": one, "other": other, "penalty": 8})["scores"]
    assert scores[:3, :4].tolist() == [[0, -8, -16, -24], [-8, 4, -4, -12], [-16, -4, 4 - 2, 4 - 8 + 11]]


def test_a_sequence_aligned_with_itself_scores_its_own_diagonal(gpu):
    one = np.arange(32) % len(AMINO_ACIDS)
    scores = outputs_of(gpu, "NW", {"one": one, "other": one, "penalty": 10})["scores"]
    assert np.array_equal(np.diag(scores)[1:], np.cumsum(np.diag(substitutions())[one]))


def test_the_table_of_substitutions_is_blosum62():
    table = substitutions()
    assert np.array_equal(table, table.T)
    assert np.diag(table).tolist() == [4, 5, 6, 6, 9, 5, 5, 6, 8, 4, 4, 5, 5, 6, 7, 4, 5, 11, 7, 4]
    assert (table.min(), table.sum()) == (-4, -426)


def test_alignment_refuses_lengths_and_penalties_that_cannot_be():
    assert refused("NW", n=50) == "NW: n is 50; it must be a multiple of 16, 16 at least"
    assert refused("NW", n=0) == "NW: n is 0; it must be a multiple of 16, 16 at least"
    assert refused("NW", penalty=-1) == "NW: penalty is -1; it must be at least 0"


# SD1


@pytest.mark.parametrize(("rows", "columns"), [(2, 3), (32, 16), (7, 73), (33, 31)])
def test_statistics_of_a_full_a_partial_and_a_last_cta_with_one_point(gpu, rows, columns):
    run = workload("SD1", "tiny", rows=rows, columns=columns, steps=1).run(gpu)
    ctas = -(-rows * columns // 512)
    assert launches(run, "reduce") == [((ctas, 1, 1), (512, 1, 1))] + [((1, 1, 1), (512, 1, 1))] * (ctas > 1)


def test_the_first_versions_launches_step_by_step(gpu):
    run = workload("SD1", "tiny", steps=2).run(gpu)
    step = ["prepare", "reduce", "reduce", "srad", "srad2"]
    assert [launch.kernel for launch in run.launches] == ["extract", *step, *step, "compress"]


def test_both_versions_of_diffusion_agree_where_their_statistics_do(gpu):
    """An image of 128 x 128 is all of the corner in which the second version measures the speckle."""
    data = workload("SD1", "tiny", rows=128, columns=128, steps=2).inputs()
    first = outputs_of(gpu, "SD1", data)["image"]
    second = outputs_of(gpu, "SRAD", {"image": np.exp(data["image"] / 255).astype("f4"), "steps": 2})["image"]
    assert np.allclose(first, np.log(second) * 255, rtol=0, atol=0.05)


def test_diffusion_takes_any_image_but_one_of_a_single_grey_or_line(write):
    assert workload("SD1", "tiny", files={"image": write("a.pgm", "P2\n3 2\n9\n1 2 3\n4 5 6\n")}).inputs()["image"].shape == (2, 3)
    grey = write("grey.pgm", "P2\n3 2\n9\n" + 6 * "7 ")
    assert refused("SD1", {"image": grey}) == "SD1: the image is all of one grey, whose speckle is 0"
    line = write("line.pgm", "P2\n3 1\n9\n1 2 3\n")
    assert refused("SD1", {"image": line}) == "SD1: the image must have at least 2x2 pixels, not 3x1"
    assert refused("SD1", rows=-4) == "SD1: the image must have at least 2x2 pixels, not 25x-4"
    with pytest.raises(InputFileError, match="6 grey values are expected, and there are 2"):
        workload("SD1", "tiny", files={"image": write("short.pgm", "P2\n3 2\n9\n1 2\n")}).inputs()


# PFN and PFF


def test_the_generator_of_random_numbers_is_uniform_and_normal():
    seeds = np.random.default_rng(0).integers(1, 2**31 - 1, 20_000).astype(np.int32)
    even, bell = tracking.uniform(seeds.copy()), tracking.normal(seeds.copy())
    assert (even.min().round(2), even.max().round(2), even.mean().round(1)) == (0, 1, 0.5)
    assert (abs(bell.mean().round(1)), bell.std().round(1)) == (0, 1)


def test_one_step_of_the_generator_by_hand():
    """1103515245 x 3 + 12345 is 3310558080, on 32 bits with a sign -984409216."""
    seeds = np.array([3], np.int32)
    assert tracking.uniform(seeds)[0] == 984409216 / (2**31 - 1)
    assert seeds[0] == -984409216


def test_both_filters_follow_the_object(gpu):
    for name in ("PFN", "PFF"):
        outputs = workload(name, "tiny", particles=1200, frames=5, side=64, radius=5).run(gpu).outputs
        assert abs(np.mean(outputs["x"]) - (32 + 4)) < 1
        assert abs(np.mean(outputs["y"]) - (32 - 8)) < 1


def test_both_filters_draw_the_same_particles(gpu):
    naive, whole = (workload(name, "tiny", particles=700, frames=3, side=48, radius=4).run(gpu).outputs for name in ("PFN", "PFF"))
    for axis in ("x", "y"):
        assert np.allclose(naive[axis], whole[axis], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("count", [1, 31, 512, 513])
def test_filters_with_few_particles_and_with_a_last_cta_of_one(gpu, count):
    for name, threads in (("PFN", 128), ("PFF", 512)):
        run = workload(name, "tiny", particles=count, frames=2, side=24, radius=2).run(gpu)
        assert {launch.grid for launch in run.launches} == {(-(-count // threads), 1, 1)}


def test_a_filter_that_loses_its_object_reads_inside_the_film(gpu):
    """The object leaves a film of 12 x 12 after six frames; particles outside read its first point."""
    for name in ("PFN", "PFF"):
        assert workload(name, "tiny", particles=40, frames=9, side=12, radius=2).run(gpu).checked


def test_filters_refuse_what_cannot_be():
    for name in ("PFN", "PFF"):
        assert refused(name, particles=0) == f"{name}: particles is 0; it must be at least 1"
        assert refused(name, frames=1).startswith(f"{name}: frames is 1; it must be at least 2")
        assert refused(name, side=8, radius=4).startswith(f"{name}: radius is 4; it must be from 1 to less than half")


# LKC


def test_the_circles_have_rodinias_radii_and_stay_within_the_margin():
    angle, across, along = stencil(7, 150)
    assert across.max(1).tolist() == [8, 10, 12, 14, 16, 18, 20]
    assert np.abs(along).max() < margin(7) == 22
    assert len(angle) == 150


def test_cells_are_found_where_they_are(gpu):
    y, x = np.mgrid[:60, :70]
    frame = np.full((60, 70), 90.0)
    for row, column in ((28, 30), (33, 52)):
        frame += 100 / (1 + np.exp(np.hypot(y - row, x - column) - 8))
    frame += np.random.default_rng(1).normal(0, 1, frame.shape)
    data = workload("LKC", "tiny").inputs() | {"film": np.stack([frame, frame]).astype(np.uint8), "drift": 0, "element": 8}
    outputs = outputs_of(gpu, "LKC", data)
    found = peaks(outputs["gicov"], outputs["dilated"], 2)
    for (row, column), (true_row, true_column) in zip(sorted(found), ((28, 30), (33, 52)), strict=True):
        assert max(abs(row - true_row), abs(column - true_column)) <= 1


def test_a_film_without_cells_has_no_boxes(gpu):
    data = workload("LKC", "tiny").inputs()
    data["film"] = np.random.default_rng(0).integers(90, 100, data["film"].shape).astype(np.uint8)
    outputs = outputs_of(gpu, "LKC", data)
    assert outputs["fields"].size == 0
    assert outputs["gicov"].any()


def test_fields_iterate_until_they_hardly_change(gpu):
    few, more, most = (
        workload("LKC", "tiny", reach=1, cells=1, iterations=count).run(gpu).outputs["fields"] for count in (1, 300, 400)
    )
    assert np.array_equal(more, most)
    assert not np.allclose(few, more, atol=1e-3)


def test_boxes_follow_the_drift_through_the_frames(gpu):
    run = workload("LKC", "tiny", frames=3, cells=1).run(gpu)
    assert len(launches(run, "IMGVF_kernel")) == 3
    assert {block for _, block in launches(run, "IMGVF_kernel")} == {(320, 1, 1)}
    assert launches(run, "GICOV_kernel") == [((16, 1, 1), (12, 1, 1))]


def test_cells_in_an_image_of_ones_own(gpu, write):
    y, x = np.mgrid[:40, :44]
    grey = np.rint(60 + 120 * (np.hypot(y - 20, x - 21) < 8) + np.random.default_rng(0).normal(0, 2, x.shape)).astype(int)
    path = write("cell.pgm", f"P2\n44 40\n255\n{' '.join(map(str, grey.ravel()))}\n")
    run = workload("LKC", "tiny", files={"image": path}, cells=1).run(gpu)
    assert run.outputs["fields"].size == 17 * 33


def test_leukocyte_refuses_frames_and_sizes_that_cannot_be(write):
    assert refused("LKC", rows=20).startswith("LKC: a frame of 20 rows and 36 columns is not possible; there must be more than 20")
    assert refused("LKC", rows=2000).startswith("LKC: a frame of 2000 rows and 36 columns is not possible")
    assert refused("LKC", circles=8) == "LKC: circles is 8; it must be from 1 to 7"
    assert refused("LKC", points=1) == "LKC: points is 1; it must be from 2 to 150"
    assert refused("LKC", reach=-1) == "LKC: reach is -1; it must be from 1 to 10"
    assert refused("LKC", cells=0) == "LKC: there must be 1 cell, 1 frame and 1 iteration at least"
    small = write("small.pgm", "P2\n3 2\n9\n1 2 3\n4 5 6\n")
    assert refused("LKC", {"image": small}).startswith("LKC: a frame of 2 rows and 3 columns is not possible")
