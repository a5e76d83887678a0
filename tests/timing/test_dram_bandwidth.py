"""How much of the DRAM's bandwidth a streaming read gets, and what holds it back where it is less. About 10 s.

Every warp reads four lines a CTA's width apart, each once; 16 MB in all. The DRAM itself gives its peak: with a network and
MSHRs enough it delivers 98%. What CAPS's machine has of both is less: 15 cores * 32 MSHRs * 128 bytes in flight over the
630 core cycles of a loaded round trip are 137 GB/s of the peak's 177, and one virtual channel of 32-byte flits, where the
packet at the front blocks those behind it, passes about as much however many MSHRs there are.
"""

import numpy as np
import pytest

import simtlab as sl

SOURCE = r"""
extern "C" __global__ void read(const float *x, float *y) {
    int i = blockIdx.x * 4 * blockDim.x + threadIdx.x, d = blockDim.x;
    float s = x[i] + x[i + d] + x[i + 2 * d] + x[i + 3 * d];
    if (s == 12345.0f) y[0] = s;
}
"""
WORDS = 1 << 22


def stream(preset: str, **changes) -> tuple[float, sl.Run, sl.Gpu]:
    """The share of the peak, the run, the GPU."""
    gpu = sl.Gpu(preset, set={key.replace("__", "."): value for key, value in changes.items()}, memory_bytes=1 << 26)
    run = gpu.compile(SOURCE)["read"](WORDS // 1024, 256, [gpu.zeros(WORDS), gpu.zeros(16)])
    config = gpu.machine.config
    seconds = run.cycles / (config.clocks.core_mhz * 1e6)
    return 4 * WORDS / seconds / config.peak_dram_bandwidth, run, gpu


def test_streaming_reads_on_gtx480_reach_85_percent_of_the_peak():
    share, run, _ = stream("gtx480")
    assert 0.85 < share < 1
    assert run.counters["dram_row_hits"] > 0.95 * run.counters["dram_reads"]


def test_each_line_is_read_from_dram_once():
    _, run, gpu = stream("gtx480")
    lines = 4 * WORDS // 128
    assert run.counters["l1_misses"] == lines
    assert lines <= run.counters["dram_reads"] <= lines + 16  # and the instructions
    requests = run.counters["dram_reads"] + run.counters["dram_writes"]
    assert sum(run.counters[f"dram_row_{found}"] for found in ("hits", "misses", "conflicts")) == requests
    accesses = run.counters["dram_read_accesses"] + run.counters["dram_write_accesses"]
    assert run.counters["dram_bus_cycles"] == accesses * gpu.machine.config.dram.burst_cycles


def test_the_dram_of_caps_gives_its_peak_to_a_network_and_mshrs_that_ask_for_it():
    share, _, _ = stream("caps-gtx480", network__flit_bytes=64, l1d__mshr_entries=64)
    assert 0.95 < share < 1


def test_caps_gtx480_with_more_virtual_channels_reaches_85_percent():
    assert stream("caps-gtx480", network__virtual_channels=4)[0] > 0.85


def test_caps_gtx480_itself_is_held_back_by_its_mshrs_and_its_network():
    """74%: as many bytes as 32 MSHRs keep in flight (Little's law), and twice the MSHRs add nothing but waiting."""
    share, run, gpu = stream("caps-gtx480")
    assert 0.70 < share < 0.80
    config, counters = gpu.machine.config, run.counters
    round_trip = counters["round_trip_cycles"] / counters["round_trips"]
    in_flight = config.core.cores * config.l1d.mshr_entries * config.l1d.line_bytes
    assert 4 * WORDS / run.cycles == pytest.approx(in_flight / round_trip, rel=0.05)
    more, longer, _ = stream("caps-gtx480", l1d__mshr_entries=64)
    assert more < share + 0.02
    assert longer.counters["round_trip_cycles"] > 1.5 * counters["round_trip_cycles"]


def test_a_row_conflict_at_every_access_costs_most_of_the_bandwidth():
    """Rows of one bank in turn: at best a line every t_rc cycles and bank, here one bank of each slice at a time."""
    gpu = sl.Gpu("caps-gtx480", memory_bytes=1 << 28)
    config = gpu.machine.config
    stride = config.dram.row_bytes * config.dram.banks // config.l2.slices_per_channel * config.l2.slices // 4
    text = r"""
    extern "C" __global__ void jump(const float *x, float *y, int stride) {
        int lane = threadIdx.x, row = blockIdx.x;
        float s = x[(long long)row * stride + lane];
        if (s == 12345.0f) y[0] = s;
    }"""
    rows = 128
    run = gpu.compile(text)["jump"](rows, 32, [gpu.zeros(rows * stride), gpu.zeros(16), np.int32(stride)])
    assert run.counters["dram_activates"] >= rows
    assert run.cycles * config.clocks.dram_mhz / config.clocks.core_mhz > rows * config.dram.t_rc
