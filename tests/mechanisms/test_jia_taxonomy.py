"""Kinds of locality (Jia et al. 2012), each on a kernel that has it alone, with exact counts; and the rule for what to cache."""

from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.cli.answer import BadInput
from simtlab.cli.locality import show_locality, with_analysis
from simtlab.cli.plan import Options
from simtlab.cli.workloads import WorkloadOptions
from simtlab.lab.locality import LoadLocality, locality, table
from simtlab.lab.machines import choose

SECTORS = {"core.cores": 1, "l1d.sector_bytes": 32}
KERNEL = """
extern "C" __global__ void k(const int *x, int *y, int n) {
    int t = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    y[t] = BODY;
}
"""


def loads_of(body: str, ctas: int = 1, changes: dict = SECTORS) -> list[LoadLocality]:
    """The loads of a kernel with CTAs of two warps."""
    gpu = sl.Gpu("gtx480", set=changes, mechanism="jia_taxonomy")
    x, y = np.arange(4096, dtype=np.int32), gpu.zeros(64 * ctas, np.int32)
    return locality(gpu.compile(KERNEL.replace("BODY", body))["k"](ctas, 64, [gpu.array(x), y, 2]))


def counts(load: LoadLocality) -> dict[str, int]:
    names = ("lanes", "sectors", "lines", "within_warp", "within_block", "cross_instruction", "again", "fresh", "lent")
    return {name: getattr(load, name) for name in names if getattr(load, name)}


def test_lanes_of_a_warp_side_by_side_have_locality_within_the_warp():
    """Each of two warps reads a line, 4 sectors of it: as many bytes through the L1 as around."""
    (load,) = loads_of("x[t]")
    assert counts(load) == {"lanes": 64, "sectors": 8, "lines": 2, "within_warp": 62, "fresh": 2}
    assert (load.bytes_around, load.bytes_cached, load.rule) == (256, 256, "either")


def test_warps_that_read_the_same_line_have_locality_within_the_block():
    (load,) = loads_of("x[lane]")
    assert counts(load) == {"lanes": 64, "sectors": 8, "lines": 2, "within_warp": 62, "within_block": 1, "fresh": 1}
    assert (load.bytes_around, load.bytes_cached, load.rule) == (256, 128, "cache")


def test_two_loads_of_the_same_line_have_locality_across_instructions_and_are_judged_together():
    """The second load reads each warp's line backwards: alone it would move nothing, and the first as much as around."""
    first, second = loads_of("x[t] + 3 * x[(t & ~31) + 31 - lane]")
    assert counts(first) == {"lanes": 64, "sectors": 8, "lines": 2, "within_warp": 62, "fresh": 2, "lent": 2}
    assert counts(second) == {"lanes": 64, "sectors": 8, "lines": 2, "within_warp": 62, "cross_instruction": 2}
    assert [(load.bytes_cached, load.rule) for load in (first, second)] == [(256, "cache"), (0, "cache")]


def test_lanes_a_line_apart_have_no_locality_and_go_around():
    """A sector of 32 bytes each, or a line of 128."""
    (load,) = loads_of("x[t * 32]")
    assert counts(load) == {"lanes": 64, "sectors": 64, "lines": 64, "fresh": 64}
    assert (load.bytes_around, load.bytes_cached, load.rule) == (64 * 32, 64 * 128, "bypass")


def test_a_warp_that_reads_its_line_again_is_within_no_block():
    (load,) = loads_of("[=] { int sum = 0; for (int k = 0; k < n; k++) sum += ((volatile const int *)x)[t]; return sum; }()")
    assert counts(load) == {"lanes": 128, "sectors": 16, "lines": 4, "within_warp": 124, "again": 2, "fresh": 2}
    assert load.rule == "cache"


def test_ctas_that_read_the_same_lines_have_no_locality_within_a_block():
    """Nine CTAs, one more than a core holds: what the one before in its slot touched is forgotten."""
    (load,) = loads_of("x[threadIdx.x]", ctas=9)
    assert counts(load) == {"lanes": 9 * 64, "sectors": 72, "lines": 18, "within_warp": 9 * 62, "fresh": 18}


def test_counting_changes_no_cycle():
    def run(**policies) -> sl.Run:
        gpu = sl.Gpu("gtx480", set=SECTORS, **policies)
        return gpu.compile(KERNEL.replace("BODY", "x[t * 32]"))["k"](1, 64, [gpu.zeros(4096), gpu.zeros(64), 2])

    assert run(mechanism="jia_taxonomy").cycles == run().cycles


def test_the_table_has_a_line_for_each_load():
    gpu = sl.Gpu("gtx480", set=SECTORS, mechanism="jia_taxonomy")
    run = gpu.compile(KERNEL.replace("BODY", "x[lane]"))["k"](1, 64, [gpu.zeros(4096), gpu.zeros(64), 2])
    header, line = table(run).splitlines()
    assert header.split()[:4] == ["line", "load", "lanes", "lines"]
    assert line.split()[-8:] == ["64", "2", "97", "50", "0", "0.2", "0.1", "cache"]


def test_without_sectors_or_counts_there_is_no_rule():
    with pytest.raises(sl.SimtlabError, match=r"l1d.sector_bytes = 128"):
        loads_of("x[t]", changes={"core.cores": 1})
    gpu = sl.Gpu("gtx480", set=SECTORS)
    run = gpu.compile(KERNEL.replace("BODY", "x[t]"))["k"](1, 64, [gpu.zeros(4096), gpu.zeros(64), 2])
    with pytest.raises(sl.SimtlabError, match="mechanism='jia_taxonomy'"):
        locality(run)


def test_lines_without_a_place_in_the_table_count_as_fresh_and_are_told():
    """A CTA of 256 threads reads 160 lines a thread, 40,960 in all; each has two of 65,536 places."""
    gpu = sl.Gpu("gtx480", set=SECTORS, mechanism="jia_taxonomy")
    body = "[=] { int sum = 0; for (int k = 0; k < n; k++) sum += x[(k * 256 + t) * 32]; return sum; }()"
    run = gpu.compile(KERNEL.replace("BODY", body))["k"](
        1, 256, [gpu.zeros(160 * 256 * 32), gpu.zeros(256), 160]
    )
    loads = locality(run)
    assert sum(load.lines for load in loads) == sum(load.fresh for load in loads) == 160 * 256
    assert 40_960 - 32_768 <= run.counters["mechanism.jia-taxonomy.left_out"] < 20_000
    assert table(run).splitlines()[-1].endswith("found no place in the analysis' table and count as new")


def test_the_command_shows_every_kernel_beside_other_mechanisms():
    """The analysis takes a free slot; its numbers are those of the table of a run."""
    nothing, machine = Options(None, None, None, [], [], None, [], []), choose("gtx480", [], ["mechanism=ccws"])
    told = show_locality(Path("KM"), nothing, WorkloadOptions("tiny", []), machine, 0).as_json()
    gpu = sl.Gpu("gtx480", set={"l1d.sector_bytes": 32}, mechanism="ccws", mechanism_2="jia_taxonomy")
    launches = sl.workload("KM", size="tiny").run(gpu).launches
    first = told["kernels"][0]["loads"]
    assert [load["lines"] for load in first] == [load.lines for load in locality(launches[0])]
    assert {load["rule"] for kernel in told["kernels"] for load in kernel["loads"]} <= {"cache", "bypass", "either"}
    with pytest.raises(BadInput, match="all have a mechanism"):
        with_analysis(choose("gtx480", [], ["mechanism=ccws", "mechanism_2=mrpb", "mechanism_3=bows"]))
