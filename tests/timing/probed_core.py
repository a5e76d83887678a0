"""One core of the h200 preset with the probes of `h200_probes`, and the comparison with what an H200 took."""

from collections.abc import Mapping

import numpy as np
import pytest

import simtlab as sl
from tests.timing.h200_probes import MAX_WARPS, MEMORY_WORDS, code_digest, compiled, measured_code, probes, recorded

ALIGNED = 1 << 21  # bytes, to a multiple of which an H200 puts what is as large
TOLERANCE_PERCENT = 3.0  # where nothing else is stated

# A reason: by the probe's name, and by its warps where not all are meant, the percentage that the difference stays within on its
# side of zero. -25 is: up to 25% fewer cycles than the H200, or TOLERANCE_PERCENT more.
Differences = Mapping[str, Mapping[str, float | Mapping[int, float]]]


class ProbedCore:
    """The core, and the probes' machine code on it."""

    def __init__(self) -> None:
        self.gpu = sl.Gpu("h200", set={"core.cores": 1})
        self.cycles, self.out = self.gpu.zeros(MAX_WARPS, "u8"), self.gpu.zeros(MAX_WARPS * 32, "u8")
        room = self.gpu.zeros(2 * MEMORY_WORDS, "i4").address
        self.memory = np.uint64(-(-room // ALIGNED) * ALIGNED)
        self.modules: dict[str, sl.Module] = {}
        self.cubins: dict[str, bytes] = {}

    def cycles_of(self, name: str, warps: int) -> float:
        """Cycles a step. One launch will do: the rounds before the last bring in code and data, and a second takes as long."""
        probe = probes()[name]
        if probe.file not in self.modules:
            self.cubins[probe.file] = compiled(probe.file)
            self.modules[probe.file] = self.gpu.load_cubin(self.cubins[probe.file])
        if code_digest(self.cubins[probe.file], probe.kernel) != measured_code()[probe.kernel]:
            pytest.skip("this version of NVRTC makes other machine code of the probe than was measured")
        arrays = [self.cycles, self.out, self.memory][: 3 if probe.has_memory else 2]
        self.modules[probe.file][probe.kernel](1, 32 * warps, [*arrays, *probe.numbers])
        return int(self.cycles.numpy()[:warps].max()) / probe.steps

    def outside(self, name: str, known: Differences) -> dict[int, str]:
        """The warps with which a probe takes more or fewer cycles than is allowed, and how many."""
        found = {}
        for warps in probes()[name].warps:
            cycles, measured = self.cycles_of(name, warps), recorded()[name][str(warps)]
            low, high = allowed_percent(name, warps, known)
            percent = 100 * (cycles / measured - 1)
            if not low <= percent <= high:
                found[warps] = f"{cycles:.2f} cycles, an H200 {measured:.2f}: {percent:+.1f}%, allowed {low:+} to {high:+}"
        return found


def allowed_percent(name: str, warps: int, known: Differences) -> tuple[float, float]:
    for names in known.values():
        bound = names.get(name, {})
        percent = bound.get(warps) if isinstance(bound, Mapping) else bound
        if percent is not None:
            return min(percent, -TOLERANCE_PERCENT), max(percent, TOLERANCE_PERCENT)
    return -TOLERANCE_PERCENT, TOLERANCE_PERCENT


def of_files(*files: str) -> list[str]:
    """The names of the probes in them."""
    return [name for name, probe in probes().items() if probe.file in files]
