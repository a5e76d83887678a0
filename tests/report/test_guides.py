"""The guides: each command and each block of code prints what its page says, and the pictures show what a run gives."""

import contextlib
import gzip
import importlib.util
import io
import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
from PIL import Image

import simtlab as sl
import simtlab.cli.look  # adds `profile` to the commands
from simtlab.machine.watch import MOST_CYCLES
from simtlab.report.advice import explain
from simtlab.report.profile import MOST_LAUNCHES
from tests.cli.conftest import invoke
from tests.test_docs import ROOT

SLOW, COURSE = "docs/why-is-my-kernel-slow.md", "docs/course.md"
LEFT_OUT = "…\n"  # a line that stands for lines of the output


def fences(page: str) -> list[tuple[str, str]]:
    """The fenced blocks of a page: language and text."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)


def python_blocks(page: str) -> list[tuple[str, str]]:
    """Python with the output in the block that follows, if that is one of output."""
    found = [*fences(page), ("", "")]
    return [(text, after if not kind and not after.startswith("$ ") else "")
            for (language, text), (kind, after) in pairwise(found) if language == "python"]  # fmt: skip


def commands(page: str) -> list[tuple[list[str], str]]:
    """The arguments of each `$ simtlab …` of a page, and what the page has below it."""
    found = []
    for language, text in fences(page):
        if not language and text.startswith("$ simtlab "):
            command, _, shown = re.sub(r" *\\\n *", " ", text).partition("\n")
            found.append((shlex.split(command)[2:], shown))
    return found


@pytest.fixture
def in_a_clone(tmp_path, monkeypatch):
    """A folder to write to, in which the examples are."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def prints(shown: str, output: str) -> bool:
    """Whether the shown parts of an output are there, one after the other."""
    if LEFT_OUT not in shown:
        return output == shown
    at = 0
    for part in shown.split(LEFT_OUT):
        found = output.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True


@pytest.mark.parametrize(("page", "number"), [(page, k) for page in (SLOW, COURSE) for k in range(len(commands(page)))])
def test_a_command_prints_what_the_page_says(page, number, in_a_clone):
    arguments, shown = commands(page)[number]
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    assert shown
    assert prints(shown, result.stdout), result.stdout


@pytest.mark.parametrize("page", [SLOW, COURSE])
def test_the_python_of_a_page_prints_what_it_says(page, in_a_clone):
    """One block after the other, as a reader would: later ones may use what earlier ones defined."""
    names: dict[str, object] = {}
    for number, (code, shown) in enumerate(python_blocks(page)):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, f"{page}, block {number}", "exec"), names)
        assert out.getvalue() == shown, f"{page}, block {number}"


@pytest.mark.parametrize("page", [SLOW, COURSE])
def test_the_text_of_a_page_has_no_count_that_its_outputs_lack(page):
    """Counts as they are printed, 73,902 or 24,576; those of the exercises are in the tests below."""
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    printed = " ".join(body for language, body in fences(page) if not language)
    told = set(re.findall(r"\b\d{1,3}(?:,\d{3})+\b", text))
    assert {count for count in told if count not in printed} == ({"24,576"} if page == COURSE else set())


def test_the_kernels_on_the_page_are_those_of_the_examples():
    sources = [(ROOT / "examples" / name).read_text() for name in ("transpose.cu", "row_sums.cu", "lists.cu")]
    shown = [text for language, text in fences(SLOW) if language == "cuda"]
    assert len(shown) == 4
    assert all(any(text in source for source in sources) for text in shown)


def command_line_sections() -> list[str]:
    text = (ROOT / "docs" / "command-line.md").read_text()
    return [text.split(f"\n## {title}")[1].split("\n## ")[0] for title in ("simtlab run --trace:", "simtlab profile:")]


@pytest.mark.parametrize("section", command_line_sections(), ids=["trace", "profile"])
def test_the_page_of_the_command_line_shows_what_profile_and_trace_print(section, in_a_clone):
    block = re.findall(r"^```\n(\$ simtlab .*?)^```$", section, re.DOTALL | re.MULTILINE)[0]
    command, _, shown = re.sub(r" *\\\n *", " ", block).partition("\n")
    result = invoke(*shlex.split(command)[2:])
    assert result.exit_code == 0, result.output
    assert prints(shown, result.stdout), result.stdout


def test_the_page_of_the_command_line_keeps_runs_and_compares_them(in_a_clone):
    """Keys and seconds are those of one day; the keys of this one take their place."""
    text = (ROOT / "docs" / "command-line.md").read_text().split("\n## simtlab run --store:")[1].split("\n## ")[0]
    (block,) = re.findall(r"^```\n(\$ simtlab .*?)^```$", text, re.DOTALL | re.MULTILINE)
    keys: dict[str, str] = {}
    for step in re.split(r"^\$ simtlab ", re.sub(r" *\\\n *", " ", block), flags=re.MULTILINE)[1:]:
        command, _, shown = step.partition("\n")
        result = invoke(*(keys.get(word, word) for word in shlex.split(command)))
        assert result.exit_code == 0, result.output
        if told := re.search(r"stored as (\w+) in", shown):
            keys[told[1]] = re.search(r"stored as (\w+) in", result.stdout)[1]
        for old, new in keys.items():
            shown = shown.replace(old, new)
        if command.startswith("results"):
            assert [line.split()[:-1] for line in result.stdout.splitlines()] == [line.split()[:-1] for line in shown.splitlines()]
        else:
            assert prints(shown, result.stdout), result.stdout
    assert len(keys) == 2


def test_the_page_of_the_command_line_names_the_stages_that_a_trace_has(in_a_clone):
    trace = command_line_sections()[0]
    of_instructions, of_requests = (re.findall(r"^\| `([\w ]+)`", table, re.MULTILINE) for table in
                                    re.findall(r"^\| an? \w+ is in .*?\n\n", trace, re.DOTALL | re.MULTILINE))  # fmt: skip
    block = re.findall(r"^```\n(\$ simtlab .*?)^```$", trace, re.DOTALL | re.MULTILINE)[0]
    command = re.sub(r" *\\\n *", " ", block).partition("\n")[0]
    arguments = ["0:3000" if word == "500:1500" else "0" if word == "2" else word for word in shlex.split(command)[2:]]
    assert invoke(*arguments).exit_code == 0
    events = json.loads(gzip.decompress(Path("saxpy.json.gz").read_bytes()))["traceEvents"]
    seen = {kind: {event["name"] for event in events if event.get("cat") == kind} for kind in ("stage", "request stage")}
    assert seen["stage"] <= set(of_instructions)
    assert seen["stage"] >= set(of_instructions) - {"ldst"}  # with one line to a warp it is over within a cycle
    assert seen["request stage"] == set(of_requests)


@pytest.mark.parametrize(("section", "command"), [(0, "run"), (1, "profile")])
def test_the_page_of_the_command_line_names_options_that_there_are(section, command):
    known = invoke(command, "--help").stdout
    named = re.findall(r"--[a-z][a-z-]+", command_line_sections()[section].split("\n```\n", 2)[2])
    assert named
    assert [option for option in named if option not in known] == []


def test_the_page_of_the_command_line_has_the_limits_of_the_code():
    trace, profile = command_line_sections()
    assert f"{MOST_CYCLES:,} at most" in trace
    assert f"more than {MOST_LAUNCHES} launches" in profile


def test_links_within_the_guides_lead_somewhere():
    for page in (SLOW, COURSE):
        text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", text):
            name, _, anchor = target.partition("#")
            path = (ROOT / page).parent / name
            assert path.exists(), target
            headings = re.findall(r"^## (.*)$", path.read_text(), re.MULTILINE) if anchor else []
            slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert not anchor or anchor in slugs, target


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_images", ROOT / "docs" / "images" / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", [
    "profile-transpose", "profile-row-sums", "profile-spmv", "profile-lists", "profile-triad",
    pytest.param("readme", marks=pytest.mark.slow),
])  # fmt: skip
def test_a_picture_is_of_a_page_that_a_run_gives_today(name, maker):
    """If this fails, `python docs/images/make.py` makes the pictures again."""
    path = ROOT / "docs" / "images" / f"{name}.png"
    with Image.open(path) as picture:
        assert picture.size == (1280, 800)
        assert picture.text["explain"] == explain(maker.PICTURES[name]())
    assert path.stat().st_size < maker.MOST_BYTES


@pytest.mark.parametrize("name", ["profile-transpose", "profile-row-sums", "profile-lists"])
def test_a_picture_of_the_tutorial_shows_the_run_beside_it(name):
    with Image.open(ROOT / "docs" / "images" / f"{name}.png") as picture:
        assert picture.text["explain"] in (ROOT / SLOW).read_text()


# The exercises of the course


@pytest.fixture(scope="module")
def course():
    """The functions that the page defines."""
    names: dict = {}
    for code, _ in python_blocks(COURSE):
        keep = [part for part in re.split(r"\n(?=\S)", code) if part.startswith(("import ", "from ", "def "))]
        exec("\n".join(keep), names)
    return names


@pytest.fixture(autouse=True)
def at_the_root(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_exercise_2_1_a_warp_without_lanes_below_n_skips_nine_instructions():
    gpu = sl.Gpu()
    saxpy = gpu.compile("examples/saxpy.cu")["saxpy"]
    counts = [saxpy(4, 256, [n, 2.0, gpu.zeros(n), gpu.zeros(n)]).instructions for n in (1000, 992)]
    assert counts == [32 * 20, 32 * 20 - 9] == [640, 631]


def test_exercise_2_2_the_transpose_is_one_basic_block():
    shown = invoke("inspect", "examples/transpose.cu", "--kernel", "transpose").stdout
    assert len(re.findall(r"^B\d+ ", shown, re.MULTILINE)) == 1


def test_exercise_3_1_1_the_taken_side_first_makes_the_stack_higher(course, capsys):
    course["show_stack"]()
    course["show_stack"](divergence="taken-first")
    depths = [len(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert depths == [1, 3, 2, 3, 2, 1, 3, 4, 3, 2]


def test_exercise_3_1_2_a_lock_within_an_if_ends():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    count = gpu.zeros(1, "i4")
    mended = """extern "C" __global__ void spin(int *mutex, volatile int *count) {
      for (bool done = false; !done; )
        if (atomicCAS(mutex, 0, 1) == 0) { *count += 1; atomicExch(mutex, 0); done = true; }
    }"""
    gpu.compile(mended)["spin"](1, 4, [gpu.zeros(1, "i4"), count])
    assert count.numpy().tolist() == [4]


def test_section_3_1_2_with_convergence_barriers_the_lock_ends(course):
    gpu = course["machine"](cores=1, reconvergence="barriers")
    mutex, count = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
    course["kernel"](gpu, "spin")(1, 4, [mutex, count])
    assert (mutex[0], count[0]) == (0, 4)


def test_exercise_3_1_3_two_warps_miss_each_line_once(course):
    lines, loads = 32, 32  # of a warp: its lines, and the loads that each of them serves
    for warps in (1, 2):
        run = course["add_rows"](warp_scheduler=f"static-limit,warps={warps}")
        assert run.timing.ratios["l1_miss_rate"] == 1 / loads
    assert sl.Gpu("caps-gtx480").machine.config.l1d.bytes == 4 * lines * 128


def test_exercise_3_2_an_address_takes_two_entries_of_the_scoreboard(course):
    keys = [{"issue.scoreboard": "coon", "issue.scoreboard_entries": entries} for entries in (2, 3)]
    two, three = (course["saxpy"](set=each).cycles for each in keys)
    assert two > 1.5 * three


def test_exercise_3_3_one_bank_gives_one_operand_a_cycle(course):
    cycles = {layout: course["multiply_add"](1, layout).cycles for layout in ("naive", "swizzled")}
    assert 32 * 64 * 4 * 3 == 24_576 < cycles["naive"] == cycles["swizzled"]


@pytest.mark.parametrize(("pitch", "passes"), [(32, 32), (33, 1), (34, 2), (36, 4)])
def test_exercise_4_1_the_pitch_of_a_tile_and_its_passes(pitch, passes):
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    kernel = gpu.compile("examples/row_sums.cu", options=[f"-DPITCH={pitch}"])["row_sums"]
    run = kernel(1, 128, [gpu.zeros((128, 32)), gpu.zeros(128), 32])
    stores, reads = 4 * 32, 4 * 32  # of four warps; a store to a row has no conflict
    assert run.counters["shared_passes"] == stores + passes * reads


def test_exercise_4_2_a_read_asks_with_one_flit_and_is_answered_with_five():
    gpu = sl.Gpu("caps-gtx480", set={"core.cores": 1})
    kernel = gpu.compile('extern "C" __global__ void read(const int *x) { if (x[threadIdx.x] == 7) __trap(); }')["read"]
    counters = kernel(1, 32, [gpu.zeros(32, "i4")]).counters
    assert counters["request_flits"] == counters["request_packets"]
    assert counters["reply_flits"] == 5 * counters["reply_packets"]


def test_exercise_4_3_oldest_first_opens_fewer_rows_here(course):
    keys = {"dram.banks": 4, "dram.bank_groups": 4}
    runs = [course["add_streams"](set=keys, dram_scheduler=name) for name in ("oldest-first", "fr-fcfs")]
    assert [run.counters["dram_activates"] for run in runs] == [163, 205]


def test_exercise_5_1_one_cta_and_two_warps_come_to_about_the_same(course):
    by_cta = course["add_rows"](cta_throttle="static,ctas=1").cycles
    by_warp = course["add_rows"](warp_scheduler="static-limit,warps=2").cycles
    assert by_cta == pytest.approx(by_warp, rel=0.1)
