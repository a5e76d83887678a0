"""Five warp schedulers on the sixteen programs of CAPS: a small study of simtlab's own."""

from collections.abc import Sequence

from simtlab.lab.meanings import STALLS
from simtlab.lab.paper.charts import Chart, Number, normalised, tabulate
from simtlab.lab.paper.study import Figure, Setting, Study
from simtlab.lab.store.result import Result
from simtlab.lab.sweep.sweep import Sweep

REGULAR = ["CP", "LPS", "BPR", "HSP", "MRQ", "STE", "CNV", "HST", "JC1", "FFT", "SCN", "MM"]
IRREGULAR = ["PVR", "CCL", "BFS", "KM"]
PROGRAMS = REGULAR + IRREGULAR
SCHEDULERS = ["lrr", "gto", "oldest", "two-level", "fetch-groups"]
SHOWN_STALLS = ["issued", "long_scoreboard", "wait", "short_scoreboard", "barrier", "lg_throttle", "no_instruction", "empty"]


def runs(setting: Setting) -> list[Sweep]:
    return [Sweep(PROGRAMS, setting.size, setting.gpu, policies={"warp_scheduler": SCHEDULERS})]


def ipc(found: Sequence[Result]) -> Chart:
    values = tabulate(found, "workload", "warp_scheduler", "ipc", PROGRAMS, SCHEDULERS)
    return Chart(PROGRAMS, values, "IPC (warp instructions a core cycle)")


def speedup(found: Sequence[Result]) -> Chart:
    values = normalised(dict(ipc(found).series), to="lrr")
    means = {"regular": REGULAR, "irregular": IRREGULAR, "all": PROGRAMS}
    del values["lrr"]  # 1 everywhere
    return Chart(PROGRAMS, values, "IPC over round robin's", means=means, mean="geometric", base=1.0)


def stalls(found: Sequence[Result]) -> Chart:
    """Under round robin; causes that are seldom are together one part."""
    shares = {cause.replace("_", " "): share(found, [cause]) for cause in SHOWN_STALLS}
    rest = [cause for cause in STALLS if cause not in SHOWN_STALLS]
    return Chart(PROGRAMS, {**shares, "other": share(found, rest)}, "share of scheduler cycles", kind="stacked")


def share(found: Sequence[Result], causes: Sequence[str]) -> Sequence[Number]:
    """Scheduler cycles with one of these causes among all, program by program."""

    def of(result: Result) -> Number:
        total = sum(result.counters[f"stall_{cause}"] for cause in STALLS)
        return sum(result.counters[f"stall_{cause}"] for cause in causes) / total

    return tabulate(found, "workload", "warp_scheduler", of, PROGRAMS, ["lrr"])["lrr"]


STUDY = Study(
    name="schedulers",
    title="Five warp schedulers on sixteen programs",
    source="a study of simtlab's own; the programs are those of CAPS (Koo et al., IPDPS 2018)",
    question="How much does the order in which ready warps issue matter, and for which programs?",
    figures=[
        Figure("ipc", "IPC by warp scheduler", runs, ipc),
        Figure("speedup", "IPC over loose round robin", runs, speedup,
               text="Means are geometric. A scheduler can only help where warps are ready at different times."),
        Figure("stalls", "Where scheduler cycles go under round robin", runs, stalls,
               text="Empty cycles are those of cores without work: small inputs leave many."),
    ],
)  # fmt: skip
