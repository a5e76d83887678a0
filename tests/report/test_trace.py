"""The trace of a watched core: a track for each scheduler, warp and missed line, nested as a viewer wants it."""

import gzip
import json
from itertools import pairwise

import pytest

import simtlab as sl
from simtlab.machine.watch import Watch
from simtlab.report.trace import events_of, flights_of, write_trace
from tests.machine.test_watch import launched


@pytest.fixture(scope="module")
def watched():
    watch = Watch(0, 0, 3000)
    run = launched(3, watch)
    return watch, run, list(events_of(watch))


def slices(events, kind):
    return [event for event in events if event["ph"] == "X" and event["cat"] == kind]


def test_every_instruction_has_a_slice_with_its_text_and_line(watched):
    _, run, events = watched
    found = slices(events, "instruction")
    assert len(found) == run.instructions
    load = next(event for event in found if event["name"].startswith("ld.global"))
    assert load["args"]["line"] == 4
    assert load["dur"] > 100


def test_scheduler_slices_cover_every_cycle_once(watched):
    watch, run, events = watched
    of_first = [event for event in slices(events, "scheduler") if event["tid"] == 1]
    assert sum(event["dur"] for event in of_first) == len(watch.cycles)
    assert all(a["ts"] + a["dur"] == b["ts"] for a, b in pairwise(of_first))
    issued = sum(event["dur"] for event in slices(events, "scheduler") if event["name"] == "issued")
    assert issued == run.stalls["issued"]


def test_slices_of_a_track_nest(watched):
    """A viewer drops a slice that begins in another and ends after it."""
    *_, events = watched
    for track in {event["tid"] for event in events}:
        open_ends = []
        for event in sorted((e for e in events if e["ph"] == "X" and e["tid"] == track), key=lambda e: (e["ts"], -e["dur"])):
            while open_ends and open_ends[-1] <= event["ts"]:
                open_ends.pop()
            assert not open_ends or event["ts"] + event["dur"] <= open_ends[-1], (track, event)
            open_ends.append(event["ts"] + event["dur"])


def test_the_lanes_of_a_divergent_warp_are_shown_side_after_side(watched):
    *_, events = watched
    masks = {event["name"] for event in slices(events, "lanes")}
    assert {"ffffffff", "000000ff", "ffffff00"} <= masks


def test_a_miss_lasts_from_its_request_to_its_fill(watched):
    *_, events = watched
    misses = slices(events, "miss")
    assert misses
    assert all(event["dur"] > 50 for event in misses)


def test_flights_are_in_the_order_of_issue(watched):
    watch, *_ = watched
    starts = [flight.start for flight in flights_of(watch)]
    assert starts == sorted(starts)


def test_the_file_is_gzipped_json(watched, tmp_path):
    watch, _, events = watched
    assert write_trace(watch, tmp_path / "t.json.gz") == len(events)
    assert json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["traceEvents"] == events
    write_trace(watch, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"] == events


def test_a_file_that_cannot_be_written_gets_a_sentence(watched, tmp_path):
    with pytest.raises(sl.SimtlabError, match="cannot write"):
        write_trace(watched[0], tmp_path / "none" / "t.json")
