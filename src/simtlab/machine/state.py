"""The whole chip's own record: clocks, what is running, who is awake, and the numbers every unit needs."""

import numpy as np

from simtlab.execute.state import launch_t, worker_t
from simtlab.machine.bit_set import bit_set_t
from simtlab.machine.core.deferred_writes import MAX_DEFERRED, deferred_t
from simtlab.machine.core.shared_memory import bank_conflict_t
from simtlab.machine.cta_sharing import blocks_t
from simtlab.machine.fifo import fifo_t
from simtlab.machine.hooks import MAX_LISTENERS, hooks_t
from simtlab.machine.limits import (
    MAX_CORES,
    MAX_DATA_BYTES,
    MAX_DELIVERED,
    MAX_L2_LINES,
    MAX_MSHRS,
    MAX_PORTS,
    MAX_SLICE_QUEUE,
)
from simtlab.machine.memory.address_map import address_map_t
from simtlab.machine.memory.cache import cache_t
from simtlab.machine.memory.mshr import mshr_t
from simtlab.machine.memory.tlb import tlb_t
from simtlab.machine.network.request_coalescer import coalescer_t
from simtlab.machine.record import record_t

MAX_KERNELS = 64  # launches that one run can hold, in any number of streams
NO_KERNEL = -1
LOW, USUAL, HIGH = 0, 1, 2  # how fast cores and memory run
N_LEVELS = 9  # of both: 3 * core + memory
AS_USUAL = 3 * USUAL + USUAL

# Cycles so far, the frequency, and how far the next cycle has come: it is there when `progress` reaches the core's kHz. Where they
# stood when the frequencies last changed, and what the frequency is unless a policy changes it.
clock_t = np.dtype([
    ("cycle", "i8"), ("khz", "i8"), ("progress", "i8"), ("from_cycle", "i8"), ("from_progress", "i8"), ("nominal_khz", "i8"),
])  # fmt: skip

# A launch on the machine. `start` is the cycle it became the turn of its stream, `end` the one its last CTA left.
kernel_t = np.dtype(
    [
        ("launch", launch_t),
        ("worker", worker_t),
        ("code", "i8"),  # host addresses: of its instructions,
        ("timing", "i8"),  # of what the core must know of them,
        ("facts", "i8"),  # of what mechanisms can know of them (facts.py), or 0
        ("pc_counts", "i8"),  # of the table of scheduler cycles by instruction and cause; one for each host thread,
        ("count_bytes", "i8"),  # … each so long
        ("loads", "i8"),  # of what its global loads did (core/loads.py)
        ("instructions", "i8"),  # how many it has
        ("instruction_bytes", "i8"),  # that each of them takes
        ("code_base", "i8"),  # where they lie, for the caches
        ("constants", "i8"),  # … and the constant banks of machine code,
        ("parameter_bytes", "i8"),  # … of which the first has so many, or 0
        ("warps", "i8"),  # what a CTA takes of a core
        ("registers", "i8"),
        ("shared_bytes", "i8"),
        ("priority", "i8"),  # of its stream,
        ("arrival", "i8"),  # … and the cycle from which on it is there
        ("parked", "i8"),  # CTAs that were switched out
        ("after", "i8"),  # the launch before it in its stream, or NO_KERNEL
        ("started", "i8"),  # host address of a bit for each CTA that has moved in, where a policy chooses them; else 0
        ("first_waiting", "i8"),  # the lowest CTA that has not, there
        ("finished_ctas", "i8"),
        ("issued", "i8"),  # warp instructions
        ("issued_threads", "i8"),
        ("start", "i8"),
        ("end", "i8"),
        ("last_cta_end", "i8"),
    ],
    align=True,
)

# A packet that is to enter a network (network/ports.py).
offer_t = np.dtype(
    [
        ("number", "i4"),  # its first request
        ("place", "i4"),  # … in the table of those that others may share, if it
        ("shares", "i4"),  # … may
        ("port", "i2"),
        ("core", "i2"),
        ("size", "i2"),  # how many requests it has
        ("busy", "i2"),  # network cycles that it keeps its port; 0: no longer than others
        ("result", "i2"),  # what has become of it
    ],
    align=True,
)

# A CTA that moves into a core.
place_t = np.dtype([("core", "i4"), ("kernel", "i4"), ("cta", "i8")], align=True)

gpu_t = record_t(
    [
        ("thread", "i8"),  # the host thread that has this record (threads.py), and what of the chip is its part:
        ("first_core", "i8"), ("end_core", "i8"),
        ("first_slice", "i8"), ("end_slice", "i8"),
        ("first_channel", "i8"), ("end_channel", "i8"),
        ("step", "i8"),  # how far the cycle is
        ("units", "i8"),  # of its part, that had something to do when it was last ticked,
        ("busy", "i8"),  # … a core among them
        ("cycle", "i8"),  # of the core clock
        ("core_khz", "i8"),
        ("core_nominal_khz", "i8"),
        ("clocks_from", "i8"),  # the cycle in which the clocks changed last,
        ("clock_level", "i8"),  # … and what they were set to (clock_levels.py)
        ("clock_step", "i8"),  # by how many hundredths a level is above or below the next
        ("clock_period", "i8"),  # how often a policy is asked for the clocks,
        ("next_clocks", "i8"),  # … and when next
        ("own_clocks", "i8"),
        ("network", clock_t),
        ("l2", clock_t),
        ("dram", clock_t),
        ("until", "i8"),  # where this stretch of the run ends
        ("pause", "i8"),  # it has ended early, for the host to take the watch's log
        ("watch", "i8"),  # host address of the record of a core that is watched (watch_log.py), or 0
        ("jump", "i8"),  # skip cycles in which nothing can happen
        ("counts_loads", "i8"),  # note what each global load does
        ("may_run_ahead", "i8"),  # cores may, in this run,
        ("runs_ahead", "i8"),  # … and one does now
        ("least_trip", "i8"),  # cycles until a write or an atomic can be answered,
        ("least_read_trip", "i8"),  # … or anything else
        ("ahead", "i8"),  # the last cycle that a core has had ahead of the others
        ("outcome", "i8"),
        ("where_core", "i8"),
        ("where_slot", "i8"),
        ("last_progress", "i8"),
        ("cores", "i8"),
        ("cores_per_cluster", "i8"),
        ("clusters", "i8"),
        ("slices", "i8"),
        ("channels", "i8"),
        ("mesh", "i8"),
        ("sector_bytes", "i8"),  # of the L1D
        ("constant_line_bytes", "i8"),
        ("shared_banks", "i8"),
        ("bank_bytes", "i8"),
        ("shared_atomic_latency", "i8"),  # what an atomic takes longer than a load,
        ("l2_atomic_latency", "i8"),  # … and at the L2
        ("l2_write_cycles", "i8"),  # that a slice takes for a write, and for the rest of so many bytes in its packet
        ("l2_write_shift", "i8"),  # … (a power of two); a cycle more for these where words are left out
        ("whole_sector", "u8"),  # the words of a sector, all of them
        ("l2_fetch_bytes", "i8"),  # that a miss reads from DRAM at least; 0: what it wants
        ("atomics_by_lane", "i8"),  # lanes of an atomic on one address go one after the other
        ("shared_latency", "i8"),
        ("l2_latency", "i8"),
        ("l2_parts", "i8"),  # of the L2 and the chip,
        ("crossing_cycles", "i8"),  # … and how long the way between them takes,
        ("miss_crossing_cycles", "i8"),  # … for a miss once more
        ("l2_sectors", "i8"),  # of one line, that a slice serves in a cycle
        ("coalesced_reads", "i8"),  # of one sector, that it looks up together,
        ("coalescing_cycles", "i8"),  # … if they come within so many cycles,
        ("coalescing_entries", "i8"),  # … and so many requests
        ("packet_sectors", "i8"),  # of one line, that travel together,
        ("packet_shift", "i8"),  # … a power of two: of the line
        ("sharing_shift", "i8"),  # … of what a packet asks for sectors of
        ("match_value_cycles", "i8"),  # that a MATCH takes longer for each further value
        ("mask_cycles", "i8"),  # that a line which a core writes in part, or changes by atomics, keeps its port longer
        ("combining_cycles", "i8"),  # within which stores to a sector leave a core as one, 0: they do not,
        ("combining_lines", "i8"),  # … if they are to the last so many lines (memory/store_combining.py)
        ("l2_groups", "i8"),
        ("dram_latency", "i8"),
        ("bypass_global", "i8"),  # global memory skips the L1,
        ("strong_around", "i8"),  # … or its strong loads do
        ("dispatching", "i8"),
        ("places_ctas", "i8"),  # CTAs may move in in the next cycle, so that no core runs ahead
        ("placed", "i8"),  # CTAs that move in in this one,
        ("placed_in", place_t, (MAX_CORES,)),  # … and where
        ("finish_cycles", "i8"),  # that a run which wrote to memory takes longer,
        ("wrote", "i8"),  # … which this one did,
        ("ended", "i8"),  # … when its last kernel ended,
        ("finish_at", "i8"),  # … and when it is over; 0: not known yet
        ("launch_cycles", "i8"),  # from a kernel's turn to its first CTA
        ("launch_at", "i8"),  # the cycle at which a kernel that waits so long gets its first, or far in the future
        ("cta_starts", "i8"),  # in 1000 cycles, all cores together; 0: no limit
        ("next_cta_start", "i8"),  # the thousandth of a cycle from which the next may start
        ("kernels", "i8"),  # in this run
        ("undelivered", "i8"),  # an answer has arrived and finds no room,
        ("crowded", "i8"),  # … or a request
        ("network_cycles", "i8"),  # that the networks have in this cycle of the cores,
        ("crosses_at", "i8"),  # … the last of them in the one that the memory is about to have, or -1
        ("offered_requests", "i8"),  # packets that its cores want to send,
        ("offered_at", "i8"),  # … in which cycle of the networks,
        ("request_offer", offer_t, (MAX_PORTS,)),
        ("offered_answers", "i8"),  # … and those that its slices want to
        ("answer_offer", offer_t, (MAX_PORTS,)),
        ("relieved", bit_set_t(MAX_PORTS)),  # slices that wait for an answer to leave, of which one has
        ("first_port", "i8"), ("end_port", "i8"),  # clusters to which its thread hands the answers that come
        ("answer_count", "i8"),
        ("answers", "i4", (MAX_DELIVERED,)),  # requests whose answers came to these in this cycle
        ("finished_kernels", "i8"),
        ("registers", "i8"),  # host addresses of the CTA slots' memory, and how much of it a slot has
        ("register_stride", "i8"),
        ("shared", "i8"),
        ("shared_stride", "i8"),
        ("local", "i8"),
        ("local_stride", "i8"),
        ("local_bytes", "i8"),  # of a thread, the most of any kernel
        ("address", "i8"),  # of this record, for policies' hooks
        ("hooks", hooks_t),
        ("shares_state", "i8"),  # a mechanism has one state for the chip, so that cores stay in step
        ("patient", "i8"),  # a warp scheduler that holds back does so until the core changes
        ("own_cta_dispatch", "i8"),
        ("most_urgent", "i8"),  # the highest priority of a kernel that has CTAs waiting, where kernels have any
        ("highest_priority", "i8"),  # of the kernels in this run
        ("placing", "i8"),  # the kernel whose CTAs are being dispatched
        ("own_divergence", "i8"),
        ("room", "i8", (MAX_CORES,)),  # whether each core could take a CTA now; for the dispatch policy
        ("room_changed", "i8", (MAX_CORES,)),  # … may be something else than when it was last looked at
        ("any_room_changed", "i8"),  # … of any core
        ("taken", "i8", (MAX_CORES,)),  # whether each core has taken a CTA in this cycle
        ("resident", "i8", (MAX_CORES,)),  # CTAs in each core
        ("wake", "i8", (MAX_CORES,)),  # the next cycle each core can do something
        ("coalescer", coalescer_t),
        ("injecting", "i8", (MAX_CORES,)),  # requests each core has waiting for the network
        ("waiting", "i8", (MAX_CORES,)),  # per cluster: the same of all its cores
        ("senders", bit_set_t(MAX_CORES)),  # the clusters with any
        ("inject_turn", "i8", (MAX_CORES,)),  # per cluster: whose turn it is,
        ("port_free", "i8", (MAX_CORES,)),  # … and the network cycle from which its port takes another packet (network.mask_cycles)
        ("slice_wake", "i8", (MAX_PORTS,)),  # the next L2 cycle each slice can do something
        ("reply_ready", "i8", (MAX_PORTS,)),  # the L2 cycle from which its oldest answer can leave, or FAR_FUTURE
        ("channel_wake", "i8", (MAX_PORTS,)),  # the next DRAM cycle each channel can do something
        ("flits", "i2", (MAX_DATA_BYTES + 1,)),  # of a packet, by its bytes of data
        ("map", address_map_t),
        ("page_shift", "i8"),  # of what an entry of a TLB translates, or NO_PAGES
        ("warm_tlbs", "i8"),
        ("tlb_hit_cycles", "i8"),
        ("walk_cycles", "i8"),
        ("tlb", tlb_t),  # that all cores share: in the first thread's record
        ("conflicts", bank_conflict_t),
        ("blocks", blocks_t),
        ("deferred_count", "i8"),
        ("deferred", deferred_t, (MAX_DEFERRED,)),  # until all cores have had the cycle, see core/deferred_writes.py
        ("kernel", kernel_t, (MAX_KERNELS,)),
    ]
)

slice_t = record_t(
    [
        ("number", "i8"),
        ("thread", "i8"),  # the host thread that has it
        ("address", "i8"),  # of this record, for policies' hooks
        ("own", "i8", (MAX_LISTENERS,)),  # addresses of the mechanisms' states,
        ("own_l2_allocation", "i8"),  # … and of policies'
        ("own_l2_queue", "i8"),
        ("around", "i8"),  # reads that go to DRAM and leave no line, under way
        ("channel", "i8"),
        ("ticked", "i8"),  # the last L2 cycle it was looked at
        ("blocked", "i8"),  # … and what its oldest request waited for then, a Block
        ("refused", "i8"),  # the memory controller had no room for it
        ("atomic_hundredths", "i8"),  # of a cycle, that an atomic takes,
        ("next_atomic", "i8"),  # … and when the next can be carried out
        ("last_written", "i8"),  # the sectors written last, by number,
        ("last_packet", "i8"),  # … of which packet they were,
        ("last_whole", "i8"),  # … whether all words of the first of them were written,
        ("write_end", "i8"),  # … and until when that keeps it
        ("filling", "i8"),  # MSHR entry whose waiters are being answered, or -1
        ("input", fifo_t(2 * MAX_SLICE_QUEUE)),  # a queue and the pipe in front of it
        ("crossing", fifo_t(2 * MAX_SLICE_QUEUE)),  # requests on their way from the other part of the chip
        ("output", fifo_t(2 * MAX_SLICE_QUEUE)),
        ("to_dram", fifo_t(2 * MAX_SLICE_QUEUE)),
        ("far_misses", fifo_t(2 * MAX_SLICE_QUEUE)),  # of cores of the other part, before they come there
        ("far_hits", fifo_t(2 * MAX_SLICE_QUEUE)),  # of such cores, of data that their part has no copy of
        ("copied", "u1", (MAX_L2_LINES,)),  # the sectors of each line that the other part has
        ("fills", fifo_t(2 * MAX_MSHRS)),  # of misses, and as many reads that leave no line
        ("cache", cache_t(MAX_L2_LINES)),
        ("mshr", mshr_t),
        ("accesses", "i8"),
        ("code_accesses", "i8"),  # of instructions and constants
        ("bypasses", "i8"),
        ("hits", "i8"),
        ("hits_reserved", "i8"),
        ("misses", "i8"),
        ("coalesced", "i8"),  # reads that were looked up with another
        ("stalls", "i8"),
        ("writes", "i8"),
        ("atomics", "i8"),
        ("write_backs", "i8"),
        ("write_back_sectors", "i8"),
    ]
)
