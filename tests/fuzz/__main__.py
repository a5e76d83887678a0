"""`python -m tests.fuzz 100000`: try so many mutants, say how far it is, keep those that end badly."""

import argparse
import time
from pathlib import Path

from tests.fuzz.corpus import every_seed
from tests.fuzz.machine_code import with_another_answer, with_other_bytes
from tests.fuzz.runner import Make, Report, campaign, keep, machine_code_campaign

FOLDER = Path("build/fuzz")


class Progress:
    """A line every few seconds, and every new finding at once."""

    def __init__(self, count: int, folder: Path, make: Make | None = None):
        self.count, self.folder, self.make = count, folder, make
        self.start = self.said = 0.0
        self.shown = 0

    def __call__(self, report: Report) -> None:
        for number, finding in report.findings[self.shown :]:
            print(f"mutant {number}: {finding}\n  kept in {keep(number, finding, self.folder, self.make)}", flush=True)
        self.shown = len(report.findings)
        now = time.monotonic()
        self.start = self.start or now
        if now - self.said > 10 and report.outcomes:
            self.said = now
            done = sum(report.outcomes.values())
            rate = done / max(now - self.start, 1)
            print(f"{done} of {self.count}, {rate:.0f} a second, {self.shown} findings", flush=True)


def main() -> int:
    arguments = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    arguments.add_argument("count", type=int, nargs="?", default=100_000, help="mutants to try")
    arguments.add_argument("--first", type=int, default=0, help="the first one's number; a number is always the same mutant")
    arguments.add_argument("--processes", type=int, default=2)
    arguments.add_argument("--folder", type=Path, default=FOLDER, help="where mutants go that end badly")
    arguments.add_argument("--of", choices=["ptx", "cubin", "listing"], default="ptx",
                           help="mutants of PTX, of a cubin's code, or of what nvdisasm says of it")  # fmt: skip
    given = arguments.parse_args()
    if given.of == "ptx":
        print(f"{len(every_seed())} seeds are made ready", flush=True)
        report = campaign(given.first, given.count, given.processes, every_seed(), Progress(given.count, given.folder))
    else:
        make = with_other_bytes if given.of == "cubin" else with_another_answer
        progress = Progress(given.count, given.folder, make)
        report = machine_code_campaign(given.first, given.count, given.processes, make, progress)
    for outcome, count in report.outcomes.most_common():
        print(f"{count:8} {outcome}")
    print(f"{sum(report.outcomes.values())} mutants, {len(report.findings)} findings")
    return 1 if report.findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
