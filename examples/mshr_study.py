"""Would more MSHRs help, and does the answer depend on the warp scheduler?   simtlab paper examples/mshr_study.py"""

from simtlab.lab.paper.charts import Chart, speedups, tabulate
from simtlab.lab.paper.study import Figure, Study
from simtlab.lab.sweep.sweep import Sweep

PROGRAMS, SCHEDULERS, ENTRIES = ["BFS", "MM", "SCN"], ["lrr", "gto"], [8, 32, 128]


def runs(setting):
    """The experiments: every list is an axis."""
    policies, changes = {"warp_scheduler": SCHEDULERS}, {"l1d.mshr_entries": ENTRIES}
    return [Sweep(PROGRAMS, setting.size, setting.gpu, policies=policies, set=changes)]


def line(result):
    """Which line of the figure a result belongs to."""
    return f"{result.value('workload')}, {result.value('warp_scheduler')}"


def faster(found):
    """What the figure shows of their results: a line for each program and scheduler."""
    lines = [f"{program}, {scheduler}" for program in PROGRAMS for scheduler in SCHEDULERS]
    cycles = tabulate(found, "l1d.mshr_entries", line, "cycles", ENTRIES, lines)
    return Chart([str(n) for n in ENTRIES], speedups(cycles), "speed-up", kind="lines", group_label="MSHRs", form=".2f")


STUDY = Study(
    name="mshrs",
    title="MSHRs and warp schedulers",
    source="an example",
    question="Would more MSHRs help, and does the answer depend on the warp scheduler?",
    figures=[Figure("faster", "Speed-up over 8 MSHRs", runs, faster)],
    size="tiny",
)
