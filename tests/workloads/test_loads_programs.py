"""What is special to the programs of LOADS: properties of their results, inputs from files, launches one by one."""

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.dwt.workload import transform
from simtlab.workloads.errors import WorkloadError
from simtlab.workloads.frame import Launcher, workload
from simtlab.workloads.graphs import from_edges

KINDS = ("rmat", "uniform", "road")
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
    """What a program computes from an input made by hand, checked against its reference."""
    chosen = workload(name, "tiny")
    outputs = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), data)
    for key, expected in chosen.definition.reference(data).items():
        assert np.allclose(outputs[key], expected, rtol=1e-3, atol=1e-3), key
    return outputs


def refused(name, files=None, **parameters):
    with pytest.raises(WorkloadError) as caught:
        workload(name, "tiny", files=files, **parameters).inputs()
    return str(caught.value)


# Linear algebra


def test_two_products_of_matrices_from_files_that_fit_no_whole_cta(gpu, write):
    files = {"a": matrix_file(write, "a.mtx", np.arange(6).reshape(2, 3)), "c": matrix_file(write, "c.mtx", np.ones((5, 35)))}
    run = workload("2mm", "tiny", files=files).run(gpu)
    assert run.outputs["d"].shape == (2, 35)
    assert [launch.grid for launch in run.launches] == [(1, 1, 1), (2, 1, 1)]
    files["b"] = matrix_file(write, "b.mtx", np.ones((4, 5)))
    assert refused("2MM", files) == "2MM: a has 3 columns and b has 4 rows; these must be equal"


def test_elimination_keeps_its_grid_of_half_warps_to_the_end(gpu):
    run = workload("GAUS", "tiny", n=17).run(gpu)
    assert [launch.kernel for launch in run.launches] == 16 * ["Fan1", "Fan2"]
    assert {(launch.grid, launch.block) for launch in run.launches[1::2]} == {((5, 5, 1), (4, 4, 1))}


@pytest.mark.parametrize(
    ("name", "rows", "message"),
    [
        ("GAUS", [[1, 2], [2, 4]], "GAUS: the pivot of row 1 is 0; this elimination does not exchange rows"),
        ("GAUS", [[1, 2, 3], [2, 4, 7]], "GAUS: the matrix has 2 rows and 3 columns; it must be square, 2 at least"),
        ("GAUS", [[0, 1], [1, 0]], "GAUS: the pivot of row 0 is 0; this elimination does not exchange rows"),
        ("LU", [[0, 1], [1, 0]], "LU: the pivot of row 0 is 0; this decomposition does not exchange rows"),
        ("LU", [[1], [2]], "LU: the matrix has 2 rows and 1 columns; it must be square, 2 at least"),
        ("GRM", [[1, 2], [2, 4]], "GRM: the matrix, 2 by 2, has rank 1; its columns must be independent"),
    ],
)
def test_a_matrix_that_a_program_cannot_take_is_refused_in_a_sentence(write, name, rows, message):
    assert refused(name, {"a": matrix_file(write, "a.mtx", rows)}) == message


def test_orthogonalised_columns_are_orthogonal(gpu):
    q = workload("GRM", "tiny", rows=300, columns=9).run(gpu).outputs["q"].astype("f8")
    assert np.allclose(q.T @ q, np.eye(9), atol=1e-5)


def test_a_decompositions_grid_shrinks_with_what_is_left(gpu):
    run = workload("LU", "tiny", n=40).run(gpu)
    assert [launch.grid for launch in run.launches[1::2]][::19] == [(2, 5, 1), (1, 3, 1), (1, 1, 1)]


# Images


def test_diffusion_evens_out_speckle_and_keeps_the_mean(gpu):
    chosen = workload("SRAD", "tiny", steps=6)
    before, after = chosen.inputs()["image"], chosen.run(gpu).outputs["image"]
    assert np.diff(after, axis=1).std() < 0.7 * np.diff(before, axis=1).std()
    assert abs(after.mean() / before.mean() - 1) < 0.02


def test_diffusion_takes_whole_tiles(write):
    assert refused("SRAD", rows=30) == "SRAD: 30 x 48 points are no whole number of tiles of 16 x 16"
    small = write("small.pgm", "P2\n3 2\n9\n1 2 3\n4 5 6\n")
    assert refused("SRAD", {"image": small}) == "SRAD: the image must have at least 16x16 pixels, not 3x2"


@pytest.mark.parametrize(("width", "height", "strip"), [(961, 9, 192), (500, 130, 128), (67, 11, 64), (5, 250, 64)])
def test_wavelets_of_every_width_of_strip_with_odd_sizes_and_several_windows_a_cta(gpu, width, height, strip):
    run = workload("DWT", "tiny", width=width, height=height, levels=1).run(gpu)
    steps = -(-height // 120)
    assert run.launches[1].grid == (-(-width // strip), -(-height // (8 * steps)), 1)
    assert run.launches[1].block == (strip, 1, 1)


def test_the_wavelets_of_an_even_picture_are_nothing_but_its_grey(gpu):
    outputs = outputs_of(gpu, "DWT", {"pixels": np.full((24, 70, 3), 200, np.uint8), "levels": 2})
    for bands in outputs.values():
        assert (bands[: 6 * 18] == 72).all()
        assert not bands[6 * 18 :].any()


def test_the_last_level_of_1024_by_1024_has_the_ctas_of_loads_table_i():
    class Noted:
        def __init__(self):
            self.launches = []

        def launch(self, kernel, grid, block, arguments):
            self.launches.append((grid[0] * grid[1], block))

    noted, nothing = Noted(), np.zeros(1024 * 1024, np.int32)
    transform(noted, nothing, nothing.copy(), (1024, 1024), 3)
    assert noted.launches == [(90, 192), (52, 128), (44, 64)]


def test_a_picture_too_small_for_its_levels_is_refused(write):
    small = write("small.pgm", "P2\n3 2\n9\n1 2 3\n4 5 6\n")
    assert refused("DWT", {"image": small}) == "DWT: 2 levels need at least 4x4 pixels, not 3x2"


def test_points_follow_a_picture_that_moves(gpu):
    data = workload("HTW", "tiny", points=5, move=2, reach=5).inputs()
    still = data["film"][0]
    data["film"] = np.stack([np.roll(still, (2 * frame, -frame), (0, 1)) for frame in range(4)])
    outputs = outputs_of(gpu, "HTW", data)
    assert (outputs["rows"] - data["rows"] == 2 * np.arange(4)[:, None]).all()
    assert (outputs["columns"] - data["columns"] == -np.arange(4)[:, None]).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"half": 5}, "HTW: half is 5; it must be from 1 to reach, 4"),
        ({"move": 3}, "HTW: move is 3; it must be from 1 to reach - half, 2"),
        ({"half": 40, "reach": 60}, "HTW: half 40 and reach 60 need 282 columns; there may be 256"),
        ({"frames": 1}, "HTW: there must be 2 frames, 1 point and a renewal every frame at least"),
    ],
)
def test_tracking_that_the_kernel_has_no_room_for_is_refused(parameters, message):
    assert refused("HTW", **parameters) == message


# Graphs


@pytest.mark.parametrize("kind", KINDS)
def test_shortest_paths_on_every_kind_of_graph(gpu, kind):
    distance = workload("SSSP", "tiny", kind=kind, nodes=400).run(gpu).outputs["distance"]
    assert (distance == 0).sum() == 1
    assert (distance < 1_000_000_000).mean() > 0.4


@pytest.mark.parametrize("kind", KINDS)
def test_a_maximal_independent_set_is_independent_and_maximal(gpu, kind):
    chosen = workload("MIS", "tiny", kind=kind, nodes=500)
    data, member = chosen.inputs(), chosen.run(gpu).outputs["set"].astype(bool)
    sources = np.repeat(np.arange(len(member)), np.diff(data["offsets"]))
    assert not (member[sources] & member[data["targets"]]).any()
    beside = np.bincount(sources, member[data["targets"]], len(member)) > 0
    assert (member | beside).all()


@pytest.mark.parametrize("kind", KINDS)
def test_spanning_trees_on_every_kind_of_graph(gpu, kind):
    run = workload("MST", "tiny", kind=kind, nodes=900, joining_ctas=1).run(gpu)
    assert 0 < run.outputs["trees"][0] < 900


def test_spanning_trees_of_equal_weights_have_one_edge_less_than_nodes(gpu):
    random = np.random.default_rng(3)
    one, other = np.arange(1, 300), (random.random(299) * np.arange(1, 300)).astype(int)  # everyone hangs on someone before
    extra = random.integers(300, size=(2, 500))
    graph = from_edges(300, np.concatenate([one, extra[0]]), np.concatenate([other, extra[1]]))
    outputs = outputs_of(gpu, "MST", workload("MST", "tiny").definition.inputs(graph=graph))
    assert (outputs["weight"][0], outputs["trees"][0]) == (299, 1)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("map.gr", "p sp 4 4\na 1 2 5\na 2 1 5\na 1 3 1\na 3 2 1\n"),
        ("map.el", "0 1 5\n1 0 5\n0 2 1\n2 1 1\n3 3 7\n"),
        ("map.mtx", "%%MatrixMarket matrix coordinate real general\n4 4 4\n1 2 5\n2 1 5\n1 3 1\n3 2 1\n"),
    ],
)
def test_graph_programs_read_graph_files(gpu, write, name, text):
    file = {"graph": write(name, text)}
    assert workload("SSSP", "tiny", files=file).run(gpu).outputs["distance"].tolist() == [0, 2, 1, 1_000_000_000]
    tree = workload("MST", "tiny", files=file).run(gpu).outputs
    assert (tree["weight"].tolist(), tree["trees"].tolist()) == ([2], [2])
    assert workload("MIS", "tiny", files=file).run(gpu).outputs["set"].tolist().count(1) == 2


@pytest.mark.parametrize("program", ["SSSP", "MST"])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1 -3\n1 2 4\n", "the edge from 0 to 1 has the weight -3; it must be a whole number, 0 or more"),
        ("0 1 1\n1 2 0.5\n", "the edge from 1 to 2 has the weight 0.5; it must be a whole number, 0 or more"),
        ("0 1 3000000000\n1 2 4\n", "a path may be 6,000,000,000 long; the program counts to"),
    ],
)
def test_weights_that_a_program_cannot_add_up_are_refused(write, program, text, message):
    assert refused(program, {"graph": write("a.el", text)}).startswith(f"{program}: {message}")


@pytest.mark.parametrize("program", ["SSSP", "MST", "MIS"])
def test_a_kind_of_graph_that_there_is_not_is_refused(program):
    assert refused(program, kind="tree") == f"{program}: kind is 'tree'; it must be one of rmat, uniform, road"


def test_a_sparse_product_with_rows_of_very_different_lengths_and_empty_ones(gpu, write):
    rows = np.zeros((70, 5))
    rows[3, :], rows[40, 1], rows[69, 4] = range(1, 6), 2, 7
    entries = [(i + 1, j + 1, rows[i, j]) for i, j in np.argwhere(rows)]
    text = "\n".join([f"70 5 {len(entries)}", *(f"{i} {j} {value:g}" for i, j, value in entries)])
    file = write("a.mtx", f"%%MatrixMarket matrix coordinate real general\n{text}\n")
    chosen = workload("spmv", "tiny", files={"matrix": file})
    vector = chosen.inputs()["vector"]
    assert np.allclose(chosen.run(gpu).outputs["result"], rows @ vector, rtol=1e-5)


def test_a_sparse_matrix_beyond_constant_memory_is_refused():
    assert refused("SPMV", rows=160_001) == "SPMV: the matrix has 160001 rows; there may be 160000"
