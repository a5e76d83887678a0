"""CAPS (Koo et al., IPDPS 2018): CTA-aware prefetching and scheduling against six other prefetchers, Figures 10 to 15."""

from collections.abc import Callable, Sequence

from simtlab.lab.paper.charts import Chart, Number, normalised, tabulate
from simtlab.lab.paper.study import Expected, Figure, Setting, Study
from simtlab.lab.papers.schedulers import IRREGULAR, PROGRAMS, REGULAR
from simtlab.lab.store.results import Result
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
    return Chart(["all prefetches"], together, "prefetches used over those issued")


def fig13a(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, over_base(found, "request_packets"), "requests from cores over the baseline's", means=MEANS, base=1.0)


def fig13b(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, over_base(found, "dram_read_accesses"), "DRAM reads over the baseline's", means=MEANS, base=1.0)


def fig14a(found: Sequence[Result]) -> Chart:
    values = by_program(found, ratio("prefetches_evicted", "prefetches_filled"), WAKING)
    return Chart(PROGRAMS, values, "share of prefetched lines pushed out before use")


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


FIG10, FIG13 = "Fig. 10", "section VI-D, Fig. 13"
STUDY = Study(
    name="caps",
    title="CTA-aware prefetching and scheduling",
    source="Koo, Jeon, Liu, Kim, Annavaram: CTA-Aware Prefetching and Scheduling for GPU, IPDPS 2018",
    question="Can a prefetcher that knows CTAs be both early and right?",
    figures=[
        Figure("fig10", "IPC over the two-level baseline", sweeps(MECHANISMS), fig10, [
            Expected("CAPS, mean", "CAPS", "all", 1.08, FIG10), Expected("CAPS, CNV", "CAPS", "CNV", 1.27, FIG10),
            Expected("CAPS, irregular", "CAPS", "irregular", 1.06, FIG10), Expected("LAP, mean", "LAP", "all", 1.01, FIG10),
            Expected("ORCH, mean", "ORCH", "all", 1.01, FIG10)], "Means are geometric; the paper does not say which it has."),
        Figure("fig11", "IPC by CTAs a core", sweeps(MECHANISMS, core__max_ctas=CTAS), fig11),
        Figure("fig12a", "Coverage", sweeps(MECHANISMS), fig12a,
               [Expected("CAPS, mean", "CAPS", "all", 0.18, "section VI-C, Fig. 12")]),
        Figure("fig12b", "Accuracy", sweeps(MECHANISMS), fig12b,
               [Expected("CAPS", "CAPS", "all prefetches", 0.97, "section VI-C, Fig. 12")]),
        Figure("fig13a", "Requests from cores", sweeps(MECHANISMS), fig13a,
               [Expected("CAPS, at most", "CAPS", "all", 1.03, FIG13), Expected("INTER, at least", "INTER", "all", 2.0, FIG13)]),
        Figure("fig13b", "DRAM reads", sweeps(MECHANISMS), fig13b, [Expected("CAPS, at most", "CAPS", "all", 1.03, FIG13)]),
        Figure("fig14a", "Prefetched lines pushed out before use", sweeps(WAKING), fig14a),
        Figure("fig14b", "From prefetch to demand", sweeps(CAPS_ON), fig14b, [
            Expected(name, name, "all prefetches used", cycles, "Fig. 14b")
            for name, cycles in (("LRR", 64.3), ("two-level", 145.0), ("PAS", 172.7))]),
        Figure("fig15", "Energy", sweeps(MECHANISMS), fig15,
               [Expected("CAPS, mean", "CAPS", "all", 0.98, "Fig. 15")], "The model is that of docs/energy.md, not GPUWattch."),
    ],
    remarks={"Not here": "Figures 1 (accuracy by warp distance) and 4 (iterations of loads) are not reproduced yet. "
                         "`docs/papers/caps.md` says where our results differ from the paper's and what is known of why."},
)  # fmt: skip
