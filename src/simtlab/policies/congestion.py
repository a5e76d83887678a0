"""How congested memory is, as a core can see it: what its requests' round trips take, beside the shortest one so far."""

from simtlab.compiled import compiled
from simtlab.machine.request import Level

L2, DRAM = int(Level.L2), int(Level.DRAM)
NEVER = 1 << 32  # cycles: no trip has ended


@compiled
def trip_percent(core, trips, cycles):
    """The mean of some round trips that took so many cycles together, in percent of the shortest; 0 where there are none."""
    shortest = min(core.fastest_way[L2], core.fastest_way[DRAM], NEVER)
    return 100 * cycles // (trips * shortest) if trips > 0 else 0
