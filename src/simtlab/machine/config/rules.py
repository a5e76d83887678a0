"""What keys must agree on. Each rule names the key to change, its value, and what the other keys allow."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from simtlab.machine.config.core import PHYSICAL_UNITS
from simtlab.machine.config.memory import Cache, SectoredCache
from simtlab.machine.limits import (
    MAX_COLLECTORS,
    MAX_COPIES,
    MAX_GROUPS,
    MAX_L0_LINES,
    MAX_L1_LINES,
    MAX_L2_LINES,
    MAX_PACKET_FLITS,
    MAX_PORTS,
    MAX_ROUTERS,
    MAX_WAITERS,
)

if TYPE_CHECKING:
    from simtlab.machine.config.machine import MachineConfig


def contradictions(config: "MachineConfig") -> list[str]:
    """Every rule that a machine breaks, in words."""
    rules = (_clock_rules, _core_rules, _group_rules, _issue_rules, _cache_rules, _shared_memory_rules, _network_rules, _dram_rules)
    return [f"{key} = {value} is impossible: {allowed}" for rule in rules for key, value, allowed in rule(config)]


SECOND_WAYS, SECOND_LINE_BYTES = 8, 128  # of the second constant cache
MASKED_BYTES = 32  # of a sector that a load's mask of words covers
LINE_BYTES, SECTOR_BYTES = 128, 32  # that the L1's banks were measured with
Broken = Iterator[tuple[str, object, str]]


def _clock_rules(config: "MachineConfig") -> Broken:
    for name, mhz in vars(config.clocks).items():
        if not name.endswith("_mhz"):
            continue
        if mhz < 1:
            yield f"clocks.{name}", mhz, "it must be at least 1"


def _core_rules(config: "MachineConfig") -> Broken:
    core = config.core
    if config.clusters > MAX_PORTS:
        ports = f"over core.cores_per_cluster ({core.cores_per_cluster}) they need {config.clusters} ports"
        allowed = f"{ports}, and there may be {MAX_PORTS}"
        yield "core.cores", core.cores, allowed
    if core.cores % core.cores_per_cluster:
        yield "core.cores", core.cores, f"it must be a multiple of core.cores_per_cluster ({core.cores_per_cluster})"
    if core.max_threads > core.max_warps * core.warp_size:
        most = core.max_warps * core.warp_size
        yield "core.max_threads", core.max_threads, f"core.max_warps ({core.max_warps}) of {core.warp_size} hold at most {most}"
    if core.registers % core.register_allocation_unit:
        unit = core.register_allocation_unit
        yield "core.registers", core.registers, f"it must be a multiple of core.register_allocation_unit ({unit})"


def _group_rules(config: "MachineConfig") -> Broken:
    groups, sets, cores = config.l2.groups, config.l2.sets, config.core.cores
    if groups > sets:
        yield "l2.groups", groups, f"a slice has {sets} sets, and every group must have one"
    if groups > cores:
        yield "l2.groups", groups, f"there are {cores} cores, and every group must have one"


def _issue_rules(config: "MachineConfig") -> Broken:
    schedulers, sub_cores, banks = config.issue.schedulers, config.core.sub_cores, config.register_file.banks
    if config.core.max_warps % schedulers:
        yield "issue.schedulers", schedulers, f"it must divide core.max_warps ({config.core.max_warps})"
    if schedulers % sub_cores:
        yield "issue.schedulers", schedulers, f"it must be a multiple of core.sub_cores ({sub_cores})"
    if banks % sub_cores:
        yield "register_file.banks", banks, f"it must be a multiple of core.sub_cores ({sub_cores})"
    for unit in (*PHYSICAL_UNITS, "uniform"):
        number = config.units.number_of(unit)
        if number % sub_cores:
            yield f"units.{unit}_units", number, f"it must be a multiple of core.sub_cores ({sub_cores})"
        elif number > MAX_COPIES * sub_cores:
            yield f"units.{unit}_units", number, f"at most {MAX_COPIES} in each of core.sub_cores ({sub_cores})"
    file = config.register_file
    if not file.collectors_generic:
        for part in ("sp", "sfu", "mem"):
            if not getattr(file, f"collectors_{part}"):
                yield f"register_file.collectors_{part}", 0, "it must be at least 1 while register_file.collectors_generic is 0"
    if file.collectors_generic % sub_cores:
        allowed = f"it must be a multiple of core.sub_cores ({sub_cores})"
        yield "register_file.collectors_generic", file.collectors_generic, allowed
    sizes = {part: getattr(file, f"collectors_{part}") for part in ("sp", "sfu", "mem", "generic")}
    total = sum(-(-size // sub_cores) * sub_cores for size in sizes.values())
    if total > MAX_COLLECTORS:
        largest = max(sizes, key=lambda part: sizes[part])
        others = ", ".join(f"register_file.collectors_{part}" for part in sizes if part != largest)
        allowed = f"with {others} there are {total} in core.sub_cores ({sub_cores}), and there may be {MAX_COLLECTORS}"
        yield f"register_file.collectors_{largest}", sizes[largest], allowed


def _cache_rules(config: "MachineConfig") -> Broken:
    for name in ("l1d", "l1i", "l1c", "l1t", "l2"):
        yield from _geometry(name, getattr(config, name))
    for name, sectored in {"l1d": config.l1d, "l2": config.l2}.items():
        yield from _sectors(name, sectored)
    for name in ("l1d", "l1c", "l2"):
        entries, merges = getattr(config, name).mshr_entries, getattr(config, name).mshr_merges
        if entries * merges > MAX_WAITERS:
            yield f"{name}.mshr_merges", merges, f"times {name}.mshr_entries ({entries}) it may be at most {MAX_WAITERS}"
    if config.l1i.l0_bytes:
        yield from _geometry("l1i.l0", config.l1i.l0)
    second, a_way, most = config.l1c.second_bytes, SECOND_WAYS * SECOND_LINE_BYTES, MAX_L1_LINES * SECOND_LINE_BYTES
    if second % a_way or second // a_way & (second // a_way - 1) or second > most:
        yield "l1c.second_bytes", second, f"it must be 0, or {a_way} (8 ways of 128 bytes) times a power of two, up to {most}"
    if config.l1d.hits_written_words and config.l1d.sector_bytes > MASKED_BYTES:
        yield "l1d.sector_bytes", config.l1d.sector_bytes, f"l1d.hits_written_words has a mask for {MASKED_BYTES} bytes"
    if config.l1d.banked_tags and (config.l1d.line_bytes, config.l1d.sector_bytes) != (LINE_BYTES, SECTOR_BYTES):
        allowed = f"l1d.banked_tags is for lines of {LINE_BYTES} bytes and sectors of {SECTOR_BYTES}"
        yield "l1d.sector_bytes", config.l1d.sector_bytes, allowed
    if config.l1d.return_cycles and not config.l1d.banked_tags:
        yield "l1d.return_cycles", config.l1d.return_cycles, "it is for l1d.banked_tags, which counts wavefronts"
    if config.l2.fetch_bytes > config.l2.line_bytes:
        yield "l2.fetch_bytes", config.l2.fetch_bytes, f"it may be at most l2.line_bytes ({config.l2.line_bytes})"
    if config.l2.line_bytes % config.l1d.sector_bytes:
        allowed = f"it must divide l2.line_bytes ({config.l2.line_bytes})"
        yield "l1d.sector_bytes", config.l1d.sector_bytes, allowed


def _sectors(name: str, cache: SectoredCache) -> Broken:
    if cache.line_bytes % cache.sector_bytes:
        yield f"{name}.sector_bytes", cache.sector_bytes, f"it must divide {name}.line_bytes ({cache.line_bytes})"


def _geometry(name: str, cache: Cache) -> Broken:
    of, line = (f"{name}_", "l1i.line_bytes") if name == "l1i.l0" else (f"{name}.", f"{name}.line_bytes")
    a_way = cache.line_bytes * cache.ways
    if cache.bytes % a_way:
        allowed = f"it must be a multiple of {line} * {of}ways ({cache.line_bytes} * {cache.ways} = {a_way})"
        yield f"{of}bytes", cache.bytes, allowed
    elif cache.sets & (cache.sets - 1):
        geometry = f"{cache.sets} sets of {of}ways ({cache.ways}) lines of {line} ({cache.line_bytes})"
        allowed = f"it makes {geometry}, and the sets must be a power of two"
        yield f"{of}bytes", cache.bytes, allowed
    most = {"l2": MAX_L2_LINES, "l1i.l0": MAX_L0_LINES}.get(name, MAX_L1_LINES)
    if cache.lines > most:
        allowed = f"it makes {cache.lines} lines of {line} ({cache.line_bytes}), and there may be {most}"
        yield f"{of}bytes", cache.bytes, allowed


def _shared_memory_rules(config: "MachineConfig") -> Broken:
    shared = config.shared_memory
    if shared.shares_l1 and (config.l1d.bytes, shared.bytes) not in shared.splits:
        splits = ", ".join(f"{l1}:{part}" for l1, part in shared.splits) or "none"
        given = f"with l1d.bytes = {config.l1d.bytes} it is not one of shared_memory.splits (L1:shared)"
        allowed = f"{given}: {splits}; shared_memory.shares_l1 = false lifts this"
        yield "shared_memory.bytes", shared.bytes, allowed
    a_way, most = config.l1d.line_bytes * max(1, config.l1d.sets), MAX_L1_LINES * config.l1d.line_bytes
    for part, _ in shared.splits if shared.shares_l1 and shared.split == "at-launch" else ():
        if part % a_way or not 0 < part <= most:
            way = f"{a_way} bytes (l1d.bytes / l1d.ways: a way of all its sets)"
            yield "shared_memory.splits", part, f"an L1 part is a multiple of {way}, up to {most} (by l1d.line_bytes)"


def _network_rules(config: "MachineConfig") -> Broken:
    network, cores = config.network, config.core.cores
    if network.coalescing_cores and -(-cores // network.coalescing_cores) > MAX_GROUPS:
        allowed = f"of core.cores ({cores}) there would be more than {MAX_GROUPS} groups"
        yield "network.coalescing_cores", network.coalescing_cores, allowed
    longest = max(("l1d", "l1i", "l1c", "l1t", "l2"), key=lambda name: getattr(config, name).line_bytes)
    line_bytes = getattr(config, longest).line_bytes
    flits = -(-(network.header_bytes + line_bytes) // network.flit_bytes)
    packet = f"{longest}.line_bytes ({line_bytes}) and network.header_bytes ({network.header_bytes})"
    if flits > MAX_PACKET_FLITS:
        allowed = f"it cuts a packet of {packet} into {flits} flits, and there may be {MAX_PACKET_FLITS}"
        yield "network.flit_bytes", network.flit_bytes, allowed
    elif flits > network.ejection_flits:
        allowed = f"a packet of {packet} has {flits} of network.flit_bytes, and must be held whole"
        yield "network.ejection_flits", network.ejection_flits, allowed
    if network.kind == "mesh":
        yield from _mesh_rules(config)
    if config.l2.slices != config.dram.channels * config.l2.slices_per_channel:
        product = f"{config.dram.channels} * {config.l2.slices_per_channel}"
        allowed = f"it must be dram.channels * l2.slices_per_channel ({product})"
        yield "l2.slices", config.l2.slices, allowed
    page = config.tlb.page_bytes
    if page & (page - 1) or 0 < page < config.l1d.line_bytes:
        allowed = f"it must be 0, or a power of two no less than l1d.line_bytes ({config.l1d.line_bytes})"
        yield "tlb.page_bytes", page, allowed
    if config.address_map.slice_interleave_bytes % config.l2.line_bytes:
        allowed = f"it must be a multiple of l2.line_bytes ({config.l2.line_bytes})"
        yield "address_map.slice_interleave_bytes", config.address_map.slice_interleave_bytes, allowed


def _mesh_rules(config: "MachineConfig") -> Broken:
    network = config.network
    nodes, ports = network.mesh_width * network.mesh_height, config.clusters + config.l2.slices
    if nodes < ports:
        needed = f"core.cores / core.cores_per_cluster ({config.clusters}) and l2.slices ({config.l2.slices}) need {ports}"
        allowed = f"times network.mesh_height it is {nodes}, but {needed}"
        yield "network.mesh_width", network.mesh_width, allowed
    elif nodes > MAX_ROUTERS:
        allowed = f"times network.mesh_height it is {nodes}, and there may be {MAX_ROUTERS}"
        yield "network.mesh_width", network.mesh_width, allowed
    if network.half_routers and network.virtual_channels < 2:
        allowed = "with network.half_routers XY and YX packets need one each: at least 2"
        yield "network.virtual_channels", network.virtual_channels, allowed
    if network.half_routers and network.slice_placement != "checkerboard":
        allowed = 'it needs network.slice_placement = "checkerboard": some full routers have no way to each other'
        yield "network.half_routers", "true", allowed
    if network.slice_placement == "checkerboard" and nodes // 2 < config.l2.slices:
        allowed = f"it leaves {nodes // 2} of {nodes} routers for l2.slices ({config.l2.slices})"
        yield "network.slice_placement", '"checkerboard"', allowed


def _dram_rules(config: "MachineConfig") -> Broken:
    dram = config.dram
    if dram.banks % config.l2.slices_per_channel:
        allowed = f"it must be a multiple of l2.slices_per_channel ({config.l2.slices_per_channel})"
        yield "dram.banks", dram.banks, allowed
    if dram.banks % dram.bank_groups:
        yield "dram.banks", dram.banks, f"it must be a multiple of dram.bank_groups ({dram.bank_groups})"
    if dram.burst_length % dram.data_rate:
        yield "dram.burst_length", dram.burst_length, f"it must be a multiple of dram.data_rate ({dram.data_rate})"
    if dram.row_bytes % dram.burst_bytes:
        allowed = f"it must be a multiple of dram.bus_bytes * dram.burst_length ({dram.burst_bytes})"
        yield "dram.row_bytes", dram.row_bytes, allowed
    if dram.t_ccd < dram.burst_cycles:
        allowed = f"a burst keeps the bus {dram.burst_cycles} cycles (dram.burst_length / dram.data_rate)"
        yield "dram.t_ccd", dram.t_ccd, allowed
    if dram.t_rc < dram.t_ras + dram.t_rp:
        least = f"{dram.t_ras} + {dram.t_rp} = {dram.t_ras + dram.t_rp}"
        yield "dram.t_rc", dram.t_rc, f"it must be at least dram.t_ras + dram.t_rp ({least})"
    soonest = dram.t_cl + dram.burst_cycles - dram.t_wl
    if dram.t_rtw < soonest:
        least = f"dram.t_cl + dram.burst_length / dram.data_rate - dram.t_wl ({soonest})"
        allowed = f"a write's data must follow a read's on the bus: at least {least}"
        yield "dram.t_rtw", dram.t_rtw, allowed
    together = dram.refresh_banks or dram.banks
    if dram.banks % together:
        yield "dram.refresh_banks", dram.refresh_banks, f"it must divide dram.banks ({dram.banks})"
    elif dram.t_refi and dram.t_rfc * (dram.banks // together) >= dram.t_refi * min(2, dram.banks // together):
        yield "dram.t_rfc", dram.t_rfc, f"refreshes must leave time for accesses in dram.t_refi ({dram.t_refi})"
    if dram.bank_groups > 1 and dram.t_ccdl < dram.t_ccd:
        allowed = f"with dram.bank_groups ({dram.bank_groups}) it must be at least dram.t_ccd ({dram.t_ccd})"
        yield "dram.t_ccdl", dram.t_ccdl, allowed
