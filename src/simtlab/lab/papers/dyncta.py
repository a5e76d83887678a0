"""DYNCTA (Kayiran, Jog, Kandemir, Das, PACT 2013): how many CTAs a core should run. Figures 1, 3 to 5, 8 to 11, section V-B."""

from collections.abc import Callable, Mapping, Sequence
from math import isnan
from typing import Any

from simtlab.lab.paper.charts import Chart, Number, over
from simtlab.lab.paper.study import Expected, Figure, Setting, Study
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep

MACHINE = "dyncta-30core"
TYPES = {  # Table II; SRAD is its SD2, BPR its BP, HSP its HOT
    "M": ["PVC", "SSC", "IIX", "BFS", "SAD", "PFF", "SPMV", "MUM", "KM", "WP", "SCP", "PVR", "AES", "LIB", "FFT", "SRAD", "BPR",
          "JPEG"],
    "C": ["BLK", "RAY", "SD1", "LKC", "PFN", "HSP", "NN", "MM", "STO", "CP"],
    "X": ["LUD", "NW", "NQU"],
}  # fmt: skip
PROGRAMS = [name for names in TYPES.values() for name in names]
MEANS, GEOMETRIC = {**TYPES, "mean": PROGRAMS}, {"geometric mean": PROGRAMS}
FITS = {  # CTAs that fit on a core of the paper's machine, N: of the kernel that has the most
    "AES": 4, "BFS": 2, "BPR": 4, "FFT": 8, "HSP": 3, "IIX": 4, "KM": 4, "MM": 3, "MUM": 4, "NQU": 2, "PFF": 2, "PVC": 4, "PVR": 4,
    "RAY": 4, "SCP": 4, "SD1": 2, "SPMV": 5, "SRAD": 4, "SSC": 4, "STO": 2,
}  # fmt: skip
MOST = 8  # of all others
Inputs = Mapping[str, Mapping[str, Any]]
OF_THE_SUITES: Inputs = {  # at `small`, where that is unlike the suite's input in what matters here
    "BFS": {"kind": "uniform", "degree": 6},
    "LIB": {"rates": 50, "periods": 10},
    "NQU": {"queens": 11, "rows": 0},
}
OF_MORE_CTAS: Inputs = {  # where 5 M instructions, the bound of `small`, have too few, or threads with too little
    "IIX": {"pages": 430, "part_bytes": 128, "links": 0.28},
    "LKC": {"rows": 219, "columns": 134, "cells": 1, "iterations": 1},
    "PFN": {"particles": 15_360},
    "PVC": {"lines": 32_768},
    "PVR": {"pages": 1 << 16, "clicks": 640_000},
}
INPUTS = {**OF_THE_SUITES, **OF_MORE_CTAS}
NONE, DYNAMIC = "none", "dyncta"  # CTA throttles
ROUND_ROBIN, TWO_LEVEL = "lrr", "fetch-groups"  # warp schedulers
CHANGED = {"two-level": (NONE, TWO_LEVEL), "DYNCTA": (DYNAMIC, ROUND_ROBIN), "DYNCTA and two-level": (DYNAMIC, TWO_LEVEL)}
MESH = {"core.cores_per_cluster": 1, "network.kind": "mesh"}
CORES = {  # section V-B
    "30 cores, crossbar": {},
    "56 cores, 8 x 8 mesh": {"core.cores": 56, **MESH, "network.mesh_width": 8, "network.mesh_height": 8},
    "110 cores, 11 x 11 mesh": {"core.cores": 110, **MESH, "network.mesh_width": 11, "network.mesh_height": 11,
                                "l2.slices": 11, "dram.channels": 11},
}  # fmt: skip
MSHRS = {f"{entries} MSHRs": {"l1d.mshr_entries": entries} if entries != 64 else {} for entries in (64, 32, 16)}
CLOCKS = {f"{mhz} MHz": {"clocks.dram_mhz": float(mhz)} if mhz != 800 else {} for mhz in (800, 1107, 1333)}


def scaled(factor: float) -> str:
    """All three thresholds times something."""
    idle, low, high = (round(factor * cycles) for cycles in (16, 128, 384))
    return f"{DYNAMIC},idle={idle},memory_low={low},memory_high={high}"


VARIANTS = {
    "as it is": DYNAMIC, "sampled every 4,096 cycles": f"{DYNAMIC},period=4096",
    **{f"thresholds x {factor:g}": scaled(factor) for factor in (0.5, 1.5)},
    "n = 1 at first": f"{DYNAMIC},start=1", "n = N at first": f"{DYNAMIC},start=32",
}  # fmt: skip


# Runs ---------------------------------------------------------------------------------------------------------------------


def sweeps(setting: Setting, throttles: Sequence[str], programs: Sequence[str] = PROGRAMS, scheduler: str = ROUND_ROBIN,
           keys: Mapping[str, Any] | None = None, inputs: Inputs = INPUTS) -> list[Sweep]:  # fmt: skip
    """Programs under some throttles, on the machine with some of its keys changed."""
    changed = inputs if setting.size == "small" else {}
    policies = {"cta_throttle": list(throttles), "warp_scheduler": scheduler}
    parts = [([name for name in programs if name not in changed], {}), *(([name], changed[name]) for name in programs
                                                                         if name in changed)]  # fmt: skip
    return [Sweep(names, setting.size, setting.gpu, policies=policies, set=keys or {}, parameters=parameters)
            for names, parameters in parts if names]  # fmt: skip


def default(setting: Setting) -> list[Sweep]:
    return sweeps(setting, [NONE])


def static(setting: Setting, programs: Sequence[str] = PROGRAMS, most: int = MOST) -> list[Sweep]:
    """Every number of CTAs, up to the one that fits, which is no limit at all."""
    found = sweeps(setting, [NONE], programs)
    for n in range(1, most):
        those = [name for name in programs if n < fits(name, setting.gpu)]
        found += sweeps(setting, [f"static,ctas={n}"], those) if those else []
    return found


def fits(program: str, gpu: str) -> int:
    return FITS.get(program, MOST) if gpu == MACHINE else MOST


def fewest(setting: Setting) -> list[Sweep]:
    return static(setting, most=2)


def dynamic(setting: Setting) -> list[Sweep]:
    return sweeps(setting, [NONE, DYNAMIC])


def everything(setting: Setting) -> list[Sweep]:
    return [*static(setting), *sweeps(setting, [DYNAMIC]), *sweeps(setting, [NONE, DYNAMIC], scheduler=TWO_LEVEL)]


def on_machines(machines: Mapping[str, Mapping[str, Any]]) -> Callable[[Setting], list[Sweep]]:
    def runs(setting: Setting) -> list[Sweep]:
        return [one for keys in machines.values() for one in sweeps(setting, [NONE, DYNAMIC], keys=keys, inputs=OF_THE_SUITES)]

    return runs


def variants(setting: Setting) -> list[Sweep]:
    return sweeps(setting, [NONE, *VARIANTS.values()], inputs=OF_THE_SUITES)


# Values -------------------------------------------------------------------------------------------------------------------


def choose(found: Sequence[Result], throttle: str, scheduler: str = ROUND_ROBIN) -> dict[str, Result]:
    """The results with a throttle and a warp scheduler, by program."""
    wanted = (throttle, scheduler)
    return {str(one.value("workload")): one for one in found if (one.value("cta_throttle"), one.value("warp_scheduler")) == wanted}


def values(those: Mapping[str, Result], name: str) -> list[Number]:
    return [those[program].value(name) if program in those else None for program in PROGRAMS]


def relative(those: Mapping[str, Result], base: Mapping[str, Result], name: str = "ipc") -> list[Number]:
    return [over(a, b) for a, b in zip(values(those, name), values(base, name), strict=True)]


def by_limit(found: Sequence[Result]) -> dict[str, dict[int, Result]]:
    """The results of each program without two-level scheduling by how many CTAs a core may run, N among them."""
    limits: dict[str, dict[int, Result]] = {}
    for result in found:
        throttle = str(result.value("cta_throttle"))
        name, fixed = str(result.value("workload")), throttle.startswith("static")
        if result.value("warp_scheduler") == ROUND_ROBIN and (fixed or throttle == NONE):
            n = int(result.value("cta_throttle.ctas")) if fixed else most_ctas(result)
            limits.setdefault(name, {})[n] = result
    return limits


def most_ctas(result: Result) -> int:
    """N: of the kernel of which the most fit on a core."""
    return max(int(row["ctas"]) for row in result.occupancy)


def optimum(found: Sequence[Result]) -> dict[str, tuple[int, Result]]:
    """The best static n of each program with its result; the lowest of those that are equal."""
    return {name: min(runs.items(), key=lambda run: (run[1].value("cycles"), run[0])) for name, runs in by_limit(found).items()}


def best(found: Sequence[Result]) -> dict[str, Result]:
    return {name: result for name, (_, result) in optimum(found).items()}


def mean_limit(result: Result) -> Number:
    """DYNCTA's n: the mean of all cores' samples."""
    return over(result.counters["cta_throttle.dyncta.limits"], result.counters["cta_throttle.dyncta.samples"])


# Figures ------------------------------------------------------------------------------------------------------------------


def bars(series: Mapping[str, list[Number]], label: str, geometric: bool = True, base: float | None = 1.0) -> Chart:
    return Chart(PROGRAMS, series, label, means=MEANS, geometric=GEOMETRIC if geometric else {}, base=base)


def fig1(found: Sequence[Result]) -> Chart:
    base = choose(found, NONE)
    one = {name: runs[min(runs)] for name, runs in by_limit(found).items()}
    return bars({"n = 1": relative(one, base), "best n": relative(best(found), base)}, "IPC over n = N")


def table2(found: Sequence[Result]) -> Chart:
    """Shares of core time decide: idle for more than 20%: X; active for more than 66%: C; else M."""
    base = choose(found, NONE)
    theirs = {name: kind for kind, names in TYPES.items() for name in names}
    notes = {name: f"{result.value('dyncta_type')} ({theirs[name]})" for name, result in base.items() if name in theirs}
    shares = {"active": values(base, "active_time"), "idle": values(base, "idle_time")}
    return Chart(PROGRAMS, shares, "share of core time", notes=notes, notes_label="type (the paper's)")


def fig3(found: Sequence[Result]) -> Chart:
    base = choose(found, NONE)
    parts = {"active": "active_time", "waiting for memory": "memory_waiting_time", "stalled": "stall_time", "idle": "idle_time"}
    return Chart(PROGRAMS, {words: values(base, name) for words, name in parts.items()}, "share of core time", kind="stacked",
                 means=MEANS)  # fmt: skip


EXAMPLES = ["AES", "MM", "JPEG", "CP"]  # of Figure 4


def fig4_runs(setting: Setting) -> list[Sweep]:
    return static(setting, EXAMPLES)


def fig4(name: str, label: str) -> Callable[[Sequence[Result]], Chart]:
    def chart(found: Sequence[Result]) -> Chart:
        limits, lines = by_limit(found), {}
        for program in EXAMPLES:
            runs = limits.get(program, {})
            last = runs[max(runs)].value(name) if runs else None
            lines[program] = [over(runs[n].value(name), last) if n in runs else None for n in range(1, MOST + 1)]
        return Chart([str(n) for n in range(1, MOST + 1)], lines, label, kind="lines", group_label="CTAs a core", base=1.0)

    return chart


def fig5(found: Sequence[Result]) -> Chart:
    base = choose(found, NONE)
    one = {name: runs[min(runs)] for name, runs in by_limit(found).items()}
    parts = {"L1 miss rate": "l1_miss_rate", "network latency": "network_latency", "DRAM queueing": "dram_queueing"}
    return bars({words: relative(one, base, name) for words, name in parts.items()}, "n = 1 over n = N", geometric=False)


def fig5b(found: Sequence[Result]) -> Chart:
    one = {name: runs[min(runs)] for name, runs in by_limit(found).items()}
    rates = {"n = 1": values(one, "l1_miss_rate"), "n = N": values(choose(found, NONE), "l1_miss_rate")}
    return bars(rates, "L1 miss rate", geometric=False, base=None)


POINTS = 25  # of Figure 8's time


def fig8_runs(program: str) -> Callable[[Setting], list[Sweep]]:
    return lambda setting: sweeps(setting, [DYNAMIC], [program])


def fig8(program: str) -> Callable[[Sequence[Result]], Chart]:
    """The CTAs that cores with any ran, and the active time as a share of N, so that both have one axis."""

    def chart(found: Sequence[Result]) -> Chart:
        result = choose(found, DYNAMIC).get(program)
        most = most_ctas(result) if result else MOST
        lines = {"running CTAs": along(result, "running_ctas", 1), f"active time x {most}": along(result, "active_time", most)}
        times = [f"{100 * (k + 1) // POINTS}%" for k in range(POINTS)]
        return Chart(times, lines, "CTAs a core", kind="lines", group_label="of the run's time")

    return chart


def along(result: Result | None, name: str, factor: float) -> list[Number]:
    """A ratio over a run's time in so many steps, each the mean of the intervals that end in it."""
    if result is None:
        return [None] * POINTS
    ends, ratios = result.over_time(name)
    steps: list[list[float]] = [[] for _ in range(POINTS)]
    for end, value in zip(ends, ratios, strict=True):
        if not isnan(value):
            steps[min(POINTS - 1, (end - 1) * POINTS // ends[-1])].append(factor * value)
    return [over(sum(step), len(step)) for step in steps]


def fig9(found: Sequence[Result]) -> Chart:
    base, ours, opt = choose(found, NONE), choose(found, DYNAMIC), optimum(found)
    counts: dict[str, list[Number]] = {
        "N": [most_ctas(base[name]) if name in base else None for name in PROGRAMS],
        "DYNCTA": [mean_limit(ours[name]) if name in ours else None for name in PROGRAMS],
        "best n": [opt[name][0] if name in opt else None for name in PROGRAMS],
    }
    return bars(counts, "CTAs a core", geometric=False, base=None)


def fig10(found: Sequence[Result]) -> Chart:
    base = choose(found, NONE)
    series = {name: relative(choose(found, *policies), base) for name, policies in CHANGED.items()}
    return bars({**series, "best n": relative(best(found), base)}, "IPC over n = N")


def over_two_level(found: Sequence[Result]) -> Chart:
    gains = relative(choose(found, DYNAMIC), choose(found, NONE, TWO_LEVEL))
    return bars({"DYNCTA": gains}, "IPC over the two-level scheduler's")


def fig11(**ratios: str) -> Callable[[Sequence[Result]], Chart]:
    def chart(found: Sequence[Result]) -> Chart:
        base, ours = choose(found, NONE), choose(found, DYNAMIC)
        series = {words.replace("_", " "): relative(ours, base, name) for words, name in ratios.items()}
        return bars(series, "DYNCTA over n = N", geometric=False)

    return chart


def fig11c(found: Sequence[Result]) -> Chart:
    rates = {"n = N": choose(found, NONE), "DYNCTA": choose(found, DYNAMIC)}
    return bars({name: values(those, "l1_miss_rate") for name, those in rates.items()}, "L1 miss rate", geometric=False, base=None)


def gains(machines: Mapping[str, Mapping[str, Any]]) -> Callable[[Sequence[Result]], Chart]:
    """What DYNCTA gains on each machine over the same machine without it."""

    def chart(found: Sequence[Result]) -> Chart:
        series: dict[str, list[Number]] = {}
        for name, keys in machines.items():
            those = [one for one in found if all(one.changes.get(key) == value for key, value in keys.items())
                     and set(one.changes) == set(keys)]  # fmt: skip
            series[name] = relative(choose(those, DYNAMIC), choose(those, NONE))
        return bars(series, "IPC over n = N on the same machine")

    return chart


def varied(found: Sequence[Result]) -> Chart:
    base = choose(found, NONE)
    return bars({name: relative(choose(found, policy), base) for name, policy in VARIANTS.items()}, "IPC over n = N")


FIG1, FIG3, FIG4, FIG5 = "section I, Fig. 1", "section III-A, Fig. 3", "section III-A, Fig. 4", "section III-B, Fig. 5"
FIG9, FIG10, FIG11, VB = (*(f"section V-A, Fig. {number}" for number in (9, 10, 11)), "section V-B")
INPUTS_TEXT = (
    "At `small` some programs have another input than elsewhere. BFS searches a graph whose nodes have like degrees, as the "
    "suite's have, not one with hubs, on which one thread works while the chip waits. LIB has more rates and fewer periods, so "
    "that what its threads keep does not fit in the L1. NQU deals out boards as the suite's host does, nearly all to a few CTAs. "
    "IIX, LKC, PFN, PVC and PVR have more CTAs than the 5 M instructions of `small` allow, and the tasks of IIX 128 bytes and not "
    "44; but in section V-B, whose many runs have them as they are."
)
TABLE1 = f"Table I is the preset `{MACHINE}`: `simtlab list keys {MACHINE}` prints it, and the file says where each number is from."
STUDY = Study(
    name="dyncta",
    title="Neither more nor fewer CTAs than a core can use",
    source="Kayiran, Jog, Kandemir, Das: Neither More Nor Less: Optimizing Thread-level Parallelism for GPGPUs, PACT 2013",
    question="How many CTAs should a core run at once, and can it find out by itself?",
    figures=[
        Figure("fig1", "One CTA a core, and the best number", static, fig1, [
            Expected("best n, mean", "best n", "mean", 1.39, FIG1),
            Expected("best n, geometric mean", "best n", "geometric mean", 1.25, FIG1),
            Expected("best n, IIX", "best n", "IIX", 4.9, FIG1), Expected("best n, PVC", "best n", "PVC", 3.5, FIG1)]),
        Figure("table2", "Types of programs", default, table2),
        Figure("fig3", "What cores do with N CTAs", default, fig3, [
            Expected("active, mean", "active", "mean", 0.51, FIG3),
            *(Expected(f"active, {name}, about", "active", name, 0.1, FIG3) for name in ("PVC", "SSC", "IIX")),
            Expected("active, AES", "active", "AES", 0.46, "section III-A"), Expected("active, CP", "active", "CP", 0.99,
                                                                                      "section III-C")]),
        Figure("fig4a", "IPC by number of CTAs", fig4_runs, fig4("ipc", "IPC over n = N"),
               [Expected("MM, n = 1", "MM", "1", 1 / 1.34, FIG4)],
               "The paper has AES best at n = 1, MM at N, JPEG and CP at 3."),
        Figure("fig4b", "Round trip by number of CTAs", fig4_runs, fig4("round_trip", "lat_rt over n = N"),
               [Expected("AES, n = 1", "AES", "1", 1 / 9, FIG4)]),
        Figure("fig4c", "Core utilisation by number of CTAs", fig4_runs, fig4("core_utilisation", "util over n = N")),
        Figure("fig5a", "What one CTA a core does to the memory system", fewest, fig5, [
            Expected("network latency, mean", "network latency", "mean", 1 / 2.1, FIG5),
            Expected("DRAM queueing, mean", "DRAM queueing", "mean", 1 / 1.07, "section III-B")]),
        Figure("fig5b", "L1 miss rate with one CTA a core", fewest, fig5b, [
            Expected(f"{name}, mean", name, "mean", rate, "section III-B") for name, rate in (("n = 1", 0.62), ("n = N", 0.72))]),
        *(Figure(f"fig8{letter}", f"CTAs over time, {name}", fig8_runs(name), fig8(name))
          for letter, name in zip("abcd", ("SAD", "JPEG", "RAY", "FFT"), strict=True)),
        Figure("fig9", "Number of CTAs", everything, fig9, [
            Expected(f"{name}, mean", name, "mean", ctas, FIG9)
            for name, ctas in (("N", 5.38), ("DYNCTA", 2.69), ("best n", 2.93))]),
        Figure("fig10", "What DYNCTA gains", everything, fig10, [
            Expected("DYNCTA, mean", "DYNCTA", "mean", 1.28, FIG10),
            Expected("DYNCTA, geometric mean", "DYNCTA", "geometric mean", 1.18, FIG10),
            *(Expected(f"DYNCTA, {name}", "DYNCTA", name, gain, FIG10) for name, gain in
              (("PVC", 3.6), ("IIX", 2.9), ("SAD", 2.9), ("KM", 1.9), ("NW", 0.98), ("BLK", 0.98), ("PFF", 0.975), ("SCP", 0.97))),
            Expected("best n, mean", "best n", "mean", 1.39, FIG10)]),
        Figure("two-level", "DYNCTA over the two-level scheduler", everything, over_two_level,
               [Expected("mean", "DYNCTA", "mean", 1.125, FIG10)]),
        Figure("fig11a", "Round trip and core utilisation", dynamic, fig11(round_trip="round_trip", util="core_utilisation"), [
            Expected("round trip, mean", "round trip", "mean", 0.67, FIG11),
            *(Expected(f"util, {name}", "util", name, gain, FIG11)
              for name, gain in (("NQU", 1.28), ("CP", 1.19), ("RAY", 1.12)))]),
        Figure("fig11b", "Active time", dynamic, fig11(active_time="active_time"),
               [Expected("mean", "active time", "mean", 1.14, FIG11)]),
        Figure("fig11c", "L1 miss rate", dynamic, fig11c, [
            Expected(f"{name}, mean", name, "mean", rate, FIG11) for name, rate in (("n = N", 0.71), ("DYNCTA", 0.64))]),
        Figure("cores", "More cores", on_machines(CORES), gains(CORES), [
            Expected(f"{name}, mean, about", name, "mean", 1.2, VB) for name in list(CORES)[1:]]),
        Figure("mshrs", "Fewer MSHRs", on_machines(MSHRS), gains(MSHRS),
               text="The paper's average performance falls by 0.3% with 32 MSHRs and by 0.6% with 16."),
        Figure("memory-clock", "A faster memory", on_machines(CLOCKS), gains(CLOCKS),
               text="The paper's gain is up to 1% smaller."),
        Figure("parameters", "DYNCTA's own parameters", variants, varied,
               text="The paper: sampling every 4,096 cycles costs 0.1%, thresholds of 50% to 150% cost 0.7% to 1.6%; n = 1 at "
                    "first is very similar, n = N at first not as good (sections IV, V-B)."),
    ],
    gpu=MACHINE,
    remarks={"Table I: the machine": TABLE1, "Inputs": INPUTS_TEXT,
             "Differences": "`docs/papers/dyncta.md` says where our results differ from the paper's and what is known of why."},
)  # fmt: skip
