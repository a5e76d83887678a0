"""What a DRAM channel is: banks with row buffers, the memory access scheduler's tables, timing, counters.

A channel is one record. All times are cycles of the DRAM command clock. Timing fields keep the datasheet's names:

| field | from | to | where |
|---|---|---|---|
| t_rcd, t_rcdwr | activate | read, write | the same bank |
| t_ras | activate | precharge | the same bank |
| t_rc | activate | activate | the same bank |
| t_rp | precharge | activate | the same bank |
| t_rrd | activate | activate | different banks |
| t_ccd, t_ccdl | column access | column access | the channel, the same bank group |
| t_cl, t_wl | read, write | first data on the bus | the channel |
| t_rtpl | read | precharge | the same bank; at least the burst, as GPGPU-Sim has it |
| t_wr | end of write data | precharge | the same bank |
| t_cdlr | end of write data | read | the channel |
| t_rtw | read | write | the channel |
| t_refi | refresh | refresh | the same bank |
| t_rfc | refresh | activate | the same bank |

Not modelled: the four-activate window, power-down. GPGPU-Sim leaves them and refresh out, and none of the papers gives them: with
t_refi = 0 there is no refresh.
GPGPU-Sim also holds t_rtpl against the other banks of a group; here it holds up its own bank only (chosen).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.machine.fifo import NOTHING, fifo_t
from simtlab.machine.limits import MAX_DRAM_BANKS, MAX_DRAM_QUEUE
from simtlab.machine.record import new_records, record_t

MAX_RETURNS = MAX_DRAM_QUEUE  # requests whose data is moving or waits to be taken, in each direction
FAR_FUTURE = 1 << 62  # the cycle of what will not happen unless something else does
NEVER = -1
NO_ROW = -1  # a precharged bank
NO_GROUP = MAX_DRAM_BANKS  # a group that is always free, for commands that no group holds up
NO_TURN = 1 << 44  # the rank of a bank with nothing to do
MOST_CYCLES = 1 << 15  # of a timing, or of a burst


class Scheduler(IntEnum):
    FR_FCFS = 0
    FCFS = 1


class Direction(IntEnum):
    """Which way the data bus points, and the sorter that holds the requests of that way."""

    READ = 0
    WRITE = 1


class Command(IntEnum):
    """What a channel sends to its DRAM, at most one a cycle."""

    ACTIVATE = 0
    PRECHARGE = 1
    READ = 2
    WRITE = 3


class Outcome(IntEnum):
    """How a request found its row."""

    HIT = 0  # open
    MISS = 1  # the bank was closed: an activate was sent for it
    CONFLICT = 2  # another row was open: a precharge was sent for it


COUNTERS = [
    ("reads", "requests", "Read requests whose last column access was sent."),
    ("writes", "requests", "Write requests whose last column access was sent."),
    ("read_accesses", "commands", "Column reads; a request larger than one access takes several."),
    ("write_accesses", "commands", "Column writes."),
    ("activates", "commands", "Rows opened."),
    ("precharges", "commands", "Rows closed."),
    ("row_hits", "requests", "Requests that found their row open."),
    ("row_misses", "requests", "Requests for which a closed bank was activated."),
    ("row_conflicts", "requests", "Requests for which another row had to be closed first."),
    ("turnarounds", "turns", "Changes of the scheduler between reading and writing."),
    ("bus_cycles", "DRAM cycles", "Cycles in which the data bus moves data."),
    ("queued_cycles", "DRAM cycles", "Cycles in which at least one request waits in the scheduler."),
    ("entry_cycles", "entry·cycles", "Occupied scheduler entries, summed over the cycles."),
    ("wait_cycles", "DRAM cycles", "From entering the scheduler to the first own column access, summed over requests."),
    ("latency_cycles", "DRAM cycles", "From entering the scheduler to the last byte moved, summed over requests."),
    ("refreshes", "commands", "Refreshes, each of the banks that are refreshed together."),
    ("refusals", "offers", "Requests turned away because the scheduler was full."),
]

TIMINGS = (
    "t_ccd", "t_ccdl", "t_rrd", "t_rcd", "t_rcdwr", "t_ras", "t_rp", "t_rc",
    "t_cl", "t_wl", "t_cdlr", "t_wr", "t_rtpl", "t_rtw", "t_refi", "t_rfc",
)  # fmt: skip

bank_t = record_t(
    [
        ("open_row", "i8"),
        ("group", "i4"),
        ("ready", "i8", (4,)),  # the first cycle that this bank's own timing allows each command
        ("first", "i4", (2,)),  # its waiting requests in order of arrival, by sorter
        ("last", "i4", (2,)),
        ("begun", "i4"),  # the request in the middle of its column accesses
    ]
)

nominee_t = np.dtype(  # what a bank would do next: all that the choice between banks, the hottest loop here, looks at
    [
        ("position", "i4"),  # of the request it serves
        ("command", "u4"),  # what that request needs now; unsigned, so that indexing with it needs no check of its sign
        ("group", "u4"),  # the bank group that command must find free, or NO_GROUP
        ("ready", "i8"),  # the first cycle that the bank allows it; FAR_FUTURE while its request may not begin
        ("rank", "i8"),  # its turn: the lowest goes first
    ],
    align=True,
)

entry_t = record_t(
    [
        ("number", "i4"),
        ("bank", "i4"),
        ("row", "i8"),
        ("order", "i8"),  # of arrival
        ("offered", "i8"),  # the cycle of its arrival
        ("direction", "i4"),
        ("sorter", "i4"),
        ("accesses", "i4"),  # column accesses still to send
        ("outcome", "i4"),
        ("next", "i4"),
        ("previous", "i4"),
        ("core", "i2"),  # who asks, for policies; -1: a line that leaves the L2
        ("warp", "i2"),
        ("pc", "i4"),
        ("deterministic", "i1"),
        ("priority", "i1"),  # where a policy gives it one
    ]
)

channel_t = record_t(
    [
        ("n_banks", "i4"),
        ("scheduler", "i4"),
        ("queue_entries", "i4"),
        ("write_high", "i4"),
        ("write_low", "i4"),
        ("age_limit_cycles", "i4"),
        ("access_bytes", "i4"),
        ("command_buses", "i4"),
        ("burst_cycles", "i4"),
        *((name, "i4") for name in TIMINGS),
        ("same_direction", "i4"),  # between two column accesses of one direction
        ("write_to_read", "i4"),
        ("read_to_precharge", "i4"),
        ("write_to_precharge", "i4"),
        ("places", "i8", (2,)),  # for requests on their way out, by direction
        ("address", "i8"),  # of this record, for the scheduling policy
        ("own", "i8"),
        ("choose_hook", "i8"),  # addresses of its hooks; 0: the scheduler above
        ("priority_hook", "i8"),
        ("first_slice", "i4"),  # of the L2, that it serves
        ("slices", "i4"),
        # state
        ("refresh_banks", "i8"),  # that are refreshed together,
        ("next_refresh", "i8"),  # … and when the next are
        ("wake", "i8"),  # nothing can be sent before this cycle
        ("foreseen", "i4"),  # the queue position whose command would go out next,
        ("foreseen_at", "i8"),  # and when; NEVER: not known
        ("command_ready", "i8"),  # one command a cycle, or one for rows and one for columns
        ("ready", "i8", (4,)),  # the first cycle that the channel as a whole allows each command
        ("group_ready", "i8", (MAX_DRAM_BANKS + 1,)),  # … that a bank group allows a column access
        ("direction", "i4"),
        ("turn_due", "i4"),  # whether it should change
        ("waiting", "i8", (2,)),  # by sorter
        ("queued", "i4"),
        ("n_begun", "i4"),  # banks in the middle of a request
        ("arrivals", "i8"),
        ("departures", "i8"),
        ("free", "i4"),
        ("entries", entry_t, (MAX_DRAM_QUEUE,)),
        ("banks", bank_t, (MAX_DRAM_BANKS,)),
        ("nominees", nominee_t, (MAX_DRAM_BANKS,)),
        ("nominated", "u8"),  # the banks that have one which may begin
        ("leaving", fifo_t(2 * MAX_RETURNS)),  # requests whose accesses are all sent, in order of completion
        ("taken", "i8", (2,)),  # places in use: from the first column access until the request is taken out
        ("next_done", "i8"),  # the cycle at which the front of `leaving` is complete
        ("accounted", "i8"),  # the cycle up to which queued_cycles and entry_cycles are counted
        *((name, "i8") for name, _, _ in COUNTERS),
    ]
)

_REQUIRED = (
    "banks", "t_ccd", "t_rrd", "t_rcd", "t_ras", "t_rp", "t_rc", "t_cl", "t_wl", "t_cdlr", "t_wr",
    "burst_cycles", "access_bytes", "queue_entries", "return_entries",
)  # fmt: skip
_OPTIONAL: dict[str, Any] = {
    "bank_groups": 1,
    "t_ccdl": 0,  # no longer than t_ccd
    "t_rcdwr": 0,  # the same as t_rcd; GPGPU-Sim has t_rcd − t_wl − 1
    "t_rtpl": 0,
    "t_refi": 0,  # no refresh
    "t_rfc": 0,
    "refresh_banks": 0,  # all
    "t_rtw": 0,  # computed
    "command_buses": 1,
    "scheduler": "fr-fcfs",
    "page_policy": "open",
    "write_high": 0,  # half the queue (chosen; GPGPU-Sim's separate write queue of 64 drains from 56 …
    "write_low": -1,  # … to 32): here a quarter of the queue
    "age_limit_cycles": 0,  # no bound on waiting
}
_SCHEDULERS = {"fr-fcfs": Scheduler.FR_FCFS, "fcfs": Scheduler.FCFS}


def configure(channel: Any, timing: Mapping[str, Any]) -> None:
    """Empty a channel, close its banks, and set it up; what is impossible is refused by name.

    A read-to-write turnaround of 0 is computed as t_cl + burst_cycles + 2 − t_wl, as GPGPU-Sim does: the write's data
    follows the read's after two idle cycles on the bus.
    """
    values = _checked(timing)
    for name in channel.dtype.names or ():
        channel[name] = np.zeros((), channel.dtype[name])
    for name in (*TIMINGS, "queue_entries", "write_high", "write_low", "age_limit_cycles", "access_bytes", "burst_cycles",
                 "command_buses"):  # fmt: skip
        channel[name] = values[name]
    channel.n_banks = values["banks"]
    channel.scheduler = _SCHEDULERS[values["scheduler"]]
    burst = values["burst_cycles"]
    channel.same_direction = max(values["t_ccd"], burst)
    channel.write_to_read = values["t_wl"] + burst + values["t_cdlr"]
    channel.read_to_precharge = max(values["t_rtpl"], burst)
    channel.write_to_precharge = values["t_wl"] + burst + values["t_wr"]
    channel.refresh_banks = values["refresh_banks"] or values["banks"]
    channel.next_refresh = values["t_refi"]
    channel["places"] = (values["return_entries"], MAX_RETURNS)
    _empty(channel, values["bank_groups"])


def _empty(channel: Any, bank_groups: int) -> None:
    banks, entries = channel["banks"], channel["entries"]
    banks["open_row"] = NO_ROW
    banks["group"] = np.arange(MAX_DRAM_BANKS) % bank_groups  # by the low bits, as GPGPU-Sim's Fermi configuration has it
    for field in ("first", "last", "begun"):
        banks[field] = NOTHING
    channel["nominees"]["position"] = NOTHING
    channel["nominees"]["group"] = NO_GROUP
    channel["nominees"]["ready"] = FAR_FUTURE
    channel["nominees"]["rank"] = NO_TURN
    entries["next"] = np.arange(1, MAX_DRAM_QUEUE + 1)
    entries["next"][-1] = NOTHING
    channel["leaving"]["limit"] = 2 * MAX_RETURNS
    channel.next_done = FAR_FUTURE
    channel.wake, channel.foreseen_at = FAR_FUTURE, NEVER


def _checked(timing: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its defaults filled in."""
    for key in timing:
        if key not in _REQUIRED and key not in _OPTIONAL:
            raise SimtlabError(f"dram.{key}: no such setting; known are {', '.join(sorted({*_REQUIRED, *_OPTIONAL}))}")
    for key in _REQUIRED:
        if key not in timing:
            raise SimtlabError(f"dram.{key} is missing")
    values = _OPTIONAL | dict(timing)
    _require(values, "scheduler", values["scheduler"] in _SCHEDULERS, "'fr-fcfs' or 'fcfs'")
    _require(values, "page_policy", values["page_policy"] == "open", "'open'")
    for key in TIMINGS:
        _require(values, key, 0 <= values[key] <= MOST_CYCLES, f"0 to {MOST_CYCLES} cycles")
    _require(values, "age_limit_cycles", values["age_limit_cycles"] >= 0, "0 or more cycles")
    for key, most in (("banks", MAX_DRAM_BANKS), ("queue_entries", MAX_DRAM_QUEUE), ("return_entries", MAX_RETURNS)):
        _require(values, key, 1 <= values[key] <= most, f"1 to {most}")
    _require(values, "bank_groups", 1 <= values["bank_groups"] <= values["banks"], "1 to the number of banks")
    _require(values, "burst_cycles", 1 <= values["burst_cycles"] <= MOST_CYCLES, f"1 to {MOST_CYCLES}")
    access_bytes = values["access_bytes"]
    _require(values, "access_bytes", access_bytes >= 1 and access_bytes & (access_bytes - 1) == 0, "a power of two")
    return _derived(values)


def _derived(values: dict[str, Any]) -> dict[str, Any]:
    """The settings whose default follows from others."""
    values["t_ccdl"] = max(values["t_ccdl"], values["t_ccd"])
    values["t_rcdwr"] = values["t_rcdwr"] or values["t_rcd"]
    soonest = max(1, values["t_cl"] + values["burst_cycles"] - values["t_wl"])
    values["t_rtw"] = values["t_rtw"] or max(1, soonest + 2)
    _require(values, "t_rtw", values["t_rtw"] >= soonest, f"0 or at least {soonest}: the read's data must be off the bus")
    entries = values["queue_entries"]
    values["write_high"] = values["write_high"] or max(1, entries // 2)
    values["write_low"] = values["write_low"] if values["write_low"] >= 0 else min(entries // 4, values["write_high"] - 1)
    _require(values, "write_high", 1 <= values["write_high"] <= entries, f"1 to {entries}, the queue's entries")
    _require(values, "write_low", values["write_low"] < values["write_high"], f"under write_high, {values['write_high']}")
    return values


def _require(values: Mapping[str, Any], key: str, holds: bool, allowed: str) -> None:
    if not holds:
        raise SimtlabError(f"dram.{key} = {values[key]!r}: must be {allowed}")


def new_channels(count: int) -> np.ndarray:
    """Channel records, each to be configured."""
    return new_records(count, channel_t)
