"""Fetch public CUDA suites, build their applications unmodified with `simtlab nvcc`, run them, and write docs/suites.md.

    python suites/run.py                              everything that is in the catalogue
    python suites/run.py --suite rodinia --only bfs   one suite, one application
    python suites/run.py --timed                      on a timed machine, those that the catalogue says are small enough
    python suites/run.py --page                       write the page anew from what was found before

Nothing of a suite is in this repository: its sources are cloned into build/suites (or taken from --sources, a folder with a clone
of each). `catalogue/` says for each application how it is built and run, and what tells that it was right; `inputs/` makes input
files for those whose suites have theirs elsewhere. What was found is kept in `results/`, an application at a time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

HERE = Path(__file__).parent
CATALOGUE = sorted((HERE / "catalogue").glob("*.toml"))
RESULTS = HERE / "results"
WORK = HERE.parent / "build" / "suites"
MACHINE = "caps-gtx480"
SIMTLAB = str(Path(sys.executable).parent / "simtlab")
SAID = 300  # characters of a failure that are kept


@dataclass(frozen=True)
class Application:
    """An entry of the catalogue."""

    name: str
    suite: str  # the catalogue's file
    folder: str = "."  # in the suite's tree; commands run there
    inputs: Sequence[str] = ()  # arguments of the suite's file in inputs/
    build: str = ""  # shell commands; $NVCC is `simtlab nvcc`
    run: str = ""  # the program and its arguments
    check: str = ""  # a regular expression that must be found in what it prints
    refuse: str = ""  # one that must not
    verify: str = ""  # a shell command that compares what it wrote, if its output does not say it
    how: str = ""  # what the check is, in words
    timed_run: str = ""  # the program and its arguments for a timed machine; "same" as run; empty: not tried
    machine: str = MACHINE  # that it is timed on
    limit_s: int = 300
    note: str = ""  # what it needed beside its suite
    fails: str = ""  # why it does not run here: it is not tried


@dataclass
class Found:
    """What came of an application."""

    built: bool = False
    passed: bool = False
    build_s: float = 0.0
    run_s: float = 0.0
    launches: int = 0
    instructions: int = 0
    said: str = ""  # where it failed: the end of what it printed
    timed: dict[str, Any] = field(default_factory=dict)  # machine, cycles, seconds, passed


def read_catalogue(wanted: str) -> dict[str, tuple[dict[str, str], list[Application]]]:
    """The suites, each with what is said of it and its applications."""
    suites = {}
    for path in CATALOGUE:
        if wanted and path.stem != wanted:
            continue
        entries = tomllib.loads(path.read_text())
        about = entries.pop("suite")
        suites[path.stem] = (about, [Application(name, path.stem, **entry) for name, entry in entries.items()])
    return suites


def fetch(name: str, about: dict[str, str], sources: Path | None) -> Path:
    """A clone of the suite at the commit that the catalogue names."""
    if sources is not None:
        return sources / name
    folder = WORK / name
    if not folder.exists():
        print(f"cloning {about['source']}", flush=True)
        subprocess.run(["git", "clone", "--quiet", about["source"], str(folder)], check=True)
        subprocess.run(["git", "-C", str(folder), "checkout", "--quiet", about["commit"]], check=True)
    return folder


def environment(suite: str, tree: Path) -> dict[str, str]:
    """$NVCC, $INPUTS, $SUITE, and an `nvcc` on the PATH for makefiles that name no other."""
    wrapper = WORK / "bin" / "nvcc"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    wrapper.write_text(f'#!/bin/sh\nPATH=$(echo "$PATH" | sed "s#{wrapper.parent}:##g") exec {SIMTLAB} nvcc "$@"\n')
    wrapper.chmod(0o755)
    inputs = f"{sys.executable} {HERE / 'inputs' / suite}.py"
    path = f"{wrapper.parent}:{os.environ['PATH']}"
    return {**os.environ, "NVCC": f"{SIMTLAB} nvcc", "INPUTS": inputs, "SUITE": str(tree), "PATH": path}


def shell(command: str, folder: Path, variables: dict[str, str], limit_s: int) -> tuple[int, str, str]:
    """Exit code, stdout and stderr; 124 if it took too long: then all that it started is ended, too."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    child = subprocess.Popen(command, shell=True, cwd=folder, env=variables, start_new_session=True, **pipes)
    late = ""
    try:
        told = child.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        told, late = child.communicate(), f"\nnot done after {limit_s} s"
    out, err = (stream.decode(errors="replace") for stream in told)
    return (124 if late else child.returncode), out, err + late


def execute(one: Application, command: str, folder: Path, variables: dict[str, str], gpu: str) -> tuple[bool, dict[str, Any], str]:
    """Run it under `simtlab exec`: whether its check passed, what was launched, and what it said."""
    machine = f"--gpu {gpu} " if gpu else ""
    # with --json what the application prints is on stderr
    code, answer, printed = shell(f"{SIMTLAB} exec --json {machine}{command}", folder, variables, one.limit_s)
    try:
        told = json.loads(answer)
    except ValueError:
        return False, {}, printed
    right = code == 0 or bool(one.check)  # some end with another status though all is well
    if one.check:
        right = right and re.search(one.check, printed, re.MULTILINE) is not None
    if one.refuse:
        right = right and re.search(one.refuse, printed, re.MULTILINE) is None
    if right and one.verify:
        code, out, err = shell(one.verify, folder, variables, one.limit_s)
        right, printed = code == 0, printed + out + err
    return right and told["killed_by"] is None, told, printed


def try_out(one: Application, tree: Path, before: dict[str, Any], timed: bool) -> Found:
    """Build and run an application."""
    folder, variables = tree / one.folder, environment(one.suite, tree)
    found = Found()
    begin = time.monotonic()
    for command in (*(f"$INPUTS {made}" for made in one.inputs), one.build):
        code, out, err = shell(command, folder, variables, 600)
        if code:
            found.said = (out + err).strip()[-SAID:]
            return found
    found.built, found.build_s = True, round(time.monotonic() - begin, 1)
    begin = time.monotonic()
    found.passed, told, printed = execute(one, one.run, folder, variables, "")
    found.run_s = round(time.monotonic() - begin, 1)
    launches = told.get("launches", [])
    found.launches, found.instructions = len(launches), sum(each["instructions"] for each in launches)
    found.said = "" if found.passed else printed.strip()[-SAID:]
    found.timed = before.get("timed", {})
    if timed and one.timed_run and found.passed:
        found.timed = time_it(one, folder, variables)
    return found


def time_it(one: Application, folder: Path, variables: dict[str, str]) -> dict[str, Any]:
    begin = time.monotonic()
    command = one.run if one.timed_run == "same" else one.timed_run
    passed, told, printed = execute(one, command, folder, variables, one.machine)
    launches = told.get("launches", [])
    cycles, instructions = (sum(each.get(what, 0) for each in launches) for what in ("cycles", "instructions"))
    seconds = round(time.monotonic() - begin, 1)
    return {"machine": one.machine, "passed": passed, "cycles": cycles, "instructions": instructions, "seconds": seconds,
            "said": "" if passed else printed.strip()[-SAID:]}  # fmt: skip


class Results:
    """What was found: a file for each suite, in it the applications by name."""

    def __init__(self, folder: Path):
        self.folder, self._lock = folder, Lock()

    def read(self, suite: str) -> dict[str, Any]:
        path = self.folder / f"{suite}.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def put(self, one: Application, found: Found) -> None:
        with self._lock:
            every = {**self.read(one.suite), one.name: {**asdict(found), "on": platform.machine()}}
            self.folder.mkdir(exist_ok=True)
            (self.folder / f"{one.suite}.json").write_text(json.dumps(dict(sorted(every.items())), indent=1) + "\n")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--suite", default="", help="one of " + ", ".join(path.stem for path in CATALOGUE))
    options.add_argument("--only", default="", help="a regular expression for names of applications")
    options.add_argument("--sources", type=Path, help="a folder with clones of the suites, named as in the catalogue")
    options.add_argument("--timed", action="store_true", help="on a timed machine as well")
    options.add_argument("--missing", action="store_true", help="only those that have not passed yet")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--page", action="store_true", help="write docs/suites.md from what was found, and run nothing")
    given = options.parse_args()
    results, suites = Results(RESULTS), read_catalogue(given.suite)
    if given.page:
        from page import PAGE, page_of

        everything = read_catalogue("")
        PAGE.write_text(page_of(everything, {name: results.read(name) for name in everything}))
        print(PAGE)
        return 0
    make_ready(given.timed)
    failed = 0
    for name, (about, applications) in suites.items():
        tree, before = fetch(name, about, given.sources), results.read(name)
        chosen = [one for one in applications if not one.fails and re.search(given.only, one.name)]
        if given.missing:
            chosen = [one for one in chosen if not done(before.get(one.name, {}), one, given.timed)]
        with ThreadPoolExecutor(given.jobs) as pool:
            tried = ((one, pool.submit(try_out, one, tree, before.get(one.name, {}), given.timed)) for one in chosen)
            for one, future in list(tried):
                found = future.result()
                results.put(one, found)
                failed += not found.passed
                show(one, found)
    return int(failed > 0)


def make_ready(timed: bool) -> None:
    """Compile the executor, or the machine, before anything runs within a limit of time."""
    subprocess.run([sys.executable, "-c", f"from simtlab.cli.progress import make_ready; make_ready({timed})"], check=True)


def done(before: dict[str, Any], one: Application, timed: bool) -> bool:
    return bool(before.get("passed")) and not (timed and one.timed_run and not before.get("timed", {}).get("passed"))


def show(one: Application, found: Found) -> None:
    state = "passed" if found.passed else "FAILED" if found.built else "not built"
    timed = f", {found.timed['cycles']:,} cycles in {found.timed['seconds']} s" if found.timed else ""
    print(f"{one.suite}/{one.name}: {state}, {found.launches} launches, {found.run_s} s{timed}", flush=True)
    if not found.passed:
        print("    " + found.said.replace("\n", "\n    "), flush=True)


if __name__ == "__main__":
    sys.exit(main())
