"""The mechanisms of BOOK 5.1 for scheduling warps and CTAs, side by side on four kinds of programs."""

from collections.abc import Sequence
from dataclasses import replace

from simtlab.lab.paper.charts import Chart, over
from simtlab.lab.paper.study import Expected, Figure, Setting, Study
from simtlab.lab.paper.survey import ALL, CLEAR, Policies, Survey, joules, listed, who_wins
from simtlab.lab.papers.survey_caches import (
    BASELINE_TEXT,
    DIVERGENT,
    KINDS,
    LIMITS,
    MACHINE_TEXT,
    OVER_GTO,
    READING,
    SENSITIVE,
    mechanism,
)
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep

LOCKS = "lock-bound"
LOCK_PROGRAMS = {
    "HT": "has threads that spin on the lock of a bucket of a hash table",
    "ATM": "has threads that take the locks of two accounts, or give the first one back and try again",
    "CQ": "has threads that spin until their turn at a queue has come",
}
SURVEY = Survey({**KINDS, LOCKS: LOCK_PROGRAMS}, {"warp_scheduler": "gto"})
CONTENDED, SPINNING = SURVEY.only(SENSITIVE, DIVERGENT), SURVEY.only(LOCKS)
SCHEDULERS: dict[str, Policies] = {
    name: {"warp_scheduler": name} for name in ("lrr", "two-level", "fetch-groups", "fair", "icount")
}
ROUND_ROBIN = SCHEDULERS["lrr"]
CTAS_ALONE = mechanism("equalizer,clocks=0")
WHOLE: dict[str, Policies] = {
    "CCWS": mechanism("ccws"), "DAWS": mechanism("daws"), "prefetch groups": mechanism("prefetch-groups"), "OWL": mechanism("owl"),
    "Mascar": mechanism("mascar"), "CAWS": mechanism("caws"), "CAWA": mechanism("cawa"), "BOWS": mechanism("bows"),
    "DYNCTA": {"cta_throttle": "dyncta"}, "Equalizer's CTAs": CTAS_ALONE,
}  # fmt: skip
PARTS: dict[str, Policies] = {
    "Mascar": WHOLE["Mascar"], "MAS alone": mechanism("mascar,queue_entries=0"), "CAR alone": mechanism("mascar,mas=0"),
    "prefetch groups": WHOLE["prefetch groups"], "groups alone": mechanism("prefetch-groups,prefetch=0"),
    "prefetcher alone": mechanism("prefetch-groups,groups=1"),
    "OWL": WHOLE["OWL"], "groups of CTAs alone": mechanism("owl,locality=0,banks=0"),
    "CAWA": WHOLE["CAWA"], "its scheduler alone": mechanism("cawa,cacp=0"), "its cache alone": mechanism("cawa,gcaws=0"),
}  # fmt: skip
CTAS: dict[str, Policies] = {f"{n} CTAs": {"cta_throttle": f"static,ctas={n}"} for n in (1, 2, 4)}
THROTTLES = {name: WHOLE[name] for name in ("CCWS", "DAWS", "DYNCTA", "Equalizer's CTAs")}
EQUALIZER: dict[str, Policies] = {
    "performance": mechanism("equalizer"), "energy": mechanism("equalizer,save_energy=1"), "CTAs alone": CTAS_ALONE,
}  # fmt: skip
RIVALS: dict[str, Policies] = {"greedy then oldest": {}, "CAWS": WHOLE["CAWS"], "CAWA": WHOLE["CAWA"]}
TOGETHER: dict[str, Policies] = {
    "Mascar": WHOLE["Mascar"], "DYNCTA": WHOLE["DYNCTA"], "BOWS": WHOLE["BOWS"],
    "Mascar and DYNCTA": {**WHOLE["Mascar"], **WHOLE["DYNCTA"]},
    "BOWS on round robin": {**WHOLE["BOWS"], **ROUND_ROBIN}, "BOWS and CAWA": mechanism("cawa", "bows"),
}  # fmt: skip
AGAIN, ONCE = "can be done again", "not once it has written"
INTERRUPTED = Survey({
    AGAIN: {
        "MM": "writes its product where it read nothing",
        "LPS": "reads one grid and writes another",
        "RAY": "writes pixels and reads none",
    },
    ONCE: {
        "CP": "adds to its grid in place, at the end of a CTA",
        "HT": "swaps locks from the start",
    },
}, ROUND_ROBIN)  # greedy then oldest would let an urgent kernel's warps, the youngest of a core, issue last  # fmt: skip
URGENT = {"workload": "SCP", "size": "tiny", "priority": 1, "delay_cycles": 30_000, "vectors": 30, "ctas": 30}  # two a core
WAYS: dict[str, Policies] = {
    "drain": {"preemption": "always,how=2"}, "switch": {"preemption": "always,how=1"}, "flush": {"preemption": "always,how=3"},
    "Chimera": mechanism("chimera"),
}  # fmt: skip


def urgent_runs(setting: Setting) -> list[Sweep]:
    return [replace(sweep, beside=URGENT) for sweep in INTERRUPTED.runs(WAYS)(setting)]


def limits(found: Sequence[Result]) -> Chart:
    """The best limit of warps and of CTAs for each program, and those that find one while they run."""
    base = CONTENDED.values(found, {})
    warps, ctas = (CONTENDED.best(found, {"no limit": {}, **family}) for family in (LIMITS, CTAS))
    series = {name: [over(a, b) for a, b in zip(base, best, strict=True)]
              for name, best in (("best limit of warps", warps), ("best number of CTAs", ctas))}  # fmt: skip
    return CONTENDED.chart({**series, **{name: CONTENDED.gain(found, one) for name, one in THROTTLES.items()}}, OVER_GTO)


def daws(found: Sequence[Result]) -> Chart:
    return CONTENDED.chart({"DAWS": CONTENDED.gain(found, WHOLE["DAWS"], WHOLE["CCWS"])}, "speedup over CCWS")


def locks(found: Sequence[Result]) -> Chart:
    """BOWS over those it is compared with, in cycles and in energy."""
    speed = {f"speed over {name}": SPINNING.gain(found, WHOLE["BOWS"], one) for name, one in RIVALS.items()}
    energy = {f"energy of {name} over its own": SPINNING.gain(found, WHOLE["BOWS"], one, joules) for name, one in RIVALS.items()}
    return SPINNING.chart({**speed, **energy}, "times better with BOWS")


def on_locks(chart: Chart) -> list[str]:
    """What BOWS comes to over each rival, as the numbers have it."""
    return [" ".join(over_rival(chart, name) for name in RIVALS)]


def over_rival(chart: Chart, rival: str) -> str:
    speed, energy = f"speed over {rival}", f"energy of {rival} over its own"
    pair = chart.value(speed, LOCKS), chart.value(energy, LOCKS)
    if None in pair:
        return f"Over {rival}: not everything has run."
    faster = [name for name in chart.groups if (chart.value(speed, name) or 1) >= 1 + CLEAR]
    slower = [name for name in chart.groups if (chart.value(speed, name) or 1) <= 1 - CLEAR]
    parts = [f"{word} on {listed(names)}" for word, names in (("faster", faster), ("slower", slower)) if names]
    where = " and ".join(parts) or "as fast everywhere"
    return f"Over {rival}: {pair[0]:.3f} times the speed in the mean, {where}; {rival} takes {pair[1]:.3f} times its energy."


CCWS12, DAWS13, EQ14, OWL13, PA13, MASCAR15, CAWA15, CAWS14, CHIMERA15 = (
    f"{paper}, abstract" for paper in (
        "Rogers et al., MICRO 2012", "Rogers et al., MICRO 2013", "Sethia and Mahlke, MICRO 2014", "Jog et al., ASPLOS 2013",
        "Jog et al., ISCA 2013", "Sethia et al., HPCA 2015", "Lee et al., ISCA 2015", "Lee and Wu, PACT 2014",
        "Park et al., ASPLOS 2015",
    )
)  # fmt: skip
BOWS18 = "BOOK 5.1.4"
STUDY = Study(
    name="survey-scheduling",
    title="Scheduling warps and CTAs: the mechanisms of BOOK 5.1",
    source="Aamodt, Fung, Rogers: General-Purpose Graphics Processor Architectures, section 5.1, and the papers it surveys",
    question="Which of the published ways to schedule warps and CTAs helps which kind of program, on one machine?",
    gpu="gtx480",
    figures=[
        Figure("schedulers", "Warp schedulers", SURVEY.runs(SCHEDULERS), SURVEY.gains(OVER_GTO, SCHEDULERS), [
            Expected("lrr", "lrr", ALL, 1 / 1.16, CAWA15), Expected("two-level", "two-level", ALL, 0.98 / 1.16, CAWA15),
        ], words=who_wins),
        Figure("speedup", "Every mechanism over the baseline", SURVEY.runs(WHOLE), SURVEY.gains(OVER_GTO, WHOLE), [
            Expected("CCWS, cache-sensitive (harmonic mean)", "CCWS", SENSITIVE, 1.24, CCWS12),
            Expected("Mascar, memory-divergent; over other schedulers", "Mascar", DIVERGENT, 1.10, MASCAR15),
            Expected("CAWA, over greedy then oldest", "CAWA", ALL, 1.23 / 1.16, CAWA15),
        ], words=who_wins),
        Figure("over-round-robin", "Every mechanism over round robin", SURVEY.runs(WHOLE, {"lrr": ROUND_ROBIN}),
               SURVEY.gains("speedup over loose round robin", WHOLE, ROUND_ROBIN), [
            Expected("OWL, memory-divergent; theirs memory-intensive", "OWL", DIVERGENT, 1.33, OWL13),
            Expected("Mascar, memory-divergent; theirs memory-intensive", "Mascar", DIVERGENT, 1.34, MASCAR15),
            Expected("prefetch groups; theirs over round robin that prefetches", "prefetch groups", ALL, 1.25, PA13),
            Expected("CAWA", "CAWA", ALL, 1.23, CAWA15), Expected("CAWS; theirs with an oracle", "CAWS", ALL, 1.17, CAWS14),
        ], "Most papers' baseline. The mechanisms themselves stand on greedy then oldest.", words=who_wins),
        Figure("daws", "DAWS over CCWS", CONTENDED.runs({name: WHOLE[name] for name in ("DAWS", "CCWS")}), daws,
               [Expected("cache-sensitive (harmonic mean)", "DAWS", SENSITIVE, 1.26, DAWS13)], words=who_wins),
        Figure("limits", "Fewer warps, fewer CTAs", CONTENDED.runs(LIMITS, CTAS, THROTTLES), limits, words=who_wins),
        Figure("parts", "Mechanisms in parts", SURVEY.runs(PARTS), SURVEY.gains(OVER_GTO, PARTS), words=who_wins),
        Figure("together", "Mechanisms beside each other", SURVEY.runs(TOGETHER), SURVEY.gains(OVER_GTO, TOGETHER),
               words=who_wins),
        Figure("equalizer-time", "Equalizer: time", SURVEY.runs(EQUALIZER),
               SURVEY.gains("speedup, in time, over greedy then oldest", EQUALIZER, value="machine_seconds"),
               [Expected("performance mode", "performance", ALL, 1.22, EQ14)], words=who_wins),
        Figure("equalizer-energy", "Equalizer: energy", SURVEY.runs(EQUALIZER),
               SURVEY.gains("energy of greedy then oldest over that with it", EQUALIZER, value=joules),
               [Expected("energy mode", "energy", ALL, 1 / 0.85, EQ14)], words=who_wins),
        Figure("locks", "BOWS on programs that spin", SPINNING.runs(RIVALS, {"BOWS": WHOLE["BOWS"]}), locks, [
            Expected("speed", "speed over CAWA", LOCKS, 1.5, BOWS18),
            Expected("energy", "energy of CAWA over its own", LOCKS, 1.6, BOWS18),
        ], "BOOK names Lee and Wu, the paper CAWA.", words=on_locks),
        Figure("urgent", "An urgent kernel beside another: how soon it is done", urgent_runs,
               INTERRUPTED.gains("speed of the urgent kernel over no preemption", WAYS, value="beside_cycles"), [
            Expected("Chimera; theirs the mean turnaround of all programs", "Chimera", ALL, 5.5, CHIMERA15),
        ], f"{URGENT['workload']} with {URGENT['ctas']} CTAs of a higher priority comes {URGENT['delay_cycles']:,} cycles after "
           "the other program has begun. Without preemption its CTAs are the next to begin, which is what draining does. "
           "Warps issue in loose round robin.",
               words=who_wins),
        Figure("urgent-cost", "An urgent kernel beside another: until both are done", urgent_runs,
               INTERRUPTED.gains("cycles of both without preemption over those with it", WAYS), [
            Expected("Chimera; theirs the throughput of all programs", "Chimera", ALL, 1.122, CHIMERA15),
        ], words=who_wins),
    ],
    remarks={
        "Machine and baseline": (
            f"{MACHINE_TEXT} {BASELINE_TEXT} `over-round-robin` has the older baseline. Equalizer's clocks change how long a cycle "
            "is, so that its figures are in time and energy."
        ),
        "Programs": f"{SURVEY.reasons()} Beside an urgent kernel: {INTERRUPTED.reasons()} SCP copies two vectors.",
        "Reading the numbers": READING,
    },
)  # fmt: skip
