"""The advice on a kernel that is limited by one thing names that thing first, with its line and with numbers from the counters."""

import re
from dataclasses import replace

import pytest

import simtlab as sl
from simtlab.program.action import Action
from simtlab.program.lower import Lowered
from simtlab.report.advice import WORTH_SAYING, advice, explain, findings
from simtlab.report.instruction_kinds import lane_bytes
from simtlab.report.profile import profile_of
from simtlab.report.rules.ledger import Ledger, put_blame
from simtlab.report.rules.words import listed
from tests.everyday import every
from tests.report import kernels

H200, CAPS, MACHINE_CODE = "h200/ptx", "caps-gtx480", "h200"
BOTH = pytest.mark.parametrize("machine", [H200, CAPS])


def line_of(text: str, words: str) -> int:
    """The number of the first line of a text with these words."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if words in line)


def first(profile, rule):
    """The most important advice, which must be of this rule."""
    given = advice(profile)
    assert given[0].rule == rule, explain(profile)
    assert given[0].weight >= WORTH_SAYING
    return given[0]


def numbers(pattern, given):
    """The numbers that a sentence has in the places of a pattern's groups."""
    found = re.search(pattern, given.sentence)
    assert found, given.sentence
    return [float(number.replace(",", "")) for number in found.groups()]


def row_with(profile, words):
    """The instruction with these words that was executed most."""
    return max((row for row in profile.rows if words in row.text), key=lambda row: row.issued)


def share(profile, *causes):
    """Of scheduler cycles, in percent."""
    return 100 * sum(profile.stalls[cause] for cause in causes) / profile.scheduler_cycles


@BOTH
def test_a_naive_transpose_stores_uncoalesced(machine):
    profile = kernels.transpose(machine)
    given = first(profile, "uncoalesced")
    line = line_of(kernels.TRANSPOSE, "out[")
    store = row_with(profile, "st.global")
    named, touched, least, lanes, width = numbers(
        r"store of line (\d+) .* touches ([\d.]+) \w+ a request where (\d+) would do \((\d+) lanes of (\d+) bytes\)", given
    )
    assert (named, lanes, width) == (line, 32, 4)
    assert touched == store.accesses / store.issued == 32
    assert least == 32 * 4 / profile.machine.l1d.sector_bytes
    assert given.lines == ((store.file, line),)


@BOTH
def test_a_strided_load_is_uncoalesced(machine):
    profile = kernels.strided(machine)
    line, touched = numbers(r"load of line (\d+) .* touches ([\d.]+) ", first(profile, "uncoalesced"))
    load = row_with(profile, "ld.global")
    assert line == line_of(kernels.STRIDED, "in[")
    assert touched == load.accesses / load.issued == 16 * 32 * 4 / max(64, profile.machine.l1d.sector_bytes)


def test_an_interleaved_reduction_has_bank_conflicts():
    profile = kernels.reduction(H200)
    line, taken, least = numbers(r"of line (\d+) takes ([\d.]+) passes where (\d+) would do", first(profile, "bank-conflicts"))
    assert line == line_of(kernels.REDUCTION, "] +=")
    assert (taken, least) == (32, 1)
    assert any(row.line == line and row.passes == 32 * row.issued > 0 for row in profile.rows)


@BOTH
def test_rows_of_32_words_have_bank_conflicts(machine):
    profile = kernels.rows(machine)
    given = first(profile, "bank-conflicts")
    line, taken, least, cycles = numbers(
        r"of line (\d+) takes ([\d.]+) passes where (\d+) would do; .* are (\d+)% of scheduler cycles", given
    )
    load = row_with(profile, "ld.shared")
    assert line == line_of(kernels.ROWS, "sum +=")
    assert (taken, least) == (load.passes / load.issued, 1) == (32, 1)
    assert cycles == pytest.approx(100 * given.weight, abs=0.5)


@BOTH
def test_uneven_rows_of_a_sparse_matrix_diverge(machine):
    profile = kernels.spmv(machine)
    given = first(profile, "divergence")
    line, lanes, of, whole = numbers(r"(\d+) runs? with ([\d.]+) of (\d+) lanes \(the whole kernel with ([\d.]+)\)", given)
    assert line == line_of(kernels.SPMV, "sum +=")
    assert lanes < 4 < of == 32
    assert whole == pytest.approx(profile.counters["thread_instructions"] / profile.instructions, abs=0.05)


def test_several_lines_are_listed_in_their_order():
    profile = kernels.spmv(CAPS)
    file = profile.rows[0].file
    assert listed(profile, [(file, 5), (file, 4), (file, 17)]) == "lines 4, 5 and 17"
    assert listed(profile, [(file, 5)]) == "line 5"


def test_how_many_warps_are_resident_is_said_once():
    told = explain(kernels.shared_chase(H200))
    assert advice(kernels.shared_chase(H200))[0].rule == "shared-load-latency"
    assert told.count("warps are resident on a core") == 1


def test_a_sentence_about_what_others_have_left_says_so():
    """Most waits for loads are put down to idle lanes, the rest is told apart."""
    profile = kernels.spmv(H200)
    (latency,) = [given for given in advice(profile) if given.rule == "global-load-latency"]
    (waited,) = numbers(r"^Apart from that, each warp waits ([\d.]+) of", latency)
    assert waited < 0.2 * profile.cycles_between_instructions * share(profile, "long_scoreboard") / 100


def test_divergence_names_the_branch():
    profile = kernels.spmv(H200)
    assert numbers(r"after the branch of line (\d+)", first(profile, "divergence")) == [line_of(kernels.SPMV, "for")]


@BOTH
def test_a_chase_by_one_warp_waits_for_loads(machine):
    profile = kernels.chase(machine)
    waited, between, latency, line = numbers(
        r"waits (\d+) of (\d+) cycles .* global loads, (\d+) cycles .* all of that is line (\d+)",
        first(profile, "global-load-latency"),
    )
    with_warps = profile.scheduler_cycles - profile.stalls["empty"]
    assert between == round(profile.counters["occupied_warp_cycles"] / profile.instructions)
    assert waited == pytest.approx(between * profile.stalls["long_scoreboard"] / with_warps, abs=1)
    assert latency == round(profile.counters["load_latency_cycles"] / profile.counters["loads_finished"])
    assert line == line_of(kernels.CHASE, "next[at]")


@BOTH
def test_a_chase_by_one_warp_has_too_few_warps(machine):
    profile = kernels.chase(machine)
    resident, most, ctas, fit = numbers(
        r"([\d.]+) of (\d+) warps are resident .* the grid has ([\d.]+) CTAs a core, where (\d+) fit",
        first(profile, "global-load-latency"),
    )
    assert resident == pytest.approx(profile.counters["occupied_warp_cycles"] / profile.counters["core_used_cycles"], abs=0.05)
    assert (most, ctas, fit) == (profile.machine.core.max_warps, 1, profile.ctas_per_core)


@BOTH
def test_a_triad_is_bound_by_dram(machine):
    profile = kernels.triad(machine)
    given = first(profile, "dram-bandwidth")
    used, speed = numbers(r"in use for (\d+)% of the time, (\d+) GB/s", given)
    bursts = profile.counters["dram_read_accesses"] + profile.counters["dram_write_accesses"]
    burst = profile.machine.dram.bus_bytes * profile.machine.dram.burst_length
    assert used == round(100 * profile.utilisation["dram_bus"]) >= 60
    assert speed == round(bursts * burst / profile.seconds / 1e9)


@BOTH
def test_multiply_adds_are_bound_by_instructions(machine):
    profile = kernels.fma(machine)
    given = first(profile, "compute-bound")
    issued, line, used = numbers(
        r"in (\d+)% of scheduler cycles a warp issues.* is line (\d+)\. The .* the SP units with (\d+)%", given
    )
    assert issued == round(share(profile, "issued"))
    assert used == round(100 * profile.utilisation["sp"])
    assert line == line_of(kernels.FMA, "x * a")


@BOTH
def test_a_grid_of_a_little_more_than_a_wave_has_a_tail(machine):
    profile = kernels.tail(machine)
    given = first(profile, "tail")
    time, ctas, waves, slots, last = numbers(
        r"last (\d+)% .*: (\d+) CTAs are ([\d.]+) waves of (\d+), and the last wave has (\d+)", given
    )
    assert (ctas, slots) == (profile.ctas, profile.machine.core.cores * profile.ctas_per_core)
    assert waves == pytest.approx(ctas / slots, abs=0.005)
    assert last == ctas - slots
    assert 20 < time < 50


def test_a_whole_wave_has_no_tail():
    assert not [given for given in advice(kernels.fma(H200)) if given.rule == "tail"]


def test_a_warp_that_does_all_the_work_keeps_the_others_at_the_barrier():
    profile = kernels.barrier(H200)
    given = first(profile, "barrier")
    line, cycles, busy = numbers(r"barrier of line (\d+) .* in (\d+)% of scheduler cycles: .* go to line (\d+)", given)
    assert line == line_of(kernels.BARRIER, "__syncthreads")
    assert busy == line_of(kernels.BARRIER, "x * a")
    assert cycles == round(share(profile, "barrier"))


@pytest.mark.parametrize("name", ["histogram", "shared_histogram"])
@BOTH
def test_atomics_that_contend_are_told(name, machine):
    profile = getattr(kernels, name)(machine)
    line, executed, lanes, each = numbers(
        r"that of line (\d+): ([\d,]+) warps execute it with ([\d.]+) lanes, ([\d.]+) ", first(profile, "atomics")
    )
    rows = [row for row in profile.rows if row.line == line and row.text.startswith(("atom", "red"))]
    assert line == line_of(getattr(kernels, name.upper()), "atomicAdd")
    assert executed == sum(row.issued for row in rows)
    assert lanes == 32
    assert each == pytest.approx(sum(row.accesses + row.passes for row in rows) / executed, abs=0.05)


@BOTH
def test_an_array_indexed_at_run_time_lies_in_local_memory(machine):
    profile = kernels.local(machine)
    line, times, touched = numbers(
        r"of that is line (\d+)\. It is touched ([\d,]+) times, ([\d,]+) ", first(profile, "local-memory")
    )
    rows = [row for row in profile.rows if row.memory == "local"]
    assert line == line_of(kernels.LOCAL, "own[at")
    assert (times, touched) == (sum(row.issued for row in rows), sum(row.accesses for row in rows))


def test_lanes_that_read_different_constants_take_turns():
    profile = kernels.constants(H200)
    line, each, looked = numbers(
        r"is line (\d+)\. A load touches ([\d.]+) lines.* of ([\d,]+) accesses", first(profile, "constant-misses")
    )
    assert line == line_of(kernels.CONSTANTS, "table[(")
    assert each == 32
    assert looked == profile.counters["l1c_hits"] + profile.counters["l1c_misses"]


@BOTH
def test_square_roots_are_bound_by_the_special_function_unit(machine):
    profile = kernels.roots(machine)
    (used,) = numbers(r"units are busy for (\d+)% of the time", first(profile, "special-functions"))
    assert used == round(100 * profile.utilisation["sfu"]) > 60


def test_a_chase_in_shared_memory_waits_for_it():
    profile = kernels.shared_chase(H200)
    waited, between, line = numbers(r"waits ([\d.]+) of ([\d.]+) cycles .* is line (\d+)", first(profile, "shared-load-latency"))
    assert between == pytest.approx(profile.cycles_between_instructions, abs=0.05)
    assert waited == pytest.approx(between * share(profile, "short_scoreboard") / (100 - share(profile, "empty")), abs=0.1)
    assert line == line_of(kernels.SHARED_CHASE, "at = next[at]")


def test_a_fence_after_each_store_is_waited_for():
    profile = kernels.fences(H200)
    (cycles,) = numbers(r"fences .* in (\d+)% of scheduler cycles", first(profile, "fences"))
    assert cycles == pytest.approx(share(profile, "membar"), abs=1.5)  # less what rules before it explain, of lanes that idle


def test_a_short_kernel_is_told_what_its_launch_takes():
    """Of an empty grid nearly all is the launch."""
    text = 'extern "C" __global__ void nothing(float *out) { out[threadIdx.x] = 1; }'
    profile = kernels.profile("h200", text, 132, 32, [kernels.zeros(32)])
    taken, whole = numbers(r"launch itself takes ([\d,]+) of ([\d,]+) cycles", first(profile, "launch"))
    assert (taken, whole) == (profile.machine.core.launch_cycles, profile.cycles)


def test_a_grid_of_fewer_ctas_than_cores_leaves_cores_empty():
    profile = kernels.small_grid(H200)
    without, cores, ctas, cycles = numbers(r"(\d+) of (\d+) cores .* grid has (\d+) .* are (\d+)% of", first(profile, "small-grid"))
    assert (without, cores, ctas) == (5, 8, 3)
    assert cycles == pytest.approx(100 * 5 / 8, abs=2)  # CTAs do not begin all at once


@BOTH
def test_ctas_of_33_threads_leave_lanes_empty(machine):
    given = first(kernels.part_filled(machine), "part-filled-warps")
    assert numbers(r"CTAs of (\d+) threads leave (\d+) of the (\d+) lanes of their (\d+) warps", given) == [33, 31, 64, 2]


def test_a_loop_larger_than_the_instruction_cache_is_told():
    profile = kernels.huge(CAPS)
    cycles, lines, code, cache = numbers(
        r"in (\d+)% .*: ([\d,]+) lines .* the kernel has ([\d,]+) bytes, the instruction cache ([\d,]+)",
        first(profile, "instruction-fetch"),
    )
    assert cycles == round(share(profile, "no_instruction"))
    assert lines == profile.counters["l1i_misses"]
    assert code == 8 * len(profile.rows) > cache == profile.machine.l1i.bytes


def test_misses_that_find_no_mshr_are_told():
    """A triad with all of an H200's DRAM for 8 cores is bound by what an L1 can have in flight, here half as much."""
    arrays = [kernels.zeros(1 << 17)] * 2 + [kernels.zeros(1 << 17)]
    profile = kernels.profile(H200, kernels.TRIAD, 128, 256, arrays, core__cores=8, l1d__mshr_entries=256)
    time, entries, trip = numbers(
        r"in (\d+)% of core cycles none of the (\d+) MSHRs .* takes (\d+) cycles", first(profile, "l1-misses-in-flight")
    )
    assert time == round(100 * profile.counters["l1_fail_mshr"] / (8 * profile.cycles))
    assert entries == profile.machine.l1d.mshr_entries
    assert trip == round(profile.counters["round_trip_cycles"] / profile.counters["round_trips"])


def test_a_network_that_is_full_is_told():
    profile = kernels.narrow_network(H200)
    (used,) = numbers(
        r"bandwidth of the network \w+ the L2, which is in use for (\d+)% of the time", first(profile, "l2-bandwidth")
    )
    assert used == round(100 * max(profile.utilisation[part] for part in ("request_network", "reply_network"))) >= 60


def test_a_chain_of_dependent_instructions_waits_for_arithmetic():
    profile = kernels.chain(H200)
    waited, between, line, warps = numbers(
        r"waits ([\d.]+) of ([\d.]+) cycles .* of that is line (\d+)\. ([\d.]+) of 64 warps", first(profile, "arithmetic-latency")
    )
    assert between == pytest.approx(profile.cycles_between_instructions, abs=0.05)
    assert waited == pytest.approx(between * share(profile, "wait") / (100 - share(profile, "empty")), abs=0.1)
    assert line == line_of(kernels.CHAIN, "x * a")
    assert warps == pytest.approx(4, abs=0.1)


def test_a_warp_a_core_leaves_schedulers_without_one():
    profile = kernels.lone_warps(H200)
    cycles, warps, schedulers = numbers(
        r"in (\d+)% of its cycles.* has (\d+) warp, a core (\d+) schedulers", first(profile, "few-warps")
    )
    assert (cycles, warps, schedulers) == (round(share(profile, "empty")), 1, 4)
    assert cycles >= 75


def made_up(machine, stalls, **counters):
    """The profile of the multiply-adds, as if its cycles had gone elsewhere, waits to the first instruction."""
    profile = kernels.fma(machine)
    rows = [replace(row, stalls=stalls if row.pc == 0 else {}) for row in profile.rows]
    everywhere = dict.fromkeys(profile.stalls, 0) | stalls | {"issued": 1000 - sum(stalls.values())}
    return replace(profile, stalls=everywhere, rows=rows, intervals={}, counters={**profile.counters, **counters})


@pytest.mark.parametrize(
    ("cause", "rule"),
    [("membar", "fences"), ("branch_resolving", "branches"), ("drain", "store-drain"), ("tex_throttle", "texture-unit"),
     ("replay", "replays"), ("held_back", "held-back"), ("math_pipe_throttle", "compute-bound"), ("empty", "few-warps")],
)  # fmt: skip
def test_a_cause_that_takes_most_cycles_comes_first_with_its_share(cause, rule):
    given = first(made_up(CAPS, {cause: 700}), rule)
    assert "70% of" in given.sentence


def test_pipes_that_are_taken_are_told_where_most_cycles_are_something_else():
    given = [given for given in advice(made_up(H200, {"math_pipe_throttle": 150, "barrier": 500})) if given.rule == "pipe-throttle"]
    assert numbers(r"collectors taken in (\d+)% of", given[0]) == [15]


def test_a_load_store_unit_that_works_all_the_time_is_told():
    profile = made_up(H200, {"lg_throttle": 700}, l1_fail_mshr=0, l1_fail_tag=0, l1_fail_network=0)
    given = first(profile, "load-store-unit")
    cycles, works = numbers(r"in (\d+)% of scheduler cycles .* a pass in ([\d.]+)% of core cycles", given)
    assert cycles == 70
    assert works == pytest.approx(100 * profile.counters["busy_ldst"] / (8 * profile.cycles), abs=0.05)


def test_cores_that_run_out_of_ctas_are_told():
    profile = kernels.fma(H200)
    given = first(made_up(H200, {"empty": 600}, core_used_cycles=2 * profile.cycles), "idle-cores")
    assert numbers(r"in (\d+)% of its cycles, .*: (\d+) CTAs are ([\d.]+) waves of (\d+)", given) == [60, 64, 1, 64]


ALL = ["transpose", "strided", "reduction", "rows", "spmv", "chase", "triad", "fma", "tail", "barrier", "histogram",
       "shared_histogram", "local", "roots", "shared_chase", "fences", "small_grid", "part_filled"]  # fmt: skip


@pytest.mark.parametrize("name", ALL)
@BOTH
def test_no_cycle_is_explained_twice(name, machine):
    profile = getattr(kernels, name)(machine)
    found = findings(profile)
    assert all(finding.cycles >= 0 for finding in found)
    explained, together = sum(finding.cycles for finding in found), profile.scheduler_cycles
    assert together - profile.stalls["issued"] - 0.001 * together <= explained <= 1.001 * together


@pytest.mark.parametrize("name", ALL)
@BOTH
def test_advice_is_at_most_three_sentences_in_order_of_weight(name, machine):
    given = advice(getattr(kernels, name)(machine))
    weights = [one.weight for one in given]
    assert 1 <= len(given) <= 3
    assert weights == sorted(weights, reverse=True)
    assert weights[-1] >= WORTH_SAYING


@pytest.mark.parametrize("name", ALL)
def test_every_line_of_an_advice_is_in_its_sentence(name):
    for given in advice(getattr(kernels, name)(H200)):
        told = " ".join(re.findall(r"lines? [\d, and]+", given.sentence))
        assert {str(line) for _, line in given.lines} <= set(re.findall(r"\d+", told)), given.sentence


def test_an_explanation_begins_with_a_line_of_facts():
    profile = kernels.chase(H200)
    facts, *sentences = explain(profile).splitlines()
    assert facts == (
        f"chase: {profile.cycles:,} cycles, {1e6 * profile.seconds:.1f} us, IPC {profile.ipc:.2f}, 1.0 of 64 warps resident "
        "(1.6% occupancy)"
    )
    assert sentences == [f"{number}. {given.sentence}" for number, given in enumerate(advice(profile), 1)]


def test_where_nothing_stands_out_one_sentence_says_what_the_kernel_is_limited_by():
    profile = kernels.fma(CAPS)
    small = (
        "wait",
        "barrier",
        "membar",
        "branch_resolving",
        "no_instruction",
        "imc_miss",
        "tex_throttle",
        "empty",
        "long_scoreboard",
        "replay",
    )
    stalls = dict.fromkeys(profile.stalls, 0) | dict.fromkeys(small, 44) | {"issued": 559, "replay": 45}
    rows = [replace(row, stalls={}) for row in profile.rows]
    (given,) = advice(replace(profile, stalls=stalls, rows=rows, intervals={}))
    assert numbers(r"issues in (\d+)% .* is replay with ([\d.]+)%", given) == [56, 4.5]


@pytest.mark.parametrize(
    ("spelling", "width"),
    [("ld.f32", 4), ("ld.v4.f32", 16), ("st.b8", 1), ("ld.v2.f64", 16), ("ld.b16", 2), ("red.add.noftz.f16x2", 4),
     ("atom.add.noftz.bf16x2", 4), ("CAST.P.b64", 8)],
)  # fmt: skip
def test_the_width_of_an_access_is_read_from_its_type(spelling, width):
    action = {"l": Action.LOAD, "s": Action.STORE}.get(spelling[0], Action.ATOMIC)
    assert lane_bytes(Lowered(action, spelling, [], None)) == width
    assert lane_bytes(Lowered(Action.COMPUTE, spelling, [], None)) == 0


FIRST_SENTENCES = {
    "transpose": "uncoalesced", "strided": "uncoalesced", "reduction": "bank-conflicts", "rows": "bank-conflicts",
    "spmv": "divergence", "chase": "global-load-latency", "triad": "dram-bandwidth", "fma": "compute-bound", "barrier": "barrier",
    "shared_histogram": "atomics", "local": "local-memory", "roots": "special-functions", "fences": "fences",
}  # fmt: skip


@pytest.mark.parametrize("name", every(3, FIRST_SENTENCES))
def test_machine_code_gets_the_same_advice(name):
    """Rules ask what an instruction does, not how it is spelled."""
    profile = getattr(kernels, name)(MACHINE_CODE)
    assert profile.language == "SASS"
    told = [given for given in advice(profile) if given.rule != "launch"]  # a fixed time, and these kernels are short
    assert told[0].rule == FIRST_SENTENCES[name], explain(profile)


TWO_ARMS = """.version 7.0
.target sm_70
.address_size 64
.visible .entry two_arms(.param .u64 in, .param .u64 out) {
  .reg .pred %p<3>;
  .reg .b32 %r<9>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [in];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd1, %rd1, %rd3;
  add.u64 %rd2, %rd2, %rd3;
  ld.global.u32 %r3, [%rd1];
  ld.global.u32 %r4, [%rd1+4096];
  mov.u32 %r3, 7;
  add.u32 %r5, %r4, %r3;
  mul.wide.u32 %rd4, %r5, 4;
  sub.u64 %rd4, %rd1, %rd4;
  ld.global.u32 %r6, [%rd4+1024];
  st.global.u32 [%rd2], %r6;
  ret;
}
"""


@pytest.fixture(scope="module")
def two_arms():
    """One warp, written in PTX: a move overwrites what a load is still to write, and one load's address is another's result."""
    gpu = sl.Gpu("h200", isa="ptx", set={"core.cores": 1})
    data, out = gpu.zeros(4096, "u4"), gpu.zeros(64, "u4")
    run = gpu.load(TWO_ARMS)["two_arms"](1, 32, [data, out])
    shape = (run.grid, run.block, run.shared_bytes)
    return profile_of(run.program, run.timing, shape, gpu.machine.config, gpu.machine.intervals())


def test_a_wait_is_put_down_to_the_load_that_is_waited_for(two_arms):
    """Not to the one that waits, and not to what that load itself waited for; a move waits for a load that writes its register."""
    ledger = Ledger(two_arms)
    put_blame(ledger)
    blamed = {pc for (cause, pc), cycles in ledger.cycles.items() if cause == "long_scoreboard" and cycles}
    loads = [row for row in two_arms.rows if row.text.startswith("ld.global")]
    waits = {row.text.split()[0]: row.stalls["long_scoreboard"] for row in two_arms.rows if "long_scoreboard" in row.stalls}
    assert list(waits) == ["mov.u32", "add.u32", "st.global.u32"]
    assert blamed == {load.pc for load in loads}
    assert [ledger.cycles["long_scoreboard", load.pc] for load in loads] == list(waits.values())


def test_a_kernel_in_ptx_is_explained_without_lines_of_cuda(two_arms):
    told = advice(two_arms)
    assert {"few-warps", "global-load-latency", "instruction-fetch"} & {given.rule for given in told[:2]}
    assert all(line == 0 or file for given in told for file, line in given.lines)


def test_cycles_put_down_to_instructions_stay_the_same_in_all():
    for name in ALL:
        profile = getattr(kernels, name)(CAPS)
        ledger = Ledger(profile)
        before = sum(ledger.cycles.values())
        put_blame(ledger)
        assert before == pytest.approx(profile.scheduler_cycles)
        assert sum(ledger.cycles.values()) == pytest.approx(before)


@pytest.mark.parametrize(
    ("machine", "changes"),
    [("dyncta-30core", {}), ("loads-c2050", {}), ("v100", {"core__cores": 8}), ("gtx480", {}),
     ("h200", {"core__cores": 4, "core__detail": 1}),
     ("h200", {"core__cores": 4, "network__kind": "ideal"})],
)  # fmt: skip
def test_a_transpose_is_uncoalesced_on_any_machine(machine, changes):
    n = 256
    arguments = [kernels.zeros(n * n), kernels.zeros(n * n), n]
    profile = kernels.profile(machine, kernels.TRANSPOSE, (n // 32, n // 8), (32, 8), arguments, **changes)
    first(profile, "uncoalesced")


def test_without_intervals_nothing_is_said_of_a_tail():
    profile = replace(kernels.tail(H200), intervals={})
    assert "tail" not in {given.rule for given in findings(profile)}
