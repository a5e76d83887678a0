"""The profile page as a file: its numbers are the run's, its text is escaped, it needs nothing but itself."""

import json
import re
from dataclasses import dataclass, replace
from html.parser import HTMLParser

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import LaunchError
from simtlab.machine.config.load import load
from simtlab.machine.core.kinds import Stall
from simtlab.machine.occupancy import occupancy
from simtlab.report.compare import change, matched, unmatched
from simtlab.report.markup import THIN, byte_count, element, grouped, percent, scaled
from simtlab.report.memory_chart import kinds
from simtlab.report.page import page, write_page
from simtlab.report.roofline import ceilings, points
from simtlab.report.source_view import shown_lines, unattributed
from simtlab.report.stall_words import WORDS
from simtlab.report.stalls import where
from simtlab.report.timeline import from_start, series
from simtlab.report.what_if import block_sizes, fit, register_counts, shared_sizes

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Said:
    rule: str
    sentence: str
    lines: tuple[tuple[str, int], ...]


class Reader(HTMLParser):
    """Elements as (name, attributes), and the text in each script, row of a table and list item."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts, self.open, self.texts = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        else:
            self.texts.append(data)


@pytest.fixture(scope="module")
def written(profiles):
    return page(profiles, "Two kernels", baseline=profiles[:1])


@pytest.fixture(scope="module")
def read(written):
    return Reader(written)


@pytest.fixture(scope="module")
def data(written):
    return json.loads(re.search(r'<script type="application/json" id="profile-data">(.*?)</script>', written, re.S).group(1))


def test_every_number_in_the_data_block_is_the_runs(profiled, data):
    for run, launch in zip(profiled[0], data["launches"], strict=True):
        timing = run.timing
        assert launch["counters"] == timing.counters
        assert launch["stalls"] == timing.stalls
        assert launch["energy"] == pytest.approx(timing.energy)
        assert (launch["cycles"], launch["instructions"]) == (timing.cycles, timing.instructions)
        assert launch["scheduler_cycles"] == timing.cycles * 15
        assert launch["seconds"] == pytest.approx(timing.cycles / 1400e6)
        work = timing.work_by_instruction
        for name in ("lanes", "accesses", "passes"):
            assert launch["rows"][name] == work[name].tolist()
        by_instruction = timing.stalls_by_instruction.tolist()
        assert launch["rows"]["issued"] == [causes[0] for causes in by_instruction]
        assert launch["rows"]["stalls"] == [{cause.name.lower(): causes[cause] for cause in Stall if cause and causes[cause]}
                                            for causes in by_instruction]  # fmt: skip


def test_figures_of_the_summary_follow_from_the_counters(data):
    for launch in data["launches"]:
        figures, count = launch["figures"], launch["counters"]
        assert figures["IPC, chip"] == launch["instructions"] / launch["cycles"]
        assert figures["IPC per scheduler"] == pytest.approx(launch["instructions"] / launch["cycles"] / 15)
        assert figures["Issue slots used"] == launch["stalls"]["issued"] / launch["scheduler_cycles"]
        assert figures["Lanes in use"] == count["thread_instructions"] / count["instructions"]
        assert figures["Achieved occupancy"] == count["occupied_warp_cycles"] / count["core_used_cycles"] / 48
        assert figures["DRAM traffic"] == 64 * (count["dram_read_accesses"] + count["dram_write_accesses"])
        assert figures["Energy"] == pytest.approx(sum(launch["energy"].values()))


def test_cycles_of_lines_and_instructions_and_of_no_instruction_add_up_to_all_scheduler_cycles(read, data):
    tables, part = [], ""
    for name, attributes in read.elements:
        if name == "table":
            tables.append({"tbody": 0, "tfoot": []} if "sortable" in attributes.get("class", "") else None)
        part = name if name in ("thead", "tbody", "tfoot") else part
        if name != "td" or not tables or tables[-1] is None or "data-key" not in attributes:
            continue
        if part == "tbody" and attributes["data-key"].isdigit():
            tables[-1]["tbody"] += int(attributes["data-key"])
        elif part == "tfoot":
            tables[-1]["tfoot"].append(int(attributes["data-key"]))
    totals = [table for table in tables if table]
    assert len(totals) == 4  # lines and instructions of two launches
    for table, launch in zip(totals, [launch for launch in data["launches"] for _ in range(2)], strict=True):
        nobody, everything = table["tfoot"]
        assert table["tbody"] + nobody == everything == launch["scheduler_cycles"]


def test_cycles_without_a_warp_are_blamed_on_no_instruction(profiles):
    for profile in profiles:
        rest = unattributed(profile)
        assert rest["empty"] == profile.stalls["empty"] > 0
        assert min(rest.values()) > 0


def test_names_with_angle_brackets_are_text(profiles):
    evil = '</script><script>alert("&")</script>'
    named = replace(profiles[0], kernel=evil, sources={"kernel.cu": f"\n{evil}\n"})
    advice = [Said("coalescing", evil, (("kernel.cu", 5), ("kernel.cu", 999)))]
    read = Reader(page([named], evil, advise=lambda profile: advice))
    scripts = [attributes for name, attributes in read.elements if name == "script"]
    assert [attributes.get("id") for attributes in scripts] == ["profile-data", "charts", None, None]
    assert json.loads(read.scripts[0])["launches"][0]["kernel"] == evil
    assert sum(text.count(evil) for text in read.texts) >= 5  # title, heading, name of the launch, source line, advice


def test_advice_links_to_the_lines_it_names(profiles):
    advice = [Said("coalescing", "Stores are not coalesced.", (("kernel.cu", 5), ("elsewhere.cu", 1)))]
    read = Reader(page(profiles[:1], "One", advise=lambda profile: advice))
    order = [attributes.get("data-rule") or attributes.get("href") for _, attributes in read.elements]
    at = order.index("coalescing")
    assert next(place for place in order[at + 1 :] if place) == "#l0-s0-5"
    assert "elsewhere.cu" not in "".join(read.texts)
    assert "l0-s0-5" in {attributes.get("id") for _, attributes in read.elements}
    assert [attributes["data-rule"] for _, attributes in read.elements if "data-rule" in attributes] == ["coalescing"]


def test_nothing_is_loaded_from_a_network(read, written):
    for name, attributes in read.elements:
        assert name not in ("iframe", "img", "object", "embed", "base")
        for key in ("src", "href", "action", "srcset", "xlink:href"):
            assert attributes.get(key, "#").startswith(("#", "data:")), (name, attributes)
    style = re.search(r"<style>(.*?)</style>", written, re.S).group(1)
    assert "url(" not in style
    assert "@import" not in style


def test_ids_are_unique_and_every_link_has_a_target(read):
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {attributes["href"][1:] for _, attributes in read.elements if attributes.get("href", "").startswith("#")}
    assert targets <= set(ids)


def test_a_page_of_two_launches_has_under_five_megabytes(profiles, tmp_path):
    write_page(tmp_path / "page.html", profiles, "Two kernels", profiles)
    assert MEBIBYTE < (tmp_path / "page.html").stat().st_size < 2 * MEBIBYTE  # most of it is Bokeh


@pytest.mark.slow  # of 36
def test_of_many_launches_the_longest_have_timelines_and_the_page_stays_small(profiles):
    many = [replace(profiles[k % 2], cycles=profiles[k % 2].cycles + k) for k in range(36)]
    text = page(many, "Many")
    read = Reader(text)
    drawn = [attributes["id"] for _, attributes in read.elements if attributes.get("data-chart") == "timeline"]
    longest = sorted(range(36), key=lambda k: -many[k].cycles)[:16]
    assert sorted(drawn) == sorted(f"l{k}-timeline-chart" for k in longest)
    assert text.count("Only the 16 longest launches") == 20
    assert len(text.encode()) < 5 * MEBIBYTE


def test_a_stall_reason_names_the_lines_it_is_at(profiles):
    store = where(profiles[0], "lg_throttle", "l0")
    assert 'href="#l0-s0-5"' in store
    assert "kernel.cu:5" in store
    assert where(profiles[0], "empty", "l0") == ""  # of no line


def test_each_section_stands_in_its_place(read):
    ids = [attributes["id"] for name, attributes in read.elements if name == "section"]
    parts = ["summary", "advice", "stalls", "memory", "source", "timeline", "compare"]
    assert ids == [f"l{k}-{part}" for k in range(2) for part in parts]


def test_without_a_baseline_there_is_no_comparison_and_with_one_launch_no_switch(profiles):
    ids = {attributes.get("id") for _, attributes in Reader(page(profiles[:1], "One")).elements}
    assert "l0-timeline" in ids
    assert not ids & {"l0-compare", "launch-select"}


def test_every_stall_reason_has_a_title_and_says_what_it_means_and_what_to_look_at():
    assert set(WORDS) == set(Stall)
    assert len({words.title for words in WORDS.values()}) == len(Stall)
    for words in WORDS.values():
        assert words.meaning.endswith(".")
        assert words.look_at.endswith(".")


@pytest.mark.parametrize("machine", ["caps-gtx480", "h200"])
def test_what_would_fit_is_what_the_machine_says(profiles, machine):
    config, gpu = load(machine), sl.Gpu()
    module = gpu.compile("""
        extern "C" __global__ void few(float *x) { x[threadIdx.x] = 1; }
        extern "C" __global__ void many(float *x) {
            float v[40];
            #pragma unroll
            for (int i = 0; i < 40; i++) v[i] = x[i * 7 + threadIdx.x];
            #pragma unroll
            for (int i = 0; i < 40; i++) x[i * 5 + threadIdx.x] = v[i] * v[(i * 3) % 40];
        }
    """)
    seen = set()
    for program in (module["few"].program, module["many"].program):
        for threads, shared in ((32, 0), (100, 4096), (256, 0), (512, 30000), (1024, 49152)):
            profile = replace(profiles[0], machine=config, registers=program.registers, block=(threads, 1, 1), shared_bytes=shared)
            found = fit(profile, 0)
            try:
                expected = occupancy(config, program, threads, shared)
            except LaunchError:
                assert (found.ctas, found.limited_by) == (0, "does not fit")
                continue
            assert (found.ctas, found.limited_by, found.current) == (expected.ctas, expected.limited_by, True)
            seen.add(found.limited_by)
    assert len(seen) >= 3


def test_what_if_tables_mark_the_launch_as_it_is(profiles):
    for profile in profiles:
        for fits in (block_sizes(profile), register_counts(profile), shared_sizes(profile)):
            (now,) = [fit for fit in fits if fit.current]
            assert (now.ctas, now.limited_by) == (profile.ctas_per_core, profile.limited_by)
    threads = {fit.value: (fit.ctas, fit.limited_by) for fit in block_sizes(profiles[0])}
    assert threads[32] == (8, "CTA slots")
    assert threads[1024] == (1, "warps")
    assert {fit.value: fit.ctas for fit in shared_sizes(profiles[0])}[49152] == 1


def test_the_roofline_of_caps_gtx480(profiles):
    roofs = ceilings(profiles[0].machine)
    assert roofs.operations == 15 * 32 * 1400e6
    assert roofs.dram == 6 * 8 * 4 * 924e6
    assert roofs.l2 == 2 * 12 * 32 * 700e6  # 12 slices, 15 cores; both directions
    for profile in profiles:
        count = profile.counters
        operations = sum(count[f"lanes_{name}"] for name in ("int_add", "int_mul", "int_mad", "shift", "compare", "move", "sp_add"))
        by_level = {point.level: point for point in points(profile)}
        assert by_level["L2"].intensity == operations / (32 * (count["request_flits"] + count["reply_flits"]))
        assert by_level["DRAM"].intensity == operations / (64 * (count["dram_read_accesses"] + count["dram_write_accesses"]))
        assert by_level["DRAM"].reached == pytest.approx(operations / profile.seconds)


def test_the_memory_chart_has_what_the_kernels_did(profiles):
    first, second = ({kind.name: (kind.requests, kind.made) for kind in kinds(profile)} for profile in profiles)
    assert first["Global, local loads"] == (512, 512)
    assert first["Global, local stores"] == (512, 512 * 32)
    assert second["Shared memory"][1] == profiles[1].counters["shared_passes"] > second["Shared memory"][0]
    assert second["Atomics"] == (0, 0)


def test_the_timeline_takes_the_length_of_an_interval_from_its_scheduler_cycles(profiles):
    for profile in profiles:
        found, intervals = series(profile), profile.intervals
        assert found["ipc"] @ found["length"] == pytest.approx(intervals["instructions"].sum())
        assert np.allclose(np.diff(found["cycle"]), found["length"][1:])
    assert series(profiles[1])["cycle"][0] <= series(profiles[1])["length"][0]


def test_the_first_step_of_a_curve_begins_where_its_interval_does(profiles):
    for profile in profiles:
        found, drawn = series(profile), from_start(series(profile))
        assert drawn["cycle"][0] == max(0, found["cycle"][0] - found["length"][0])
        assert drawn["cycle"][1:].tolist() == found["cycle"].tolist()
        assert drawn["ipc"][0] == found["ipc"][0]


@pytest.mark.parametrize("changes", [{"network.kind": "ideal"}, {"issue.dual_issue": True}, {"core.simd_width": 8}])
def test_the_page_is_written_for_machines_of_other_kinds(profiles, changes):
    machine = profiles[0].machine.replace(changes)
    text = page([replace(profiles[0], machine=machine)], "Another machine")
    assert ("no bound" in text) == ("network.kind" in changes)
    peak = {"network.kind": 672, "issue.dual_issue": 672, "core.simd_width": 168}[next(iter(changes))]
    assert f"of {peak}{THIN}Gop/s" in text


def test_a_launch_that_did_nothing_has_a_page(profiles):
    nothing = replace(profiles[0], cycles=0, instructions=0, counters=dict.fromkeys(profiles[0].counters, 0), rows=[], sources={},
                      stalls=dict.fromkeys(profiles[0].stalls, 0), energy={}, intervals={"cycle": np.array([])})  # fmt: skip
    text = page([nothing], "Nothing")
    assert "No lane used an FP32 unit" in text
    assert "nan" not in Reader(text).scripts[0].lower().replace("kernel", "")


def test_a_launch_without_intervals_has_no_timeline(profiles):
    empty = replace(profiles[0], intervals={name: values[:0] for name, values in profiles[0].intervals.items()})
    text = page([empty], "Short")
    assert "No interval ended within this launch" in text
    assert {attributes.get("data-chart") for _, attributes in Reader(text).elements} == {None, "roofline"}


def test_launches_are_matched_by_name_and_order(profiles):
    first, second = profiles
    longer, other = replace(first, cycles=1), replace(second, kernel="other")
    assert matched([first, first, second], [other, longer, first]) == [longer, first, None]
    assert unmatched([first, first, second], [other, longer, first]) == [other]
    text = page([first], "One", baseline=[longer, other])
    assert "Launches of the baseline that nothing stands against: other." in text


@pytest.mark.parametrize(("now", "before", "text"), [
    (110, 100, f"+10.0{THIN}%"), (90, 100, f"−10.0{THIN}%"), (5, 5, "="), (5, 0, "new"), (0, 0, "="), (None, 3, "–"),
    (5000, 10, "× 500.0"),
])  # fmt: skip
def test_a_change_is_in_percent_of_the_baseline(now, before, text):
    assert change(now, before) == text


def test_numbers_keep_the_digits_that_count():
    def plain(texts):
        return [text.replace(THIN, " ") for text in texts]

    assert plain(map(grouped, (1234567, 0.0612, 12.34, 123.42, 4567.8, 0.00012))) == [
        "1 234 567", "0.061", "12.34", "123.4", "4 568", "0.00012"]  # fmt: skip
    assert plain(map(percent, (None, 0.0, 0.0001, 0.5, 1.0))) == ["–", "0.0 %", "<0.1 %", "50.0 %", "100.0 %"]
    assert plain(scaled(value, "s") for value in (0, 3.54e-5, 0.9999, 1500)) == ["0 s", "35.4 µs", "1 s", "1.5 ks"]
    assert plain(map(byte_count, (0, 1023, 49152))) == ["0 B", "1023 B", "48 KiB"]


def test_attributes_and_children_are_escaped():
    written = element("a", "<&>", title='"', data_pc=3, hidden=True, id=None)
    assert written == '<a title="&quot;" data-pc="3" hidden>&lt;&amp;&gt;</a>'


def test_of_a_long_file_only_the_neighbourhood_of_its_instructions_is_shown():
    assert shown_lines({2, 9}, 12) == list(range(1, 13))
    assert shown_lines({2, 600}, 601) == [1, 2, 3, 4, 5, 597, 598, 599, 600, 601]
    assert shown_lines({7}, 0) == [7]
