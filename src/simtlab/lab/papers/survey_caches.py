"""The mechanisms of BOOK 4.4 for caches, bypassing, the network and DRAM, side by side on three kinds of programs."""

from collections.abc import Sequence

from simtlab.lab.ingredients import configuration
from simtlab.lab.machines import MachineChoice
from simtlab.lab.paper.charts import Chart, over
from simtlab.lab.paper.study import Expected, Figure, Setting, Study
from simtlab.lab.paper.survey import ALL, NO_KEYS, Keys, Policies, Survey, who_wins
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep
from simtlab.machine.build import mesh_crosspoints

SENSITIVE, DIVERGENT, REGULAR = "cache-sensitive", "memory-divergent", "regular"
KINDS = {
    SENSITIVE: {
        "KM": "has a loop in which each thread walks its own row, so that a warp's lines are wanted again and too many for the L1",
        "SSC": "has threads that read vectors of their own element by element, a line of each in use at a time",
        "IIX": "scans pages of text byte by byte, so that the L1 would serve most bytes if it could keep a line for each thread",
        "PVC": "reads log lines byte by byte as IIX does, and compares keys",
    },
    DIVERGENT: {
        "BFS": "loads the neighbours of its nodes, which lie anywhere, so that a warp's load takes many requests",
        "SPMV": "gathers from a vector by column number",
        "SSSP": "relaxes edges whose ends lie anywhere",
        "MIS": "compares random values of neighbours, which lie anywhere",
    },
    REGULAR: {
        "HSP": "reads a tile into shared memory, where caching gains little (BOOK 4.4.2)",
        "MM": "reads tiles into shared memory and computes",
        "BLK": "reads each value once, in order",
        "SCP": "reads two vectors once, in order, at the bandwidth of DRAM",
    },
}  # fmt: skip
SURVEY = Survey(KINDS, {"warp_scheduler": "gto"}, profiled=["coordinated-bypass"])
CONTENDED = SURVEY.only(SENSITIVE, DIVERGENT)


def mechanism(text: str, beside: str = "") -> Policies:
    return {"mechanism": text, "mechanism_2": beside} if beside else {"mechanism": text}


WHOLE = {
    "MRPB": mechanism("mrpb"), "ID-cache": mechanism("id-cache"), "Ctrl-C": mechanism("ctrl-c"), "MeDiC": mechanism("medic"),
    "protection distance": mechanism("protection-distance"), "PCAL, 8 tokens": mechanism("pcal"),
    "PCAL, adaptive": mechanism("pcal,adaptive=2"), "coordinated bypassing": mechanism("coordinated-bypass"),
    "CCWS": mechanism("ccws"),
}  # fmt: skip
PARTS = {
    "MRPB": WHOLE["MRPB"], "order alone": mechanism("mrpb,bypass=0"), "bypass alone": mechanism("mrpb,reorder=0"),
    "MeDiC": WHOLE["MeDiC"], "L2 bypass alone": mechanism("medic,insertion=0,scheduling=0"),
    "insertion alone": mechanism("medic,bypass=0,scheduling=0"), "DRAM priority alone": mechanism("medic,bypass=0,insertion=0"),
    "protection distance": WHOLE["protection distance"], "without throttling": mechanism("protection-distance,throttle=0"),
    "PCAL, T learnt alone": mechanism("pcal,adaptive=1"),
    "coordinated, share fixed": mechanism("coordinated-bypass,adaptive=0"),
}  # fmt: skip
TOGETHER = {
    "CCWS": WHOLE["CCWS"], "MRPB": WHOLE["MRPB"], "MeDiC": WHOLE["MeDiC"],
    "CCWS and MRPB": mechanism("ccws", "mrpb"), "CCWS and MeDiC": mechanism("ccws", "medic"),
    "MRPB and MeDiC": mechanism("mrpb", "medic"),
}  # fmt: skip
IN_ORDER: Keys = {"dram.scheduler": "fcfs"}
ARBITERS = {"by core": {"network_arbiter": "row-locality"}, "by row": {"network_arbiter": "row-locality,by_row=1"}}
IDEAL: Keys = {"network.kind": "ideal"}
AROUND = {name: WHOLE[name] for name in ("MRPB", "ID-cache", "Ctrl-C", "PCAL, 8 tokens", "coordinated bypassing")}
L1S: dict[str, Keys] = {"4 ways, hashed": {}, "4 ways, modulo": {"l1d.index": "linear"}, "64 ways": {"l1d.ways": 64}}
SECTORS: Keys = {"l1d.sector_bytes": 32}
ID_PARTS = {
    "ID-cache": WHOLE["ID-cache"], "bypass alone": mechanism("id-cache,line_size=0"),
    "sectors alone": mechanism("id-cache,bypass=0"),
}  # fmt: skip
LARGE: Keys = {"l1d.bytes": 131_072, "l1d.ways": 32, "shared_memory.shares_l1": False}
MESH: Keys = {
    "network.kind": "mesh", "network.mesh_width": 6, "network.mesh_height": 5, "network.virtual_channels": 2,
    "network.slice_placement": "checkerboard",
}  # fmt: skip
HALVED: Keys = {**MESH, "network.half_routers": True}
SCHEDULERS = 2  # of a gtx480's core: a limit is so many warps of each
LIMITS: dict[str, Policies] = {
    f"{warps} warps": {"warp_scheduler": f"static-limit,warps={warps // SCHEDULERS}"} for warps in (8, 16, 32)
}
TOKENS: dict[str, Policies] = {
    f"W = {warps}, T = {tokens}": mechanism(f"pcal,warps={warps},tokens={tokens}")
    for warps, tokens in ((8, 8), (16, 8), (16, 16), (32, 4), (32, 8), (32, 16), (48, 4), (48, 8), (48, 16))
}
ADAPTIVE = {name: WHOLE[name] for name in ("PCAL, adaptive", "CCWS")}


def programs_runs(setting: Setting) -> list[Sweep]:
    return [*SURVEY.runs()(setting), *SURVEY.runs(keys=LARGE)(setting)]


def programs(found: Sequence[Result]) -> Chart:
    """What makes a program one of its kind: what a large L1 gains, and how many accesses a load takes."""
    before, after = SURVEY.values(found, {}), SURVEY.values(found, {}, keys=LARGE)
    return SURVEY.chart({
        "speedup with 128 KB of L1": [over(a, b) for a, b in zip(before, after, strict=True)],
        "L1 accesses a load": SURVEY.values(found, {}, accesses_a_load),
        "L1 miss rate": SURVEY.values(found, {}, "l1_miss_rate"),
    }, "16 KB of L1, greedy then oldest", base=None)  # fmt: skip


def accesses_a_load(result: Result) -> float | None:
    """Of global loads, as the table of loads has them."""
    table = result.table("loads")
    return over(sum(table["requests"]), sum(table["executed"])) if table else None


def misses(found: Sequence[Result]) -> Chart:
    rates = {"baseline": SURVEY.values(found, {}, "l1_miss_rate")}
    rates |= {name: SURVEY.values(found, one, "l1_miss_rate") for name, one in WHOLE.items()}
    return SURVEY.chart(rates, "L1 miss rate", base=None)


def mrpb_runs(setting: Setting) -> list[Sweep]:
    return [sweep for keys in L1S.values() for sweep in SURVEY.runs({"MRPB": WHOLE["MRPB"]}, keys=keys)(setting)]


def mrpb(found: Sequence[Result]) -> Chart:
    series = {name: SURVEY.gain(found, WHOLE["MRPB"], keys=keys) for name, keys in L1S.items()}
    return SURVEY.chart(series, "MRPB's speedup over the same L1 without it")


def crosspoints(keys: Keys) -> int:
    """Of all switches of the mesh."""
    return mesh_crosspoints(configuration(MachineChoice("gtx480", keys)))


def mesh_runs(setting: Setting) -> list[Sweep]:
    return [sweep for keys in (NO_KEYS, MESH, HALVED) for sweep in SURVEY.runs(keys=keys)(setting)]


def mesh(found: Sequence[Result]) -> Chart:
    crossbar, full, halved = (SURVEY.values(found, {}, keys=keys) for keys in (NO_KEYS, MESH, HALVED))
    series = {name: [over(a, b) for a, b in zip(full, values, strict=True)]
              for name, values in (("half routers", halved), ("crossbar", crossbar))}  # fmt: skip
    return SURVEY.chart(series, "speedup over a mesh of full routers")


def arbitration_runs(setting: Setting) -> list[Sweep]:
    return [*SURVEY.runs()(setting), *SURVEY.runs(ARBITERS, keys=IN_ORDER)(setting)]


def arbitration(found: Sequence[Result]) -> Chart:
    series = {name: SURVEY.gain(found, one, keys=IN_ORDER) for name, one in ARBITERS.items()}
    in_order, out_of_order = SURVEY.values(found, {}, keys=IN_ORDER), SURVEY.values(found, {})
    series["FR-FCFS"] = [over(a, b) for a, b in zip(in_order, out_of_order, strict=True)]
    return SURVEY.chart(series, "speedup over DRAM that serves requests in order")


def tokens(found: Sequence[Result]) -> Chart:
    """The best static W and T over the best limit; with as many tokens as warps they are the same machine."""
    limited = CONTENDED.best(found, {"no limit": {}, **LIMITS})
    best = CONTENDED.best(found, {"no limit": {}, **LIMITS, **TOKENS})
    cycles = {"best W and T": best, **{name: CONTENDED.values(found, one) for name, one in ADAPTIVE.items()}}
    series = {name: [over(a, b) for a, b in zip(limited, values, strict=True)] for name, values in cycles.items()}
    return CONTENDED.chart(series, "speedup over the best static limit of warps")


def over_ccws(found: Sequence[Result]) -> Chart:
    names = [name for name in WHOLE if name != "CCWS"]
    return SURVEY.chart({name: SURVEY.gain(found, WHOLE[name], WHOLE["CCWS"]) for name in names}, "speedup over CCWS")


MACHINE_TEXT = (
    "The preset gtx480: 15 cores of 48 warps with two schedulers each, 16 KB of L1 in 4 ways with 64 MSHRs, 768 KB of L2, six "
    "channels of GDDR5. It is GPGPU-Sim's GTX 480; CCWS, MRPB and Ctrl-C were simulated with GPGPU-Sim, and MRPB's headline is of "
    "16 KB too. OWL has 28 cores, prefetch-aware groups and DYNCTA have 30."
)
BASELINE_TEXT = (
    "The baseline scheduler is greedy then oldest, under all mechanisms: it is the better of the simple ones (CAWA's abstract has "
    "it 16% above round robin), Mascar orders its warps so (BOOK 5.1.2), and it keeps a warp's locality by itself, so that what a "
    "mechanism gains over it is the mechanism's own."
)
READING = (
    "A paper's number is over its own baseline, on its own programs; where that is not ours, the row says so. Means here are "
    "geometric. What is less than 1% apart is not told apart in the words."
)
OVER_GTO = "speedup over greedy then oldest"
ABSTRACT = "abstract"
BOOK_MRPB, BOOK_PCAL = "BOOK 4.4.3, geometric mean", "BOOK 4.4.7"
STUDY = Study(
    name="survey-caches",
    title="Caches, bypassing and memory scheduling: the mechanisms of BOOK 4.4",
    source="Aamodt, Fung, Rogers: General-Purpose Graphics Processor Architectures, section 4.4, and the papers it surveys",
    question="Which of the published mechanisms for GPU memory systems helps which kind of program, on one machine?",
    gpu="gtx480",
    figures=[
        Figure("programs", "What kind each program is", programs_runs, programs),
        Figure("speedup", "Every mechanism over the baseline", SURVEY.runs(WHOLE), SURVEY.gains(OVER_GTO, WHOLE), [
            Expected("protection distance, cache-sensitive (harmonic mean)", "protection distance", SENSITIVE, 1.74,
                     f"Chen et al., MICRO 2014, {ABSTRACT}"),
            Expected("Ctrl-C, cache-sensitive", "Ctrl-C", SENSITIVE, 1.415, f"Lee, Wu, ICCD 2016, {ABSTRACT}"),
            Expected("MeDiC, over another way to manage the L2", "MeDiC", ALL, 1.218,
                     f"Ausavarungnirun et al., PACT 2015, {ABSTRACT}"),
        ], words=who_wins),
        Figure("misses", "L1 miss rate", SURVEY.runs(WHOLE), misses,
               text="An access that goes around the L1 is a miss here; it takes no line, and may take less time."),
        Figure("over-ccws", "Every mechanism over CCWS", SURVEY.runs(WHOLE), over_ccws,
               [Expected("PCAL, adaptive", "PCAL, adaptive", SENSITIVE, 1.11, BOOK_PCAL)], words=who_wins),
        Figure("parts", "Mechanisms in parts", SURVEY.runs(PARTS), SURVEY.gains(OVER_GTO, PARTS), words=who_wins),
        Figure("together", "Mechanisms beside each other", SURVEY.runs(TOGETHER), SURVEY.gains(OVER_GTO, TOGETHER),
               words=who_wins),
        Figure("mrpb", "MRPB by the L1 it stands before", mrpb_runs, mrpb, [
            Expected("64 ways", "64 ways", ALL, 1.04, BOOK_MRPB),
            Expected("4 ways; theirs Rodinia", "4 ways, modulo", ALL, 1.27, f"Jia et al., HPCA 2014, {ABSTRACT}"),
        ], "Sets by the address modulo their number, as in the paper's simulator, or by a hash, as Fermi's own (BOOK 4.4.3).",
            words=who_wins),
        Figure("sectors", "ID-cache on an L1 with sectors", SURVEY.runs(ID_PARTS, keys=SECTORS),
               SURVEY.gains("speedup over the same L1 without it", ID_PARTS, keys=SECTORS), words=who_wins,
               text="Only an L1 with sectors can fetch parts of a line; these are of 32 bytes."),
        Figure("tokens", "PCAL's tokens and limits of warps", CONTENDED.runs(LIMITS, TOKENS, ADAPTIVE), tokens, [
            Expected("best W and T", "best W and T", SENSITIVE, 1.17, BOOK_PCAL),
        ], f"Of {len(TOKENS)} pairs of W, the warps of a core that may issue, and T, those that may take lines, and of "
           f"{len(LIMITS)} limits, the best for each program.", words=who_wins),
        Figure("network", "Going around the L1 where the network never blocks", CONTENDED.runs(AROUND, keys=IDEAL),
               CONTENDED.gains("speedup over the same network without it", AROUND, keys=IDEAL), words=who_wins,
               text="An access that goes around the L1 needs no line and no MSHR, so that more are under way, of which "
                    "the crossbar carries fewer a cycle the more there are. This network brings each packet after a cycle."),
        Figure("arbitration", "Row locality kept in the network", arbitration_runs, arbitration, words=who_wins,
               text="Yuan et al. want the network to bring requests in an order that even a simple DRAM scheduler serves well; "
                    "FR-FCFS, which looks for row hits itself, shows how far that goes."),
        Figure("mesh", "Half routers in a mesh", mesh_runs, mesh, words=who_wins,
               text=f"Cores and L2 slices on a mesh of 6 x 5, the slices at every second router, which has no turns (Bakhoda et "
                    f"al., MICRO 2010): {crosspoints(HALVED)} crosspoints instead of {crosspoints(MESH)}."),
    ],
    remarks={
        "Machine and baseline": f"{MACHINE_TEXT} {BASELINE_TEXT}",
        "Programs": SURVEY.reasons(),
        "Left out": (
            "The locality taxonomy (Jia et al. 2012, 4.4.2) is an analysis and changes nothing: `simtlab loads --locality`."
        ),
        "Reading the numbers": READING,
    },
)  # fmt: skip
