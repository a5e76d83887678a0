"""The trace of a watched core: tracks for schedulers, warps, instructions, memory requests; nested as a viewer wants it."""

import gzip
import json
from itertools import pairwise

import pytest

import simtlab as sl
from simtlab.machine.watch import Watch
from simtlab.report.trace import events_of, flights_of, trips_of, write_trace
from tests.machine.test_watch import launched
from tests.timing import mixed


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


def check_nesting(events):
    """A viewer drops a slice that begins in another and ends after it."""
    tracks = {}
    for event in events:
        if event["ph"] == "X":
            tracks.setdefault(event["tid"], []).append(event)
    for track, slices_there in tracks.items():
        open_ends = []
        for event in sorted(slices_there, key=lambda e: (e["ts"], -e["dur"])):
            while open_ends and open_ends[-1] <= event["ts"]:
                open_ends.pop()
            assert not open_ends or event["ts"] + event["dur"] <= open_ends[-1], (track, event)
            open_ends.append(event["ts"] + event["dur"])
        outer = sorted((e for e in slices_there if e["cat"] in ("instruction", "request")), key=lambda e: e["ts"])
        assert all(one["ts"] + one["dur"] <= following["ts"] for one, following in pairwise(outer)), track


def test_slices_of_a_track_nest(watched):
    check_nesting(watched[-1])


@pytest.mark.parametrize(
    ("preset", "changes"),
    [("h200", {}), ("v100", {}), ("gtx480", {"issue.dual_issue": True}),
     ("caps-gtx480", {"l1d.reread": True, "issue.replay": True}),
     ("caps-gtx480", {"core.detail": 2, "l1d.write_global": "write-back"})],
)  # fmt: skip
def test_slices_nest_on_any_machine_and_stay_in_the_window(preset, changes):
    gpu = sl.Gpu(preset, set={"core.cores": 2, **changes})
    gpu.machine.watch = watch = Watch(1, 1500, 3500)
    mixed.launch(gpu, 6)
    events = list(events_of(watch))
    check_format(events)
    check_nesting(events)
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X"]
    assert (min(begin for begin, _ in spans), max(end for _, end in spans)) == (1500, 3500)
    assert len(slices(events, "request")) > 20
    assert {"fetch", "buffer", "issue", "memory"} <= {event["name"] for event in slices(events, "stage")}


def test_the_lanes_of_a_divergent_warp_are_shown_side_after_side(watched):
    *_, events = watched
    masks = {event["name"] for event in slices(events, "lanes")}
    assert {"ffffffff", "000000ff", "ffffff00"} <= masks


def test_an_instruction_goes_through_its_stages_without_a_gap(watched):
    *_, events = watched
    by_track = {}
    for event in slices(events, "stage"):
        by_track.setdefault(event["tid"], []).append(event)
    for event in slices(events, "instruction"):
        inside = [one for one in by_track[event["tid"]] if event["ts"] <= one["ts"] < event["ts"] + event["dur"]]
        assert inside[0]["ts"] == event["ts"]
        assert inside[-1]["ts"] + inside[-1]["dur"] == event["ts"] + event["dur"]
        assert all(a["ts"] + a["dur"] == b["ts"] for a, b in pairwise(inside))
        names = [one["name"] for one in inside]
        assert names == [name for name in ("fetch", "buffer", "issue", "collect", "execute", "ldst", "memory") if name in names]
        assert sum(one["dur"] for one in inside if one["name"] == "issue") == 1
    load = next(event for event in slices(events, "instruction") if event["name"].startswith("ld.global"))
    names = [one["name"] for one in by_track[load["tid"]] if load["ts"] <= one["ts"] < load["ts"] + load["dur"]]
    assert names[-3:] == ["issue", "collect", "memory"]


def test_the_first_instruction_is_fetched_as_long_as_its_line_of_instructions_is_under_way(watched):
    """It waits from the cycle its warp moves in; with the answer the line is read, and the instruction is in the buffer."""
    watch, _, events = watched
    line = next(one for one in watch.requests if one.kind == "instruction")
    first = min(slices(events, "instruction"), key=lambda event: event["ts"])
    fetch = next(one for one in slices(events, "stage") if one["tid"] == first["tid"])
    assert (fetch["name"], fetch["ts"]) == ("fetch", line.born)
    assert fetch["ts"] + fetch["dur"] == line.ended


def test_instructions_decoded_together_enter_the_buffer_together(watched):
    """Two at once on this machine; the second is issued later."""
    watch, *_ = watched
    flights = [flight for flight in flights_of(watch) if flight.slot == 0][:2]
    came = [next(begin for stage, begin, _ in flight.stages if stage == "buffer") for flight in flights]
    assert came[0] == came[1]
    assert flights[0].issued < flights[1].issued
    assert flights[0].pc + 1 == flights[1].pc


def test_one_loop_has_no_instruction_buffer():
    watch = Watch(0, 0, 3000)
    launched(1, watch)
    stages = {stage for flight in flights_of(watch) for stage, *_ in flight.stages}
    assert "issue" in stages
    assert not stages & {"fetch", "buffer"}


def test_a_request_has_its_line_for_a_name_and_its_stages_inside(watched):
    watch, run, events = watched
    requests = slices(events, "request")
    assert len(requests) == len(watch.requests) > 5
    reads = [event for event in requests if event["args"]["kind"] == "read"]
    lines = {f"{line:#x}" for cycle in watch.cycles for line in cycle.mshrs}
    assert {event["name"] for event in reads} == lines
    assert all(event["args"]["L2"] == "miss" and event["args"]["warp"] in (0, 1) for event in reads)
    stages = slices(events, "request stage")
    of_first = [one for one in stages if one["tid"] == reads[0]["tid"] and 0 <= one["ts"] - reads[0]["ts"] < reads[0]["dur"]]
    assert [one["name"] for one in of_first] == ["inject", "request network", "L2", "DRAM", "L2", "reply network", "fill"]
    assert sum(one["dur"] for one in of_first) == reads[0]["dur"]
    counted = [event for event in requests if event["args"]["kind"] not in ("write", "instruction")]
    assert sum(event["dur"] for event in counted) == run.counters["round_trip_cycles"]


def test_slices_end_with_the_window_and_begin_with_it(watched):
    whole, *_ = watched
    read = next(one for one in whole.requests if one.kind == "read")
    watch = Watch(0, read.to_dram + 2, read.to_dram + 12)
    launched(3, watch)
    trips = [trip for trip in trips_of(watch) if trip.request.address == read.address]
    assert [trip.stages for trip in trips] == [[("DRAM", watch.first, watch.last)]]
    spans = [(event["ts"], event["ts"] + event["dur"]) for event in events_of(watch) if event["ph"] == "X"]
    assert (min(begin for begin, _ in spans), max(end for _, end in spans)) == (watch.first, watch.last)


def test_flights_are_in_the_order_of_issue(watched):
    watch, *_ = watched
    issues = [flight.issued for flight in flights_of(watch)]
    assert issues == sorted(issues)


def check_format(events):
    """The Trace Event Format: complete events (X) with a time and a duration, metadata (M) that names processes and threads."""
    required = {"X": {"ph", "pid", "tid", "name", "cat", "ts", "dur", "args"}, "M": {"ph", "pid", "tid", "name", "args"}}
    for event in events:
        assert event.keys() == required[event["ph"]]
        assert event["ph"] == "M" or (isinstance(event["ts"], int) and isinstance(event["dur"], int) and event["dur"] > 0)
        assert event["ph"] == "X" or (event["name"] in ("process_name", "thread_name") and event["args"].keys() == {"name"})
    names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
    tracks = [event["tid"] for event in events if event["name"] == "thread_name"]
    assert len(set(tracks)) == len(tracks)
    assert len(set(names)) == len(names)
    assert {"scheduler 0", "warp 0: lanes", "warp 0: instructions", "request 1"} <= set(names)
    assert {event["tid"] for event in events if event["ph"] == "X"} <= set(tracks)


def test_events_have_what_the_format_asks_for(watched):
    check_format(watched[-1])


def test_the_file_is_gzipped_json(watched, tmp_path):
    watch, _, events = watched
    assert write_trace(watch, tmp_path / "t.json.gz") == len(events)
    assert json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))["traceEvents"] == events
    write_trace(watch, tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"] == events


def test_a_file_that_cannot_be_written_gets_a_sentence(watched, tmp_path):
    with pytest.raises(sl.SimtlabError, match="cannot write"):
        write_trace(watched[0], tmp_path / "none" / "t.json")
