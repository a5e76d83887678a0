"""How large the machine's tables are: what no configuration goes beyond. The configuration's rules and the records read it here.

Larger ones cost speed: the host is quickest at what lies within 32 KB of a record's beginning.
"""

MAX_THREADS = 64  # host threads that run one machine

# A core
MAX_GROUPS = 64  # of cores that share requests
MAX_CORES = 256
MAX_WARPS = 64  # of a core
MAX_CTAS = 32
MAX_SCHEDULERS = 4
MAX_SUB_CORES = 4
MAX_REGISTER_BANKS = 32
MAX_COLLECTORS = 64
MAX_COPIES = 4  # of one unit in a core (or sub-core)
MAX_SHARED_BANKS = 64
MAX_FRAGMENTS = 64  # texture fetches in flight
MAX_PREFETCHES = 64  # that can wait for the L1
WHEEL = 1024  # cycles ahead that a result can be planned; a power of two
MAX_LATENCY = 960  # of a unit or a first-level memory; what a narrow SIMD adds to it must fit on the wheel too

# Caches
MAX_L1_LINES = 2048
MAX_L0_LINES = 256  # of instructions, in a sub-core
MAX_L2_LINES = 16384  # of a slice
MAX_MSHRS = 512  # of a cache
MAX_WAITERS = 6144  # for lines in flight to one cache
MAX_ANSWERS = 1024  # that wait for a core; as many more may be answers to what other cores asked for
MAX_DELIVERED = 4096  # answers that come to all cores in a cycle
MAX_INJECTIONS = 256  # requests of a core that wait for the network

# Networks
MAX_PORTS = 160  # clusters of cores, and slices of the L2
MAX_VCS = 4
MAX_BUFFER_FLITS = 64  # of one virtual channel
MAX_EJECTION_FLITS = 64
MAX_CHANNEL_CYCLES = 64  # a flit's way along a channel; a power of two
MAX_DATA_BYTES = 256  # of a packet, and so of a line
MAX_PACKET_FLITS = 24
MAX_ROUTERS = 128  # of a mesh

# The L2 and DRAM
MAX_SLICE_QUEUE = 512  # requests waiting in one of a slice's queues, or cycles of the pipe in front of it
MAX_SHUFFLED_PAGES = 512
MAX_TLB_ENTRIES = 1024
MAX_DRAM_BANKS = 32
MAX_DRAM_QUEUE = 256  # requests a memory controller chooses among, or answers that wait
MAX_DRAM_CYCLES = 1024  # of a timing
MAX_REFRESH_CYCLES = 32768  # between refreshes of a bank
