"""Texture fetches and surface accesses."""

from simtlab.compiled import compiled
from simtlab.execute.memory import report
from simtlab.execute.simt_stack import lowest_lane
from simtlab.execute.state import FaultCode

BAD_TEXTURE = int(FaultCode.BAD_TEXTURE)


@compiled
def texture(launch, worker, warp, ins, pc, mask):
    return report(worker, warp, ins, pc, lowest_lane(mask), 0, BAD_TEXTURE)


@compiled
def surface(launch, worker, warp, ins, pc, mask):
    return report(worker, warp, ins, pc, lowest_lane(mask), 0, BAD_TEXTURE)
