"""Caches, DRAM, and which address lives where."""

from dataclasses import dataclass

from simtlab.machine.config.keys import choice, count, flag, text

WRITE_POLICIES = ("write-through", "write-back", "write-evict", "read-only")


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A cache. Of the L2, one slice."""

    bytes: int = count("bytes", "data it holds")
    line_bytes: int = count("bytes", "a line: what one tag covers", low=16, high=1024, power_of_two=True)
    sector_bytes: int = count(
        "bytes", "a sector: what one miss fetches; line_bytes if not sectored", low=16, high=1024, power_of_two=True
    )
    ways: int = count("ways", "lines of a set", high=1024)
    index: str = choice("how an address chooses its set", "linear", "hashed", default="linear")
    replacement: str = choice("which line of a set makes room", "lru", "fifo", default="lru")
    allocate: str = choice("when a missing line takes its place in a set", "on-miss", "on-fill")
    write_global: str = choice("what a write to global memory does", *WRITE_POLICIES, default="read-only")
    write_local: str = choice("what a write to local memory does", *WRITE_POLICIES, default="read-only")
    write_allocate: bool = flag("a write that misses takes a line", default=False)
    mshr_entries: int = count("entries", "lines that may be missing at once", high=256)
    mshr_merges: int = count("requests", "requests that may wait for one missing line", high=4096)
    hit_latency_cycles: int = count("cycles of its clock", "from access to data on a hit", high=4096)
    miss_queue_entries: int = count("requests", "misses that may wait to leave the cache", high=4096)

    @property
    def sets(self) -> int:
        return self.bytes // (self.line_bytes * self.ways)

    @property
    def lines(self) -> int:
        return self.bytes // self.line_bytes

    @property
    def sectors_per_line(self) -> int:
        return self.line_bytes // self.sector_bytes


@dataclass(frozen=True, kw_only=True)
class DataCache(Cache):
    """The L1 data cache."""

    ports: int = count("lines", "lines of one instruction that it serves in a cycle", high=16, default=1)
    enabled: bool = flag("loads and stores go through this cache at all", default=True)
    bypass_global: bool = flag("global memory skips it; only local memory is cached", default=False)
    reread: bool = flag("a load that missed reads its line when it has come, and locks it until then", default=False)
    prefetch_queue_entries: int = count("lines", "prefetches that may wait for the cache", high=64, default=32)


@dataclass(frozen=True, kw_only=True)
class TextureCache(Cache):
    """The texture cache."""

    fifo_entries: int = count("fetches", "texture instructions between the tags and the data", high=64, default=32)


@dataclass(frozen=True, kw_only=True)
class L2Cache(Cache):
    """The L2: slices beside the memory channels."""

    slices: int = count("slices", "slices of the L2, each with its own network port", high=256)
    slices_per_channel: int = count("slices", "slices in front of one memory channel", high=16)
    latency_cycles: int = count("L2 cycles", "pipe in front of a slice (GPGPU-Sim's ROP latency)", low=0, high=4096)
    input_queue_entries: int = count("requests", "queue from the network to a slice", high=4096)
    output_queue_entries: int = count("replies", "queue from a slice to the network", high=4096)
    dram_queue_entries: int = count("requests", "queue from a slice to its memory channel", high=4096)

    @property
    def total_bytes(self) -> int:
        return self.bytes * self.slices


@dataclass(frozen=True, kw_only=True)
class Dram:
    """A memory channel: banks, the bus, the controller. All t_ keys are in cycles of clocks.dram_mhz."""

    kind: str = text("what memory it is")
    channels: int = count("channels", "memory channels, each with its controller", high=256)
    banks: int = count("banks", "banks of a channel", high=32)
    bank_groups: int = count("groups", "groups the banks are divided into; 1 for none", high=16)
    t_ccd: int = count("DRAM cycles", "column command to column command, other bank group", high=1024)
    t_ccdl: int = count("DRAM cycles", "column command to column command, same bank group; 0 without groups", low=0, high=1024)
    t_rrd: int = count("DRAM cycles", "activate to activate, another bank", high=1024)
    t_rcd: int = count("DRAM cycles", "activate to column command", high=1024)
    t_ras: int = count("DRAM cycles", "activate to precharge", high=1024)
    t_rp: int = count("DRAM cycles", "precharge to activate", high=1024)
    t_rc: int = count("DRAM cycles", "activate to activate, same bank", high=1024)
    t_cl: int = count("DRAM cycles", "read command to first data", high=1024)
    t_wl: int = count("DRAM cycles", "write command to first data", high=1024)
    t_cdlr: int = count("DRAM cycles", "last write data to read command", high=1024)
    t_wr: int = count("DRAM cycles", "last write data to precharge", high=1024)
    t_rtpl: int = count("DRAM cycles", "read command to precharge; 0 without groups", low=0, high=1024)
    t_rtw: int = count("DRAM cycles", "read command to write command", high=1024)
    bus_bytes: int = count("bytes", "data bus of a channel, all its chips together", high=256, power_of_two=True)
    burst_length: int = count("beats", "beats on the bus for one column command", high=64, power_of_two=True)
    data_rate: int = count("beats", "beats on the bus in one DRAM cycle: 2 for DDR, 4 for GDDR5", high=16, power_of_two=True)
    row_bytes: int = count("bytes", "an open row of a bank, all chips of the channel together", low=64, power_of_two=True)
    scheduler: str = choice("which request goes first", "fr-fcfs", "fcfs", default="fr-fcfs")
    queue_entries: int = count("requests", "requests the controller chooses among", high=256)
    return_queue_entries: int = count("replies", "queue of finished reads of a channel", high=256)
    latency_cycles: int = count("L2 cycles", "pipe from a slice to the controller (GPGPU-Sim's DRAM latency)", low=0, high=4096)
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
