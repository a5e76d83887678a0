"""From a configuration to a machine's records, all empty and ready to run."""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from simtlab.execute.state import field_offset
from simtlab.machine.config import MachineConfig
from simtlab.machine.config.memory import Cache, SectoredCache
from simtlab.machine.core import inflight, loads
from simtlab.machine.core.kinds import Unit, WarProtection
from simtlab.machine.core.state import core_t
from simtlab.machine.limits import MAX_ANSWERS, MAX_MSHRS, MAX_SLICE_QUEUE
from simtlab.machine.memory import address_map, cache, dram, mshr, tlb
from simtlab.machine.memory.l1 import WritePolicy
from simtlab.machine.network import network as net
from simtlab.machine.network import request_coalescer
from simtlab.machine.network.checkerboard import crosspoints, half_routers
from simtlab.machine.network.packet import flits_for
from simtlab.machine.record import new_records
from simtlab.machine.request import new_requests
from simtlab.machine.state import AS_USUAL, gpu_t, slice_t

WRITE_POLICIES = {
    "write-through": WritePolicy.WRITE_THROUGH,
    "write-evict": WritePolicy.WRITE_EVICT,
    "write-back": WritePolicy.WRITE_BACK,
}
WAR_MODES = {
    "in-order": WarProtection.IN_ORDER,
    "release-on-commit": WarProtection.RELEASE_ON_COMMIT,
    "release-on-read": WarProtection.RELEASE_ON_READ,
    "bloomboard": WarProtection.BLOOMBOARD,
}
TO_MEMORY, TO_CORES = 0, 1
PAGE = 4096  # bytes, of the host
SP_POOL, SFU_POOL, MEMORY_POOL, GENERIC_POOL = range(4)


@dataclass
class Records:
    """All state of a machine."""

    gpu: np.ndarray
    cores: np.ndarray
    slices: np.ndarray
    channels: np.ndarray
    networks: np.ndarray
    requests: np.ndarray

    def as_plain_arrays(self) -> "Records":
        """The same without NumPy's record arrays in between, whose fields are convenient to read and slow to reach."""
        return Records(*(np.asarray(getattr(self, field.name)) for field in fields(self)))


def build(config: MachineConfig, threads: int = 1) -> Records:
    """A machine at rest, with a record of the chip for each host thread that may run it."""
    cores = _new_cores(config)
    slices = _new_slices(config)
    channels = _new_channels(config)
    networks = new_records(2, net.network_t)
    for direction in (TO_MEMORY, TO_CORES):
        net.configure(networks[direction], config.network.kind, _network_settings(config, direction))
    requests = new_requests(config.core.cores)
    gpu = new_records(threads, gpu_t)
    _configure_gpu(gpu[0], config)
    records = Records(gpu, cores, slices, channels, networks, requests)
    _note_addresses(records)
    return records


def _new_cores(config: MachineConfig) -> Any:
    cores = new_records(config.core.cores, core_t)
    _configure_core(cores[0], config)
    repeat_first(cores, before="ctas")
    plain, numbers = np.asarray(cores), np.arange(len(cores))
    plain["number"], plain["cluster"] = numbers, numbers // config.core.cores_per_cluster
    plain["address"] = cores.ctypes.data + numbers * core_t.itemsize
    return cores


def _new_slices(config: MachineConfig) -> Any:
    slices = new_records(config.l2.slices, slice_t)
    _configure_slice(slices[0], config)
    repeat_first(slices)
    plain, numbers = np.asarray(slices), np.arange(len(slices))
    plain["number"], plain["channel"] = numbers, numbers // config.l2.slices_per_channel
    return slices


def _new_channels(config: MachineConfig) -> Any:
    channels = dram.new_channels(config.dram.channels)
    dram.configure(channels[0], _dram_settings(config))
    repeat_first(channels)
    plain, numbers = np.asarray(channels), np.arange(len(channels))
    plain["slices"] = config.l2.slices // config.dram.channels
    plain["first_slice"] = numbers * plain["slices"]
    stacks = min(config.dram.refresh_stacks or len(channels), len(channels))
    plain["next_refresh"] = config.dram.t_refi * (numbers * stacks // len(channels) + 1) // stacks
    return channels


def repeat_first(records: Any, before: str | None = None) -> None:
    """Make all of a kind, which are new, like the first, or what lies in front of one field: to configure 132 cores one by one
    takes long. Most of a record is zero, as the others are already: pages of the host that nobody has touched stay so."""
    dtype = records.dtype
    end = field_offset(dtype, before) if before else dtype.itemsize
    rows = np.asarray(records).view(np.uint8).reshape(len(records), dtype.itemsize)[:, :end]
    used = np.logical_or.reduceat(rows[0] != 0, np.arange(0, end, PAGE))
    edges = np.flatnonzero(np.diff(np.concatenate(([False], used, [False])))) * PAGE
    for first, behind in edges.reshape(-1, 2):
        rows[1:, first:behind] = rows[0, first:behind]


def _note_addresses(records: Records) -> None:
    """Records that policies' hooks are given know where they lie."""
    plain = records.as_plain_arrays()
    plain.gpu["address"] = addresses_of(plain.gpu)
    plain.cores["l1d"]["address"] = addresses_of(plain.cores, "l1d")
    plain.slices["address"], plain.slices["cache"]["address"] = addresses_of(plain.slices), addresses_of(plain.slices, "cache")
    plain.channels["address"] = addresses_of(plain.channels)
    for kind in ("crossbar", "mesh"):
        contest = plain.networks[kind]["contest"]
        contest["address"] = addresses_of(plain.networks, kind, "contest")
        contest["pool"] = plain.requests.ctypes.data


def addresses_of(records: np.ndarray, *way: str) -> np.ndarray:
    """Where each of some records lies, or a record within it. NumPy describes all fields of a record to whoever asks one for its
    address, which takes longer than the rest of a machine."""
    place, dtype = records.ctypes.data, records.dtype
    for field in way:
        place, dtype = place + field_offset(dtype, field), dtype[field]
    return place + np.arange(len(records)) * records.itemsize


def _configure_gpu(gpu: Any, config: MachineConfig) -> None:
    gpu.core_khz = gpu.core_nominal_khz = int(config.clocks.core_mhz * 1000)
    clocks = config.clocks
    for clock, mhz in ((gpu.network, clocks.network_mhz), (gpu.l2, clocks.l2_mhz), (gpu.dram, clocks.dram_mhz)):
        clock.khz = clock.nominal_khz = int(mhz * 1000)
    gpu.clock_level, gpu.clock_step, gpu.next_clocks = AS_USUAL, config.clocks.step_percent, inflight.FAR_FUTURE
    gpu.jump, gpu.counts_loads = 1, 1
    gpu.cores, gpu.clusters = config.core.cores, config.clusters
    gpu.cores_per_cluster = config.core.cores_per_cluster
    gpu.slices, gpu.channels = config.l2.slices, config.dram.channels
    gpu.flits[:] = flits_for(np.arange(len(gpu.flits)), config.network.header_bytes, config.network.flit_bytes)
    gpu.sector_bytes = config.l1d.sector_bytes
    gpu.constant_line_bytes = config.l1c.line_bytes
    gpu.shared_banks, gpu.bank_bytes = config.shared_memory.banks, config.shared_memory.bank_bytes
    _configure_coalescer(gpu.coalescer, config)
    gpu.packet_sectors = config.network.packet_sectors
    gpu.packet_shift = config.l1d.line_bytes.bit_length() - 1
    gpu.sharing_shift = gpu.packet_shift if gpu.packet_sectors > 1 else config.l1d.sector_bytes.bit_length() - 1
    gpu.l2_parts, gpu.crossing_cycles = config.l2.parts, config.l2.crossing_cycles
    gpu.miss_crossing_cycles = config.l2.miss_crossing_cycles if config.l2.parts > 1 else 0
    gpu.l2_sectors = config.l2.sectors_per_cycle
    gpu.combining_cycles, gpu.combining_lines = config.l1d.store_combining_cycles, config.l1d.store_combining_lines
    gpu.coalesced_reads, gpu.coalescing_cycles = config.l2.coalesced_reads, config.l2.coalescing_cycles
    gpu.coalescing_entries = config.l2.coalescing_entries
    gpu.l2_fetch_bytes, gpu.l2_write_cycles = config.l2.fetch_bytes, config.l2.write_cycles
    gpu.whole_sector = (1 << config.l1d.sector_bytes // 4) - 1
    gpu.l2_write_shift = (config.l1d.sector_bytes * config.l2.sectors_per_cycle).bit_length() - 1
    gpu.finish_cycles = config.core.finish_cycles
    gpu.atomics_by_lane, gpu.mask_cycles = config.l1d.atomics_by_lane, config.network.mask_cycles
    gpu.shared_atomic_latency, gpu.l2_atomic_latency = config.shared_memory.atomic_cycles, config.l2.atomic_cycles
    gpu.shared_latency = config.shared_memory.latency_cycles
    gpu.match_value_cycles = config.units.match_value_cycles
    gpu.launch_cycles, gpu.cta_starts = config.core.launch_cycles, config.core.cta_starts_per_1000_cycles
    gpu.l2_latency, gpu.dram_latency = config.l2.latency_cycles, config.dram.latency_cycles
    gpu.l2_groups = config.l2.groups
    gpu.bypass_global, gpu.strong_around = config.l1d.bypass_global, config.l1d.strong_loads == "go-around"
    gpu.senders.end = gpu.clusters
    gpu.wake[:], gpu.slice_wake[:], gpu.reply_ready[:], gpu.channel_wake[:] = 4 * [inflight.FAR_FUTURE]
    settings = {
        "slices": config.l2.slices, "channels": config.dram.channels, "banks": config.dram.banks,
        "row_bytes": config.dram.row_bytes, "slice_interleave_bytes": config.address_map.slice_interleave_bytes,
        "hash_banks": config.address_map.hash_banks, "hash_slices": config.address_map.hash_slices,
        "page_bytes": config.address_map.page_bytes, "shuffled_pages": config.address_map.shuffled_pages,
        "stacks": config.address_map.stacks,
    }  # fmt: skip
    address_map.configure(gpu.map, settings)
    gpu.page_shift = config.tlb.page_bytes.bit_length() - 1 if config.tlb.page_bytes else tlb.NO_PAGES
    gpu.warm_tlbs, gpu.tlb.entries = config.tlb.warm, config.tlb.entries
    gpu.tlb_hit_cycles, gpu.walk_cycles = config.tlb.hit_cycles, config.tlb.walk_cycles


def _configure_coalescer(coalescer: Any, config: MachineConfig) -> None:
    network = config.network
    groups = request_coalescer.sizes(config.core.cores, network.coalescing_cores) if network.coalescing_cores else []
    coalescer.groups, coalescer.most, coalescer.data = len(groups), network.coalescing_requests, network.coalesces_data
    coalescer.hit_cycles, coalescer.miss_cycles = network.coalescing_hit_cycles, network.coalescing_miss_cycles
    coalescer.lines["key"] = request_coalescer.FREE
    coalescer.group[: config.core.cores] = np.repeat(np.arange(len(groups)), groups) if groups else 0


def _configure_core(core: Any, config: MachineConfig) -> None:
    issue, files = config.issue, config.register_file
    core.detail = config.core.detail
    core.warp_slots, core.schedulers, core.sub_cores = config.core.max_warps, issue.schedulers, config.core.sub_cores
    core.dual_issue, core.replay, core.reread = issue.dual_issue, issue.replay, config.l1d.reread
    core.split = config.l1d.split_requests
    core.fetches = max(1, issue.fetch_width // config.core.sub_cores)
    core.decode_width = min(issue.decode_width, issue.instruction_buffer_entries)
    core.l1_ports = config.l1d.ports
    core.ideal_fetch = config.l1i.ideal
    core.prefetch_lines, core.line_cycles = config.l1i.prefetch_lines, config.l1i.line_cycles
    core.launch_lines = config.l1i.launch_lines
    core.most_instruction_misses, core.most_texture_misses = config.l1i.mshr_entries, config.l1t.mshr_entries
    core.read_cycles, core.one_constant = files.release_cycles, config.l1c.address_cycles
    core.barrier_cycles, core.arrival_cycles = config.core.barrier_cycles, config.core.barrier_arrival_cycles
    core.load_cycles, core.store_cycles = config.l1d.load_cycles, config.l1d.store_line_cycles
    core.return_cycles = config.l1d.return_cycles
    core.banked_tags, core.ends_early = config.l1d.banked_tags, config.core.drain == "stores-sent"
    core.scoreboard_entries = issue.scoreboard_entries if issue.scoreboard == "coon" else 0
    core.issue_cycles = 32 // config.core.simd_width
    core.banks = max(1, files.banks // config.core.sub_cores)
    core.bank_mask = core.banks - 1 if core.banks & (core.banks - 1) == 0 else 0
    core.swizzled = files.layout == "swizzled"
    core.collector_ports = files.collector_ports
    core.war_mode = WAR_MODES[files.war_protection]
    for w in range(config.core.max_warps):
        scheduler = w % issue.schedulers
        core.mine[scheduler] |= np.uint64(1 << w)
        core.sub_core_of[w] = scheduler % config.core.sub_cores
        core.within[scheduler % config.core.sub_cores] |= np.uint64(1 << w)
    _configure_units(core, config)
    _configure_collectors(core, config)
    core.bank_written[:], core.bank_read[:], core.reuse[:] = -1, -1, -1
    core.ldst_queue.limit = config.l1d.queue_entries or (8 if config.core.detail < 3 else 4)
    share = max(core.ldst_queue.limit // config.core.sub_cores, 1)
    core.queue_share = share if core.return_cycles > 0 else inflight.FAR_FUTURE
    core.inject.limit, core.responses.limit = config.l1d.miss_queue_entries, 2 * MAX_ANSWERS
    for name in ("l1d", "l1i", "l1c", "l1t"):
        _configure_cache(core[name], getattr(config, name))
    _configure_second(core.l15, config)
    _configure_l0(core.l0, config)
    core.l1d.enabled, core.l1d.on_fill = config.l1d.enabled, config.l1d.allocate == "on-fill"
    core.l1d.write_policy_global = WRITE_POLICIES[config.l1d.write_global]
    core.l1d.write_policy_local = WRITE_POLICIES[config.l1d.write_local]
    core.l1d.write_allocate, core.l1d.by_word = config.l1d.write_allocate, config.l1d.hits_written_words
    core.l1d.hit_latency, core.l1c.hit_latency = config.l1d.hit_latency_cycles, config.l1c.hit_latency_cycles
    core.l1t.hit_latency = config.l1t.hit_latency_cycles
    core.prefetches.limit = config.l1d.prefetch_queue_entries
    core.rereads.limit, core.fragments.limit = 256, config.l1t.fifo_entries
    core.cta_slots, core.tlb.entries = config.core.max_ctas, config.tlb.core_entries
    core.mshr.entries, core.mshr.merges = config.l1d.mshr_entries, config.l1d.mshr_merges
    core.mshr_constant.entries, core.mshr_constant.merges = config.l1c.mshr_entries, config.l1c.mshr_merges
    mshr.reset(core.mshr)
    mshr.reset(core.mshr_constant)
    inflight.reset(core)
    loads.reset(core)


def choose_dependences(cores: Any, config: MachineConfig, is_machine_code: bool) -> None:
    """Whether the cores obey the compiler's control bits and read registers on its schedule: PTX has neither."""
    reads = is_machine_code and config.register_file.reading == "ports" and config.core.detail == 3
    cores["control_bits"] = is_machine_code and config.issue.dependences == "control-bits" and config.core.detail > 1
    cores["fixed_reads"], cores["reading"], cores["detail"] = reads, 0, 2 if reads else config.core.detail
    banks = max(1, config.register_file.banks // config.core.sub_cores)
    if config.register_file.reading == "ports" and not is_machine_code:
        banks *= 2  # PTX has no marks for the reuse cache: more banks stand for it, as in GPGPU-Sim
    cores["banks"], cores["bank_mask"] = banks, banks - 1 if banks & (banks - 1) == 0 else 0


def _configure_units(core: Any, config: MachineConfig) -> None:
    units = config.units
    counts = {
        Unit.SP: units.sp_units, Unit.INT: units.int_units, Unit.DP: units.dp_units, Unit.SFU: units.sfu_units,
        Unit.TENSOR: units.tensor_units, Unit.HEAVY: units.heavy_units, Unit.UNIFORM: units.uniform_units,
    }  # fmt: skip
    for unit, count in counts.items():
        core.unit_copies[unit] = count // config.core.sub_cores
    pools = {Unit.SFU: SFU_POOL, Unit.LDST: MEMORY_POOL, Unit.TEX: MEMORY_POOL}
    for unit in Unit:
        core.pool_of_unit[unit] = pools.get(unit, SP_POOL)


def _configure_collectors(core: Any, config: MachineConfig) -> None:
    files = config.register_file
    number = 0
    for sub_core in range(config.core.sub_cores):
        sizes = (files.collectors_sp, files.collectors_sfu, files.collectors_mem, files.collectors_generic)
        for pool, size in enumerate(sizes):
            for _ in range(-(-size // config.core.sub_cores)):
                core.collector_pool[number] = pool
                core.free_collectors[sub_core, pool] |= np.uint64(1 << number)
                number += 1
    core.collectors = number


def _configure_cache(record: Any, section: Cache) -> None:
    record.enabled = 1
    record.sets, record.ways = section.sets, section.ways
    sector_bytes = section.sector_bytes if isinstance(section, SectoredCache) else section.line_bytes
    record.line_bytes, record.sector_bytes = section.line_bytes, sector_bytes
    record.line_shift, record.sector_shift = section.line_bytes.bit_length() - 1, sector_bytes.bit_length() - 1
    record.set_shift = section.sets.bit_length() - 1
    record.hashed, record.fifo = section.index == "hashed", section.replacement == "fifo"
    cache.forget_all(record)


def _configure_second(record: Any, config: MachineConfig) -> None:
    """The second constant cache, where there is one."""
    if config.l1c.second_bytes:
        section = replace(config.l1c, bytes=config.l1c.second_bytes, line_bytes=128, ways=8)
        _configure_cache(record, section)
        record.hit_latency = config.l1c.second_hit_latency_cycles


def _configure_l0(record: Any, config: MachineConfig) -> None:
    """The L0 instruction caches, where there are any. A core of one loop has no buffers that they would fill."""
    record.enabled = config.l1i.l0_bytes > 0 and config.core.detail > 1
    record.latency, record.line_cycles = config.l1i.l0_miss_cycles, config.l1i.l0_line_cycles
    record.prefetch_lines, record.line[:] = config.l1i.l0_prefetch_lines, -1
    for sub_core in range(config.core.sub_cores if record.enabled else 0):
        _configure_cache(record.cache[sub_core], config.l1i.l0)


def _configure_slice(record: Any, config: MachineConfig) -> None:
    record.last_written = record.last_packet = -1
    record.filling, record.atomic_hundredths = -1, 10000 // config.l2.atomics_per_100_cycles
    # A pipe of n stages holds n requests besides those that wait in the queue at its end.
    pipe = (config.l2.latency_cycles + config.l2.crossing_cycles) * config.l2.sectors_per_cycle
    record.input.limit = record.crossing.limit = min(config.l2.input_queue_entries + pipe, 2 * MAX_SLICE_QUEUE)
    record.output.limit = config.l2.output_queue_entries + config.l2.hit_latency_cycles + config.l2.atomic_cycles
    record.to_dram.limit = max(2, config.l2.dram_queue_entries) + config.dram.latency_cycles
    if config.l2.parts > 1:
        record.to_dram.limit += config.l2.miss_crossing_cycles
    record.far_misses.limit = record.to_dram.limit
    record.far_hits.limit = 2 * MAX_SLICE_QUEUE
    record.fills.limit = 2 * MAX_MSHRS
    _configure_cache(record.cache, config.l2)
    record.cache.hit_latency = config.l2.hit_latency_cycles
    record.cache.slices = config.l2.slices
    record.cache.interleave_shift = config.address_map.slice_interleave_bytes.bit_length() - 1
    record.mshr.entries, record.mshr.merges = config.l2.mshr_entries, config.l2.mshr_merges
    mshr.reset(record.mshr)


def _dram_settings(config: MachineConfig) -> dict[str, Any]:
    section = config.dram
    names = ("banks", "bank_groups", "t_ccd", "t_ccdl", "t_rrd", "t_rcd", "t_ras", "t_rp", "t_rc", "t_cl", "t_wl", "t_cdlr",
             "t_wr", "t_rtpl", "t_rtw", "t_refi", "t_rfc", "refresh_banks", "scheduler", "queue_entries",
             "age_limit_cycles", "command_buses")  # fmt: skip
    settings = {name: getattr(section, name) for name in names}
    settings["return_entries"] = section.return_queue_entries
    settings["burst_cycles"], settings["access_bytes"] = section.burst_cycles, section.burst_bytes
    return settings


def _network_settings(config: MachineConfig, direction: int) -> dict[str, Any]:
    section = config.network
    ends = {"source": config.clusters, "destination": config.l2.slices}
    nodes = dict(zip(ends, mesh_nodes(config), strict=True))
    if direction == TO_CORES:
        ends = {"source": ends["destination"], "destination": ends["source"]}
        nodes = {"source": nodes["destination"], "destination": nodes["source"]}
    names = ("flit_bytes", "virtual_channels", "buffer_flits", "ejection_flits", "routing_delay_cycles",
             "channel_latency_cycles", "input_speedup", "header_bytes")  # fmt: skip
    largest = max(cache.line_bytes for cache in (config.l1d, config.l1i, config.l1c, config.l1t, config.l2))
    return {name: getattr(section, name) for name in names} | {
        "sources": ends["source"], "destinations": ends["destination"], "largest_data_bytes": largest,
        "width": section.mesh_width, "height": section.mesh_height, "half_routers": section.half_routers,
        "node_of_source": nodes["source"], "node_of_destination": nodes["destination"],
    }  # fmt: skip


def mesh_nodes(config: MachineConfig) -> tuple[list[int], list[int]]:
    """The routers of a mesh that the clusters and the L2 slices sit at: slices spread evenly, clusters on the others.

    On a checkerboard, slices are spread over every second router: those that are half-routers if the mesh has any.
    """
    section, slices = config.network, config.l2.slices
    nodes = section.mesh_width * section.mesh_height
    checkered = section.kind == "mesh" and section.slice_placement == "checkerboard"
    places = half_routers(section.mesh_width, section.mesh_height) if checkered else range(nodes)
    chosen = [len(places) * s // slices + len(places) // (2 * slices) for s in range(slices)]
    if checkered:
        chosen = [places[place] for place in chosen]
    others = [node for node in range(nodes) if node not in chosen]
    return others[: config.clusters], chosen


def mesh_crosspoints(config: MachineConfig) -> int:
    """Crosspoints in the switches of both meshes, of requests and of replies: what half-routers save."""
    return sum(crosspoints(_network_settings(config, direction)) for direction in (TO_MEMORY, TO_CORES))
