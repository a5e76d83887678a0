"""What is special to the programs on text, digits and sequences: odd sizes, answers known beforehand, inputs that are wrong."""

import pytest

import simtlab as sl
from simtlab.workloads.frame import workload


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
