"""Input files: every format reads right, and a malformed one is told with its file, its line and what was expected."""

import sys

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.errors import InputFileError, WorkloadError
from simtlab.workloads.files import read_input
from simtlab.workloads.graphs import from_edges, generate, rmat, road, uniform
from simtlab.workloads.images import grey_levels, natural
from simtlab.workloads.sequences import genome

HEADER = "%%MatrixMarket matrix"


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def edges(graph):
    return list(zip(graph.sources.tolist(), graph.targets.tolist(), graph.weights.tolist(), strict=True))


# Right files


def test_dimacs_graph(write):
    graph = read_input(write("a.gr", "c a comment\np sp 4 3\na 1 2 5\na 4 1 2.5\na 1 3 7\n"), "graph")
    assert graph.nodes == 4
    assert edges(graph) == [(0, 1, 5), (0, 2, 7), (3, 0, 2.5)]


def test_edge_lists_with_and_without_weights(write):
    assert edges(read_input(write("a.txt", "# web\n0 2\n\n2 1\n"), "graph")) == [(0, 2, 1), (2, 1, 1)]
    weighted = read_input(write("a.el", "% x\n5 2 0.5\n"), "graph")
    assert (weighted.nodes, edges(weighted)) == (6, [(5, 2, 0.5)])


@pytest.mark.parametrize(
    ("text", "dense"),
    [
        (f"{HEADER} coordinate real general\n% c\n2 3 2\n1 3 2.5\n2 1 -1\n", [[0, 0, 2.5], [-1, 0, 0]]),
        (f"{HEADER} coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n", [[0, 1, 0], [1, 0, 0], [0, 0, 1]]),
        (f"{HEADER} coordinate integer skew-symmetric\n2 2 1\n2 1 4\n", [[0, -4], [4, 0]]),
        (f"{HEADER} array real general\n2 3\n1\n2\n3\n4\n5\n6\n", [[1, 3, 5], [2, 4, 6]]),
        (f"{HEADER} array real symmetric\n2 2\n1\n2\n3\n", [[1, 2], [2, 3]]),
    ],
)
def test_matrix_market(write, text, dense):
    assert read_input(write("a.mtx", text), "matrix").dense().tolist() == dense


def test_a_matrix_is_read_as_scipy_reads_it(tmp_path):
    scipy_io, sparse = pytest.importorskip("scipy.io"), pytest.importorskip("scipy.sparse")
    matrix = sparse.random(30, 20, 0.2, random_state=1)
    scipy_io.mmwrite(tmp_path / "a.mtx", matrix)
    assert np.allclose(read_input(tmp_path / "a.mtx", "matrix").dense(), matrix.toarray(), rtol=1e-6)


def test_grey_maps_as_text_and_binary(write):
    expected = np.array([[0, 128, 255], [64, 32, 16]]) / 255
    text = read_input(write("a.pgm", "P2\n# made by hand\n3 2\n255\n0 128 255\n64 32 16\n"), "image")
    binary = read_input(write("b.pgm", b"P5 3 2 255\n" + bytes([0, 128, 255, 64, 32, 16])), "image")
    wide = read_input(write("c.pgm", b"P5 1 1 65535\n" + bytes([0x80, 0])), "image")
    assert np.allclose(text, expected)
    assert np.allclose(binary, expected)
    assert np.allclose(wide, 0x8000 / 65535)


def test_png(tmp_path):
    image = pytest.importorskip("PIL.Image")
    grey = np.arange(200, dtype=np.uint8).reshape(10, 20)
    image.fromarray(grey).save(tmp_path / "a.png")
    assert np.allclose(read_input(tmp_path / "a.png", "image"), grey / 255)


def test_png_without_a_library_says_what_is_missing(write, monkeypatch):
    for name in ("PIL", "matplotlib.image"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(InputFileError, match=r"a\.png: reading PNG needs Pillow or Matplotlib"):
        read_input(write("a.png", b"\x89PNG"), "image")


def test_text_is_any_bytes_but_zeros(write):
    page = "<p>caf\u00e9".encode("latin-1")
    assert read_input(write("a.html", page), "text") == page


def test_fasta_sequences_in_small_letters_and_on_several_lines(write):
    found = read_input(write("a.fna", ">one of two\nACgt\nNN\n\n>two\n A C \n"), "fasta")
    assert [(one.name, one.bases) for one in found] == [("one", b"ACGTNN"), ("two", b"AC")]


def test_a_workload_runs_on_files(write):
    ring = "".join(f"a {k + 1} {(k + 1) % 9 + 1} 1\n" for k in range(9))
    run = sl.workload("BFS", size="tiny", files={"graph": write("ring.gr", f"p sp 9 9\n{ring}")}).run(sl.Gpu())
    assert run.outputs["cost"].tolist() == list(range(9))
    a = write("a.mtx", f"{HEADER} coordinate real general\n20 5 2\n1 1 2\n20 5 3\n")
    b = write("b.mtx", f"{HEADER} coordinate real general\n5 1 2\n1 1 7\n5 1 1\n")
    c = sl.workload("MM", size="tiny", files={"a": a, "b": b}).run(sl.Gpu()).outputs["c"]
    assert (c[0, 0], c[19, 0], c.sum()) == (14, 3, 17)
    with pytest.raises(WorkloadError, match="a has 5 columns and b has 20 rows"):
        sl.workload("MM", size="tiny", files={"a": a, "b": a}).run(sl.Gpu())


# Wrong files


@pytest.mark.parametrize(
    ("name", "content", "line", "expected"),
    [
        ("a.gr", "p sp 2 1\na 1 3 1\n", 2, "a node is 3; it must be from 1 to 2"),
        ("a.gr", "p sp 2 1\na 1 2\n", 2, "'a FROM TO LENGTH' is expected"),
        ("a.gr", "p sp 2 1\na 1 2 x\n", 2, "a length is expected, a number, not 'x'"),
        ("a.gr", "a 1 2 1\n", 1, "'p sp NODES ARCS' is expected before the first arc"),
        ("a.gr", "c nothing\n", 1, "'p sp NODES ARCS' is expected, and there is no such line"),
        ("a.gr", "p max 2 1\n", 1, "'p sp NODES ARCS' is expected"),
        ("a.gr", "p sp 2 2\na 1 2 1\n", 2, "2 arcs are expected, and there are 1"),
        ("a.gr", "p sp 2 2\np sp 2 2\n", 2, "a second line 'p'"),
        ("a.gr", "q\n", 1, "a line 'c', 'p' or 'a' is expected, not 'q'"),
        ("a.txt", "0 1\n1\n", 2, "'FROM TO' is expected, as on the lines before"),
        ("a.txt", "0 1 2 3\n", 1, "'FROM TO' or 'FROM TO WEIGHT' is expected"),
        ("a.txt", "0 one\n", 1, "a node is expected, a whole number, not 'one'"),
        ("a.txt", "0 -1\n", 1, "a node is -1; it must be from 0"),
        ("a.txt", "# empty\n", 1, "at least one edge is expected"),
        ("a.txt", b"0 1\n\xff\xfe 2\n", 2, "text is expected"),
        ("a.mtx", "1 1 1\n", 1, "'%%MatrixMarket matrix coordinate real general' or the like"),
        ("a.mtx", f"{HEADER} coordinate complex general\n", 1, "real or integer or pattern is expected, not 'complex'"),
        ("a.mtx", f"{HEADER} coordinate real general\n2 2\n", 2, "the sizes are expected: rows, columns, entries"),
        ("a.mtx", f"{HEADER} coordinate real general\n2 2 1\n1 3 1\n", 3, "a column is 3; it must be from 1 to 2"),
        ("a.mtx", f"{HEADER} coordinate real general\n2 2 2\n1 1 1\n1 1 1\n", 4, "was given before"),
        ("a.mtx", f"{HEADER} coordinate real general\n2 2 1\n1 1 1\n1 2 1\n", 4, "1 entries are expected"),
        ("a.mtx", f"{HEADER} coordinate real symmetric\n2 3 1\n", 2, "must be square, and this one is 2 x 3"),
        ("a.mtx", f"{HEADER} coordinate real general\n2 3 0\n", None, "a graph's matrix must be square"),
        ("a.mtx", "", None, "'%%MatrixMarket matrix"),
        ("a.dat", "", None, "a graph is expected, in one of these formats: DIMACS (.gr), edge list (.txt, .edges, .el)"),
    ],
)
def test_a_malformed_graph_or_matrix(write, name, content, line, expected):
    path = write(name, content)
    with pytest.raises(InputFileError) as caught:
        read_input(path, "graph")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "line", "expected"),
    [
        ("a.pgm", "P6\n1 1\n255\n", 1, "'P2' or 'P5' is expected"),
        ("a.pgm", "P2\n# x\nwide 1\n255\n", 3, "the width is expected, a whole number"),
        ("a.pgm", "P2\n1 1\n", 3, "the largest value is expected"),
        ("a.pgm", "P2\n1 1\n70000\n0\n", 3, "from 1 to 65535"),
        ("a.pgm", "P2\n2 1\n9\n3\n10\n", 5, "a grey value from 0 to 9 is expected, not '10'"),
        ("a.pgm", "P2\n2 1\n9\n3\n", None, "2 grey values are expected, and there are 1"),
        ("a.pgm", b"P5\n2 2\n255\nab", None, "4 bytes of pixels are expected, and there are 2"),
        ("a.png", b"no image", None, "a PNG image is expected"),
        ("a.jpg", b"", None, "PGM (.pgm), PNG (.png)"),
    ],
)
def test_a_malformed_image(write, name, content, line, expected):
    with pytest.raises(InputFileError) as caught:
        read_input(write(name, content), "image")
    assert caught.value.line == line
    assert expected in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind", "content", "line", "expected"),
    [
        ("a.fa", "fasta", "ACGT\n", 1, "'>NAME' is expected before the first base"),
        ("a.fa", "fasta", ">a\nAC\nAC-T\n", 3, "bases are expected (A, C, G, T, or N and the like), not '-'"),
        ("a.fa", "fasta", ">a\n>b\nAC\n", 2, "bases of 'a' are expected before the next sequence"),
        ("a.fa", "fasta", ">a\nAC\n>b\n", 3, "bases of 'b' are expected, and the file ends"),
        ("a.fa", "fasta", "", None, "at least one sequence is expected"),
        ("a.fa", "fasta", b">a\n\xff\n", 2, "text is expected, and this is none"),
        ("a.gb", "fasta", "", None, "a fasta is expected, in one of these formats: FASTA (.fasta, .fa, .fna)"),
        ("a.log", "text", "", None, "text is expected, and the file is empty"),
        ("a.log", "text", b"one\ntwo\0\n", 2, "text is expected, and there is a zero byte"),
        ("a.pdf", "text", b"", None, "a text is expected, in one of these formats: text (.txt, .log, .tsv, .html, .htm)"),
    ],
)
def test_malformed_text_and_sequences(write, name, kind, content, line, expected):
    with pytest.raises(InputFileError) as caught:
        read_input(write(name, content), kind)
    assert caught.value.line == line
    assert expected in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputFileError, match="cannot be read: No such file or directory"):
        read_input(tmp_path / "none.png", "image")
    with pytest.raises(WorkloadError, match="'sound' is no kind of input file; there are: graph, matrix, image, text, fasta"):
        read_input(tmp_path / "none.wav", "sound")


# Generated inputs


def test_scale_free_graphs_have_a_few_nodes_with_very_many_edges():
    skewed, even = rmat(4096, 16384, seed=1), uniform(4096, 8, seed=1)
    assert skewed.degrees.max() > 8 * even.degrees.max()
    assert np.median(skewed.degrees) < np.median(even.degrees)


def test_road_networks_are_sparse_and_wide():
    graph = road(2500)
    assert 2 < graph.degrees.mean() < 4
    assert graph.degrees.max() <= 6
    assert np.abs(graph.sources - graph.targets).max() <= 51


@pytest.mark.parametrize("kind", ["rmat", "uniform", "road"])
def test_generated_graphs_are_undirected_without_loops_or_repetitions(kind):
    graph = generate(kind, 500, 6, seed=2)
    pairs = set(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True))
    assert len(pairs) == graph.edges
    assert all((target, source) in pairs and source != target for source, target in pairs)
    assert graph.weights.min() >= 1
    assert np.array_equal(generate(kind, 500, 6, seed=2).targets, graph.targets)
    assert not np.array_equal(generate(kind, 500, 6, seed=3).targets, graph.targets)


def test_edges_keep_their_order_within_a_node():
    graph = from_edges(3, np.array([2, 0, 2]), np.array([1, 2, 0]))
    assert (graph.offsets.tolist(), graph.targets.tolist()) == ([0, 1, 1, 3], [2, 1, 0])


def test_natural_images_are_smooth_with_edges():
    image = natural(96, 128, seed=5)
    assert (image.shape, image.dtype) == ((96, 128), np.float32)
    assert 0 <= image.min() < 0.3
    assert 0.7 < image.max() <= 1
    steps = np.abs(np.diff(image, axis=1))
    assert np.median(steps) < 0.25 * image.std()  # white noise has 0.95
    assert steps.max() > image.std()
    assert grey_levels(np.array([0, 0.5, 1, 2])).tolist() == [0, 128, 255, 255]


def test_made_genomes_have_the_bases_of_a_real_one_and_repetitions():
    made = genome(40_000, seed=1)
    assert len(made) == 40_000
    assert abs(sum(map(made.count, (b"A", b"T"))) / 40_000 - 0.65) < 0.02
    words = {made[k : k + 40] for k in range(40_000 - 39)}
    assert 0.01 < 1 - len(words) / (40_000 - 39) < 0.1
    assert genome(40_000, seed=1) == made != genome(40_000, seed=2)
