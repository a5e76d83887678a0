"""`small` is large enough for calm figures: three waves of CTAs on 30 cores, wherever 5 M warp instructions have room for them."""

from simtlab.cli.workloads import resident_ctas
from simtlab.workloads.measured import stored

CORES, MACHINE = 30, "dyncta-30core"
OF_THEIR_OWN_GRID = {"DWT", "GRM", "HST", "HTW", "LIB", "NW"}  # the suite has few CTAs for its input
OF_LONG_CTAS = {"LKC", "NN", "PFF", "PFN"}  # each has too many instructions
OF_MANY_LAUNCHES = {"LU", "MST", "SSSP"}
OF_A_SORT = {"IIX", "PVC", "PVR", "SSC"}  # in powers of two, or whose tasks are long
FEWER = OF_THEIR_OWN_GRID | OF_LONG_CTAS | OF_MANY_LAUNCHES | OF_A_SORT


def waves(name: str) -> float:
    """Of the kernel that executes most, at its largest grid."""
    kernel = max(stored()[name]["small"].kernels, key=lambda kernel: kernel.instructions)
    resident, _ = resident_ctas(kernel)[MACHINE]
    return kernel.ctas[1] / (CORES * resident)


def test_three_waves_wherever_there_is_room():
    assert {name for name in stored() if waves(name) < 3} == FEWER
