"""The profile page in a browser: it opens from disk, sorts, zooms, switches, and fits a telephone."""

import json

import pytest

from simtlab.report.page import write_page


@pytest.fixture(scope="module")
def address(profiles, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_page(path, profiles, "Two kernels", profiles[:1])
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """The page, its first launch drawn, at the size of a laptop."""
    resize(browser, 1280, 800)
    for kind in ("browser", "performance"):
        browser.get_log(kind)
    browser.get(address)
    wait_for(browser, "l0-timeline-chart")
    return browser


def resize(browser, width, height):
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})  # fmt: skip


def wait_for(browser, chart):
    from selenium.webdriver.support.ui import WebDriverWait

    there = f"return document.getElementById('{chart}').dataset.drawn === 'true'"
    WebDriverWait(browser, 60).until(lambda driver: driver.execute_script(there))


def rows(browser, table):
    """The rows of a table of the first launch, as their places in the source."""
    return browser.execute_script(
        "return [...document.querySelectorAll(`#l0-source table[data-table=${arguments[0]}] tbody tr`)]"
        ".map((row) => Number(row.dataset.place))", table)  # fmt: skip


def keys(browser, table, column):
    return browser.execute_script(
        "return [...document.querySelectorAll(`#l0-source table[data-table=${arguments[0]}] tbody tr`)]"
        ".filter((row) => !row.classList.contains('context'))"
        ".map((row) => Number(row.cells[arguments[1]].textContent.replaceAll('\u202f', '')))", table, column)  # fmt: skip


def heading(browser, table, column):
    return browser.find_elements("css selector", f"#l0-source table[data-table={table}] thead th")[column]


def click(browser, element):
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', inline: 'center'})", element)
    element.click()


def test_it_opens_from_disk_without_an_error_and_asks_no_network(opened):
    assert [entry["message"] for entry in opened.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")] == []
    events = [json.loads(entry["message"])["message"] for entry in opened.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert any(url.startswith("file:") for url in asked)
    own = ("file:", "data:", "blob:", "chrome:")  # the last are of the tab that the browser opened with
    assert [url for url in asked if not url.startswith(own)] == []


def test_a_heading_sorts_and_sorts_back_and_the_first_restores_the_source(opened):
    before = rows(opened, "number")
    stalled = heading(opened, "number", 5)
    click(opened, stalled.find_element("tag name", "button"))
    assert stalled.get_attribute("aria-sort") == "descending"
    falling = keys(opened, "number", 5)
    assert falling == sorted(falling, reverse=True)
    assert falling[0] > falling[-1]
    ties = [place for place, key in zip(rows(opened, "number"), falling, strict=True) if key == falling[-1]]
    assert ties == sorted(ties)  # stable
    click(opened, stalled.find_element("tag name", "button"))
    assert stalled.get_attribute("aria-sort") == "ascending"
    assert keys(opened, "number", 5) == sorted(falling)
    click(opened, heading(opened, "number", 0).find_element("tag name", "button"))
    assert (rows(opened, "number"), stalled.get_attribute("aria-sort")) == (before, "none")


def test_enter_on_a_heading_sorts(opened):
    from selenium.webdriver.common.keys import Keys

    issued = heading(opened, "line", 3)
    issued.find_element("tag name", "button").send_keys(Keys.ENTER)
    assert issued.get_attribute("aria-sort") == "descending"
    found = keys(opened, "line", 3)
    assert found == sorted(found, reverse=True)
    context = "return getComputedStyle(document.querySelector('#l0-source tr.context')).display"
    assert opened.execute_script(context) == "none"  # lines that cost nothing are only shown in the source's order


def test_a_line_leads_to_its_instructions(opened):
    link = opened.find_element("css selector", "#l0-s0-5 th a")
    click(opened, link)
    linked = "return [...document.querySelectorAll('#l0-source table[data-table=number] tr.linked')].map((row) => row.dataset.line)"
    assert set(opened.execute_script(linked)) == {"0-5"}
    assert opened.execute_script("return location.hash").startswith("#l0-p")
    seen = ("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => {"
            " const box = document.querySelector(location.hash).getBoundingClientRect();"
            " const at = document.elementFromPoint(box.left + 20, box.top + box.height / 2);"
            " done(at?.closest('tr')?.id === location.hash.slice(1)); }))")  # fmt: skip
    assert opened.execute_async_script(seen)  # in view, and not under a heading


def test_the_timeline_zooms_and_moves_all_its_charts(opened):
    span = "const range = simtlab.timeRange('l0-timeline-chart'); return [range.start, range.end]"
    start, end = opened.execute_script(span)
    assert start == 0
    for button in ("in", "right"):
        click(opened, opened.find_element("css selector", f"#l0-timeline-buttons [data-zoom={button}]"))
    assert opened.execute_script(span) == pytest.approx([end / 2, end])
    click(opened, opened.find_element("css selector", "#l0-timeline-buttons [data-zoom=reset]"))
    assert opened.execute_script(span) == [0, end]


def test_dragging_a_chart_moves_the_timeline(opened):
    from selenium.webdriver.common.action_chains import ActionChains

    span = "const range = simtlab.timeRange('l0-timeline-chart'); return [range.start, range.end]"
    click(opened, opened.find_element("css selector", "#l0-timeline-buttons [data-zoom=in]"))
    start, _ = opened.execute_script(span)
    chart = opened.find_element("id", "l0-timeline-chart")
    opened.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    ActionChains(opened).move_to_element_with_offset(chart, 0, -200).click_and_hold().move_by_offset(100, 0).release().perform()
    assert opened.execute_script(span)[0] < start


def test_the_timeline_is_there_as_a_table(opened, profiles):
    from selenium.webdriver.support.ui import WebDriverWait

    click(opened, opened.find_element("css selector", "#l0-timeline .interval-table summary"))
    count = "return document.querySelectorAll('#l0-timeline .intervals tbody tr').length"
    WebDriverWait(opened, 10).until(lambda page: page.execute_script(count) > 0)  # it is made when it is opened
    assert opened.execute_script(count) == len(profiles[0].intervals["cycle"])


def test_another_launch_shows_its_own_section(opened):
    from selenium.webdriver.support.ui import Select

    shown = "return [...document.querySelectorAll('article.launch')].map((article) => article.checkVisibility())"
    assert opened.execute_script(shown) == [True, False]
    Select(opened.find_element("id", "launch-select")).select_by_value("1")
    assert opened.execute_script(shown) == [False, True]
    wait_for(opened, "l1-timeline-chart")
    assert opened.find_element("id", "l1-name").text.startswith("reduce")


def test_the_theme_switches_background_and_back(opened):
    background = "return getComputedStyle(document.body).backgroundColor"
    light = opened.execute_script(background)
    button = opened.find_element("id", "theme")
    click(opened, button)
    dark = opened.execute_script(background)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(21, 23, 26)")
    assert button.get_attribute("aria-pressed") == "true"
    click(opened, button)
    assert opened.execute_script(background) == light


def test_the_theme_is_the_systems_until_it_is_switched(opened):
    background = "return getComputedStyle(document.body).backgroundColor"
    opened.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")
    for scheme, colour in (("dark", "rgb(21, 23, 26)"), ("light", "rgb(255, 255, 255)")):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        assert opened.execute_script(background) == colour


def test_on_a_telephone_the_page_does_not_scroll_sideways(opened):
    from selenium.webdriver.support.ui import Select

    resize(opened, 390, 844)
    for launch in ("0", "1"):
        Select(opened.find_element("id", "launch-select")).select_by_value(launch)
        wait_for(opened, f"l{launch}-timeline-chart")
        assert opened.execute_script("return document.scrollingElement.scrollWidth") <= 390
        wide = "return [...document.querySelectorAll('.scroll')].some((frame) => frame.scrollWidth > frame.clientWidth)"
        assert opened.execute_script(wide)  # tables scroll in their frames
    reachable = ("return [...document.querySelectorAll('#launch-1 .scroll')].filter((frame) => frame.checkVisibility())"
                 ".every((frame) => (frame.scrollWidth <= frame.clientWidth && frame.scrollHeight <= frame.clientHeight)"
                 " || frame.tabIndex === 0)")  # fmt: skip
    assert opened.execute_script(reachable)


def test_every_link_button_and_frame_shows_its_focus(opened):
    from selenium.webdriver.common.keys import Keys

    opened.find_element("tag name", "body").send_keys(Keys.TAB)
    seen = set()
    for _ in range(12):
        here = "const e = document.activeElement; return [e.tagName, getComputedStyle(e).outlineStyle, !!e.closest('.chart')]"
        name, outline, in_chart = opened.execute_script(here)
        assert outline == "solid" or in_chart, name  # in a chart Bokeh marks the tool itself
        seen.add(name)
        opened.switch_to.active_element.send_keys(Keys.TAB)
    assert {"A", "SELECT", "BUTTON"} <= seen
