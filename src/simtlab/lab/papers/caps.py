"""CAPS (Koo et al., IPDPS 2018): CTA-aware prefetching and scheduling against six other prefetchers, Figures 1, 4, 10 to 15."""

from collections.abc import Callable, Sequence

from simtlab.lab.paper.charts import Chart, Number, normalised, tabulate
from simtlab.lab.paper.study import Expected, Figure, Setting, Study
from simtlab.lab.papers.schedulers import IRREGULAR, PROGRAMS, REGULAR
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep

BASE = "two-level"
MECHANISMS = {  # prefetcher and warp scheduler
    BASE: ("none", "two-level"),
    "INTRA": ("intra", "two-level"),
    "INTER": ("inter", "two-level"),
    "MTA": ("mta", "two-level"),
    "NLP": ("next-line", "two-level"),
    "LAP": ("lap", "two-level"),
    "ORCH": ("lap", "orchestrated"),
    "CAPS": ("caps", "pas"),
}
CAPS_ON = {"LRR": ("caps", "lrr"), "two-level": ("caps", "two-level"), "PAS": ("caps", "pas")}
WAKING = {"CAPS": ("caps", "pas"), "without wake-up": ("caps", "pas,wake=0")}
PREFETCHERS = [name for name in MECHANISMS if name != BASE]
CTAS = [1, 2, 4, 8]
MEANS = {"regular": REGULAR, "irregular": IRREGULAR, "all": PROGRAMS}
OBSERVED = "prefetcher.warp-distance."  # what the names of its counters begin with
DISTANCES = [str(distance) for distance in range(1, 11)]
MOST_EXECUTED = 4  # loads of a program
ALL = "all prefetches"
Mechanisms = dict[str, tuple[str, str]]


def sweeps(mechanisms: Mechanisms, **changes: list[int]) -> Callable[[Setting], list[Sweep]]:
    """All programs under some mechanisms."""
    prefetchers, schedulers = (list(part) for part in zip(*mechanisms.values(), strict=True))
    policies = {"prefetcher": prefetchers, "warp_scheduler": schedulers}
    keys = {name.replace("__", "."): values for name, values in changes.items()}
    together = [["prefetcher", "warp_scheduler"]]
    return lambda setting: [Sweep(PROGRAMS, setting.size, setting.gpu, policies=policies, set=keys, zip=together)]


def named(mechanisms: Mechanisms) -> Callable[[Result], str | None]:
    """The mechanism a result was made with."""
    names = {pair: name for name, pair in mechanisms.items()}
    return lambda result: names.get((str(result.value("prefetcher")), str(result.value("warp_scheduler"))))


def by_program(found: Sequence[Result], value: Callable[[Result], Number] | str, mechanisms: Mechanisms = MECHANISMS) -> dict:
    return tabulate(found, "workload", named(mechanisms), value, PROGRAMS, list(mechanisms))


def over_base(found: Sequence[Result], value: Callable[[Result], Number] | str) -> dict:
    values = normalised(by_program(found, value), to=BASE)
    return {name: values[name] for name in PREFETCHERS}


def ratio(over: str, under: str) -> Callable[[Result], Number]:
    return lambda result: result.counters[over] / result.counters[under] if result.counters[under] else None


def observed(setting: Setting) -> list[Sweep]:
    """The baseline on matrixMul, with a prefetcher that only looks on."""
    return [Sweep("MM", setting.size, setting.gpu, policies={"prefetcher": "warp-distance", "warp_scheduler": BASE})]


def by_distance(found: Sequence[Result], over: str, under: str, less: str | None = None) -> list[Number]:
    """What the observer counted, over what else it counted, distance by distance."""
    if not found:
        return [None] * len(DISTANCES)

    def counted(name: str) -> list[float]:
        return [sum(result.counters[f"{OBSERVED}{name}.{distance}"] for result in found) for distance in DISTANCES]

    parts = counted(less) if less else [0] * len(DISTANCES)
    rows = zip(counted(over), parts, counted(under), strict=True)
    return [(count - part) / whole if whole else None for count, part, whole in rows]


def fig1a(found: Sequence[Result]) -> Chart:
    """Accuracy is the share of demands that a warp before them had correctly predicted."""
    right = {
        "accuracy": by_distance(found, "right", "demands"),
        "predicted from the same CTA": by_distance(found, "right_in_cta", "demands"),
        "predicted from another CTA": by_distance(found, "right", "demands", less="right_in_cta"),
    }
    return Chart(DISTANCES, right, "share of demands", kind="lines", group_label="warp distance")


def fig1b(found: Sequence[Result]) -> Chart:
    gaps = {"all correctly predicted": by_distance(found, "gap_cycles", "right")}
    return Chart(DISTANCES, gaps, "core cycles from base to target", kind="lines", group_label="warp distance", form=",.0f")


def fig4(found: Sequence[Result]) -> Chart:
    """Loads by PC of the kernels that a program launches, and how often a warp of their kernel executes them on average."""
    rows = {str(result.value("workload")): global_loads(result) for result in found}
    means = {name: sum(repeats for _, repeats, _ in loads[:MOST_EXECUTED]) / len(loads[:MOST_EXECUTED])
             for name, loads in rows.items() if loads}  # fmt: skip
    notes = {name: f"{sum(looped for _, _, looped in loads)}/{len(loads)}" for name, loads in rows.items()}
    label = "executions a warp"
    return Chart(PROGRAMS, {"four most executed loads": [means.get(name) for name in PROGRAMS]}, label, means={"all": PROGRAMS},
                 notes=notes, notes_label="loads in loops / loads")  # fmt: skip


def global_loads(result: Result) -> list[tuple[int, float, bool]]:
    """A program's global loads, the most executed first: executions, executions a warp, whether it is in a loop.

    A kernel's first instruction, its pc 0, is executed once by each warp: so many warps the kernel had.
    """
    table = result.table("instructions")
    found, warps = [], 0
    rows = zip(*(table[name] for name in ("pc", "load", "in_loop", "stall_issued")), strict=True)
    for pc, load, in_loop, executions in rows:
        warps = executions if pc == 0 else warps
        if load:
            found.append((executions, executions / warps, in_loop))
    return sorted(found, reverse=True)


def fig10(found: Sequence[Result]) -> Chart:
    label = "IPC over two-level without prefetching"
    return Chart(PROGRAMS, over_base(found, "ipc"), label, means=MEANS, mean="geometric", base=1.0)


def fig11(found: Sequence[Result]) -> Chart:
    """The mean over programs of the IPC over that of the baseline with eight CTAs a core."""
    base = dict(zip(PROGRAMS, _at(found, BASE, 8), strict=True))
    lines: dict[str, list[Number]] = {}
    for name in MECHANISMS:
        lines[name] = []
        for ctas in CTAS:
            pairs = zip(_at(found, name, ctas), base.values(), strict=True)
            ratios = [a / b for a, b in pairs if a is not None and b]
            lines[name].append(sum(ratios) / len(ratios) if len(ratios) == len(PROGRAMS) else None)
    label = "IPC over 8 CTAs without prefetching"
    return Chart([str(ctas) for ctas in CTAS], lines, label, kind="lines", group_label="CTAs a core")


def _at(found: Sequence[Result], mechanism: str, ctas: int) -> Sequence[Number]:
    those = [result for result in found if result.value("core.max_ctas") == ctas]
    return by_program(those, "ipc")[mechanism]


def fig12a(found: Sequence[Result]) -> Chart:
    def coverage(result: Result) -> Number:
        demands = sum(result.counters[name] for name in ("l1_hits", "l1_hits_reserved", "l1_misses"))
        return result.counters["prefetches_issued"] / demands if demands else None

    values = by_program(found, coverage)
    return Chart(PROGRAMS, {name: values[name] for name in PREFETCHERS}, "prefetches over demand accesses", means=MEANS)


def fig12b(found: Sequence[Result]) -> Chart:
    """All prefetches of a mechanism together: a program with few says little by itself."""
    together = {}
    for name in PREFETCHERS:
        those = [result.counters for result in found if named(MECHANISMS)(result) == name]
        issued = sum(counters["prefetches_issued"] for counters in those)
        together[name] = [sum(counters["prefetches_used"] for counters in those) / issued if issued else None]
    return Chart([ALL], together, "prefetches used over those issued")


def fig13a(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, over_base(found, "request_packets"), "requests from cores over the baseline's", means=MEANS, base=1.0)


def fig13b(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, over_base(found, "dram_read_accesses"), "DRAM reads over the baseline's", means=MEANS, base=1.0)


def fig14a(found: Sequence[Result]) -> Chart:
    """Those a demand asked for afterwards, which came too early, and with those nobody asked for, which were wrong as well."""
    series = {}
    for counter, suffix in (("prefetches_early", ""), ("prefetches_evicted", ", and those never asked for")):
        values = by_program(found, ratio(counter, "prefetches_filled"), WAKING)
        for name in WAKING:
            those = [result.counters for result in found if named(WAKING)(result) == name]
            filled = sum(counters["prefetches_filled"] for counters in those)
            together = sum(counters[counter] for counters in those) / filled if filled else None
            series[name + suffix] = [*values[name], together]
    return Chart([*PROGRAMS, ALL], series, "share of prefetched lines evicted before use")


def fig14b(found: Sequence[Result]) -> Chart:
    """The mean over all prefetches that were used, whatever their program."""
    means = {}
    for name in CAPS_ON:
        those = [result.counters for result in found if named(CAPS_ON)(result) == name]
        used = sum(counters["prefetches_used"] for counters in those)
        means[name] = [sum(counters["prefetch_distance_cycles"] for counters in those) / used if used else None]
    return Chart(["all prefetches used"], means, "core cycles from prefetch to demand")


def fig15(found: Sequence[Result]) -> Chart:
    def joules(result: Result) -> Number:
        return sum(value for name, value in result.counters.items() if name.startswith("energy_"))

    return Chart(PROGRAMS, {"CAPS": over_base(found, joules)["CAPS"]}, "energy over the baseline's", means=MEANS, base=1.0)


FIG1_TEXT = (
    "Inter-warp stride prefetching, of which nothing is carried out: each warp's load is compared with what the warp so many slots "
    "before it would have prefetched for it. The paper has matrixMul too, gives no numbers in its text, and says: accuracy is high "
    "at short distances, drops gradually and then steeply at a distance of seven, for a CTA has eight warps and the base address "
    "changes where a CTA ends (section I)."
)
FIG4_TEXT = (
    "The mean over the four global loads (fewer where a program has fewer) that are executed most often, each over all warps of "
    "its kernel. The paper gives no numbers in its text, and says: deep loops are seldom in GPU programs (section III-A)."
)
def hardware() -> str:
    """What the tables of the prefetcher take, as its file has them."""
    from simtlab.machine.config import load
    from simtlab.policies.prefetcher.caps import ENTRIES, dist_bytes, per_cta_bytes

    ctas = load("caps-gtx480").core.max_ctas
    dist, per_cta = sum(dist_bytes.values()), sum(per_cta_bytes.values())
    total = ENTRIES * dist + ctas * ENTRIES * per_cta
    entries = f"DIST has {ENTRIES} entries of {dist} bytes, PerCTA {ENTRIES} of {per_cta} for each of {ctas} CTAs"
    return f"{entries}: {total} bytes a core. The paper's Table II has 708."


FIG10, FIG13 = "Fig. 10", "section VI-D, Fig. 13"
STUDY = Study(
    name="caps",
    title="CTA-aware prefetching and scheduling",
    source="Koo, Jeon, Liu, Kim, Annavaram: CTA-Aware Prefetching and Scheduling for GPU, IPDPS 2018",
    question="Can a prefetcher that knows CTAs be both early and right?",
    figures=[
        Figure("fig1a", "Accuracy by warp distance, MM", observed, fig1a, text=FIG1_TEXT),
        Figure("fig1b", "Cycles from base to target, MM", observed, fig1b,
               text="The paper's text: at a distance of one, a few tens of cycles (section I)."),
        Figure("fig4", "Executions of the most executed loads", sweeps({BASE: MECHANISMS[BASE]}), fig4, text=FIG4_TEXT),
        Figure("fig10", "IPC over the two-level baseline", sweeps(MECHANISMS), fig10, [
            Expected("CAPS, mean", "CAPS", "all", 1.08, FIG10), Expected("CAPS, CNV", "CAPS", "CNV", 1.27, FIG10),
            Expected("CAPS, irregular", "CAPS", "irregular", 1.06, FIG10), Expected("LAP, mean", "LAP", "all", 1.01, FIG10),
            Expected("ORCH, mean", "ORCH", "all", 1.01, FIG10)], "Means are geometric; the paper does not say which it has."),
        Figure("fig11", "IPC by CTAs a core", sweeps(MECHANISMS, core__max_ctas=CTAS), fig11),
        Figure("fig12a", "Coverage", sweeps(MECHANISMS), fig12a,
               [Expected("CAPS, mean", "CAPS", "all", 0.18, "section VI-C, Fig. 12")]),
        Figure("fig12b", "Accuracy", sweeps(MECHANISMS), fig12b,
               [Expected("CAPS", "CAPS", ALL, 0.97, "section VI-C, Fig. 12")]),
        Figure("fig13a", "Requests from cores", sweeps(MECHANISMS), fig13a,
               [Expected("CAPS, at most", "CAPS", "all", 1.03, FIG13), Expected("INTER, at least", "INTER", "all", 2.0, FIG13)]),
        Figure("fig13b", "DRAM reads", sweeps(MECHANISMS), fig13b, [Expected("CAPS, at most", "CAPS", "all", 1.03, FIG13)]),
        Figure("fig14a", "Prefetched lines evicted before use", sweeps(WAKING), fig14a, [
            Expected(name, name, ALL, share, "section VI-E, Fig. 14a")
            for name, share in (("CAPS", 0.0091), ("without wake-up", 0.0116))]),
        Figure("fig14b", "From prefetch to demand", sweeps(CAPS_ON), fig14b, [
            Expected(name, name, "all prefetches used", cycles, "Fig. 14b")
            for name, cycles in (("LRR", 64.3), ("two-level", 145.0), ("PAS", 172.7))]),
        Figure("fig15", "Energy", sweeps(MECHANISMS), fig15,
               [Expected("CAPS, mean", "CAPS", "all", 0.98, "Fig. 15")], "The model is that of docs/energy.md, not GPUWattch."),
    ],
    remarks={"Table II: hardware of CAPS": hardware(),
             "Differences": "`docs/papers/caps.md` says where our results differ from the paper's and what is known of why."},
)  # fmt: skip
