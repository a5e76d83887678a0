"""Machines load, bandwidths are the published ones, and an impossible machine fails by name."""

import re
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

import simtlab.machine
from simtlab.errors import ConfigError, SimtlabError
from simtlab.machine.config import KEYS, OPERATIONS, PHYSICAL_UNITS, Cache, load, parse_override, presets
from simtlab.machine.config.document import page

PRESETS = Path(simtlab.machine.__file__).parent / "presets"
DOCS = Path(__file__).parents[2] / "docs"


def refusal(changes, base="gtx480"):
    with pytest.raises(ConfigError) as caught:
        load(base).replace(changes)
    return str(caught.value)


def written(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# Presets


def test_the_presets_are_the_papers_machines_and_real_ones():
    papers = ["caps-gtx480", "dyncta-110core", "dyncta-30core", "dyncta-56core", "loads-c2050"]
    assert presets() == sorted([*papers, "gtx480", "v100", "h200", "rtx2080ti", "a100", "rtxa6000", "rtx4090", "rtx5090"])


@pytest.mark.parametrize("name", presets())
def test_a_preset_loads_and_carries_its_name(name):
    assert load(name).name == name


@pytest.mark.parametrize("name", presets())
def test_every_value_of_a_preset_is_followed_by_its_source(name):
    for line in (PRESETS / f"{name}.toml").read_text(encoding="utf-8").splitlines():
        if "=" in line.split("#")[0] and not line.startswith("base"):
            assert re.search(r"#\s*\S.{5,}$", line), f"no source: {line}"


@pytest.mark.parametrize("name", presets())
def test_a_preset_names_papers_and_vendors_never_files_outside_the_repository(name):
    assert not re.search(r"shared/|MACHINES|\.json|/work", (PRESETS / f"{name}.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "gigabytes_a_second", "source"),
    [
        ("gtx480", 177.4, "NVIDIA GTX 480 specification"),
        ("caps-gtx480", 177.4, "as the GTX 480"),
        ("loads-c2050", 144.0, "NVIDIA Tesla C2050 specification"),
        ("dyncta-30core", 51.2, "DYNCTA Table I: 8 controllers * 4 bytes * 2 beats * 800 MHz"),
        ("dyncta-56core", 51.2, "DYNCTA V-B: 8 controllers"),
        ("dyncta-110core", 70.4, "DYNCTA V-B: 11 controllers"),
        ("v100", 900, "NVIDIA Volta whitepaper"),
        ("h200", 4800, "NVIDIA H200 datasheet"),
    ],
)
def test_peak_dram_bandwidth_is_the_published_one(name, gigabytes_a_second, source):
    assert load(name).peak_dram_bandwidth / 1e9 == pytest.approx(gigabytes_a_second, rel=0.005), source


def test_a_burst_keeps_the_gddr5_bus_two_cycles_and_moves_64_bytes():
    dram = load("gtx480").dram
    assert (dram.burst_cycles, dram.burst_bytes) == (2, 64)


def test_caps_table_iii():
    machine = load("caps-gtx480")
    core, l1d, l2, dram = machine.core, machine.l1d, machine.l2, machine.dram
    assert (core.cores, machine.clocks.core_mhz, core.simd_width) == (15, 1400, 32)
    assert (core.max_warps, core.max_ctas, core.registers * 4) == (48, 8, 128 * 1024)
    assert machine.shared_memory.bytes == 48 * 1024
    assert (machine.l1i.bytes, machine.l1i.line_bytes, machine.l1i.ways) == (2048, 128, 4)
    assert (l1d.bytes, l1d.line_bytes, l1d.ways, l1d.replacement, l1d.mshr_entries) == (16384, 128, 4, "lru", 32)
    assert (l2.bytes, l2.slices, l2.line_bytes, l2.ways, l2.replacement, l2.mshr_entries) == (65536, 12, 128, 8, "lru", 32)
    assert (machine.clocks.dram_mhz, dram.channels, dram.scheduler, dram.queue_entries) == (924, 6, "fr-fcfs", 16)
    timings = (dram.t_cl, dram.t_rp, dram.t_rc, dram.t_ras, dram.t_rcd, dram.t_rrd, dram.t_cdlr, dram.t_wr)
    assert timings == (12, 12, 40, 28, 12, 6, 5, 12)


def test_dyncta_table_i():
    machine = load("dyncta-30core")
    core, l1d, l2, dram, network = machine.core, machine.l1d, machine.l2, machine.dram, machine.network
    assert (core.cores, machine.clocks.core_mhz, core.simd_width, core.max_threads) == (30, 1300, 8, 1024)
    assert machine.shared_memory.bytes == 32 * 1024
    assert (l1d.bytes, l1d.ways, l1d.line_bytes, l1d.mshr_entries) == (32768, 8, 64, 64)
    assert [(cache.bytes, cache.ways, cache.line_bytes) for cache in (machine.l1t, machine.l1c)] == [(8192, 4, 64)] * 2
    assert (l2.bytes, l2.line_bytes, l2.ways, l2.slices) == (262144, 64, 16, 8)
    assert machine.policies.cta_dispatch == "load-balanced"
    assert (network.kind, core.cores_per_cluster, machine.clocks.network_mhz) == ("crossbar", 3, 650)
    assert (network.flit_bytes, network.virtual_channels, network.buffer_flits) == (16, 4, 4)
    assert (network.routing_delay_cycles, network.channel_latency_cycles, network.input_speedup) == (2, 2, 2)
    assert (dram.queue_entries, dram.bus_bytes, dram.banks, dram.row_bytes, dram.burst_length) == (128, 4, 4, 2048, 4)
    timings = (dram.t_cl, dram.t_rp, dram.t_rc, dram.t_ras, dram.t_rcd, dram.t_rrd, dram.t_cdlr, dram.t_wr)
    assert (machine.clocks.dram_mhz, timings) == (800, (10, 10, 35, 25, 12, 8, 6, 11))


@pytest.mark.parametrize(
    ("name", "cores", "controllers", "side"), [("dyncta-56core", 56, 8, 8), ("dyncta-110core", 110, 11, 11)]
)
def test_dyncta_larger_systems_fill_their_mesh(name, cores, controllers, side):
    machine = load(name)
    assert (machine.core.cores, machine.dram.channels, machine.network.mesh_width) == (cores, controllers, side)
    assert machine.clusters + machine.l2.slices == machine.network.mesh_width * machine.network.mesh_height


def test_loads_table_ii():
    machine = load("loads-c2050")
    l1d, l2 = machine.l1d, machine.l2
    assert (machine.core.cores, machine.clocks.core_mhz, machine.core.simd_width) == (14, 1150, 32)
    assert (machine.core.registers * 4, machine.shared_memory.bytes) == (128 * 1024, 48 * 1024)
    assert (machine.l1c.bytes, machine.l1t.bytes) == (8 * 1024, 12 * 1024)
    assert (l1d.bytes, l1d.line_bytes, l1d.ways, l1d.mshr_entries) == (16384, 128, 4, 64)
    assert (l2.total_bytes, l2.line_bytes, l2.ways, l2.mshr_entries) == (768 * 1024, 128, 8, 32)
    assert (l2.latency_cycles, machine.dram.latency_cycles) == (120, 100)


def test_the_real_machines_have_the_cache_sizes_of_their_whitepapers():
    assert [load(name).l2.total_bytes for name in ("gtx480", "v100", "h200")] == [768 << 10, 6 << 20, 60 << 20]
    assert [load(name).l1d.bytes + load(name).shared_memory.bytes for name in ("v100", "h200")] == [128 << 10, 256 << 10]
    assert [load(name).l1d.sectors_per_line for name in ("gtx480", "v100", "h200")] == [1, 4, 4]


@pytest.mark.parametrize("name", presets())
def test_every_split_of_l1_and_shared_memory_has_the_same_total(name):
    shared = load(name).shared_memory
    if shared.shares_l1:
        assert len({l1 + part for l1, part in shared.splits}) == 1


# Using a configuration


def test_a_configuration_is_frozen_and_hashable():
    machine = load("gtx480")
    with pytest.raises(FrozenInstanceError):
        machine.l1d.ways = 8
    assert hash(machine) == hash(machine.replace({}))
    assert machine == machine.replace({})


def test_replace_changes_the_copy_and_nothing_else():
    machine = load("gtx480")
    wider = machine.replace({"l1d.ways": 8, "units.int_add.latency_cycles": 6})
    assert (wider.l1d.ways, wider.l1d.sets, wider.units.int_add.latency_cycles) == (8, 16, 6)
    assert (machine.l1d.ways, machine.units.int_add.latency_cycles) == (4, 4)
    assert [key for key, value in machine.items() if value != dict(wider.items())[key]] == [
        "units.int_add.latency_cycles",
        "l1d.ways",
    ]
    assert machine.replace({"name": "mine"}).name == "mine"


def test_an_operation_runs_on_sp_where_the_core_has_none_of_its_units():
    units = load("gtx480").units
    assert (units.tensor.unit, units.tensor_units, units.executed_on("tensor")) == ("tensor", 0, "sp")
    assert units.executed_on("dp_mad") == "sfu"
    assert load("v100").units.executed_on("int_add") == "int"
    assert [units.number_of(unit) for unit in PHYSICAL_UNITS] == [2, 0, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("l1d.ways=8", "l1d.ways", 8),
        (" l1d.bytes = 0x8000 ", "l1d.bytes", 32768),
        ("clocks.core_mhz=1400", "clocks.core_mhz", 1400.0),
        ("network.kind=mesh", "network.kind", "mesh"),
        ("l1d.enabled=False", "l1d.enabled", False),
        ("dram.kind=GDDR6", "dram.kind", "GDDR6"),
        ("shared_memory.splits=16384:49152,49152:16384", "shared_memory.splits", ((16384, 49152), (49152, 16384))),
    ],
)
def test_an_override_is_typed_by_its_key(text, key, value):
    parsed = parse_override(text)
    assert parsed == (key, value)
    assert type(parsed[1]) is type(value)


def test_overrides_apply_together():
    machine = load("gtx480", ["l1d.bytes=49152", "l1d.ways=6", "shared_memory.bytes=16384"])
    assert (machine.l1d.sets, machine.shared_memory.bytes) == (64, 16384)


def test_a_file_builds_on_a_preset(tmp_path):
    machine = load(written(tmp_path, 'base = "gtx480"\n[l1d]\nways = 8\n[units]\nint_add.latency_cycles = 6\n'))
    assert (machine.name, machine.l1d.ways, machine.units.int_add.latency_cycles) == ("mine", 8, 6)
    assert machine.units.int_add.unit == "sp"
    assert machine.core == load("gtx480").core


def test_a_file_builds_on_another_beside_it_and_may_be_named(tmp_path):
    written(tmp_path, 'name = "wide"\nbase = "gtx480"\n[l1d]\nways = 8\n', "wide.toml")
    machine = load(str(written(tmp_path, 'base = "wide.toml"\n[core]\ncores = 4\n')))
    assert (machine.name, machine.l1d.ways, machine.core.cores) == ("mine", 8, 4)
    assert load(tmp_path / "wide.toml").name == "wide"


# Refusals, in their exact words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"l1d.ways": 0}, "l1d.ways = 0 is impossible: allowed is a whole number from 1 to 1024"),
        ({"l1d.line_bytes": 3}, "l1d.line_bytes = 3 is impossible: allowed is a power of two from 16 to 256"),
        ({"l1c.line_bytes": 512}, "l1c.line_bytes = 512 is impossible: allowed is a power of two from 16 to 256"),
        ({"l1d.hit_latency_cycles": 961}, "l1d.hit_latency_cycles = 961 is impossible: allowed is a whole number from 1 to 960"),
        ({"l1d.miss_queue_entries": 257}, "l1d.miss_queue_entries = 257 is impossible: allowed is a whole number from 1 to 256"),
        ({"l1d.ways": "8"}, 'l1d.ways = "8" is impossible: allowed is a whole number from 1 to 1024'),
        ({"l1d.ways": True}, "l1d.ways = true is impossible: allowed is a whole number from 1 to 1024"),
        ({"l1d.ways": 4.0}, "l1d.ways = 4.0 is impossible: allowed is a whole number from 1 to 1024"),
        ({"core.registers": 0}, "core.registers = 0 is impossible: allowed is a whole number, at least 1"),
        ({"core.warp_size": 64}, "core.warp_size = 64 is impossible: allowed is 32"),
        ({"core.detail": 4}, "core.detail = 4 is impossible: allowed is a whole number from 1 to 3"),
        ({"clocks.core_mhz": 0}, "clocks.core_mhz = 0 is impossible: allowed is a number greater than 0"),
        ({"clocks.core_mhz": float("nan")}, "clocks.core_mhz = nan is impossible: allowed is a number greater than 0"),
        ({"network.kind": "ring"}, 'network.kind = "ring" is impossible: allowed is one of crossbar, mesh, ideal'),
        ({"l1d.enabled": 1}, "l1d.enabled = 1 is impossible: allowed is true or false"),
        ({"dram.kind": " "}, 'dram.kind = " " is impossible: allowed is text, not empty'),
        ({"name": 7}, "name = 7 is impossible: allowed is text, not empty"),
        (
            {"shared_memory.splits": [[1]]},
            "shared_memory.splits = [[1]] is impossible: allowed is a list of [L1 bytes, shared bytes] pairs",
        ),
        (
            {"units.sfu.unit": "alu"},
            'units.sfu.unit = "alu" is impossible: allowed is one of sp, int, dp, sfu, tensor, heavy, ldst',
        ),
    ],
)
def test_an_impossible_value_is_named_with_what_is_allowed(changes, words):
    assert refusal(changes) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"l1d.wayz": 8}, "unknown key l1d.wayz (given 8): did you mean l1d.ways or l1t.ways or l1i.ways?"),
        ({"DRAM.tRCD": 8}, "unknown key DRAM.tRCD (given 8): did you mean dram.t_rcd or"),
        ({"clocks.gpu": "x"}, 'unknown key clocks.gpu (given "x"): keys of clocks are core_mhz, network_mhz, l2_mhz, dram_mhz'),
        ({"units.texture": 1}, "unknown key units.texture (given 1): keys of units are sp_units, int_units, dp_units,"),
        ({"weather": 1}, "unknown key weather (given 1): sections are clocks, core, issue, register_file, units,"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known(changes, words):
    assert refusal(changes).startswith(words)


@pytest.mark.parametrize(
    ("changes", "given", "allowed"),
    [
        (
            {"core.cores": 16, "core.cores_per_cluster": 3},
            "core.cores = 16",
            "it must be a multiple of core.cores_per_cluster (3)",
        ),
        ({"core.max_threads": 2048}, "core.max_threads = 2048", "core.max_warps (48) of 32 hold at most 1536"),
        ({"core.registers": 32767}, "core.registers = 32767", "it must be a multiple of core.register_allocation_unit (64)"),
        ({"core.max_warps": 47, "core.max_threads": 1024}, "issue.schedulers = 2", "it must divide core.max_warps (47)"),
        (
            {"core.sub_cores": 2, "units.sfu_units": 2, "issue.schedulers": 1},
            "issue.schedulers = 1",
            "it must be a multiple of core.sub_cores (2)",
        ),
        ({"core.sub_cores": 2}, "units.sfu_units = 1", "it must be a multiple of core.sub_cores (2)"),
        (
            {"core.sub_cores": 2, "units.sfu_units": 2, "register_file.banks": 15},
            "register_file.banks = 15",
            "it must be a multiple of core.sub_cores (2)",
        ),
        (
            {"register_file.collectors_mem": 0},
            "register_file.collectors_mem = 0",
            "it must be at least 1 while register_file.collectors_generic is 0",
        ),
        (
            {"core.sub_cores": 2, "units.sfu_units": 2, "register_file.collectors_generic": 3},
            "register_file.collectors_generic = 3",
            "it must be a multiple of core.sub_cores (2)",
        ),
        ({"l1i.l0_bytes": 640}, "l1i.l0_bytes = 640", "it must be a multiple of l1i.line_bytes * l1i.l0_ways (128 * 4 = 512)"),
        (
            {"l1i.l0_bytes": 65536},
            "l1i.l0_bytes = 65536",
            "it makes 512 lines of l1i.line_bytes (128), and there may be 256",
        ),
        ({"l1d.ways": 3}, "l1d.bytes = 16384", "it must be a multiple of l1d.line_bytes * l1d.ways (128 * 3 = 384)"),
        (
            {"l2.bytes": 49152},
            "l2.bytes = 49152",
            "it makes 48 sets of l2.ways (8) lines of l2.line_bytes (128), and the sets must be a power of two",
        ),
        ({"l2.sector_bytes": 256}, "l2.sector_bytes = 256", "it must divide l2.line_bytes (128)"),
        (
            {"l1t.bytes": 1 << 20, "l1t.ways": 32},
            "l1t.bytes = 1048576",
            "it makes 8192 lines of l1t.line_bytes (128), and there may be 2048",
        ),
        (
            {"l2.bytes": 1 << 24},
            "l2.bytes = 16777216",
            "it makes 131072 lines of l2.line_bytes (128), and there may be 16384",
        ),
        ({"l1d.mshr_merges": 100}, "l1d.mshr_merges = 100", "times l1d.mshr_entries (64) it may be at most 6144"),
        ({"units.sp_units": 16}, "units.sp_units = 16", "at most 4 in each of core.sub_cores (1)"),
        (
            {"network.flit_bytes": 8, "l1d.line_bytes": 256, "l1d.sector_bytes": 256, "l1d.bytes": 16384, "l1d.index": "linear"}
            | {"l2.line_bytes": 256, "l2.sector_bytes": 256},
            "network.flit_bytes = 8",
            "it cuts a packet of l1d.line_bytes (256) and network.header_bytes (8) into 33 flits, and there may be 24",
        ),
        (
            {"network.kind": "mesh", "network.mesh_width": 16, "network.mesh_height": 16},
            "network.mesh_width = 16",
            "times network.mesh_height it is 256, and there may be 128",
        ),
        (
            {"dram.channels": 1, "l2.slices": 12, "l2.slices_per_channel": 12},
            "dram.banks = 16",
            "it must be a multiple of l2.slices_per_channel (12)",
        ),
        (
            {"dram.t_rtw": 9},
            "dram.t_rtw = 9",
            "a write's data must follow a read's on the bus: "
            "at least dram.t_cl + dram.burst_length / dram.data_rate - dram.t_wl (10)",
        ),
        (
            {"shared_memory.split": "at-launch", "shared_memory.splits": ((0, 65536), (16384, 49152))},
            "shared_memory.splits = 0",
            "an L1 part is a multiple of 4096 bytes (l1d.bytes / l1d.ways: a way of all its sets), "
            "up to 262144 (by l1d.line_bytes)",
        ),
        (
            {"network.ejection_flits": 3},
            "network.ejection_flits = 3",
            "a packet of l1d.line_bytes (128) and network.header_bytes (8) has 4 of network.flit_bytes, and must be held whole",
        ),
        (
            {"register_file.collectors_mem": 60},
            "register_file.collectors_mem = 60",
            "with register_file.collectors_sp, register_file.collectors_sfu, register_file.collectors_generic there are 74 "
            "in core.sub_cores (1), and there may be 64",
        ),
        ({"core.cores": 240}, "core.cores = 240", "over core.cores_per_cluster (1) they need 240 ports, and there may be 160"),
        ({"clocks.core_mhz": 0.0001}, "clocks.core_mhz = 0.0001", "it must be at least 1"),
        (
            {"l2.line_bytes": 64, "l2.bytes": 32768},
            "l1d.sector_bytes = 128",
            "it must divide l2.line_bytes (64)",
        ),
        (
            {"l1d.bytes": 32768},
            "shared_memory.bytes = 49152",
            "with l1d.bytes = 32768 it is not one of shared_memory.splits (L1:shared): "
            "16384:49152, 49152:16384; shared_memory.shares_l1 = false lifts this",
        ),
        (
            {"network.kind": "mesh", "network.mesh_width": 5, "network.mesh_height": 5},
            "network.mesh_width = 5",
            "times network.mesh_height it is 25, but core.cores / core.cores_per_cluster (15) and l2.slices (12) need 27",
        ),
        (
            {"network.kind": "mesh", "network.mesh_width": 6, "network.mesh_height": 5, "network.half_routers": True}
            | {"network.slice_placement": "checkerboard"},
            "network.virtual_channels = 1",
            "with network.half_routers XY and YX packets need one each: at least 2",
        ),
        (
            {"network.kind": "mesh", "network.mesh_width": 6, "network.mesh_height": 5, "network.half_routers": True}
            | {"network.virtual_channels": 2},
            "network.half_routers = true",
            'it needs network.slice_placement = "checkerboard": some full routers have no way to each other',
        ),
        (
            {"network.kind": "mesh", "network.mesh_width": 4, "network.mesh_height": 4, "core.cores": 4}
            | {"network.slice_placement": "checkerboard"},
            'network.slice_placement = "checkerboard"',
            "it leaves 8 of 16 routers for l2.slices (12)",
        ),
        ({"l2.slices": 13}, "l2.slices = 13", "it must be dram.channels * l2.slices_per_channel (6 * 2)"),
        (
            {"address_map.slice_interleave_bytes": 64},
            "address_map.slice_interleave_bytes = 64",
            "it must be a multiple of l2.line_bytes (128)",
        ),
        ({"dram.banks": 14}, "dram.banks = 14", "it must be a multiple of dram.bank_groups (4)"),
        ({"dram.burst_length": 2}, "dram.burst_length = 2", "it must be a multiple of dram.data_rate (4)"),
        (
            {"dram.row_bytes": 64, "dram.bus_bytes": 16},
            "dram.row_bytes = 64",
            "it must be a multiple of dram.bus_bytes * dram.burst_length (128)",
        ),
        ({"dram.t_ccd": 1}, "dram.t_ccd = 1", "a burst keeps the bus 2 cycles (dram.burst_length / dram.data_rate)"),
        ({"dram.t_rc": 39}, "dram.t_rc = 39", "it must be at least dram.t_ras + dram.t_rp (28 + 12 = 40)"),
        ({"dram.t_ccdl": 1}, "dram.t_ccdl = 1", "with dram.bank_groups (4) it must be at least dram.t_ccd (2)"),
    ],
)
def test_keys_that_contradict_one_another_are_named(changes, given, allowed):
    assert refusal(changes) == f"{given} is impossible: {allowed}"


def test_all_impossible_values_are_reported_together():
    assert refusal({"l1d.ways": 0, "l2.ways": 0}).splitlines() == [
        "l1d.ways = 0 is impossible: allowed is a whole number from 1 to 1024",
        "l2.ways = 0 is impossible: allowed is a whole number from 1 to 1024",
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("l1d.ways", "override 'l1d.ways' has no value: write key=value, such as l1d.ways=8"),
        ("l1d.ways=many", 'l1d.ways = "many" is impossible: allowed is a whole number from 1 to 1024'),
        ("l1d.ways=0", "l1d.ways = 0 is impossible: allowed is a whole number from 1 to 1024"),
        ("l1d.enabled=perhaps", 'l1d.enabled = "perhaps" is impossible: allowed is true or false'),
        ("network.kind=ring", 'network.kind = "ring" is impossible: allowed is one of crossbar, mesh, ideal'),
        ("l1dways=8", 'unknown key l1dways (given "8"): did you mean l1d.ways or l1t.ways or l1i.ways?'),
    ],
)
def test_a_wrong_override_is_named(text, words):
    with pytest.raises(ConfigError) as caught:
        parse_override(text)
    assert str(caught.value) == words


def test_a_wrong_file_is_named_with_its_problem(tmp_path):
    def problem(text):
        with pytest.raises(ConfigError) as caught:
            load(written(tmp_path, text))
        return str(caught.value)

    where = tmp_path / "mine.toml"
    zero_ways = "l1d.ways = 0 is impossible: allowed is a whole number from 1 to 1024"
    assert problem('base = "gtx480"\n[l1d]\nways = 0') == f"{where}: {zero_ways}"
    assert problem('base = "gtx480"\n[l1d]\nwayz = 1').startswith(f"{where}: unknown key l1d.wayz (given 1): did you mean")
    assert problem("[l1d]\nways = 4").splitlines()[0] == f"{where}: clocks.core_mhz is missing: give a number greater than 0"
    assert problem("base = 3") == f"{where}: base = 3 is impossible: allowed is the name of a preset or the path of a TOML file"
    assert problem('base = "mine.toml"') == f"{where}: base goes round in a circle: {where} -> {where}"
    assert problem("ways: 4").startswith(f"{where}: is not TOML: ")
    assert problem('base = "gtx490"').startswith("no machine named gtx490: did you mean gtx480? presets are a100,")


def test_a_missing_file_and_an_unknown_machine_are_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file or directory"):
        load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"no machine named \.\./h200: did you mean h200\? presets are "):
        load("../h200")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"bytes\.toml: is not UTF-8 text"):
        load(tmp_path / "bytes.toml")


def test_a_configuration_error_is_one_of_simtlabs():
    assert issubclass(ConfigError, SimtlabError)


# Documentation


def test_every_key_has_a_meaning_and_what_is_allowed():
    for key, field in KEYS.items():
        assert field.metadata["meaning"], key
        assert field.metadata["allowed"], key
        numeric = field.type in (int, float)
        assert bool(field.metadata["unit"]) or not numeric, f"{key} has no unit"


def test_the_page_lists_every_key_and_is_up_to_date():
    text = page()
    for key in KEYS:
        section, name = key.split(".")[0], key.split(".")[-1]
        assert f"| `{name}` |" in text, key
        assert re.search(rf"^## .*\b{section}\b", text, re.MULTILINE), key
    assert all(operation in text for operation in OPERATIONS)
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == text, (
        "run: python -m simtlab.machine.config.document > docs/configuration.md"
    )


def test_a_cache_knows_its_geometry():
    cache: Cache = load("v100").l2
    assert (cache.sets, cache.lines, cache.sectors_per_line) == (32, 768, 4)
