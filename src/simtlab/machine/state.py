"""The whole chip's own record: clocks, what is running, who is awake, and the numbers every unit needs."""

import numpy as np

from simtlab.execute.state import launch_t, worker_t
from simtlab.machine.core.shared_memory import bank_conflict_t
from simtlab.machine.fifo import fifo_t
from simtlab.machine.memory.address_map import address_map_t
from simtlab.machine.memory.cache import cache_t
from simtlab.machine.memory.mshr import mshr_t

MAX_CORES = 256
MAX_SLICES = 256
MAX_L2_LINES = 8192

clock_t = np.dtype([("cycle", "i8"), ("khz", "i8")])  # cycles so far, and the domain's frequency

gpu_t = np.dtype(
    [
        ("cycle", "i8"),  # of the core clock
        ("core_khz", "i8"),
        ("network", clock_t),
        ("l2", clock_t),
        ("dram", clock_t),
        ("until", "i8"),  # where this stretch of the run ends
        ("jump", "i8"),  # skip cycles in which nothing can happen
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
        ("flit_bytes", "i8"),
        ("header_bytes", "i8"),
        ("line_bytes", "i8"),  # of the L1D
        ("sector_bytes", "i8"),
        ("constant_line_bytes", "i8"),
        ("shared_banks", "i8"),
        ("bank_bytes", "i8"),
        ("shared_latency", "i8"),
        ("l2_latency", "i8"),
        ("dram_latency", "i8"),
        ("load_balanced", "i8"),
        ("dispatch_turn", "i8"),
        ("dispatching", "i8"),
        ("undelivered", "i8"),  # a packet has arrived and finds no room
        ("n_instructions", "i8"),
        ("finished_ctas", "i8"),
        ("pc_stalls", "i8"),  # host address of the table of stall cycles by instruction
        ("pick", "i8"),  # addresses of the warp scheduler's hooks
        ("on_issue", "i8"),
        ("wake", "i8", (MAX_CORES,)),  # the next cycle each core can do something
        ("injecting", "i8", (MAX_CORES,)),  # requests each core has waiting for the network
        ("inject_turn", "i8", (MAX_CORES,)),  # per cluster: whose turn it is
        ("busy_slices", "i8", (MAX_SLICES,)),
        ("map", address_map_t),
        ("conflicts", bank_conflict_t),
        ("launch", launch_t),
        ("worker", worker_t),
    ],
    align=True,
)

slice_t = np.dtype(
    [
        ("number", "i8"),
        ("channel", "i8"),
        ("filling", "i8"),  # MSHR entry whose waiters are being answered, or -1
        ("input", fifo_t(1024)),
        ("output", fifo_t(1024)),
        ("to_dram", fifo_t(1024)),
        ("fills", fifo_t(256)),
        ("cache", cache_t(MAX_L2_LINES)),
        ("mshr", mshr_t),
        ("accesses", "i8"),
        ("hits", "i8"),
        ("hits_reserved", "i8"),
        ("misses", "i8"),
        ("stalls", "i8"),
        ("writes", "i8"),
        ("atomics", "i8"),
        ("write_backs", "i8"),
    ],
    align=True,
)
