"""What is special to the programs on text, digits and sequences: odd sizes, answers known beforehand, inputs that are wrong."""

import hashlib

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.errors import WorkloadError
from simtlab.workloads.frame import Launcher, workload
from simtlab.workloads.iix.workload import parts_of
from simtlab.workloads.mum.tree import ROOT, suffix_tree
from simtlab.workloads.nn.workload import digit


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu(memory_bytes=256 << 20)


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


def kernels(run) -> list[str]:
    return [launch.kernel for launch in run.launches]


# Mars


def test_page_views_of_a_log_file(gpu, write):
    log = write("a.log", b"/b\t1.1.1.1\t5\n/a\t2.2.2.2\t5\r\n/b\t1.1.1.1\t5\n\n/b\t1.1.1.1\t6\n/bb\t3.3.3.3\tx\ty")
    found = workload("PVC", "tiny", files={"log": log}).run(gpu).outputs
    assert found["urls"].tobytes() == b"/a\n/b\n/bb"
    assert found["views"].tolist() == [1, 2, 1]  # one of three lines of /b is there twice
    assert found["visitors"].tobytes() == b"2.2.2.2\n1.1.1.1 1.1.1.1\n3.3.3.3"


def test_page_views_of_one_line_and_of_lines_that_are_all_the_same(gpu, write):
    for lines in (1, 300):
        found = workload("PVC", "tiny", files={"log": write("a.txt", lines * b"/x\t9.9.9.9\t1\n")}).run(gpu).outputs
        assert (found["urls"].tobytes(), found["views"].tolist()) == (b"/x", [1])


def test_urls_of_one_hash_are_told_apart(gpu, write):
    log = write("a.log", b"/aabq/x.html\t1.1.1.1\t0\n/aaca/x.html\t2.2.2.2\t0\n/aabq/x.html\t3.3.3.3\t0\n")
    found = workload("PVC", "tiny", files={"log": log}).run(gpu).outputs
    assert found["urls"].tobytes() == b"/aabq/x.html\n/aaca/x.html"
    assert hashed(b"/aabq/x.html\0") == hashed(b"/aaca/x.html\0")


def hashed(word):
    value = len(word)
    for letter in word:
        signed = value - (1 << 32) if value >> 31 else value
        value = ((value << 4) ^ (signed >> 28) ^ letter) & 0xFFFFFFFF
    return value


def test_page_view_count_runs_two_jobs_and_reduces_once(gpu):
    names = kernels(workload("PVC", "tiny", lines=600).run(gpu))
    assert [names.count(name) for name in ("Mapper", "Reducer", "GroupRanges")] == [2, 1, 2]


@pytest.mark.parametrize(
    ("log", "problem"),
    [
        (b"/a\t1.1.1.1\t5\n/b 1.1.1.1\n", "PVC: entry 2 of the log must be 'URL<tab>ADDRESS<tab>...', and has no two tabs"),
        (b"\n\n", "PVC: the log has no entry"),
        (b"", "text is expected, and the file is empty"),
        (b"/a\t1.1.1.1\t5\n\0", "a.log:2: text is expected, and there is a zero byte"),
    ],
)
def test_a_log_that_is_none(write, log, problem):
    with pytest.raises(sl.SimtlabError, match=problem.replace("(", r"\(")):
        workload("PVC", "tiny", files={"log": write("a.log", log)}).inputs()


def test_similar_documents_come_first(gpu):
    chosen = workload("SSC", "tiny")
    matrix = np.array([[3, 4, 0, 0], [0, 0, 1, 0], [6, 8, 0, 0], [0, 5, 0, 0]], np.float32)
    found = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), {"matrix": matrix})
    assert found["pairs"].tolist() == [[0, 2], [0, 3], [2, 3], [0, 1], [1, 2], [1, 3]]
    assert found["scores"].tolist() == [1, np.float32(0.8), np.float32(0.8), 0, 0, 0]
    assert found["groups"].tolist() == [[0, 1], [1, 3], [3, 6]]


def test_similarity_of_two_documents_and_of_many(gpu):
    assert len(workload("SSC", "tiny", documents=2, features=4).run(gpu).outputs["scores"]) == 1
    assert "SortGlobal" in kernels(workload("SSC", "tiny", documents=24, features=8).run(gpu))


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"documents": 1}, "SSC: documents is 1; it must be 2 at least"),
        ({"documents": -5}, "SSC: documents is -5"),
        ({"features": 6}, "SSC: features is 6; it must be a multiple of 4"),
        ({"features": 4000}, "SSC: features is 4000; it must be from 4 to 1708"),
    ],
)
def test_documents_that_cannot_be_compared(changed, problem):
    with pytest.raises(WorkloadError, match=problem):
        workload("SSC", "tiny", **changed).inputs()


def test_links_are_found_as_mars_finds_them(gpu, write):
    """Its little parser knows `<a href="..."` with spaces anywhere but in `href`, and nothing else."""
    page = (
        b'<html><a href="/x"> < a  href = "/y">\n<abbr><a name="n" href="/no"> <<a href="/no">\n'
        b'<a hreflang="/odd"><A HREF="/no"><a href=/no><a href=""><a href="/x">\n</html>\n'
        b'<html><a href="/x"><a href="/never closed>\n</html>'
    )
    found = workload("IIX", "tiny", files={"html": write("a.html", page)}, part_bytes=40).run(gpu).outputs
    assert found["urls"].tobytes() == b"\n/x\n/y"
    assert (found["links"].tolist(), found["pages"].tolist()) == ([1, 3, 1], [0, 0, 0, 1, 0])


def test_a_page_is_cut_into_parts_at_its_lines():
    assert parts_of(b"12345\n7\n9\n", 100, 3, 5) == [(100, 0, 6, 3), (100, 6, 4, 3)]
    assert parts_of(b"12345\n7\n9\n", 0, 0, 1) == [(0, 0, 6, 0), (0, 6, 2, 0), (0, 8, 2, 0)]


@pytest.mark.parametrize(
    ("page", "problem"),
    [(b"<html>no link</html>", "IIX: the pages have no link"), (b'<a href="/x', "IIX: the pages have no link")],
)
def test_pages_without_a_link(write, page, problem):
    with pytest.raises(WorkloadError, match=problem):
        workload("IIX", "tiny", files={"html": write("a.html", page)}).inputs()


def test_fewer_links_leave_more_lines_to_a_page():
    many, few = (workload("IIX", "tiny", page_bytes=9_300, part_bytes=1, links=links).inputs() for links in (0.28, 0.05))
    assert len(few["parts"]) > len(many["parts"])  # without their URLs lines are shorter
    assert few["text"].tobytes().count(b"<a href") < many["text"].tobytes().count(b"<a href") / 3
    assert np.array_equal(many["text"], workload("IIX", "tiny", page_bytes=9_300, part_bytes=1).inputs()["text"])
    with pytest.raises(WorkloadError, match="links is 2; it must be a share of the lines, from 0 to 1"):
        workload("IIX", "tiny", links=2).inputs()


def test_parts_without_a_byte():
    with pytest.raises(WorkloadError, match="part_bytes is 0; it must be 1 at least"):
        workload("IIX", "tiny", part_bytes=0).inputs()


# ISPASS 2009


def test_the_network_of_the_suite_has_ctas_of_169_25_and_one_threads(gpu):
    run = workload("NN", "tiny", images=2, hidden=3).run(gpu)
    assert [(launch.grid, launch.block) for launch in run.launches] == [
        ((6, 2, 1), (13, 13, 1)),
        ((4, 2, 1), (5, 5, 1)),
        ((3, 2, 1), (1, 1, 1)),
        ((4, 2, 1), (1, 1, 1)),
    ]


def test_neurons_that_are_left_out_are_silent(gpu):
    found = workload("NN", "tiny", maps=3, hidden=1, digits=2).run(gpu).outputs
    assert (found["second"][:, 75:] == 0).all()
    assert (found["hidden"][:, 1:] == 0).all()
    assert np.count_nonzero(found["digits"]) == 2


def test_digits_are_ink_on_paper():
    random = np.random.default_rng(4)
    for number in range(10):
        drawn = digit(random, number)
        assert (drawn.shape, drawn.dtype) == ((28, 28), np.uint8)
        assert 0.05 < (drawn > 127).mean() < 0.3  # MNIST has 0.1 or so
        assert drawn.max() > 200
        assert not drawn[:2].any()


@pytest.mark.parametrize("changed", [{"images": 0}, {"images": -3}, {"maps": 51}, {"hidden": 101}, {"digits": 0}])
def test_a_network_that_is_not_the_suites(changed):
    with pytest.raises(WorkloadError, match=f"NN: {next(iter(changed))} is {next(iter(changed.values()))}; it must be"):
        workload("NN", "tiny", **changed).inputs()


def test_hashes_are_those_of_rfc_1321(gpu):
    """Its longest example has 80 letters, which take two passes: 64 and 16."""
    letters = np.frombuffer(b"1234567890" * 8, np.uint8)
    chosen = workload("STO", "tiny")
    data = {"buffer": letters, "chunk": 80, "offset": 4, "windows": 1, "missing": 0}
    found = chosen.definition.run(Launcher(gpu, chosen.compile(gpu)), data)
    assert found["hashes"].tobytes().hex() == "57edf4a22be3c955ac49da2e2107b67a"[:8]


@pytest.mark.parametrize(("size", "chunk", "offset"), [(52, 52, 4), (4, 4, 4), (1000, 64, 64), (900, 180, 20), (557, 116, 12)])
def test_windows_of_other_sizes(gpu, size, chunk, offset):
    run = workload("STO", "tiny", buffer_bytes=size, chunk=chunk, offset=offset).run(gpu)
    assert len(run.outputs["hashes"]) == 1 + -(-(size // 4 * 4 - chunk) // offset)


def test_the_last_window_ends_with_the_buffer(gpu):
    chosen = workload("STO", "tiny", buffer_bytes=100, chunk=52, offset=32)
    data = chosen.inputs()
    assert (data["windows"], data["missing"]) == (3, 16)
    assert chosen.run(gpu).outputs["hashes"][2].tobytes() == hashlib.md5(data["buffer"][64:].tobytes()).digest()[:4]


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"chunk": 50}, "chunk is 50; it must be a multiple of 4"),
        ({"chunk": 56}, "chunk is 56; what it has over a multiple of 64 must not be above 52"),
        ({"offset": 0}, "offset is 0; it must be a multiple of 4"),
        ({"buffer_bytes": -1}, r"buffer_bytes is -1; it must be that of a chunk \(52\) at least"),
        ({"buffer_bytes": 248, "chunk": 128, "offset": 64}, "the last window would have 120 bytes, which do not fit"),
    ],
)
def test_windows_that_cannot_be(changed, problem):
    with pytest.raises(WorkloadError, match=f"STO: {problem}"):
        workload("STO", "tiny", **changed).inputs()


@pytest.mark.parametrize("text", [b"A", b"AAAA", b"ACGT", b"GATTACAGATTACA", b"TCTCTCACTCTC"])
def test_a_suffix_tree_has_every_word_of_its_text(text):
    tree, whole = suffix_tree(text), text + b"$"
    for begin in range(len(whole)):
        for end in range(begin + 1, len(whole) + 1):
            assert found_in(tree, whole, whole[begin:end]) == places_of(whole, whole[begin:end])
    for node in np.flatnonzero(tree.link):
        assert word_to(tree, whole, tree.link[node]) == word_to(tree, whole, node)[1:]
    inner = [node for node in range(ROOT + 1, len(tree.start)) if tree.children[node].any() and tree.depth[node] > 1]
    assert all(tree.link[node] > ROOT for node in inner)


def places_of(whole, word):
    places = [k for k in range(len(whole)) if whole.startswith(word, k)]
    return places[0], len(places)


def found_in(tree, whole, word):
    node = ROOT
    while word:
        node = tree.children[node, b"ACGT$".index(word[0])]
        edge = whole[tree.start[node] : tree.end[node] + 1]
        assert edge.startswith(word[: len(edge)])
        word = word[len(edge) :]
    return tree.first[node], tree.leaves[node]


def word_to(tree, whole, node):
    return whole[tree.end[node] + 1 - tree.depth[node] : tree.end[node] + 1]


def test_reads_are_aligned_as_by_hand(gpu, write):
    """The read's suffixes: GATTACATG is there for 7 letters, twice; ATTACATG for 6; TTACATG has no 6 letters in common."""
    reference = write("a.fa", b">genome\nCCGATTAC\nagattacaGG\n")
    reads = write("b.fasta", b">one a read\nGATTACATG\n>short\nACG\n>two\nCANGATTACACC\n")
    run = workload("MUM", "tiny", files={"reference": reference, "reads": reads}, shortest=6).run(gpu)
    one, two = np.split(run.outputs["lengths"], [4])
    assert one.tolist() == [7, 6, 0, 0]
    assert two.tolist() == [0, 0, 0, 7, 6, 0, 0]
    assert run.outputs["first"][:2].tolist() == [2, 3]
    assert run.outputs["times"][:2].tolist() == [2, 2]


@pytest.mark.parametrize("shortest", [1, 3, 12])
def test_matches_in_a_text_of_repetitions(gpu, write, shortest):
    """Suffix links lead through nodes that lie on one another's paths, and edges are skipped whole and in part."""
    random = np.random.default_rng(2)
    reference = b"".join(random.choice([b"AC", b"ACG", b"CA", b"ACAC"], 60))
    reads = b"".join(b">r%d\n%s\n" % (k, b"".join(random.choice([b"AC", b"ACG", b"CA", b"ACAC", b"T"], 16))) for k in range(40))
    files = {"reference": write("a.fna", b">a\n" + reference), "reads": write("b.fna", reads)}
    run = workload("MUM", "tiny", files=files, shortest=shortest).run(gpu)
    assert run.outputs["times"].max() > 1


@pytest.mark.parametrize(
    ("reference", "reads", "problem"),
    [
        (b">a\nACGNNT\n", b">r\nACG\n", "MUM: the reference has the letter 'N'; it must be of A, C, G and T alone"),
        (b">a\nACGT\n", b">r\nACG\n", "MUM: no read has 20 bases, the shortest match asked for"),
        (b">a\nACGT\n", b">r\n" + 40_000 * b"A", "MUM: a read has 40000 bases; it must have 32767 at most"),
        (b"ACGT\n", b">r\nACG\n", "a.fa:1: '>NAME' is expected before the first base"),
    ],
)
def test_sequences_that_cannot_be_matched(write, reference, reads, problem):
    with pytest.raises(sl.SimtlabError, match=problem):
        workload("MUM", "tiny", files={"reference": write("a.fa", reference), "reads": write("b.fa", reads)}).inputs()


@pytest.mark.parametrize("changed", [{"shortest": 0}, {"count": -1}, {"length": 3000}])
def test_reads_of_a_size_that_cannot_be(changed):
    with pytest.raises(WorkloadError, match=r"MUM: .*(at least|it must be from 1)"):
        workload("MUM", "tiny", **changed).inputs()
