"""The frame that holds workloads: names, folders, parameters, checks."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import simtlab as sl
from simtlab.workloads.check import check
from simtlab.workloads.counting import with_counted_loads
from simtlab.workloads.errors import WorkloadError
from simtlab.workloads.loading import find_by_name, folders_by_name
from simtlab.workloads.measured import count_loads, measure, stored
from tests.everyday import every

PAGE = Path(__file__).parents[2] / "docs" / "write-a-workload.md"
KERNEL = """
extern "C" __global__ void twice(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = FACTOR * x[i];
}
"""
DEFINITION = '''
"""DOUBLE: an example."""
import numpy as np
NAME, SUITE, CATEGORY = "DOUBLE", "tests", "regular"
OPTIONS = ("-DFACTOR=2",)
SIZES = {"tiny": {"n": 100}, "large": {"n": 5000}}
def inputs(*, n, seed=0):
    return {"x": np.random.default_rng(seed).random(n, dtype=np.float32)}
def run(launcher, data):
    x = launcher.array(data["x"])
    y = launcher.zeros(len(data["x"]), "f4")
    launcher.launch("twice", -(-len(x) // 128), 128, [x, y, np.int32(len(x))])
    return {"y": y.numpy()}
def reference(data):
    return {"y": data["x"] + data["x"]}
'''


@pytest.fixture
def folder(tmp_path):
    """A workload outside the package; the test may spoil it."""
    place = tmp_path / "double"
    place.mkdir()
    (place / "kernel.cu").write_text(KERNEL)
    (place / "workload.py").write_text(DEFINITION)
    return place


def refused(*arguments, **options):
    with pytest.raises(WorkloadError) as caught:
        sl.workload(*arguments, **options)
    return str(caught.value)


# Names and folders


def test_names_stay_callable_after_the_package_is_imported():
    import simtlab.workloads

    assert sl.workloads() == simtlab.workloads()
    assert {"CP", "LPS", "BPR", "HSP", "MM", "BFS", "KM", "SCN"} <= set(sl.workloads())


def test_names_may_be_lower_case():
    assert sl.workload("bfs").name == "BFS"


@pytest.mark.parametrize(("alias", "name"), [("HOT", "HSP"), ("BP", "BPR"), ("mriq", "MRQ"), ("MRIQ", "MRQ"), ("ccl", "CCL")])
def test_a_papers_name_is_the_programs(alias, name):
    assert sl.workload(alias, size="tiny").name == name


@pytest.mark.parametrize(("name", "aliases"), [("A", ()), ("C", ("A",)), ("C", ("a2",))])
def test_two_workloads_with_one_name_or_alias_are_an_error(name, aliases):
    one, other = SimpleNamespace(NAME="A", ALIASES=("a2",)), SimpleNamespace(NAME=name, ALIASES=aliases)
    with pytest.raises(WorkloadError, match=r"two workloads are called '(A|a2)': one and other"):
        folders_by_name([(one, Path("one")), (other, Path("other"))])


def test_names_that_differ_in_case_alone_must_be_written_as_they_are():
    known = {"lu": Path("polybench"), "LU": Path("rodinia"), "NW": Path("nw")}
    assert (find_by_name("lu", known), find_by_name("LU", known), find_by_name("nW", known)) == tuple(known.values())
    assert find_by_name("NQU", known) is None
    with pytest.raises(WorkloadError, match="'Lu' may be lu or LU: write it as one of these"):
        find_by_name("Lu", known)


def test_an_unknown_name_is_answered_with_near_ones():
    assert "did you mean BFS" in refused("BFSS")
    assert ", ".join(sl.workloads()) in refused("zzzzzz")


def test_an_unknown_size_is_answered_with_those_there_are():
    assert refused("BFS", size="huge") == "BFS has no size 'huge'; its sizes are tiny, small, paper"


def test_an_unknown_parameter_or_file_is_answered_with_those_there_are():
    assert refused("BFS", vertices=5) == "BFS has no parameter 'vertices'; its parameters are nodes, degree, kind"
    assert refused("BFS", files={"map": "x.gr"}) == "BFS takes no input file 'map'; it takes graph (a graph)"
    assert refused("CP", files={"x": "y"}) == "CP takes no input file 'x'; it takes none"


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("CP", {"width": 40}, "40 x 32 points are no whole number of tiles"),
        ("CP", {"atoms": 5000}, "atoms is 5000"),
        ("BPR", {"n_inputs": 17}, "must be a multiple of 16"),
        ("HSP", {"pyramid": 8}, "from 1 to 7"),
        ("KM", {"features": 35}, "from 1 to 34"),
        ("MM", {"tile": 8}, "must be 16 or 32"),
        ("SCN", {"length": 3000}, "a power of two from 2048 to 262144"),
        ("BFS", {"kind": "tree"}, "one of rmat, uniform, road"),
    ],
)
def test_an_input_that_a_kernel_cannot_take_is_refused(name, parameters, message):
    with pytest.raises(WorkloadError, match=re.escape(message)):
        sl.workload(name, size="tiny", **parameters).inputs()


def test_a_folder_given_by_path_is_a_workload(folder):
    run = sl.workload(folder, size="tiny").run(sl.Gpu())
    assert (run.name, run.size, run.checked, len(run.launches)) == ("DOUBLE", "tiny", True, 1)
    assert run.instructions == run.launches[0].instructions
    assert sl.workload(str(folder), size="large", n=300).run(sl.Gpu()).outputs["y"].shape == (300,)


def test_a_folder_that_is_no_workload_is_refused(tmp_path, folder):
    assert "there is no folder" in refused(tmp_path / "nothing")
    (folder / "kernel.cu").unlink()
    assert "it has no kernel.cu" in refused(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("NAME, SUITE, CATEGORY", "NAME, SUITE, KIND", "lacks CATEGORY"),
        ("def reference", "def expected", "lacks reference"),
        ('"regular"', '"odd"', "CATEGORY is 'odd'"),
        ("import numpy as np", 'import numpy as np\nPAPERS = ("CAPZ",)', "PAPERS has 'CAPZ'; the papers are CAPS, DYNCTA, LOADS"),
        ("import numpy as np", 'import numpy as np\nDYNCTA_TYPE = "C"', "DYNCTA_TYPE is 'C'; it must be one of Type-C"),
        ("import numpy as np", 'import numpy as np\nALIASES = "TWO"', "ALIASES is 'TWO'; it must be a tuple of names"),
        ("SIZES = {", "SIZES = [", "SyntaxError"),
        ("import numpy as np", "import numpyy", "No module named 'numpyy'"),
    ],
)
def test_a_definition_with_something_missing_is_refused_by_file(folder, old, new, message):
    file = folder / "workload.py"
    file.write_text(file.read_text().replace(old, new))
    answer = refused(folder, size="tiny")
    assert answer.startswith(str(file))
    assert message in answer


# Results


def test_a_wrong_result_names_the_array_the_count_and_the_first_element(folder):
    file = folder / "workload.py"
    file.write_text(file.read_text().replace('{"y": data["x"] + data["x"]}', '{"y": np.where(data["x"] > 0.5, 9, 2 * data["x"])}'))
    with pytest.raises(sl.WrongResult) as caught:
        sl.workload(folder, size="tiny").run(sl.Gpu())
    x = np.random.default_rng(0).random(100, dtype=np.float32)
    wrong = np.flatnonzero(x > 0.5)
    assert str(caught.value) == (
        f"DOUBLE at size tiny: {len(wrong)} of 100 elements of 'y' are wrong; "
        f"the first is y[{wrong[0]}]: expected 9.0, got {2 * x[wrong[0]]}"
    )
    assert (caught.value.array, caught.value.wrong) == ("y", len(wrong))
    assert not sl.workload(folder, size="tiny").run(sl.Gpu(), check_result=False).checked


def wrong(outputs, expected, **tolerances):
    with pytest.raises(sl.WrongResult) as caught:
        check("W", outputs, expected, tolerances)
    return str(caught.value)


def test_results_are_compared_by_shape_value_and_tolerance():
    ones = np.ones((2, 3), np.float32)
    check("W", {"a": ones}, {"a": ones.astype("f8")}, {})
    check("W", {"a": ones + np.float32(1e-4)}, {"a": ones}, {"a": (1e-3, 0)})
    assert "the first is a[0, 0]: expected 1.0, got 1.5 (allowed: 0.1 of it and 0.2)" in wrong(
        {"a": ones + 0.5}, {"a": ones}, a=(0.1, 0.2)
    )
    assert wrong({"a": ones[0]}, {"a": ones}) == "W: array 'a' has the shape (3,); expected (2, 3)"
    assert wrong({}, {"a": ones}) == "W: the program gave no array 'a'"
    assert wrong({"a": ones, "b": ones}, {"a": ones}) == "W: the reference has no array 'b'"


def test_nan_and_infinity_are_right_only_where_they_are_expected():
    values = np.array([np.nan, np.inf, -np.inf, 0.0])
    check("W", {"a": values}, {"a": values}, {})
    check("W", {"a": values}, {"a": values}, {"a": (1e-3, 1e-3)})
    assert "1 of 1" in wrong({"a": np.array([np.nan])}, {"a": np.array([1.0])}, a=(1.0, 1.0))
    assert "1 of 1" in wrong({"a": np.array([np.inf])}, {"a": np.array([-np.inf])}, a=(1.0, 1.0))
    assert "expected 3, got 4" in wrong({"a": np.array(4)}, {"a": np.array(3)})


def test_a_run_leaves_no_arrays_behind():
    gpu = sl.Gpu()
    for _ in range(2):
        sl.workload("SCN", size="tiny").run(gpu)
    assert not gpu.memory._allocations


# Measured numbers


def test_every_executed_global_load_of_a_warp_is_counted(folder):
    assert count_loads(sl.workload(folder, size="tiny")) == [("twice", 4)]  # warps: 100 threads


def test_a_guarded_load_counts_whether_its_guard_holds_or_not():
    ptx = with_counted_loads(".address_size 64\n\t@!%p1 ld.global.nc.v4.f32 {%f1}, [%rd1];\n\tld.shared.f32 %f2, [%r1];\n")
    assert ptx.count("red.global") == 1
    assert ptx.index("red.global") < ptx.index("@!%p1 ld")


@pytest.mark.parametrize("name", every(3, sl.workloads()))
def test_the_stored_numbers_are_what_tiny_measures(name):
    """If this fails after a change on purpose: python -m simtlab.cli.workloads NAME."""
    assert stored()[name]["tiny"] == measure(sl.workload(name, size="tiny"))


@pytest.mark.parametrize("name", sl.workloads())
def test_the_stored_numbers_of_kernels_add_up(name):
    for run in stored()[name].values():
        assert sum(kernel.launches for kernel in run.kernels) == run.launches
        assert sum(kernel.instructions for kernel in run.kernels) == run.instructions
        assert sum(kernel.global_loads for kernel in run.kernels) == run.global_loads


# The page that shows how


def test_the_page_on_writing_a_workload_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```(\w*)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    kernel = next(text for language, text in blocks if language == "cuda")
    definition, use = (text for language, text in blocks if language == "python")
    shown = next(text for language, text in blocks if text.startswith("$ simtlab run"))
    (tmp_path / "gather").mkdir()
    (tmp_path / "gather" / "kernel.cu").write_text(kernel)
    (tmp_path / "gather" / "workload.py").write_text(definition)
    monkeypatch.chdir(tmp_path)
    exec(compile(use, "use.py", "exec"), {})
    assert "['gather']" in capsys.readouterr().out

    from tests.cli.conftest import invoke

    result = invoke(*shown.splitlines()[0].removeprefix("$ simtlab ").split())
    timeless = [re.sub(r"seconds .*", "", text) for text in (result.output, shown.split("\n", 1)[1])]
    assert timeless[0] == timeless[1]
