"""Study files: every list an axis, and what is wrong named before anything runs."""

import pytest

import simtlab as sl
from simtlab.errors import SimtlabError
from simtlab.lab.errors import StudyError
from simtlab.lab.sweep.payload import pack_payload, unpack_payload
from simtlab.lab.sweep.study import check, read_study
from tests.lab.conftest import simtlab

STUDY = """
workloads = ["BFS", "MM"]
size = "small"
gpu = ["caps-gtx480"]
[policies]
warp_scheduler = ["lrr", "gto", "two-level"]
[set]
"l1d.ways" = [4, 8]
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "study.toml"
        path.write_text(text)
        return path

    return write


def test_axes_are_crossed(written):
    sweep = read_study(written(STUDY))
    found = [(e.workload, e.machine.policies["warp_scheduler"].name, e.machine.changes["l1d.ways"]) for e in sweep.experiments()]
    assert len(sweep) == len(found) == len(set(found)) == 12
    assert ("MM", "two-level", 8) in found


def test_a_profile_is_part_of_an_experiment_and_of_its_key(written):
    """It is that of the machine without mechanisms: with another scheduler there, it is another experiment."""
    text = STUDY.replace("[policies]", 'profile = ["none", "baseline"]\n[policies]\nmechanism = "coordinated-bypass"')
    found = list(read_study(written(text)).experiments())
    assert len(found) == len({one.key for one in found}) == 24
    one = next(one for one in found if one.machine.profile == "baseline")
    before = one.machine.without_mechanisms()
    assert (before.profile, set(before.policies)) == ("none", {"warp_scheduler"})
    assert unpack_payload(pack_payload(one)[0], {}).machine == one.machine
    with pytest.raises(StudyError, match="profile is 'mine'; it must be none or baseline"):
        read_study(written(text.replace('"baseline"', '"mine"')))


def test_dotted_keys_and_quoted_ones_are_the_same(written):
    quoted = list(read_study(written(STUDY)).experiments())
    assert list(read_study(written(STUDY.replace('"l1d.ways"', "l1d.ways"))).experiments()) == quoted


def test_axes_are_zipped_where_the_file_says_so(written):
    zipped = 'zip = [["l1d.ways", "l1d.mshr_entries"]]\n' + STUDY.replace("[4, 8]", '[4, 8]\n"l1d.mshr_entries" = [16, 64]')
    sweep = read_study(written(zipped))
    pairs = {(e.machine.changes["l1d.ways"], e.machine.changes["l1d.mshr_entries"]) for e in sweep.experiments()}
    assert pairs == {(4, 16), (8, 64)}
    assert len(sweep) == 12


def test_a_slot_can_be_left_empty(written):
    sweep = read_study(written(STUDY.replace("[policies]", '[policies]\nprefetcher = ["none", "next-line"]')))
    prefetchers = [e.machine.policies.get("prefetcher") for e in sweep.experiments()]
    assert len(prefetchers) == 24
    assert prefetchers.count(None) == 12


def test_files_are_sought_beside_the_study(written, tmp_path, policy, program):
    (tmp_path / "mine.toml").write_text('base = "gtx480"\n')
    (tmp_path / "g.el").write_text("0 1\n")
    sweep = read_study(written('workloads = "steps"\nsize = "tiny"\ngpu = "mine.toml"\npolicies.warp_scheduler = "lowest.py"'))
    (experiment,) = sweep.experiments()
    assert experiment.program().folder == program
    assert experiment.machine.policies["warp_scheduler"].name == str(policy)
    sweep = read_study(written('workloads = "BFS"\nsize = "tiny"\ngpu = "gtx480"\ninput.graph = "g.el"'))
    assert [e.files for e in sweep.experiments()] == [{"graph": str(tmp_path / "g.el")}]


def test_a_large_sweep_is_never_held_as_a_whole():
    sweep = sl.Sweep("BFS", gpu="gtx480", seed=range(10_000), set={"l1d.mshr_entries": range(1, 10_001)})
    assert len(sweep) == 100_000_000
    first = next(sweep.experiments())
    assert (first.seed, first.machine.changes) == (0, {"l1d.mshr_entries": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("workloads", "workload"), "unknown key 'workload'; did you mean 'workloads'?"),
        (("BFS", "BSF"), "there is no workload 'BSF'; did you mean BFS"),
        (('"small"', '"smal"'), "BFS has no size 'smal'; its sizes are tiny, small, paper"),
        (("caps-gtx480", "caps-gtx48"), "no machine named caps-gtx48: did you mean caps-gtx480?"),
        (("gto", "gtoo"), "no warp scheduler 'gtoo': did you mean 'gto'?"),
        (('"gto"', '"gto,x=1"'), "policy 'gto' has no parameter 'x'"),
        (('"gto"', '"gto,x"'), "'x' is no parameter with a value"),
        (('"gto"', "3"), "warp_scheduler is 3; it must be a text"),
        (("warp_scheduler", "warp_schedular"), "there is no slot 'warp_schedular'"),
        (("l1d.ways", "l1d.way"), "unknown key l1d.way"),
        (("[4, 8]", "[4, 9]"), "l1d.ways"),
        (("[4, 8]", "[]"), "the axis 'l1d.ways' has no values"),
        (('gpu = ["caps-gtx480"]', ""), 'a study needs a machine; for example gpu = "caps-gtx480"'),
        (('workloads = ["BFS", "MM"]', ""), "'workloads' is missing"),
        (('size = "small"', 'zip = ["l1d.ways"]'), "'zip' must be a list of lists of axes"),
        (('size = "small"', 'zip = [["l1d.ways", "l1d.wayz"]]'), "zip names 'l1d.wayz', which is no axis"),
        (('size = "small"', 'zip = [["l1d.ways", "warp_scheduler"]]'), "l1d.ways has 2, warp_scheduler has 3"),
        (('"small"', "[1]"), "size is 1; it must be a text"),
        (("[policies]", "[policies"), "study.toml"),
        (("[policies]", "[parameters]\nseed = 1\n[policies]"), "'seed' is no parameter of a workload; it is said beside"),
        (("[4, 8]", "[1979-05-27]"), "l1d.ways is 1979-05-27, a date or a time"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_is_wrong_is_named_before_anything_runs(written, change, message):
    path = written(STUDY.replace(*change))
    with pytest.raises(StudyError, match=r"study\.toml") as caught:
        read_study(path)
    assert message in str(caught.value)


def test_the_command_line_says_it_in_one_line_and_makes_no_store(written, tmp_path):
    done = simtlab("sweep", written(STUDY.replace("MM", "MN")), "--store", tmp_path / "store.sqlite")
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "there is no workload 'MN'" in done.stderr
    assert not (tmp_path / "store.sqlite").exists()
    assert simtlab("sweep", tmp_path / "none.toml").stderr.startswith("error: cannot read")


def test_a_sweep_in_python_is_checked_the_same_way():
    with pytest.raises(SimtlabError, match="did you mean BFS"):
        check(sl.Sweep(["BFSS"], gpu="gtx480"))
    with pytest.raises(StudyError, match="has no values"):
        check(sl.Sweep([], gpu="gtx480"))
