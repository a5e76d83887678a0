"""How congested memory is, as a core can see it: what its requests' round trips take, what is full, what was rejected and why."""

from simtlab.compiled import compiled
from simtlab.machine.memory.l1 import Failure
from simtlab.machine.request import Level

L2, DRAM = int(Level.L2), int(Level.DRAM)
NO_LINE = int(Failure.TAG)
NEVER = 1 << 32  # cycles: no trip has ended


@compiled
def trip_percent(core, trips, cycles):
    """The mean of some round trips that took so many cycles together, in percent of the shortest; 0 where there are none."""
    shortest = min(core.fastest_way[L2], core.fastest_way[DRAM], NEVER)
    return 100 * cycles // (trips * shortest) if trips > 0 else 0


@compiled
def trip_since(core, seen):
    """The mean round trip since the `trips` and `cycles` that `seen` has, in percent of the shortest so far; they are renewed."""
    trips, cycles = core.round_trips - seen.trips, core.round_trip_cycles - seen.cycles
    seen.trips, seen.cycles = core.round_trips, core.round_trip_cycles
    return trip_percent(core, trips, cycles)


@compiled
def is_saturated(core, spare):
    """Whether `spare` MSHRs or fewer are left, or one place or none in the queue to the network."""
    return core.mshr.used + spare >= core.mshr.entries or core.inject.count + 1 >= core.inject.limit


@compiled
def is_stalled(core):
    """Whether the load/store unit was rejected, or a miss would be."""
    return core.ldst_blocked != 0 or core.mshr.used >= core.mshr.entries or core.inject.count >= core.inject.limit


@compiled
def found_no_line(core):
    """Whether the load/store unit was rejected because no line of a set of the L1 could go."""
    return core.ldst_blocked == NO_LINE
