"""Caches, DRAM, and which address lives where."""

from dataclasses import dataclass

from simtlab.machine.config.keys import choice, count, flag, text
from simtlab.machine.limits import (
    MAX_DATA_BYTES,
    MAX_DRAM_BANKS,
    MAX_DRAM_CYCLES,
    MAX_DRAM_QUEUE,
    MAX_FRAGMENTS,
    MAX_INJECTIONS,
    MAX_LATENCY,
    MAX_MSHRS,
    MAX_PORTS,
    MAX_PREFETCHES,
    MAX_REFRESH_CYCLES,
    MAX_SHUFFLED_PAGES,
    MAX_SLICE_QUEUE,
    MAX_TLB_ENTRIES,
    MAX_WAITERS,
)

WRITE_POLICIES = ("write-through", "write-back", "write-evict")


def hit_latency(unit: str = "core cycles", high: int = MAX_LATENCY) -> int:
    return count(unit, "from access to data on a hit", high=high)


def merges() -> int:
    return count("requests", "requests that may wait for one missing line", high=MAX_WAITERS)


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A cache. Of the L2, one slice."""

    bytes: int = count("bytes", "data it holds")
    line_bytes: int = count("bytes", "a line: what one tag covers", low=16, high=MAX_DATA_BYTES, power_of_two=True)
    ways: int = count("ways", "lines of a set", high=1024)
    index: str = choice("how an address chooses its set", "linear", "hashed", default="linear")
    replacement: str = choice("which line of a set is evicted", "lru", "fifo", default="lru")
    mshr_entries: int = count("entries", "lines (of a sectored cache, sectors) that may be missing at once", high=MAX_MSHRS)

    @property
    def sets(self) -> int:
        return self.bytes // (self.line_bytes * self.ways)

    @property
    def lines(self) -> int:
        return self.bytes // self.line_bytes


@dataclass(frozen=True, kw_only=True)
class InstructionCache(Cache):
    """The instruction cache. What it has, it gives in the cycle of the fetch."""

    ideal: bool = flag("every fetch finds its instructions: there is no such cache", default=False)
    prefetch_lines: int = count("lines", "prefetched beyond the one that is fetched from", low=0, high=64, default=0)
    line_cycles: int = count("core cycles", "that a line which comes in keeps the next from coming", low=0, high=64, default=0)
    launch_lines: int = count("lines", "of a kernel that come with its first CTA in a core, one by one", low=0, high=64, default=0)
    l0_bytes: int = count("bytes", "of an L0 instruction cache in each sub-core; 0: there are none", low=0, default=0)
    l0_ways: int = count("ways", "lines of a set of the L0", high=1024, default=4)
    l0_miss_cycles: int = count("core cycles", "from a miss of the L0 to a line that this cache has", high=MAX_LATENCY, default=1)
    l0_line_cycles: int = count("core cycles", "that a line for an L0 keeps the next for it", low=0, high=64, default=0)
    l0_prefetch_lines: int = count("lines", "that an L0 prefetches behind one that missed", low=0, high=64, default=0)

    @property
    def l0(self) -> Cache:
        """The L0 of a sub-core."""
        return Cache(bytes=self.l0_bytes, line_bytes=self.line_bytes, ways=self.l0_ways, mshr_entries=1)


@dataclass(frozen=True, kw_only=True)
class ConstantCache(Cache):
    """The constant cache."""

    mshr_merges: int = merges()
    hit_latency_cycles: int = hit_latency()
    address_cycles: int = count(
        "core cycles", "for each address that the lanes of a load want; 0: a line a cycle, whatever they want of it",
        low=0, high=16, default=0,
    )  # fmt: skip
    second_bytes: int = count("bytes", "of a second cache behind it, 8 ways of 128 bytes; 0: there is none", low=0, default=0)
    second_hit_latency_cycles: int = count("core cycles", "from access to data that it has", high=MAX_LATENCY, default=1)


@dataclass(frozen=True, kw_only=True)
class TextureCache(Cache):
    """The texture cache."""

    hit_latency_cycles: int = hit_latency()
    fifo_entries: int = count("fetches", "texture instructions between the tags and the data", high=MAX_FRAGMENTS, default=32)


@dataclass(frozen=True, kw_only=True)
class SectoredCache(Cache):
    """A cache whose lines may have sectors."""

    sector_bytes: int = count(
        "bytes", "a sector: what one miss fetches; line_bytes if not sectored", low=16, high=MAX_DATA_BYTES, power_of_two=True
    )
    mshr_merges: int = merges()

    @property
    def sectors_per_line(self) -> int:
        return self.line_bytes // self.sector_bytes


@dataclass(frozen=True, kw_only=True)
class DataCache(SectoredCache):
    """The L1 data cache."""

    hit_latency_cycles: int = hit_latency()
    allocate: str = choice("when a missing line takes its place in a set", "on-miss", "on-fill")
    write_global: str = choice("what a write to global memory does", *WRITE_POLICIES)
    write_local: str = choice("what a write to local memory does", *WRITE_POLICIES)
    write_allocate: bool = flag("a write that misses takes a line (unless it is write-evict)", default=False)
    hits_written_words: bool = flag(
        "a load hits words that were written though their sector has not been fetched: there is a mask of them", default=False
    )
    miss_queue_entries: int = count("requests", "requests of a core that may wait for the network", high=MAX_INJECTIONS)
    split_requests: int = count(
        "requests", "requests of a non-deterministic load after which others have their turn; 0: all", low=0, high=32, default=0
    )
    load_cycles: int = count("core cycles", "least that a load keeps the cache from the next", high=16, default=1)
    store_line_cycles: int = count("core cycles", "that each line of a store or an atomic keeps it", high=16, default=1)
    return_cycles: int = count(
        "core cycles", "that a sub-core, with a queue of its own, takes for each wavefront of data of a load that hits "
        "(banked_tags); 0: they all come at once",
        low=0, high=16, default=0,
    )  # fmt: skip
    atomics_by_lane: bool = flag("lanes of an atomic on one address go to the L2 one after the other", default=False)
    store_combining_cycles: int = count(
        "core cycles", "after a store within which others of the core to its sector leave with it; 0: they do not",
        low=0, high=1024, default=0,
    )  # fmt: skip
    store_combining_lines: int = count(
        "lines", "that a core wrote to last, in which stores are combined; while they wait to leave it, however long that is",
        high=64, default=64,
    )  # fmt: skip
    banked_tags: bool = flag(
        "an access takes as many cycles as a bank of tags has lines to look up for it (four banks), or a bank of data words to "
        "give (32 banks): lines of 128 bytes with sectors of 32", default=False,
    )  # fmt: skip
    queue_entries: int = count(
        "instructions", "memory instructions that may wait for the cache; 0: 4, without operand collectors 8",
        low=0, high=64, default=0,
    )  # fmt: skip
    ports: int = count("lines", "lines of one instruction that it serves in a cycle", high=16, default=1)
    enabled: bool = flag("loads and stores go through this cache at all", default=True)
    strong_loads: str = choice(
        "loads that other cores' writes must be seen by (.cg, .cv, volatile, ordered for the GPU or the system) look into it, or "
        "go around it", "cached", "go-around", default="cached",
    )  # fmt: skip
    bypass_global: bool = flag("global memory skips it; only local memory is cached", default=False)
    reread: bool = flag("a load that missed reads its line when it has come, and locks it until then", default=False)
    prefetch_queue_entries: int = count("lines", "prefetches that may wait for the cache", high=MAX_PREFETCHES, default=32)


@dataclass(frozen=True, kw_only=True)
class L2Cache(SectoredCache):
    """The L2: slices beside the memory channels. It is write-back, and every miss takes a line at once."""

    hit_latency_cycles: int = hit_latency("L2 cycles", high=MAX_SLICE_QUEUE)
    slices: int = count("slices", "slices of the L2, each with its own network port", high=MAX_PORTS)
    groups: int = count(
        "groups", "groups of neighbouring cores, each with a part of every slice", high=128, power_of_two=True, default=1
    )
    slices_per_channel: int = count("slices", "slices in front of one memory channel", high=16)
    latency_cycles: int = count("L2 cycles", "pipe in front of a slice (GPGPU-Sim's ROP latency)", low=0, high=MAX_SLICE_QUEUE)
    fetch_bytes: int = count("bytes", "that a miss reads from DRAM at least, from a multiple of it on; 0: what it wants", low=0,
                             high=MAX_DATA_BYTES, power_of_two=True, default=0)  # fmt: skip
    write_cycles: int = count(
        "L2 cycles", "that a slice takes for a write, and for others of the `sectors_per_cycle` sectors around it in its packet",
        high=16, default=1,
    )  # fmt: skip
    atomic_cycles: int = count("L2 cycles", "that an atomic takes longer than a read", low=0, high=512, default=0)
    atomics_per_100_cycles: int = count("atomics", "that a slice carries out in 100 L2 cycles", low=1, high=100, default=100)
    sectors_per_cycle: int = count("sectors", "of one line, that a slice gives and a core takes in a cycle", high=8, default=1)
    coalesced_reads: int = count("reads", "of one sector, that wait at a slice and are looked up together", high=16, default=1)
    coalescing_cycles: int = count(
        "L2 cycles", "behind a read within which others of its sector find it waiting", low=0, high=64, default=0
    )
    coalescing_entries: int = count(
        "requests", "waiting at a slice that its oldest is compared with", low=0, high=MAX_SLICE_QUEUE, default=16
    )
    parts: int = count("parts", "that the slices and the cores are divided into", high=4, default=1)
    crossing_cycles: int = count(
        "L2 cycles", "that a request takes longer to a slice of another part", low=0, high=MAX_SLICE_QUEUE, default=0
    )
    miss_crossing_cycles: int = count(
        "L2 cycles", "more for what that part has no copy of", low=0, high=MAX_SLICE_QUEUE, default=0
    )
    input_queue_entries: int = count("requests", "queue from the network to a slice", high=MAX_SLICE_QUEUE)
    output_queue_entries: int = count("replies", "queue from a slice to the network", high=MAX_SLICE_QUEUE)
    dram_queue_entries: int = count("requests", "queue from a slice to its memory channel", high=MAX_SLICE_QUEUE)

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.slices


@dataclass(frozen=True, kw_only=True)
class Dram:
    """A memory channel: banks, the bus, the controller. All t_ keys are in cycles of clocks.dram_mhz."""

    kind: str = text("what memory it is")
    channels: int = count("channels", "memory channels, each with its controller", high=MAX_PORTS)
    banks: int = count("banks", "banks of a channel", high=MAX_DRAM_BANKS)
    bank_groups: int = count("groups", "groups the banks are divided into; 1 for none", high=16)
    t_ccd: int = count("DRAM cycles", "column command to column command, other bank group", high=MAX_DRAM_CYCLES)
    t_ccdl: int = count(
        "DRAM cycles", "column command to column command, same bank group; 0 without groups", low=0, high=MAX_DRAM_CYCLES
    )
    t_rrd: int = count("DRAM cycles", "activate to activate, another bank", high=MAX_DRAM_CYCLES)
    t_rcd: int = count("DRAM cycles", "activate to column command", high=MAX_DRAM_CYCLES)
    t_ras: int = count("DRAM cycles", "activate to precharge", high=MAX_DRAM_CYCLES)
    t_rp: int = count("DRAM cycles", "precharge to activate", high=MAX_DRAM_CYCLES)
    t_rc: int = count("DRAM cycles", "activate to activate, same bank", high=MAX_DRAM_CYCLES)
    t_cl: int = count("DRAM cycles", "read command to first data", high=MAX_DRAM_CYCLES)
    t_wl: int = count("DRAM cycles", "write command to first data", high=MAX_DRAM_CYCLES)
    t_cdlr: int = count("DRAM cycles", "last write data to read command", high=MAX_DRAM_CYCLES)
    t_wr: int = count("DRAM cycles", "last write data to precharge", high=MAX_DRAM_CYCLES)
    t_rtpl: int = count("DRAM cycles", "read command to precharge; 0 without groups", low=0, high=MAX_DRAM_CYCLES)
    t_rtw: int = count("DRAM cycles", "read command to write command", high=MAX_DRAM_CYCLES)
    t_refi: int = count("DRAM cycles", "refresh to refresh of a bank; 0: there is none", low=0, high=MAX_REFRESH_CYCLES, default=0)
    t_rfc: int = count("DRAM cycles", "refresh to activate, same bank", low=0, high=MAX_DRAM_CYCLES, default=0)
    refresh_banks: int = count("banks", "banks refreshed together; 0: all", low=0, high=MAX_DRAM_BANKS, default=0)
    refresh_stacks: int = count("stacks", "whose channels refresh together; 0: each channel has its own time", low=0, default=0)
    command_buses: int = count("buses", "2: commands to rows and to columns go out in the same cycle", high=2, default=1)
    bus_bytes: int = count("bytes", "data bus of a channel, all its chips together", high=256, power_of_two=True)
    burst_length: int = count("beats", "beats on the bus for one column command", high=64, power_of_two=True)
    data_rate: int = count("beats", "beats on the bus in one DRAM cycle: 2 for DDR, 4 for GDDR5", high=16, power_of_two=True)
    row_bytes: int = count("bytes", "an open row of a bank, all chips of the channel together", low=64, power_of_two=True)
    scheduler: str = choice("which request goes first", "fr-fcfs", "fcfs", default="fr-fcfs")
    queue_entries: int = count("requests", "requests the controller chooses among", high=MAX_DRAM_QUEUE)
    return_queue_entries: int = count("replies", "queue of finished reads of a channel", high=MAX_DRAM_QUEUE)
    latency_cycles: int = count(
        "L2 cycles", "pipe from a slice to the controller (GPGPU-Sim's DRAM latency)", low=0, high=MAX_SLICE_QUEUE
    )
    age_limit_cycles: int = count("DRAM cycles", "a request this old goes before row hits; 0 for no limit", low=0, default=0)

    @property
    def burst_bytes(self) -> int:
        """What one column command moves."""
        return self.bus_bytes * self.burst_length

    @property
    def burst_cycles(self) -> int:
        """DRAM cycles one column command keeps the bus."""
        return self.burst_length // self.data_rate


@dataclass(frozen=True, kw_only=True)
class AddressMap:
    """Which slice, channel and bank an address lives in."""

    slice_interleave_bytes: int = count("bytes", "consecutive bytes in one slice", low=32, power_of_two=True)
    hash_banks: bool = flag("row bits are folded into the bank number", default=False)
    hash_slices: bool = flag("upper address bits are folded into the slice number", default=False)
    page_bytes: int = count("bytes", "whose blocks are in slices of one group; 0: blocks go round all slices", low=0, default=0)
    shuffled_pages: int = count("pages", "after which all slices have had as many", low=0, high=MAX_SHUFFLED_PAGES, default=0)
    stacks: int = count("stacks", "of memory, to which pages go in an order like chance", default=1)


@dataclass(frozen=True, kw_only=True)
class Tlb:
    """Address translation: a TLB of each core, one that all share, and walks of the page tables."""

    page_bytes: int = count("bytes", "that an entry translates, a power of two; 0: there is no translation", low=0, default=0)
    core_entries: int = count("entries", "of each core's", high=MAX_TLB_ENTRIES, default=64)
    entries: int = count("entries", "of the one that all cores share", high=MAX_TLB_ENTRIES, default=512)
    hit_cycles: int = count("core cycles", "that a core waits for what only the shared one has", low=0, high=MAX_LATENCY, default=0)
    walk_cycles: int = count("core cycles", "for a walk of the page tables", low=0, high=MAX_LATENCY, default=0)
    warm: bool = flag("entries never used are taken without a wait, as if launches before had touched them", default=False)
