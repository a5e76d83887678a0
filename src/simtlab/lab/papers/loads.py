"""LOADS (Koo, Jeon, Annavaram, IISWC 2015): what non-deterministic loads do to the memory system, Figures 1 to 12, Table I."""

from collections.abc import Callable, Mapping, Sequence

from simtlab.lab.paper.charts import Chart, Number, normalised, over, tabulate
from simtlab.lab.paper.study import Expected, Figure, Setting, Study
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep

LINEAR = ["2MM", "GAUS", "GRM", "LU", "SPMV"]
IMAGE = ["HTW", "MRQ", "DWT", "BPR", "SRAD"]
GRAPH = ["BFS", "SSSP", "CCL", "MST", "MIS"]
PROGRAMS = LINEAR + IMAGE + GRAPH
MEANS = {"linear": LINEAR, "image": IMAGE, "graph": GRAPH, "all": PROGRAMS}
CLASSES = {"D": "deterministic", "N": "non-deterministic"}
SERVED = {"hit": "hit", "hit_reserved": "hit reserved", "miss": "miss"}
FAILED = {"fail_tag": "reservation failure by tag", "fail_mshr": "… by MSHR", "fail_network": "… by network"}
PARTS = {"unloaded": "unloaded latency", "by_earlier": "failures by earlier warps", "by_itself": "failures by this warp",
         "memory": "waste in memory partitions"}  # fmt: skip
LOOKED_AT = ["BFS", "SSSP", "SPMV"]  # of Figure 6
SIZES = [str(requests) for requests in range(1, 33)]
MOST_DISTANT = 64  # CTAs, of Figure 12
Table = Mapping[str, list]


def runs(setting: Setting) -> list[Sweep]:
    return [Sweep(PROGRAMS, setting.size, setting.gpu)]


def by_program(found: Sequence[Result], value: Callable[[Result], Number]) -> list[Number]:
    values = {str(result.value("workload")): value(result) for result in found}
    return [values.get(name) for name in PROGRAMS]


def summed(result: Result, columns: Sequence[str], classes: str = "DN") -> int:
    """Columns of the table of loads, over all loads of some classes."""
    table = result.table("loads")
    of_class = [one in classes for one in table.get("class", [])]
    return sum(sum(value for value, wanted in zip(table[name], of_class, strict=True) if wanted) for name in columns if of_class)


def ratio(above: Sequence[str], below: Sequence[str], classes: str = "DN") -> Callable[[Result], Number]:
    return lambda result: over(summed(result, above, classes), summed(result, below, classes))


def by_class(found: Sequence[Result], above: Sequence[str], below: Sequence[str]) -> dict[str, list[Number]]:
    """A quotient of two sums over the loads of each class."""
    return {words: by_program(found, ratio(above, below, name)) for name, words in CLASSES.items()}


def table1(found: Sequence[Result]) -> Chart:
    """CTAs and threads are those of the launch with the most instructions."""

    def shape(result: Result) -> str:
        table = result.table("launches")
        grid, block = max(zip(table["instructions"], table["grid"], table["block"], strict=True))[1:]
        return f"{grid[0] * grid[1] * grid[2]} x {block[0] * block[1] * block[2]}"

    shares = by_program(found, lambda result: over(summed(result, ["executed"]), result.counters["instructions"]))
    notes = {str(result.value("workload")): shape(result) for result in found}
    return Chart(PROGRAMS, {"global loads": shares}, "share of warp instructions", means=MEANS, notes=notes,
                 notes_label="CTAs x threads")  # fmt: skip


def of_all(column: str, label: str) -> Callable[[Sequence[Result]], Chart]:
    """The classes' shares in a sum over all loads."""

    def share(name: str) -> Callable[[Result], Number]:
        return lambda result: over(summed(result, [column], name), summed(result, [column]))

    def chart(found: Sequence[Result]) -> Chart:
        shares = {words: by_program(found, share(name)) for name, words in CLASSES.items()}
        return Chart(PROGRAMS, shares, label, kind="stacked", means=MEANS)

    return chart


def fig1c(found: Sequence[Result]) -> Chart:
    """The loads as they stand in the kernels that a program launches, however often they are executed."""

    def share(name: str) -> Callable[[Result], Number]:
        def value(result: Result) -> Number:
            classes = result.table("loads").get("class", [])
            return over(classes.count(name), len(classes))

        return value

    shares = {words: by_program(found, share(name)) for name, words in CLASSES.items()}
    return Chart(PROGRAMS, shares, "share of the loads in the code", kind="stacked", means=MEANS)


def fig2a(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, by_class(found, ["requests"], ["executed"]), "requests a warp", means=MEANS)


def fig2b(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, by_class(found, ["requests"], ["threads"]), "requests an active thread", means=MEANS)


def fig3a(found: Sequence[Result]) -> Chart:
    outcomes = {**SERVED, **FAILED}
    shares = {words: by_program(found, ratio([name], list(outcomes))) for name, words in outcomes.items()}
    return Chart(PROGRAMS, shares, "share of L1 cycles of global loads", kind="stacked", means=MEANS)


def fig3b(found: Sequence[Result]) -> Chart:
    shares = {"all failures": by_program(found, ratio(list(FAILED), [*SERVED, *FAILED])),
              "failures by tag": by_program(found, ratio(["fail_tag"], [*SERVED, *FAILED]))}  # fmt: skip
    return Chart(PROGRAMS, shares, "share of L1 cycles of global loads", means=MEANS)


def fig4(found: Sequence[Result]) -> Chart:
    """A unit is busy while its first stage is held: the load/store unit also while the L1 rejects what it has."""
    from simtlab.machine.utilisation import idle_units

    def idle(unit: str) -> Callable[[Result], Number]:
        def value(result: Result) -> Number:
            units = {name: result.machine[f"units.{name}_units"] for name in ("sp", "sfu")}
            return idle_units(result.counters, result.counters["cycles"] * result.machine["core.cores"], units).get(unit)

        return value

    units = {unit: by_program(found, idle(unit)) for unit in ("SP", "SFU", "LD/ST")}
    return Chart(PROGRAMS, units, "share of cycles the unit is idle", means=MEANS)


def fig5(found: Sequence[Result]) -> Chart:
    """A bar for each class that a program has loads of."""
    results = {str(result.value("workload")): result for result in found}
    groups = [f"{program} {name}" for program in PROGRAMS for name in CLASSES]

    def part(column: str) -> list[Number]:
        return [ratio([column], ["executed"], name)(results[program]) if program in results else None
                for program in PROGRAMS for name in CLASSES]  # fmt: skip

    parts = {words: part(column) for column, words in PARTS.items()}
    return Chart(groups, parts, "core cycles a load", kind="stacked", form=",.0f")


def turnarounds(found: Sequence[Result]) -> Chart:
    """The mean turnaround of all loads of a class, beside Figure 5's parts of it."""
    return Chart(PROGRAMS, by_class(found, ["turnaround"], ["executed"]), "core cycles a load", means=MEANS, form=",.0f")


def chosen(result: Result, name: str) -> tuple[str, int] | None:
    """The load of a class that made the most requests: kernel and pc."""
    table = result.table("loads")
    rows = [(requests, kernel, pc) for requests, kernel, pc, one in
            zip(*(table.get(column, []) for column in ("requests", "kernel", "pc", "class")), strict=True)
            if one == name]  # fmt: skip
    most = max(rows, default=None)
    return (most[1], most[2]) if most and most[0] else None


def by_size(result: Result, load: tuple[str, int] | None, column: str) -> list[Number]:
    """A load's mean by its number of requests."""
    table, found = result.table("requests"), {}
    for k, place in enumerate(zip(table.get("kernel", []), table.get("pc", []), strict=True)):
        if place == load:
            found[str(table["requests"][k])] = table[column][k] / table["executed"][k]
    return [found.get(size) for size in SIZES]


def fig6(found: Sequence[Result]) -> Chart:
    """Of each class, the load of a program that made the most requests; by its kernel and its place there."""
    results, lines = {str(result.value("workload")): result for result in found}, {}
    for program in LOOKED_AT:
        for name in CLASSES:
            load = chosen(results[program], name) if program in results else None
            if load:
                lines[f"{program} ({load[0]} {load[1]}) {name}"] = by_size(results[program], load, "turnaround")
    lines = lines or {"none": [None] * len(SIZES)}
    return Chart(SIZES, lines, "core cycles a load", kind="lines", group_label="requests of the load", form=",.0f")


def fig7(found: Sequence[Result]) -> Chart:
    """The non-deterministic load of BFS that made the most requests. A gap is what the time between the first request and the
    last one grows by at a place; the common latency is the rest of the turnaround."""
    bfs = next((result for result in found if result.value("workload") == "BFS"), None)
    columns = ("turnaround", "gap_l1d", "gap_to_l2", "gap_from_l2")
    rows = [by_size(bfs, chosen(bfs, "N"), name) if bfs else [None] * len(SIZES) for name in columns]
    parts = [_gaps(*row) for row in zip(*rows, strict=True)]
    names = ("common latency", "gap at L1D", "gap at icnt-L2", "gap at L2-icnt")
    return Chart(SIZES, {name: [part[k] for part in parts] for k, name in enumerate(names)}, "core cycles a load", kind="stacked",
                 group_label="requests of the load", form=",.0f")  # fmt: skip


def _gaps(turnaround: Number, at_l1: Number, to_l2: Number, from_l2: Number) -> list[Number]:
    if turnaround is None or at_l1 is None or to_l2 is None or from_l2 is None:
        return [None] * 4
    gaps = [at_l1, max(0.0, to_l2 - at_l1), max(0.0, from_l2 - max(to_l2, at_l1))]
    return [turnaround - sum(gaps), *gaps]


def fig8a(found: Sequence[Result]) -> Chart:
    return Chart(PROGRAMS, by_class(found, ["miss"], list(SERVED)), "misses among accesses to the L1", means=MEANS)


def fig8b(found: Sequence[Result]) -> Chart:
    answers = ["l2_hit", "l2_hit_reserved", "l2_miss"]
    return Chart(PROGRAMS, by_class(found, ["l2_miss"], answers), "misses among reads at the L2", means=MEANS)


def fig9(found: Sequence[Result]) -> Chart:
    values = by_program(found, lambda result: over(result.counters["shared_loads"], summed(result, ["executed"])))
    return Chart(PROGRAMS, {"shared over global loads": values}, "loads from shared memory a global load", means=MEANS)


def shared(above: str, below: str) -> Callable[[Result], Number]:
    def value(result: Result) -> Number:
        table = result.table("sharing")
        return over(table[above][0], table[below][0])

    return value


def fig10a(found: Sequence[Result]) -> Chart:
    values = by_program(found, shared("blocks", "accesses"))
    return Chart(PROGRAMS, {"cold misses": values}, "first accesses to a block among all", means=MEANS)


def fig10b(found: Sequence[Result]) -> Chart:
    values = by_program(found, shared("accesses", "blocks"))
    return Chart(PROGRAMS, {"accesses": values}, "accesses to a 128-byte block", means=MEANS)


def fig11a(found: Sequence[Result]) -> Chart:
    values = {"blocks": by_program(found, shared("shared_blocks", "blocks")),
              "accesses": by_program(found, shared("shared_accesses", "accesses"))}  # fmt: skip
    return Chart(PROGRAMS, values, "share of blocks of several CTAs", means=MEANS)


def fig11b(found: Sequence[Result]) -> Chart:
    values = by_program(found, shared("sharers", "shared_blocks"))
    return Chart(PROGRAMS, {"CTAs": values}, "CTAs of a block of several", means=MEANS)


def distances(programs: Sequence[str], classes: str = "DN") -> Callable[[Sequence[Result]], Chart]:
    """How far the CTAs of a block are from the next lower one of it, weighted with their accesses."""

    def chart(found: Sequence[Result]) -> Chart:
        results = {str(result.value("workload")): result for result in found}
        lines = {name: shares(results[name], classes) if name in results else [None] * MOST_DISTANT for name in programs}
        groups = [str(distance) for distance in range(1, MOST_DISTANT + 1)]
        return Chart(groups, lines, "share of accesses to shared blocks", kind="lines", group_label="CTA distance")

    return chart


SUGGESTED = {  # a policy of the CTA dispatch, loads in parts, groups of the L2
    "as it is": ("round-robin", 0, 1), "2 neighbouring CTAs": ("clustered,size=2", 0, 1),
    "4 neighbouring CTAs": ("clustered", 0, 1), "N loads in parts of 8 requests": ("round-robin", 8, 1),
    "L2 in 4 groups": ("round-robin", 0, 4),
}  # fmt: skip


def suggested_runs(setting: Setting) -> list[Sweep]:
    dispatches, parts, groups = (list(values) for values in zip(*SUGGESTED.values(), strict=True))
    keys = {"l1d.split_requests": parts, "l2.groups": groups}
    together = [["cta_dispatch", "l1d.split_requests", "l2.groups"]]
    return [Sweep(PROGRAMS, setting.size, setting.gpu, policies={"cta_dispatch": dispatches}, set=keys, zip=together)]


def suggested(found: Sequence[Result]) -> Chart:
    names = {values: name for name, values in SUGGESTED.items()}

    def named(result: Result) -> str | None:
        parts, groups = (int(result.value(key)) for key in ("l1d.split_requests", "l2.groups"))
        return names.get((str(result.value("cta_dispatch")), parts, groups))

    values = normalised(tabulate(found, "workload", named, "ipc", PROGRAMS, list(SUGGESTED)), to="as it is")
    series = {name: values[name] for name in SUGGESTED if name != "as it is"}
    return Chart(PROGRAMS, series, "IPC over the machine's as it is", means=MEANS, mean="geometric", base=1.0)


def shares(result: Result, classes: str) -> list[Number]:
    table, found = result.table("distances"), [0] * (MOST_DISTANT + 1)
    total = sum(table.get("accesses", []))
    for name, distance, accesses in zip(*(table.get(column, []) for column in ("class", "distance", "accesses")), strict=True):
        if name in classes and distance <= MOST_DISTANT:
            found[distance] += accesses
    return [over(count, total) for count in found[1:]]


TABLE1 = {"2MM": 0.1810, "GAUS": 0.0304, "GRM": 0.2475, "LU": 0.0665, "SPMV": 0.1173, "HTW": 0.0856, "MRQ": 0.0003, "DWT": 0.0241,
          "BPR": 0.0371, "SRAD": 0.0357, "CCL": 0.0578, "MST": 0.0119, "MIS": 0.0019}  # fmt: skip
TABLE1_TEXT = ("The paper's rows of bfs (1.17%) and sssp (5.66%) do not fit their own counts of instructions, which give 8.08% and "
               "1.05%; they are left out here.")  # fmt: skip
TABLE2 = ("Table II is the preset `loads-c2050`: `simtlab list keys loads-c2050` prints it, and the file says where each number is "
          "from.")  # fmt: skip
D, N = CLASSES.values()
IV, FIG3, FIG4 = "section IV-A", "section VI, Fig. 3", "section VI, Fig. 4"
FIG10, FIG11 = "section IX, Fig. 10", "section IX, Fig. 11"
MORE_THAN_HALF = [Expected("graph, deterministic, more than", D, "graph", 0.5, "section V, Fig. 1")]
STUDY = Study(
    name="loads",
    title="Deterministic and non-deterministic loads",
    source="Koo, Jeon, Annavaram: Revealing Critical Loads and Hidden Data Locality in GPGPU Applications, IISWC 2015",
    question="Which loads make the memory system slow, and where is the locality that its caches do not find?",
    figures=[
        Figure("table1", "Global loads", runs, table1, [
            *(Expected(name, "global loads", name, share, "Table I") for name, share in TABLE1.items()),
            *(Expected(f"{name}, mean", "global loads", name, share, IV)
              for name, share in (("linear", 0.1285), ("image", 0.0366), ("graph", 0.0280), ("all", 0.0643)))], TABLE1_TEXT),
        Figure("fig1a", "Loads executed by warps", runs, of_all("executed", "share of loads executed by warps"), MORE_THAN_HALF),
        Figure("fig1b", "Loads executed by threads", runs, of_all("threads", "share of loads executed by threads"), MORE_THAN_HALF,
               "Table I counts threads; the paper does not say what Figure 1 counts."),
        Figure("fig1c", "Loads in the code", runs, fig1c, MORE_THAN_HALF),
        Figure("fig2a", "Requests a warp", runs, fig2a, [Expected("SPMV, N", N, "SPMV", 6, "section VI, Fig. 2")]),
        Figure("fig2b", "Requests an active thread", runs, fig2b, [Expected("BFS, N", N, "BFS", 0.8, "section VI, Fig. 2")]),
        Figure("fig3a", "L1 cycles by outcome", runs, fig3a),
        Figure("fig3b", "Reservation failures of the L1", runs, fig3b, [
            Expected("failures, mean, about", "all failures", "all", 0.7, FIG3),
            Expected("of them by tag, more than", "failures by tag", "all", 0.35, FIG3)]),
        Figure("fig4", "Idle units", runs, fig4, [
            Expected(f"{unit}, mean", unit, "all", share, FIG4)
            for unit, share in (("SP", 0.907), ("SFU", 0.885), ("LD/ST", 0.456))]),
        Figure("fig5", "Turnaround by part", runs, fig5),
        Figure("turnaround", "Turnaround", runs, turnarounds),
        Figure("fig6", "Turnaround by number of requests", runs, fig6),
        Figure("fig7", "Parts of the turnaround by number of requests, BFS", runs, fig7),
        Figure("fig8a", "L1 miss ratio", runs, fig8a), Figure("fig8b", "L2 miss ratio", runs, fig8b),
        Figure("fig9", "Shared loads a global load", runs, fig9,
               [Expected("image, mean", "shared over global loads", "image", 2.5, "section VIII, Fig. 9")]),
        Figure("fig10a", "Cold miss ratio", runs, fig10a, [
            Expected(f"{name}, mean", "cold misses", name, share, FIG10) for name, share in (("all", 0.16), ("image", 0.388))]),
        Figure("fig10b", "Accesses to a block", runs, fig10b, [
            Expected("graph, mean", "accesses", "graph", 18.1, FIG10),
            *(Expected(f"{name}, more than", "accesses", name, 100, FIG10) for name in ("2MM", "GAUS", "SPMV", "HTW"))]),
        Figure("fig11a", "Blocks that several CTAs read", runs, fig11a, [
            Expected("blocks, mean", "blocks", "all", 0.287, FIG11), Expected("accesses, mean", "accesses", "all", 0.509, FIG11),
            Expected("2MM, blocks", "blocks", "2MM", 1, FIG11), Expected("GAUS, blocks", "blocks", "GAUS", 1, FIG11)]),
        Figure("fig11b", "CTAs of a shared block", runs, fig11b),
        Figure("fig12a", "CTA distance, linear algebra", runs, distances(LINEAR)),
        Figure("fig12b", "CTA distance, image", runs, distances(IMAGE)),
        Figure("fig12c", "CTA distance, graph", runs, distances(GRAPH)),
        Figure("fig12d", "CTA distance, graph, deterministic loads alone", runs, distances(GRAPH, "D")),
        Figure("suggested", "What section X suggests", suggested_runs, suggested,
               text="Section X says what might help, and measures nothing."),
    ],
    gpu="loads-c2050",
    remarks={"Table II: the machine": TABLE2,
             "Differences": "`docs/papers/loads.md` says where our results differ from the paper's and what is known of why."},
)  # fmt: skip
