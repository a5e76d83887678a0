"""The state of a SIMT core as one record: warp slots, scoreboard, operand collectors, units, load/store unit.

Sets of warps are 64-bit masks. Tables have a fixed capacity; how much of one is used is configuration.
"""


from simtlab.execute.state import cta_t
from simtlab.machine.config.core import OPERATIONS
from simtlab.machine.core.access_records import (
    MAX_SENT_STORES,
    TAG_BANKS,
    atomic_pass_t,
    fragment_fifo_t,
    prefetch_queue_t,
    sent_store_t,
)
from simtlab.machine.core.collector_record import collector_t
from simtlab.machine.core.kinds import Stall, Unit
from simtlab.machine.core.l0_record import l0_t
from simtlab.machine.fifo import fifo_t
from simtlab.machine.hooks import MAX_LISTENERS
from simtlab.machine.limits import (
    MAX_ANSWERS,
    MAX_COLLECTORS,
    MAX_COPIES,
    MAX_CTAS,
    MAX_INJECTIONS,
    MAX_L1_LINES,
    MAX_REGISTER_BANKS,
    MAX_SCHEDULERS,
    MAX_SUB_CORES,
    MAX_WARPS,
    WHEEL,
)
from simtlab.machine.memory.cache import cache_t
from simtlab.machine.memory.mshr import mshr_t
from simtlab.machine.memory.tlb import tlb_t
from simtlab.machine.record import record_in_order, record_t
from simtlab.machine.request import L1Outcome, L2Answer, Level

MAX_DESTINATIONS = 6
MAX_ACCESSES = 32  # lines or sectors that one instruction can touch at a time: aligned accesses never straddle, so one a lane
MAX_OPS = 512  # instructions in flight in a core
N_REGISTERS = 320  # scoreboard entries of a warp: 256 registers, 64 predicates
REGISTER_WORDS = N_REGISTERS // 64  # of a set of them
FIRST_PREDICATE = 256

N_UNITS = len(Unit)
LANE_CLASSES = (*OPERATIONS, "branch", "memory", "texture")  # what a lane does, for counting
N_LANE_CLASSES = len(LANE_CLASSES)
N_STALLS = len(Stall)
N_BARRIERS = 6  # dependence barriers of a warp, see control_bits.py
NO_BARRIER = 7
FILTER_WORDS = 256  # of 64 bits, for what a CTA has read
N_SLOTS = 3  # operand slots of the reuse cache
READ_WHEEL = 32  # cycles ahead that a read of operands may be planned


# The first line of the host's cache is all that an instruction needs which is no global load.
op_t = record_in_order(
    [
        ("state", "i1"),
        ("unit", "i1"),
        ("memory", "i1"),  # Memory class, see core/ldst.py
        ("accesses", "i1"),
        ("served", "i1"),  # accesses sent
        ("outstanding", "i1"),  # accesses not answered yet
        ("active", "i1"),  # lanes
        ("is_store", "i1"),
        ("is_atomic", "i1"),
        ("deterministic", "i1"),  # the class of a global load (program/load_classes.py); -1: no global load
        ("read_barrier", "i1"),  # dependence barrier that its operands' reading lowers, or NO_BARRIER
        ("outlives", "i1"),  # its warp may end before it does
        ("slot", "i2"),  # warp slot
        ("next", "i2"),
        ("passes", "i2"),  # shared-memory passes left
        ("pc", "i4"),
        ("owner", "i8"),  # the age of its warp
        ("issued", "i8"),
        ("began", "i8"),  # when its first access was tried
        ("hits_ready", "i8"),  # when the last hit among its accesses has its data
        # Of a global load (core/loads.py), cycles from its issue on:
        ("first_access", "i4"),  # when the L1 took its first access,
        ("last_access", "i4"),  # … and its last
        ("first_arrival", "i4"),  # when the first of its own requests reached the L2,
        ("last_arrival", "i4"),  # … and the last
        ("first_departure", "i4"),  # when the first of them left the L2 again,
        ("last_departure", "i4"),  # … and the last
        ("strong", "i1"),  # a load that goes around the L1 (l1d.strong_loads)
        ("values", "i1"),  # of a MATCH: different ones (core/match_values.py)
        ("wavefronts", "i1"),  # passes through the L1's tags or data that it takes at least (core/wavefronts.py); 0: not counted
        ("data_wavefronts", "i1"),  # … through its data
        ("joined", "i1"),  # accesses that merged with a pending miss,
        ("missed", "i1"),  # … and that missed; the others hit
        ("level", "i1"),  # where the farthest of its data came from
        ("l2", "i1", (len(L2Answer),)),  # its own requests by what the L2 had for them
        ("failed", "i4", (len(L1Outcome) - int(L1Outcome.FAIL_TAG),)),  # cycles in which the L1 took nothing of it, by cause
        ("behind", "i2"),  # accesses of local memory that come when these have been made (core/coalescer.py)
        ("lines", "i8", (MAX_ACCESSES,)),  # sector addresses it touches
        ("bytes", "i2", (MAX_ACCESSES,)),  # bytes wanted of each
        ("words", "u1", (MAX_ACCESSES,)),  # of a load's, which words of the sector are wanted, as bits
        ("turn", "i1", (MAX_ACCESSES,)),  # of an atomic's, how many others on the same addresses go before it
        ("first", "i8", (MAX_ACCESSES,)),  # and the lowest address wanted of it; of a store, which words are written, as bits
        # Of an access of local memory: where each lane's variable lies, which lanes take part, how many bytes each has, and which
        # word of each comes next.
        ("offsets", "u4", (32,)),
        ("lanes", "u4"),
        ("access_bytes", "i2"),
        ("word", "i2"),
    ]
)

slot_t = record_in_order(
    [
        ("cta", "i4"),
        ("warp", "i4"),  # in its CTA
        ("kernel", "i4"),
        ("buffered", "i4"),  # instructions in its buffer
        ("unit", "i4"),  # that the head was last seen to want: the only set of `unit_of_head` the warp can be in
        ("in_flight", "i4"),  # instructions issued and not finished
        ("collecting", "i4"),  # … of them still reading operands
        ("stores", "i4"),  # writes and atomics issued and not acknowledged, by line
        ("reservations", "i4"),  # scoreboard entries in use
        ("asked_line", "i4"),  # the line of the instruction cache that it asked for and has not read yet, or NO_WAY
        ("head", "i8"),  # pc of the instruction buffer's first entry
        ("pc_counts", "i8"),  # host addresses of what is counted of its kernel's instructions,
        ("timing", "i8"),  # of what the core must know of them,
        ("code", "i8"),  # of themselves,
        ("facts", "i8"),  # and of what mechanisms can know
        ("age", "i8"),
        ("since", "i8"),  # the cycle in which its warp moved in
        ("bloom", "u8"),  # bloomboard: registers being read, hashed
        ("constants", "i8"),  # where the kernel's constant banks lie in the machine's memory
        ("granted", "i8"),  # the line of constants that has come for it, or comes
        # control bits (control_bits.py): how many instructions hold each dependence barrier up,
        ("barriers", "i2", (N_BARRIERS,)),
        ("raised", "i1"),  # … and as sets, which are up,
        ("raised_short", "i1"),  # … by shared memory or the SFU, by memory, by the constant cache
        ("raised_long", "i1"),
        ("raised_constant", "i1"),
        ("stall_end", "i8"),  # when its stall count is over
        ("pending", "u8", (REGISTER_WORDS,)),  # sets of registers: results pending,
        ("of_short", "u8", (REGISTER_WORDS,)),  # … and those of them that come from shared memory or the SFU,
        ("of_long", "u8", (REGISTER_WORDS,)),  # … from memory,
        ("of_constant", "u8", (REGISTER_WORDS,)),  # … from the constant cache
        ("code_base", "i8"),  # where its kernel's instructions lie in the machine's memory
        ("fetched", "i8"),  # when those of the buffer came, all at once
        ("grant_at", "i8"),  # when the line of constants that is granted is there
        ("leave_at", "i8"),  # when it leaves a barrier
    ]
)

core_t = record_t(
    [
        ("number", "i8"),
        ("thread", "i8"),  # the host thread that has it
        ("deferred", "u8"),  # warps with an instruction that is carried out at the end of the cycle
        ("cluster", "i8"),
        ("address", "i8"),  # of this record, for policies' hooks
        ("own_warp_scheduler", "i8", (MAX_SCHEDULERS,)),  # addresses of the policies' own state
        ("own_prefetcher", "i8"),
        ("own_cta_throttle", "i8"),
        ("own_l1_allocation", "i8"),
        ("own_ldst_queue", "i8"),
        ("own_preemption", "i8"),
        ("own", "i8", (MAX_LISTENERS,)),  # … and of the mechanisms'
        ("scheduler", "i8"),  # that is about to issue, for mechanisms
        ("detail", "i8"),
        ("warp_slots", "i8"),
        ("schedulers", "i8"),
        ("sub_cores", "i8"),
        ("dual_issue", "i8"),
        ("replay", "i8"),
        ("reread", "i8"),  # a load that missed reads its line again when it has come, and the line is locked until then
        ("split", "i8"),  # requests of a non-deterministic load after which another instruction has its turn, or 0
        ("fetches", "i8"),  # warps a sub-core fetches for in a cycle
        ("decode_width", "i8"),
        ("l1_ports", "i8"),
        ("scoreboard_entries", "i8"),  # 0: one per register
        ("control_bits", "i8"),  # dependences are the compiler's business (control_bits.py)
        ("fixed_reads", "i8"),  # operands are read on a fixed schedule, with a reuse cache (register_ports.py)
        ("read_cycles", "i8"),  # from the moment a memory instruction leaves its queue until its registers may be written
        ("barrier_cycles", "i8"),  # of a CTA's barrier: from the last arrival on,
        ("arrival_cycles", "i8"),  # … and from one arrival to the next
        ("barrier_free", "i8"),  # when the last arrival is through
        ("ldst_free", "i8"),  # when the L1 takes another access
        ("load_cycles", "i8"),  # least cycles a load keeps it,
        ("store_cycles", "i8"),  # … and each line of a store or an atomic
        ("banked_tags", "i8"),  # wavefronts are counted
        ("atomic_pass", atomic_pass_t, (TAG_BANKS,)),  # what an atomic's pass is made of while it is, see core/atomic_passes.py
        ("return_cycles", "i8"), ("return_free", "i8", (MAX_SUB_CORES,)),  # of a sub-core for data; when it takes more
        ("queue_share", "i8"), ("queued", "i8", (MAX_SUB_CORES,)),  # instructions of a sub-core that may wait for the L1, and do
        ("ends_early", "i8"),  # a warp's end waits for its stores to be sent, not to be acknowledged
        ("one_constant", "i8"),  # constants are read one address after another, each so many cycles; 0: a line a cycle
        ("banks", "i8"),
        ("bank_mask", "i8"),  # banks - 1 if they are a power of two, else 0
        ("swizzled", "i8"),
        ("collector_ports", "i8"),
        ("war_mode", "i8"),
        ("collectors", "i8"),
        ("ticked", "i8"),  # the last cycle accounted for
        ("turn", "i8"),  # of a core that has run ahead and stopped within a cycle: how many schedulers have had it,
        ("chosen", "i8"),  # … and the warp that the next one has chosen, or NO_WARP
        ("judged", "i8"),  # … of the schedulers
        ("fetch_turn", "i8", (MAX_SUB_CORES,)),
        ("moved", "i8"),  # the last cycle in which anything went on in the core
        ("changed", "i8"),  # … or issue, fetch or the collectors may find something else in the next
        ("quiet", "i8"),  # nothing has changed that issue, fetch or the collectors look at since they last found nothing to do
        ("issue_cycles", "i8"),  # a warp of 32 threads on a narrow SIMD takes several cycles to issue
        ("scheduler_free", "i8", (MAX_SCHEDULERS,)),
        ("cause", "i8", (MAX_SCHEDULERS,)),  # what each scheduler did in the last cycle, and for which instruction
        ("cause_place", "i8", (MAX_SCHEDULERS,)),  # host address of that instruction's row of counts, or 0
        ("cause_since", "i8", (MAX_SCHEDULERS,)),  # the first cycle of it that is not counted yet
        ("replays", "i8", (MAX_SCHEDULERS,)),  # passes that want an issue slot
        ("activity", "i8"),  # of the last cycle, issue of earlier ones apart
        ("active_until", "i8"),  # the cycle in which the warp issued last has gone in
        ("ages", "i8"),
        # sets of warp slots
        ("occupied", "u8"),
        ("buffered", "u8"),
        ("to_memory", "u8"),  # the next instruction reads or writes what other cores may write or read
        ("wait", "u8"),
        ("short", "u8"),
        ("long", "u8"),
        ("constant", "u8"),
        ("barrier", "u8"),
        ("membar", "u8"),
        ("resolving", "u8"),
        ("draining", "u8"),
        ("fetching", "u8"),  # an instruction cache miss is pending
        ("stalled", "u8"),  # their stall count is not over
        ("leaving", "u8"),  # set free at a barrier that they have not left yet
        ("yielded", "u8"),  # the compiler wants another warp to issue after theirs
        ("wants_constant", "u8"),  # an operand is not in the constant cache
        ("asked_constant", "u8"),  # … and was asked for
        ("refused", "u8"),  # a fetch found no MSHR, no line or no room towards memory, and nothing of that has changed since
        ("frozen", "u8"),  # of CTAs that are being stopped (preemption.py)
        ("paused", "u8"),  # of CTAs beyond the throttle's number: they issue where no other can
        ("held", "u8"),  # not allowed to issue by a mechanism, when it was last asked
        ("busy_warp", "u8"),  # WAR protection or the one-loop core holds the warp back
        ("unit_of_head", "u8", (N_UNITS,)),
        ("mine", "u8", (MAX_SCHEDULERS,)),  # the warps of each scheduler,
        ("within", "u8", (MAX_SUB_CORES,)),  # … and of each sub-core
        ("free_collectors", "u8", (MAX_SUB_CORES, 4)),  # by pool
        ("taken", "u8"),  # sets of collector units: those in use,
        ("gathering", "u8"),  # … which do not have all operands yet,
        ("to_ldst", "u8"),  # … whose instructions are the load/store unit's
        ("collecting", "i8"),  # collector units in use, and which, oldest first
        ("in_order", "i8", (MAX_COLLECTORS,)),
        ("pool_of_unit", "i8", (N_UNITS,)),
        ("unit_copies", "i8", (N_UNITS,)),
        ("unit_free", "i8", (MAX_SUB_CORES, N_UNITS, MAX_COPIES)),
        ("reading", "i8", (MAX_SUB_CORES,)),  # cycles that the last instruction takes to read its operands
        ("reuse", "i8", (MAX_SUB_CORES, N_SLOTS)),  # warp slot and register that each slot of the reuse cache holds, or -1
        ("read_done", "u8", (READ_WHEEL, N_BARRIERS)),  # warps whose operands are read in a cycle, by the barrier that is lowered
        ("bank_written", "i8", (MAX_SUB_CORES, MAX_REGISTER_BANKS)),  # last cycle a write took the bank
        ("bank_read", "i8", (MAX_SUB_CORES, MAX_REGISTER_BANKS)),
        ("slots", slot_t, (MAX_WARPS,)),
        ("ops", op_t, (MAX_OPS,)),
        ("free_op", "i8"),
        ("wheel", "i2", (WHEEL,)),
        ("released", "u8", (WHEEL,)),  # one loop: the warps whose result is there
        ("wheel_used", "u8", (WHEEL // 64,)),
        ("collector", collector_t, (MAX_COLLECTORS,)),
        ("collector_pool", "i8", (MAX_COLLECTORS,)),
        ("sub_core_of", "i8", (MAX_WARPS,)),
        # counters (see machine/counters.py)
        ("instructions", "i8"),
        ("thread_instructions", "i8"),
        ("lanes", "i8", (N_LANE_CLASSES,)),  # lanes that took part, by class of operation
        ("register_bank_conflicts", "i8"),
        ("write_conflicts", "i8"),
        ("operands_read", "i8"), ("operands_reused", "i8"), ("operands_written", "i8"),
        ("unit_busy", "i8", (N_UNITS,)),
        ("occupied_warp_cycles", "i8"),
        ("resident_cta_cycles", "i8"),
        ("running_cta_cycles", "i8"),
        ("used_cycles", "i8"),
        ("n_activity", "i8", (4,)),
        ("n_replays", "i8"),
        ("dual_issued", "i8"),
        ("shared_passes", "i8"),
        ("shared_words", "i8"),
        ("tag_wavefronts", "i8"), ("data_wavefronts", "i8"),
        ("accesses", "i8"),
        ("l1_hits", "i8"),
        ("l1_hits_reserved", "i8"),
        ("l1_misses", "i8"),
        ("l1_lookups", "i8"),
        ("l1_data_reads", "i8"), ("l1_data_writes", "i8"),
        ("l1_fail", "i8", (4,)),
        ("l1i_hits", "i8"),
        ("l1i_misses", "i8"),
        ("l1c_hits", "i8"),
        ("l1c_misses", "i8"),
        ("l15_hits", "i8"),
        ("l1t_hits", "i8"),
        ("l1t_misses", "i8"),
        ("load_latency", "i8"),
        ("load_wait", "i8"),
        ("loads_finished", "i8"),
        ("shared_loads", "i8"),
        ("fastest_wait", "i8"),  # of all global loads so far, from issue to the first access,
        ("fastest_way", "i8", (len(Level),)),  # … and from the last access to the result, by where the data were
        ("round_trips", "i8"),
        ("round_trip_cycles", "i8"),
        ("trip_inject", "i8"),  # its parts
        ("trip_request", "i8"),
        ("trip_l2", "i8"),
        ("trip_dram", "i8"),
        ("trip_reply", "i8"),
        ("prefetch_asked", "i8"),
        ("prefetch_issued", "i8"),
        ("prefetch_dropped", "i8", (5,)),  # by Drop
        ("prefetch_filled", "i8"),
        ("prefetch_used", "i8"),
        ("prefetch_late", "i8"),
        ("prefetch_early", "i8"),
        ("prefetch_distance", "i8"),
        # load/store unit and first-level memory
        ("ldst_queue", fifo_t(64)),
        ("wants_room", "i8"),  # something waits for room in the queue to the network
        ("starved", "i8"),  # in the last cycle something could not leave because all requests are in use
        ("looks_ahead", "i8"),  # a rejection can be predicted: no policy has a say in what a load does
        ("outstanding", "i8"),  # requests that will be answered and were not yet,
        ("first_answer", "i8"),  # … none of them before this cycle
        ("ldst_blocked", "i8"),  # why the head cannot go on, a Failure
        ("known_miss", "i8"),  # the line that the head wants is not in the L1 and not in flight
        ("inject", fifo_t(MAX_INJECTIONS)),
        ("tlb", tlb_t),
        ("combining", sent_store_t, (MAX_SENT_STORES,)),  # see memory/store_combining.py
        ("stores_combined", "i8"),
        ("lines_sent", "i8"),  # that were written to, one after another, where stores are combined,
        ("line_sent", "i8"),  # … and the last of them
        ("responses", fifo_t(2 * MAX_ANSWERS)),
        ("rereads", fifo_t(256)),  # loads whose line has come, with the line: op + MAX_OPS * way
        ("prefetches", prefetch_queue_t),
        ("fragments", fragment_fifo_t),
        ("texel_places", "i8", (8,)),  # room for the texels of one lane
        ("texel_weights", "i8", (8,)),
        ("l1d", cache_t(MAX_L1_LINES)),
        ("l1i", cache_t(MAX_L1_LINES)),
        ("l0", l0_t),
        ("l1c", cache_t(MAX_L1_LINES)),
        ("l15", cache_t(MAX_L1_LINES)),
        ("l1t", cache_t(MAX_L1_LINES)),
        ("mshr", mshr_t),
        ("mshr_constant", mshr_t),
        ("instruction_misses", "i8"),  # lines in flight, and how many may be
        ("most_instruction_misses", "i8"),
        ("prefetch_lines", "i8"),  # of instructions, beyond the one fetched from
        ("stream_first", "i8"),  # lines that were asked for one after the other: the first,
        ("stream_end", "i8"),  # … and the first that was not
        ("line_cycles", "i8"),  # that a line takes to come in,
        ("next_line", "i8"),  # … and when the next can
        ("launch_lines", "i8"),  # that come when a kernel's first CTA starts,
        ("begun", "u8"),  # … which it has for these kernels
        ("ideal_fetch", "i8"),
        ("texture_misses", "i8"),
        ("most_texture_misses", "i8"),
        # CTAs, and what of the core is not taken
        ("cta_slots", "i8"),
        ("most_ctas", "i8"),  # of the kernels in this run, that fit at once
        ("cta_limit", "i8"),  # how many may run: the throttle's word
        ("sample_period", "i8"),
        ("next_sample", "i8"),
        ("tick_period", "i8", (MAX_LISTENERS,)),  # of mechanisms that want to be told the time, or 0,
        ("next_tick", "i8", (MAX_LISTENERS,)),  # … when that is next,
        ("ticks", "i8", (MAX_LISTENERS,)),  # … and how often it was, in this launch
        ("next_throttle", "i8"),  # when the CTA throttle is asked
        ("samples", "i8"),  # of this launch: 0 as it begins
        ("resident", "i8"),
        ("registers_left", "i8"),
        ("shared_left", "i8"),
        ("threads_left", "i8"),
        ("free_ctas", "u8"),
        # preemption (preemption.py): CTA slots whose CTA is being stopped or comes back, and those whose context is in memory
        ("stopping", "u8"),
        ("parked", "u8"),
        ("broken", "u8"),  # … whose CTA cannot begin anew any more
        ("reserved", "i8"),  # the priority that room which comes free is kept for
        ("drains", "i8"),  # … by a CTA that runs to its end
        ("stop_event", "i8"),  # when to look again at those that are being stopped
        ("how", "i8", (MAX_CTAS,)),  # a How, and until when
        ("how_until", "i8", (MAX_CTAS,)),
        ("cta_context", "i8", (MAX_CTAS,)),  # bytes
        ("context_hundredths", "i8"),  # of a byte that a core saves or restores in a cycle
        ("read_filter", "u8", (MAX_CTAS, FILTER_WORDS)),
        ("cta_age", "i8", (MAX_CTAS,)),
        ("cta_kernel", "i8", (MAX_CTAS,)),
        ("cta_warps_left", "i8", (MAX_CTAS,)),
        ("slot_of", "i8", (MAX_CTAS, 32)),
        ("n_stall", "i8", (MAX_SCHEDULERS, N_STALLS)),
        ("ctas", cta_t, (MAX_CTAS,)),
    ]
)
