"""Energy by hand: events counted, times what the configuration says each costs, and watts times seconds."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.errors import ConfigError, SimtlabError
from simtlab.machine.config import Energy, load, presets
from simtlab.machine.config.energy import LANES
from simtlab.machine.counters import COUNTERS
from simtlab.machine.energy import COMPONENTS, EVENTS, energy, static_watts
from tests.timing.machines import gpu, kernel, loop

PICO = 1e-12
NOTHING = [np.uint64(0), np.uint64(0)]
REGISTERS = (
    ".reg .b16 %h<8>; .reg .b32 %r<40>; .reg .b64 %d<40>; .reg .f32 %f<40>; .reg .f64 %e<8>; .reg .pred %p<4>;"
)  # fmt: skip
# An instruction of each class of arithmetic.
ONE_OF = {
    "int_add": "add.s32 %r1, %r2, %r3;",
    "int_max": "max.s32 %r1, %r2, %r3;",
    "int_mul": "mul.lo.s32 %r1, %r2, %r3;",
    "int_mad": "mad.lo.s32 %r1, %r2, %r3, %r4;",
    "int_div": "div.s32 %r1, %r2, 7;",
    "logic": "and.b32 %r1, %r2, %r3;",
    "shift": "shl.b32 %r1, %r2, 3;",
    "compare": "setp.lt.s32 %p1, %r1, %r2;",
    "move": "mov.u32 %r1, %r2;",
    "convert": "cvt.rn.f32.s32 %f1, %r1;",
    "half": "add.f16 %h1, %h2, %h3;",
    "sp_add": "add.f32 %f1, %f2, %f3;",
    "sp_max": "max.f32 %f1, %f2, %f3;",
    "sp_mul": "mul.f32 %f1, %f2, %f3;",
    "sp_mad": "fma.rn.f32 %f1, %f2, %f3, %f4;",
    "sp_div": "div.rn.f32 %f1, %f2, %f3;",
    "dp_add": "add.f64 %e1, %e2, %e3;",
    "dp_max": "max.f64 %e1, %e2, %e3;",
    "dp_mul": "mul.f64 %e1, %e2, %e3;",
    "dp_mad": "fma.rn.f64 %e1, %e2, %e3, %e4;",
    "dp_div": "div.rn.f64 %e1, %e2, %e3;",
    "sfu": "sin.approx.f32 %f1, %f2;",
    "shuffle": "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
    "vote": "vote.sync.ballot.b32 %r1, %p1, -1;",
}
UNITS = ("sp", "int", "dp", "sfu", "ldst", "tensor")
MIXED = r"""
__constant__ float table[64];
extern "C" __global__ void mixed(cudaTextureObject_t t, float *data, int *count) {
    __shared__ float tile[64];
    int i = threadIdx.x;
    for (int k = 0; k < 2; k++) {
        tile[i * 2] = ((volatile float *)data)[i] + table[(i + k) & 31] + tex1Dfetch<float>(t, i ^ k);
        __syncthreads();
    }
    data[i] = tile[62 - i * 2];
    atomicAdd(count, i);
}
extern "C" __global__ void fill(float *data) { data[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f; }
"""


@pytest.fixture(scope="module")
def device():
    return gpu()


def run(device: sl.Gpu, body: str, threads: int = 32, arguments: list | None = None) -> sl.Run:
    return kernel(device, body, REGISTERS)(1, threads, arguments or NOTHING)


def test_a_warp_of_multiply_adds_costs_what_its_instructions_lanes_and_operands_do():
    fresh, n, lanes = gpu(), 28, 20
    fma = "".join(f"fma.rn.f32 %f{4 + k}, %f1, %f2, %f3;\n" for k in range(n))
    found = run(fresh, "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f3F800000; mov.f32 %f3, 0f3F800000;\n" + fma, lanes)
    cost, instructions = fresh.machine.config.energy, n + 4  # three moves and a return
    assert found.instructions == instructions == 32
    assert found.energy["sp"] == pytest.approx(lanes * (3 * cost.move_pj + n * cost.sp_mad_pj) * PICO)
    operands = 3 + n * 4  # a move writes one; a multiply-add reads three and writes one
    assert found.energy["register_file"] == pytest.approx(operands * 32 * cost.register_word_pj * PICO)
    fetches, lines, words_of_two, words_of_line = 16, 2, 4, 32
    fetched = (fetches * words_of_two + lines * words_of_line) * cost.l1i_word_pj
    assert found.energy["front_end"] == pytest.approx((instructions * cost.issue_pj + fetched) * PICO)


@pytest.mark.parametrize("name", ONE_OF)
def test_an_operation_costs_its_figure_for_each_active_lane_in_the_unit_that_executes_it(device, name):
    unit = device.machine.config.units.executed_on(name)
    with_it, without = (run(device, body, 13) for body in (ONE_OF[name], ""))
    assert with_it.counters[f"lanes_{name}"] - without.counters[f"lanes_{name}"] == 13
    cost = 13 * getattr(device.machine.config.energy, f"{name}_pj") * PICO
    assert with_it.energy[unit] - without.energy[unit] == pytest.approx(cost)
    assert all(with_it.energy[other] == without.energy[other] for other in UNITS if other != unit)


def test_every_class_of_arithmetic_is_tried():
    assert {*ONE_OF, "memory", "texture"} == set(LANES)


def test_lanes_that_a_guard_holds_back_cost_no_arithmetic(device):
    guard = "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 5;\n"
    all_of_them, five = (run(device, guard + text + ONE_OF["sp_mul"]) for text in ("", "@%p1 "))
    cost = device.machine.config.energy.sp_mul_pj * PICO
    assert all_of_them.energy["sp"] - five.energy["sp"] == pytest.approx((32 - 5) * cost)
    assert all_of_them.energy["register_file"] == five.energy["register_file"]  # a bank moves all lanes


@pytest.mark.parametrize("detail", [1, 2])
def test_registers_are_counted_without_operand_collectors_too(device, detail):
    body = "mov.u32 %r1, %tid.x; add.u32 %r2, %r1, %r1; setp.lt.u32 %p1, %r1, %r2;\n@%p1 add.u32 %r3, %r1, %r2;"
    plain, collected = run(gpu({"core.detail": detail}), body), run(device, body)
    for name in ("register_reads", "register_writes"):
        assert plain.counters[name] == collected.counters[name] > 0
    assert plain.energy["register_file"] == collected.energy["register_file"]


READ_LINES = (
    "ld.param.u64 %d1, [a]; ld.param.u32 %r1, [b];\n"
    "L: setp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\n"
    "ld.global.u32 %r2, [%d1]; add.u64 %d1, %d1, 128; sub.u32 %r1, %r1, 1;\nbra L;\nE:"
)


def test_twice_the_dram_reads_cost_twice_the_energy():
    def spent(lines: int, changes: dict | None = None) -> float:
        fresh = gpu(changes)
        found = run(fresh, READ_LINES, 1, [fresh.zeros(1 << 14, "u4"), np.uint64(lines)])
        return found.energy["dram"]

    no_activates, no_words = {"energy.dram_activate_pj": 0}, {"energy.dram_word_pj": 0}
    none, few, many = (spent(lines, no_activates) for lines in (0, 40, 80))
    cost = load("caps-gtx480").energy
    assert few - none == pytest.approx(40 * 32 * cost.dram_word_pj * PICO)  # a line of 128 bytes is 32 words
    assert many - none == pytest.approx(2 * (few - none))
    fresh = gpu(no_words)
    found = run(fresh, READ_LINES, 1, [fresh.zeros(1 << 14, "u4"), np.uint64(40)])
    assert found.energy["dram"] == pytest.approx(found.counters["dram_activates"] * cost.dram_activate_pj * PICO)
    assert found.counters["dram_activates"] > 0


@pytest.mark.parametrize("cores", [1, 7])
def test_static_energy_is_watts_times_seconds(cores):
    fresh = gpu({"core.cores": cores, "energy.static_core_watts": 2.0, "energy.static_chip_watts": 5.0})
    found = run(fresh, loop(ONE_OF["sp_add"], 50))
    assert found.energy["static"] == pytest.approx((2.0 * cores + 5.0) * found.cycles / 1400e6)


def test_static_power_flows_once_for_launches_side_by_side():
    fresh = sl.Gpu("caps-gtx480")
    work = kernel(fresh, loop(ONE_OF["sp_add"], 200))
    first, second = (work(1, 32, NOTHING, stream=fresh.stream()) for _ in range(2))
    fresh.synchronize()
    assert first.energy == second.energy
    watts = static_watts(fresh.machine.config)
    longest = max(first.cycles, second.cycles)
    assert longest <= first.energy["static"] / watts * 1400e6 < 1.5 * longest


def shared(device, address: str, access: str = "u32 %r3") -> dict[str, int]:
    where = f"mov.u32 %r1, %tid.x; {address} mov.u32 %r2, s; add.u32 %r1, %r1, %r2;\n"
    return run(device, f"{where}ld.shared.{access}, [%r1];").counters


def test_shared_memory_costs_by_the_words_its_banks_read_not_by_the_passes(device):
    side_by_side = shared(device, "shl.b32 %r1, %r1, 2;")
    in_conflict = shared(device, "shl.b32 %r1, %r1, 7;")
    the_same_word = shared(device, "mov.u32 %r1, 0;")
    wide = shared(device, "shl.b32 %r1, %r1, 3;", "u64 %d1")
    assert [found["shared_passes"] for found in (side_by_side, in_conflict, the_same_word, wide)] == [1, 32, 1, 2]
    assert [found["shared_words"] for found in (side_by_side, in_conflict, the_same_word, wide)] == [32, 32, 1, 64]
    cost = device.machine.config.energy.shared_word_pj * PICO
    found = energy(device.machine.config, in_conflict, 1)
    assert found["shared_memory"] == pytest.approx(32 * cost)


LOAD = "ld.param.u64 %d1, [a];\n" + "ld.global.u32 %r1, [%d1]; add.u32 %r2, %r1, %r1;\n" * 2


def l1_events(body: str, changes: dict | None = None, **policies) -> tuple[int, ...]:
    fresh = gpu(changes, **policies)
    found = run(fresh, body, 1, [fresh.zeros(1 << 14, "u4"), np.uint64(0)])
    return tuple(found.counters[name] for name in ("l1_lookups", "l1_data_reads", "l1_data_writes"))


def test_the_l1_costs_a_look_an_access_and_its_data_on_hits_and_fills():
    assert l1_events(LOAD) == (2, 1, 1)  # a miss and its fill, then a hit
    assert l1_events(LOAD, {"l1d.reread": True}) == (2, 2, 1)  # the miss reads its line when it has come
    assert l1_events(LOAD, {"l1d.bypass_global": True}) == (0, 0, 0)
    assert l1_events(LOAD, {"l1d.enabled": False}) == (0, 0, 0)


def test_stores_and_atomics_look_and_what_a_store_leaves_in_the_l1_is_written():
    store, atomic = "st.global.u32 [%d1], %r1;", "red.global.add.u32 [%d1], %r1;"
    assert l1_events(LOAD + store) == (3, 1, 1)  # write-evict: the line goes
    assert l1_events(LOAD + store, {"l1d.write_global": "write-through"}) == (3, 1, 2)
    assert l1_events(LOAD + store, {"l1d.write_global": "write-back"}) == (3, 2, 2)  # read once more when it is written back
    assert l1_events(LOAD + atomic) == (3, 1, 1)


def test_a_prefetch_costs_a_look_and_a_fill():
    assert l1_events(LOAD, prefetcher="next-line") == (3, 1, 2)


def test_network_and_l2_cost_by_what_they_move(device):
    fresh = gpu()
    found = run(fresh, READ_LINES, 1, [fresh.zeros(1 << 14, "u4"), np.uint64(10)])
    cost, count = fresh.machine.config.energy, found.counters
    flits = count["request_flits"] + count["reply_flits"]  # each crosses one switch
    assert found.energy["network"] == pytest.approx(flits * 8 * cost.flit_word_pj * PICO)
    assert count["l2_misses"] + count["l2_hits"] + count["l2_hits_reserved"] == count["l2_accesses"]
    assert found.energy["l2"] == pytest.approx(count["l2_accesses"] * (cost.l2_tag_pj + 32 * cost.l2_word_pj) * PICO)


# The model as a whole


def mixed() -> list[sl.Run]:
    """All kinds of memory, replays, and an L2 too small for what is written."""
    fresh = gpu({"issue.replay": True, "l2.bytes": 8192})
    module = fresh.compile(MIXED)
    texture, data, count = fresh.texture(fresh.array(np.ones(32, "f4"))), fresh.zeros(1 << 16), fresh.zeros(1, "i4")
    twice = [module["mixed"](1, 32, [texture, data, count]) for _ in range(2)]  # its code is in the L2 the second time
    return [*twice, module["fill"](256, 256, [data])]


@pytest.fixture(scope="module")
def everything(device):
    """What kernels that together do everything counted, one of them where there are L0 instruction caches."""
    total = {counter.name: 0 for counter in COUNTERS}
    of_l0 = run(gpu({"l1i.l0_bytes": 512}), next(iter(ONE_OF.values())))
    for found in [of_l0, *mixed(), *(run(device, text) for text in ONE_OF.values())]:
        total = {name: total[name] + found.counters[name] for name in total}
    return total


WITH_L0 = {"l1i.l0_bytes": 512, "energy.l0i_word_pj": 0.5}


@pytest.mark.parametrize("key", [f.name for f in fields(Energy)])
def test_every_key_counts(everything, key):
    """Twice the figure of one event costs more by what that event costs alone."""
    config = load("caps-gtx480").replace(WITH_L0)
    doubled = config.replace({f"energy.{key}": 2 * getattr(config.energy, key)})
    before, after = (energy(machine, everything, 1000) for machine in (config, doubled))
    more = sum(after.values()) - sum(before.values())
    if key == "node_scale":
        shrinking = [name for name in COMPONENTS if name not in ("network", "dram", "static", "policies")]
        assert more == pytest.approx(sum(before[name] for name in shrinking))
        assert more > 0
        return
    alone = config.replace({f"energy.{f.name}": 0.0 for f in fields(Energy) if f.name not in (key, "node_scale")})
    assert more == pytest.approx(sum(energy(alone, everything, 1000).values()))
    assert more > 0


def test_the_figures_of_all_events_add_up_to_the_total(everything):
    config = load("caps-gtx480")
    keys = [f.name for f in fields(Energy) if f.name != "node_scale"]
    alone = (config.replace({f"energy.{other}": 0.0 for other in keys if other != key}) for key in keys)
    parts = sum(sum(energy(machine, everything, 1000).values()) for machine in alone)
    assert parts == pytest.approx(sum(energy(config, everything, 1000).values()))


def test_every_component_and_every_counter_of_the_model_occurs(everything):
    found = energy(load("caps-gtx480"), everything, 1000, policies=1.0)
    absent = {name for name in COMPONENTS if found[name] == 0}
    assert absent == {"int", "dp", "tensor"}  # a GTX 480 does these on its sp and sfu units
    counted = {name for event in EVENTS for name in event.counters}
    assert not {name for name in counted if everything[name] == 0}


def test_a_machine_with_its_own_units_spends_there():
    config = load("v100")
    counters = {counter.name: 0 for counter in COUNTERS} | {"lanes_int_add": 10, "lanes_dp_mad": 10}
    found = energy(config, counters, 0)
    assert found["int"] == pytest.approx(10 * 0.1 * config.energy.node_scale * PICO)
    assert found["dp"] == pytest.approx(10 * 20.0 * config.energy.node_scale * PICO)
    assert sum(found.values()) == pytest.approx(found["int"] + found["dp"])


@pytest.mark.parametrize("name", presets())
def test_presets_keep_to_table_1_1_of_the_book(name):
    cost = load(name).energy
    assert (cost.int_add_pj, cost.int_mul_pj, cost.sp_add_pj, cost.sp_mul_pj) == (0.1, 3.1, 0.9, 3.7)
    if load(name).dram.kind in ("GDDR3", "GDDR5"):
        assert (cost.node_scale, cost.dram_word_pj) == (1.0, 640)


@pytest.mark.parametrize("name", presets())
def test_the_sram_figures_of_a_preset_follow_from_its_sizes(name):
    config = load(name)
    cost, files = config.energy, config.register_file
    sizes = {
        "l1i_word_pj": config.l1i.bytes, "register_word_pj": config.core.registers * 4 // files.banks,
        "shared_word_pj": config.shared_memory.bytes, "l1_word_pj": config.l1d.bytes, "l1c_word_pj": config.l1c.bytes,
        "l1t_word_pj": config.l1t.bytes, "l2_word_pj": config.l2.bytes,
    }  # fmt: skip
    for key, size in sizes.items():
        assert getattr(cost, key) == pytest.approx(5 * (size / 32768) ** 0.5, rel=0.01), key
    for key, cache in (("l1_tag_pj", config.l1d), ("l2_tag_pj", config.l2)):
        assert getattr(cost, key) == pytest.approx(cache.ways * 5 * (cache.lines * 4 / 32768) ** 0.5, rel=0.02), key


def test_the_page_has_every_component_and_every_figure():
    page = (Path(__file__).parents[2] / "docs" / "energy.md").read_text()
    cost = load("caps-gtx480").energy
    for f in fields(Energy):
        assert f"| `{f.name}` | {getattr(cost, f.name):g} | {f.metadata['unit']} | " in page
    for name in COMPONENTS:
        assert f"`{name}`" in page
    for event in EVENTS:
        assert f"`{event.key}` |" in page


# A policy's own hardware

COUNTING = '''"""Looks at every load, with the figures of CAPS, section V-D."""
import numpy as np
from simtlab.policies.hook import hook

state = np.dtype([("accesses", "i8"), ("share", "f8")])
energy_pj = {"accesses": 15.07}
static_watts = 550e-6

@hook
def on_load(core, own, op, cycle):
    own.accesses += 1
'''


def test_a_policy_costs_what_it_declares_for_each_access_and_all_the_time(tmp_path):
    path = tmp_path / "counting.py"
    path.write_text(COUNTING)
    device = sl.Gpu("caps-gtx480", prefetcher=str(path))
    data = device.zeros(1 << 14, "u4")
    for _ in range(2):  # each launch counts for itself
        found = kernel(device, LOAD)(3, 64, [data, np.uint64(0)])
        loads = 2 * 3 * 2  # two loads of each of the two warps of three CTAs
        static = 15 * 550e-6 * found.cycles / 1400e6
        assert found.energy["policies"] == pytest.approx(loads * 15.07e-12 + static)
    assert kernel(sl.Gpu("caps-gtx480"), "")(1, 32, NOTHING).energy["policies"] == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ('{"acesses": 15.07}', "energy_pj names 'acesses', which is no whole-number field; its state counts in: accesses"),
        ('{"share": 15.07}', "energy_pj names 'share', which is no whole-number field; its state counts in: accesses"),
        ('{"accesses": -1}', "energy_pj of 'accesses' = -1 is impossible: allowed is at least 0"),
    ],
)
def test_energy_declared_for_what_no_field_counts_is_refused(tmp_path, wrong, words):
    path = tmp_path / "wrong.py"
    path.write_text(COUNTING.replace('{"accesses": 15.07}', wrong))
    with pytest.raises(ConfigError, match="policy '.*wrong.py': " + words):
        sl.Gpu("caps-gtx480", prefetcher=str(path))


def test_negative_static_power_is_refused(tmp_path):
    path = tmp_path / "wrong.py"
    path.write_text(COUNTING.replace("550e-6", "-1"))
    with pytest.raises(ConfigError, match="static_watts = -1 is impossible: allowed is at least 0"):
        sl.Gpu("caps-gtx480", prefetcher=str(path))


def test_a_functional_run_has_no_energy():
    with pytest.raises(SimtlabError, match="this run has no timing"):
        _ = kernel(sl.Gpu(), "")(1, 32, NOTHING).energy


def test_a_negative_figure_is_refused_by_name():
    with pytest.raises(ConfigError, match=r"energy\.l1_tag_pj = -1 is impossible: allowed is a number, at least 0"):
        load("gtx480").replace({"energy.l1_tag_pj": -1})
