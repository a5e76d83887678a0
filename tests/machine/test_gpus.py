"""The presets of real GPUs have the peak figures that NVIDIA publishes; each number follows from the preset's keys."""

from dataclasses import dataclass

import pytest

from simtlab.machine.config import MachineConfig, load
from tests.cli.conftest import invoke


@dataclass(frozen=True)
class Published:
    """From NVIDIA's architecture whitepapers and datasheets, and the CUDA programming guide's table of compute capabilities."""

    isa: str
    cores: int
    float_lanes: int  # of a core
    integer_lanes: int
    double_lanes: int
    teraflops: float  # FP32
    gigabytes: float  # of DRAM, a second
    l2_kilobytes: int
    unified_kilobytes: int  # L1 and shared memory
    shared_kilobytes: int  # of it, at most
    warps: int  # a core
    ctas: int


GPUS = {
    "rtx2080ti": Published("sm_75", 68, 64, 64, 2, 13.4, 616, 5632, 96, 64, 32, 16),
    "a100": Published("sm_80", 108, 64, 64, 32, 19.5, 2039, 40 << 10, 192, 164, 64, 32),
    "rtxa6000": Published("sm_86", 84, 128, 64, 2, 38.7, 768, 6 << 10, 128, 100, 48, 16),
    "rtx4090": Published("sm_89", 128, 128, 64, 2, 82.6, 1008, 72 << 10, 128, 100, 48, 24),
    "rtx5090": Published("sm_120", 170, 128, 128, 2, 104.8, 1792, 96 << 10, 128, 100, 48, 24),
}
EACH = pytest.mark.parametrize(("name", "published"), GPUS.items())


def lanes(machine: MachineConfig, operation: str) -> float:
    """How many lanes a core needs to start so many warps of an operation."""
    units = machine.units
    pipes = units.number_of(units.executed_on(operation))
    if units.executed_on(operation) == "sp":
        pipes += units.heavy_units
    return pipes * machine.core.warp_size / getattr(units, operation).initiation_cycles


@EACH
def test_peak_arithmetic_is_the_published_one(name, published):
    machine = load(name)
    assert (machine.core.cores, machine.core.sub_cores) == (published.cores, 4)
    assert lanes(machine, "sp_mad") == published.float_lanes
    assert lanes(machine, "int_add") == published.integer_lanes
    assert lanes(machine, "dp_mad") == published.double_lanes
    assert lanes(machine, "sfu") == 16
    flops = machine.core.cores * lanes(machine, "sp_mad") * 2 * machine.clocks.core_mhz * 1e6
    assert flops / 1e12 == pytest.approx(published.teraflops, rel=0.02)


@EACH
def test_memories_are_the_published_ones(name, published):
    machine = load(name)
    assert machine.peak_dram_bandwidth / 1e9 == pytest.approx(published.gigabytes, rel=0.02)
    assert machine.l2.total_bytes == published.l2_kilobytes << 10
    shared = machine.shared_memory
    assert (shared.bytes, shared.split) == (published.shared_kilobytes << 10, "at-launch")
    assert {l1 + part for l1, part in shared.splits} == {published.unified_kilobytes << 10}
    assert max(part for _, part in shared.splits) == shared.bytes


@EACH
def test_what_a_core_holds_is_in_the_table_of_compute_capabilities(name, published):
    core = load(name).core
    assert (core.isa, core.max_warps, core.max_threads) == (published.isa, published.warps, 32 * published.warps)
    assert (core.max_ctas, core.registers) == (published.ctas, 65536)


@EACH
def test_the_timings_of_dram_are_as_long_as_those_they_are_scaled_from(name, published):
    """GPGPU-Sim: GDDR6 for 3500 MHz (RTX 2060, RTX 3070), HBM for 1 GHz; rounded up to a cycle."""
    machine = load(name)
    cycle = 1e3 / machine.clocks.dram_mhz
    given = {"t_rcd": 14, "t_ras": 33, "t_rp": 14, "t_cl": 14, "t_wr": 12}
    if machine.dram.kind.startswith("GDDR"):
        given = {key: cycles / 3.5 for key, cycles in (("t_rcd", 24), ("t_ras", 55), ("t_rp", 24), ("t_cl", 24), ("t_wr", 24))}
    for key, nanoseconds in given.items():
        assert nanoseconds - 1e-9 <= getattr(machine.dram, key) * cycle < nanoseconds + cycle, key


@pytest.mark.parametrize("name", ["v100", *GPUS])
def test_a_bank_is_refreshed_as_often_and_for_as_long_as_its_standard_says(name):
    """As Ramulator 2 has them. HBM2: every 3.9 us, for 160 ns; GDDR6, taken for GDDR6X and GDDR7 too: 1.9 us and 60 ns."""
    machine = load(name)
    cycle = 1e3 / machine.clocks.dram_mhz
    every, long = (1900, 60) if machine.dram.kind.startswith("GDDR") else (3900, 160)
    assert every - 1e-9 <= machine.dram.t_refi * cycle < every + cycle
    assert long - 1e-9 <= machine.dram.t_rfc * cycle < long + cycle
    assert machine.dram.refresh_banks == 1


def test_an_h200_refreshes_all_banks_of_a_channel_twice_as_often():
    """HBM3 as Ramulator 2 has it, 260 ns for all banks every 3.9 us: an H200 has half of that (tests/timing/test_h200_dram.py)."""
    machine = load("h200")
    cycle = 1e3 / machine.clocks.dram_mhz
    assert 1950 - 1e-9 <= machine.dram.t_refi * cycle < 1950 + cycle
    assert 260 - 1e-9 <= machine.dram.t_rfc * cycle < 260 + cycle
    assert machine.dram.refresh_banks == 0


def test_list_gpus_says_what_each_executes():
    lines = {line.split()[0]: line.split() for line in invoke("list", "gpus").stdout.splitlines() if line and ":" not in line}
    assert {name: lines[name][-1] for name in GPUS} == {name: published.isa for name, published in GPUS.items()}
