"""A watched core as text and as a page to step through."""

import json
import re

import pytest

from simtlab.machine.watch import Watch
from simtlab.report.watch_view import data_of, lines_of, watch_page, write_watch_page
from tests.machine.test_watch import launched


@pytest.fixture(scope="module")
def watched():
    watch = Watch(0, 0, 1500, from_issue=True)
    return watch, launched(3, watch)


def test_a_window_from_the_first_issue_on_begins_with_it(watched):
    watch, run = watched
    assert watch.cycles[0].issued == ((0, 0),)
    assert sum(len(cycle.issued) for cycle in watch.cycles) == run.instructions


def test_the_text_shows_each_issue_with_its_instruction(watched):
    watch, run = watched
    text = list(lines_of(watch))
    assert sum(line.startswith("  issued") for line in text) == run.instructions
    assert any(re.match(r"  issued     warp 1  +\d+  ld\.global\.u32 ", line) for line in text)


def test_the_text_shows_the_simt_stack_of_a_divergent_warp(watched):
    """The side that runs, and below it the lanes that wait for their turn and those that wait at the reconvergence point."""
    shown = [line for line in lines_of(watched[0]) if line.startswith("  warp  0")]
    assert any("000000ff" in line and line.count("->") > 1 for line in shown)
    assert any("ffffff00" in line for line in shown)


def test_the_data_is_what_was_watched(watched):
    watch, _ = watched
    data = data_of(watch)
    assert [one["cycle"] for one in data["cycles"]] == [one.cycle for one in watch.cycles]
    assert [list(map(list, one["issued"])) for one in data["cycles"]] == [list(map(list, one.issued)) for one in watch.cycles]
    page = watch_page(watch, "parts <of> a & core")
    assert "<title>parts &lt;of&gt; a &amp; core</title>" in page
    found = re.search(r'<script type="application/json" id="watch-data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    assert json.loads(found[1]) == json.loads(json.dumps(data))
    assert not re.search(r"(src|href)=.?https?:|url\(http", page)


def test_a_browser_steps_through_the_cycles(watched, tmp_path, browser):
    watch, _ = watched
    write_watch_page(watch, tmp_path / "watch.html", "parts")
    browser.get((tmp_path / "watch.html").as_uri())
    shown = lambda: browser.find_element("id", "cycle-shown").text  # noqa: E731
    assert shown().startswith(f"cycle {watch.cycles[0].cycle} (1 of {len(watch.cycles)})")
    browser.find_element("id", "go-next").click()
    assert shown().startswith(f"cycle {watch.cycles[1].cycle} ")
    browser.find_element("tag name", "body").send_keys("\ue010")  # End
    assert shown().startswith(f"cycle {watch.cycles[-1].cycle} ")
    browser.find_element("tag name", "body").send_keys("\ue011")  # Home
    rows = browser.find_elements("css selector", "#warps tr")
    assert len(rows) == len(watch.cycles[0].warps)
    assert "ld.param" in rows[0].text
    before = browser.find_element("tag name", "body").value_of_css_property("background-color")
    browser.find_element("id", "theme").click()
    assert browser.find_element("tag name", "body").value_of_css_property("background-color") != before
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
