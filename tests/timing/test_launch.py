"""What a launch costs before its first CTA runs, how fast CTAs start, and how instructions come."""

import numpy as np
import pytest

import simtlab as sl

EMPTY = 'extern "C" __global__ void empty() {}'
STRAIGHT = """extern "C" __global__ void straight(float *out, float a, float b) {
  float x = threadIdx.x, y = x + 1, z = x + 2, w = x + 3;
  #pragma unroll
  for (int k = 0; k < 256; k++) { x = x * a + b; y = y * a + b; z = z * a + b; w = w * a + b; }
  out[threadIdx.x] = x + y + z + w;
}"""
LOCAL = """extern "C" __global__ void scattered(const double *d, double *o, int by) {
  int i = threadIdx.x;
  double l[32];
  for (int k = 0; k < 32; k++) l[k] = d[k] + i;
  double s = 0;
  for (int k = 0; k < 8; k++) { l[(i * by + k) % 32] += k; s += l[(i * 5 + k * by) % 32]; }
  o[i] = s;
}"""


def cycles(text, grid, block, arguments=(), **keys):
    gpu = sl.Gpu("caps-gtx480", set={key.replace("__", "."): value for key, value in keys.items()})
    given = [gpu.zeros(*one) if isinstance(one, tuple) else one for one in arguments]
    module = gpu.compile(text)
    return module[module.kernels[0]](grid, block, given)


@pytest.mark.parametrize("overhead", [500, 100_000])
def test_a_launch_waits_for_its_first_cta(overhead):
    """The other clocks stand elsewhere then, which can make a fetch take a cycle or two more or less."""
    plain = cycles(EMPTY, 4, 64)
    late = cycles(EMPTY, 4, 64, core__launch_cycles=overhead)
    assert late.cycles == pytest.approx(plain.cycles + overhead, abs=4)
    assert late.instructions == plain.instructions


def test_each_launch_of_a_stream_waits_for_itself():
    gpu = sl.Gpu("caps-gtx480", set={"core.launch_cycles": 500})
    kernel, stream = gpu.compile(EMPTY)["empty"], gpu.stream()
    runs = [kernel(1, 32, [], stream=stream) for _ in range(3)]
    gpu.synchronize()
    assert all(run.cycles > 500 for run in runs)


@pytest.mark.parametrize(("rate", "taken"), [(100, 1000), (800, 125)])
def test_ctas_start_at_a_rate(rate, taken):
    few, many = (cycles(EMPTY, grid, 32, core__cta_starts_per_1000_cycles=rate).cycles for grid in (1020, 1120))
    assert many - few == pytest.approx(taken, abs=4)


def test_prefetched_instructions_are_waited_for_less():
    given = [(32, "f4"), np.float32(1), np.float32(2)]
    plain = cycles(STRAIGHT, 1, 32, given)
    ahead = cycles(STRAIGHT, 1, 32, given, l1i__prefetch_lines=4, l1i__mshr_entries=8)
    assert ahead.instructions == plain.instructions
    assert ahead.stalls["no_instruction"] < plain.stalls["no_instruction"] / 2
    lines = -(-8 * len(ahead.program.lowered) // ahead.config.l1i.line_bytes)
    assert ahead.counters["l1i_misses"] == lines  # each line once, and nothing beyond the kernel


def test_a_line_of_instructions_holds_half_as_many_of_machine_code():
    gpu = sl.Gpu("caps-gtx480", isa="sm_75")
    module = gpu.compile(STRAIGHT)
    run = module["straight"](1, 32, [gpu.zeros(32, "f4"), np.float32(1), np.float32(2)])
    last = max(pc for pc, work in enumerate(run.timing.work_by_instruction["lanes"]) if work)
    assert run.counters["l1i_misses"] == -(-(last + 1) * 16 // gpu.machine.config.l1i.line_bytes)


@pytest.mark.parametrize("machine", ["caps-gtx480", "v100"])
def test_wide_local_variables_at_another_place_in_each_lane_are_right(machine):
    """They touch more sectors than an instruction's record has room for."""
    found = []
    for gpu in (sl.Gpu(), sl.Gpu(machine)):
        module, out = gpu.compile(LOCAL), []
        for by in range(1, 12, 2):
            d, o = gpu.array(np.arange(32.0)), gpu.zeros(32, "f8")
            module["scattered"](1, 32, [d, o, np.int32(by)])
            out.append(o.numpy())
        found.append(np.array(out))
    assert np.array_equal(*found)
