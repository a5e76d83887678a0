"""A core and what is in it: its limits, its front end, its register file, its execution units, its shared memory."""

from dataclasses import dataclass, fields

from simtlab.isa.sass import ARCHITECTURES
from simtlab.machine.config.keys import choice, count, flag, real, splits
from simtlab.machine.limits import (
    MAX_COLLECTORS,
    MAX_CORES,
    MAX_CTAS,
    MAX_LATENCY,
    MAX_REGISTER_BANKS,
    MAX_SCHEDULERS,
    MAX_SHARED_BANKS,
    MAX_SUB_CORES,
    MAX_WARPS,
)
from simtlab.program.action import YIELD_AFTER

PHYSICAL_UNITS = ("sp", "int", "dp", "sfu", "tensor", "heavy")


@dataclass(frozen=True, kw_only=True)
class Clocks:
    """The four clock domains."""

    core_mhz: float = real("MHz", "clock of the cores and their L1 caches")
    network_mhz: float = real("MHz", "clock of the network between cores and L2 slices")
    l2_mhz: float = real("MHz", "clock of the L2 slices")
    dram_mhz: float = real("MHz", "command clock of the DRAM")
    step_percent: int = count(
        "%", "how far a policy of the slot `clocks` can raise or lower the clocks of cores and memory", low=1, high=50, default=15
    )


@dataclass(frozen=True, kw_only=True)
class Core:
    """How many cores there are and how much work one of them holds."""

    cores: int = count("cores", "cores of the GPU", high=MAX_CORES)
    cores_per_cluster: int = count("cores", "cores that share one network port", high=16, default=1)
    max_warps: int = count("warps", "warps resident in a core", high=MAX_WARPS)
    max_threads: int = count("threads", "threads resident in a core", high=32 * MAX_WARPS)
    max_ctas: int = count("CTAs", "CTAs resident in a core", high=MAX_CTAS)
    registers: int = count("32-bit registers", "registers of a core")
    register_allocation_unit: int = count("registers", "a warp's registers are allocated in multiples of this", default=64)
    warp_size: int = count("threads", "threads of a warp", low=32, high=32, default=32)
    simd_width: int = count(
        "threads", "threads a scheduler issues a cycle: a warp takes warp_size / simd_width cycles to issue", high=32,
        power_of_two=True,
    )  # fmt: skip
    detail: int = count(
        "loops",
        "scheduling loops modelled: 1 runs one instruction of a warp at a time, 2 adds the instruction buffer and the "
        "scoreboard, 3 adds operand collection",
        high=3, default=3,
    )  # fmt: skip
    sub_cores: int = count(
        "sub-cores", "parts of a core, each with its own schedulers, registers and units", high=MAX_SUB_CORES, default=1
    )
    launch_cycles: int = count("core cycles", "from a kernel's turn to its first CTA", low=0, high=1 << 20, default=0)
    finish_cycles: int = count(
        "core cycles", "from the end of the last CTA to the end of a run that wrote to memory", low=0, high=1 << 20, default=0
    )
    drain: str = choice(
        "until when a warp that has ended keeps its place: its stores are acknowledged, or on their way", "stores-acknowledged",
        "stores-sent", default="stores-acknowledged",
    )  # fmt: skip
    cta_starts_per_1000_cycles: int = count(
        "CTAs", "that start in all cores together in 1000 core cycles; 0 is a CTA a core and cycle", low=0, high=1 << 20, default=0
    )
    barrier_cycles: int = count(
        "core cycles", "from the last arrival at a CTA's barrier until its warps go on; core.detail = 1 has none of it", low=0,
        high=256, default=0,
    )  # fmt: skip
    barrier_arrival_cycles: int = count("core cycles", "from one warp's arrival to the next", low=0, high=64, default=0)
    isa: str = choice("what the cores execute: PTX, or the machine code of an architecture", "ptx", *ARCHITECTURES, default="ptx")
    reconvergence: str = choice(
        "how lanes of PTX that part at a branch meet again: by the SIMT stack, or at convergence barriers; machine code has "
        "barriers of its own, whatever this says",
        "stack", "barriers", default="stack",
    )  # fmt: skip
    yield_after: int = count(
        "branches", "backward branches of parted lanes after which they let others run (reconvergence = barriers); after 32 times "
        "that many nobody waits for them",
        high=4096, default=YIELD_AFTER,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Issue:
    """The front end: fetch, instruction buffers, scoreboard, schedulers."""

    schedulers: int = count("schedulers", "warp schedulers of a core", high=MAX_SCHEDULERS)
    dual_issue: bool = flag("a scheduler may issue two independent instructions of a warp in one cycle", default=False)
    replay: bool = flag("each further pass of a memory instruction (conflicts, lines) takes an issue slot", default=False)
    instruction_buffer_entries: int = count("instructions", "decoded instructions held for each warp", high=16)
    fetch_width: int = count("warps", "warps a core fetches for in one cycle, shared out over its sub-cores", high=8)
    decode_width: int = count("instructions", "instructions decoded from one fetch", high=8)
    dependences: str = choice(
        "what keeps an instruction from operands that are not there: a scoreboard, or the compiler's stall counts and barriers, "
        "which machine code has and PTX has not: it keeps the scoreboard", "scoreboard", "control-bits", default="scoreboard",
    )  # fmt: skip
    scoreboard: str = choice(
        "how pending registers are tracked: a bit for each, or a few entries a warp", "per-register", "coon",
        default="per-register",
    )  # fmt: skip
    scoreboard_entries: int = count("entries", "pending registers a warp may have (scoreboard = coon)", high=16, default=4)
    branch_resolve_cycles: int = count("core cycles", "from a branch's issue to the fetch of what follows", low=0, high=64)
    indirect_branch_cycles: int = count(
        "core cycles", "that a branch to an address in a register takes longer: RET, BRX (machine code)", low=0, high=256, default=0
    )
    collective_cycles: int = count(
        "core cycles", "that WARPSYNC.COLLECTIVE and ENDCOLLECTIVE take longer than a branch", low=0, high=256, default=0
    )


@dataclass(frozen=True, kw_only=True)
class RegisterFile:
    """Banks and the operand collectors that gather sources from them."""

    banks: int = count("banks", "register banks of a core, each with one read port", high=MAX_REGISTER_BANKS)
    collectors_sp: int = count("collectors", "operand collectors in front of the sp, int and dp units", low=0, high=MAX_COLLECTORS)
    collectors_sfu: int = count("collectors", "operand collectors in front of the sfu units", low=0, high=MAX_COLLECTORS)
    collectors_mem: int = count("collectors", "operand collectors in front of the ldst unit", low=0, high=MAX_COLLECTORS)
    collectors_generic: int = count("collectors", "operand collectors any instruction may take", low=0, high=MAX_COLLECTORS)
    layout: str = choice("bank of register r in warp w: r, or r + w (mod banks)", "naive", "swizzled", default="swizzled")
    war_protection: str = choice(
        "how a later write is kept from overtaking an earlier read of the same register",
        "in-order", "release-on-commit", "release-on-read", "bloomboard", default="in-order",
    )  # fmt: skip
    reading: str = choice(
        "how machine code's operands are read: by collectors, or all at once from banks of one port and a reuse cache, where the "
        "next instruction waits for two of one bank", "collectors", "ports", default="collectors",
    )  # fmt: skip
    release_cycles: int = count(
        "core cycles", "from the cycle a memory instruction is taken until what it read may be overwritten "
        "(dependences = control-bits)", high=31, default=1,
    )  # fmt: skip
    collector_ports: int = count(
        "operands", "operands a collector takes in one cycle: 1, or as many as banks for the naive file of BOOK Fig 3.12",
        high=32, default=1,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Operation:
    """How one class of operations runs."""

    unit: str = choice(
        "physical unit that executes it; sp where the core has none of these; ldst: the way of shared memory",
        *PHYSICAL_UNITS, "ldst",
    )  # fmt: skip
    latency_cycles: int = count("core cycles", "from entering the unit to a result that a dependant may read", high=MAX_LATENCY)
    initiation_cycles: int = count("core cycles", "from one warp entering the unit to the next", high=MAX_LATENCY, default=1)


@dataclass(frozen=True, kw_only=True)
class Units:
    """The physical units of a core, and the timing of each class of operations."""

    sp_units: int = count("units", "single-precision units of a core", high=16)
    int_units: int = count("units", "integer units of a core; 0: integer operations run on sp", low=0, high=16)
    dp_units: int = count("units", "double-precision units of a core; 0: their operations run on sp", low=0, high=16)
    sfu_units: int = count("units", "special-function units of a core; 0: their operations run on sp", low=0, high=16)
    tensor_units: int = count("units", "tensor units of a core; 0: their operations run on sp", low=0, high=16)
    heavy_units: int = count(
        "units", "further single-precision units of a core that multiply integers too; 0: there are none", low=0, high=16, default=0
    )
    uniform_units: int = count(
        "units", "units of a core for what machine code computes once a warp; 0: as other operations", low=0, high=16, default=0
    )
    match_passes: int = count(
        "passes", "of shared memory that MATCH takes (shuffle.unit = ldst), MATCH.ANY for each value that its lanes have",
        high=64, default=1,
    )  # fmt: skip
    match_value_cycles: int = count("core cycles", "that MATCH.ANY takes longer for each further value", low=0, high=64, default=0)
    match_cycles: int = count("core cycles", "that MATCH takes longer than a shuffle of as many passes", low=0, high=512, default=0)
    redux_passes: int = count("passes", "of shared memory that REDUX takes (shuffle.unit = ldst)", high=256, default=1)
    redux_cycles: int = count("core cycles", "that REDUX takes longer than a shuffle of as many passes", low=0, high=512, default=0)
    special_register_cycles: int = count("core cycles", "that S2R takes longer than a conversion", low=0, high=256, default=0)
    uniform_special_cycles: int = count("core cycles", "that S2UR takes longer than a conversion", low=0, high=256, default=0)
    int_add: Operation
    int_max: Operation
    int_mul: Operation
    int_mad: Operation
    int_div: Operation
    logic: Operation
    shift: Operation
    compare: Operation
    move: Operation
    convert: Operation
    half: Operation
    sp_add: Operation
    sp_max: Operation
    sp_mul: Operation
    sp_mad: Operation
    sp_div: Operation
    dp_add: Operation
    dp_max: Operation
    dp_mul: Operation
    dp_mad: Operation
    dp_div: Operation
    sfu: Operation
    tensor: Operation
    shuffle: Operation
    vote: Operation

    def number_of(self, unit: str) -> int:
        """How many of a physical unit a core has."""
        return getattr(self, f"{unit}_units")

    def executed_on(self, operation: str) -> str:
        """The physical unit that really executes a class of operations."""
        unit = getattr(self, operation).unit
        return unit if unit == "ldst" or self.number_of(unit) else "sp"


OPERATIONS = tuple(f.name for f in fields(Units) if f.type is Operation)


@dataclass(frozen=True, kw_only=True)
class SharedMemory:
    """Scratchpad memory of a core."""

    bytes: int = count("bytes", "shared memory of a core", low=0)
    banks: int = count("banks", "banks that answer in one cycle", high=MAX_SHARED_BANKS, power_of_two=True)
    bank_bytes: int = count("bytes", "width of a bank", low=4, high=16, power_of_two=True)
    latency_cycles: int = count("core cycles", "from access to data when no two lanes conflict", high=MAX_LATENCY)
    atomic_cycles: int = count("core cycles", "that an atomic takes longer than a load", low=0, high=64, default=0)
    shares_l1: bool = flag("shared memory and the L1 data cache are parts of one memory", default=False)
    splits: tuple[tuple[int, int], ...] = splits("the parts that memory may be divided into (shares_l1)")
    split: str = choice(
        "when the parts are chosen (shares_l1): as configured, or at each launch the least shared memory with which as many "
        "CTAs fit as with the most",
        "fixed", "at-launch", default="fixed",
    )  # fmt: skip
