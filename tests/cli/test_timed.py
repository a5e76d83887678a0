"""Timed runs from the command line: figures that agree with the Python interface, words for what is wrong, Ctrl-C."""

import json
import os
import pty
import re
import signal
import subprocess
import time
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import simtlab as sl
from simtlab.cli.answer import FAULT, answer
from simtlab.lab.machines import MachineChoice, choose
from simtlab.machine import machine
from simtlab.machine.counters import COUNTERS
from simtlab.machine.machine import Interrupted
from simtlab.policies.choice import PolicyChoice
from tests.cli.conftest import ENVIRONMENT, PROGRAM, SAXPY, SAXPY_ARGUMENTS, invoke, refused, subprocess_run

LAUNCH = ["run", SAXPY, "--grid", 4, "--block", 256, *SAXPY_ARGUMENTS]
TIMED = [*LAUNCH, "--gpu", "caps-gtx480"]
ENDLESS = "__global__ void spin(volatile unsigned *x) { for (unsigned i = 0;; i++) *x = i; }\n"
SPIN = ["--grid", 1, "--block", 1, "--arg", "u32[1]=zeros", "--gpu", "caps-gtx480"]
LAST_FIRST = '''"""The warp in the highest slot that is ready."""
from simtlab.policies.hook import hook, next_after

@hook
def pick(core, own, ready, cycle):
    return next_after(ready, 0)
'''
TOML = """
source = "saxpy.cu"
gpu = "caps-gtx480"
set.core.max_ctas = 2
[policies]
warp_scheduler = "mine.py"
[arrays]
x = "f32[1000]=arange"
y = "f32[1000]=ones"
[[launch]]
grid = 4
block = 256
args = ["i32:1000", "f32:2", "x", "y"]
repeat = 2
[[launch]]
grid = 8
block = 128
args = ["i32:1000", "f32:2", "x", "y"]
"""


def answered(*arguments: object) -> dict:
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@cache
def timing() -> dict:
    return answered(*TIMED)["timing"]


def launched(gpu: sl.Gpu) -> sl.Run:
    x, y = gpu.array(np.arange(1000, dtype="f4")), gpu.array(np.ones(1000, "f4"))
    return gpu.compile(SAXPY)["saxpy"](4, 256, [1000, 2.0, x, y])


# Figures --------------------------------------------------------------------------------------------------------------


def test_json_has_every_counter_with_unit_and_meaning_and_the_same_values_as_python():
    run = launched(sl.Gpu("caps-gtx480"))
    assert (timing()["cycles"], timing()["ipc"], timing()["instructions"]) == (run.cycles, run.ipc, run.instructions)
    assert timing()["stalls"] == run.stalls
    assert list(timing()["counters"]) == [counter.name for counter in COUNTERS]
    for counter in COUNTERS:
        expected = {"value": run.counters[counter.name], "unit": counter.unit, "meaning": counter.meaning}
        assert timing()["counters"][counter.name] == expected


def test_bank_conflicts_say_that_they_are_those_of_registers():
    counters = timing()["counters"]
    assert [name for name in counters if "bank" in name] == ["register_bank_conflicts"]
    assert "register bank" in counters["register_bank_conflicts"]["meaning"]


def test_stalls_add_up_to_all_scheduler_cycles_and_come_largest_first():
    stalls = list(timing()["stalls"].values())
    assert sum(stalls) == timing()["cycles"] * 15
    assert stalls == sorted(stalls, reverse=True)


def test_stalls_by_scheduler_name_each_cause_as_python_counts_it():
    run = launched(sl.Gpu("caps-gtx480")).timing
    causes = list(run.stalls)
    assert [(row["core"], row["scheduler"]) for row in timing()["stalls_by_scheduler"]] == [(core, 0) for core in range(15)]
    for row in timing()["stalls_by_scheduler"]:
        counted = run.stalls_by_scheduler[row["core"], row["scheduler"]]
        assert row["stalls"] == {cause: count for cause, count in zip(causes, counted.tolist(), strict=True) if count}
    for cause in causes:
        assert sum(row["stalls"].get(cause, 0) for row in timing()["stalls_by_scheduler"]) == timing()["stalls"][cause]


def test_stalls_by_line_name_the_source_and_hold_all_that_an_instruction_waited_for():
    lines = timing()["stalls_by_line"]
    named = {row["line"]: row["stalls"] for row in lines if row["file"]}
    assert set(named) == {2, 3, 4, 5, 7}
    assert all(row["file"].endswith("saxpy.cu") for row in lines if row["file"])
    for cause in ("long_scoreboard", "wait", "drain"):
        assert sum(row["stalls"].get(cause, 0) for row in lines) == timing()["stalls"][cause]
    assert max(named, key=lambda line: named[line].get("long_scoreboard", 0)) == 5


def test_bandwidth_is_bytes_over_the_machines_own_time():
    counters = {name: counter["value"] for name, counter in timing()["counters"].items()}
    moved = 128 * (counters["dram_reads"] + counters["dram_writes"])
    assert timing()["dram_bytes_per_second"] == pytest.approx(moved / (timing()["cycles"] / 1400e6))
    assert timing()["dram_peak_bytes_per_second"] == pytest.approx(177.4e9, rel=1e-3)


def test_utilisation_is_that_of_python_and_shown_where_there_is_any():
    found = timing()["utilisation"]
    assert found == launched(sl.Gpu("caps-gtx480")).utilisation
    assert 0 < found["dram_bus"] < 1
    assert found["sfu"] == 0
    line = next(line for line in invoke(*TIMED).stdout.splitlines() if line.startswith("utilisation "))
    assert f"dram bus {found['dram_bus']:.1%}" in line
    assert "sfu" not in line


def test_energy_is_that_of_python_by_component_and_in_all():
    run = launched(sl.Gpu("caps-gtx480"))
    found, total = timing()["energy_joules"], sum(run.energy.values())
    assert found == run.energy
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert timing()["mean_watts"] * timing()["seconds_on_the_machine"] == pytest.approx(total)
    lines = dict(line.split(None, 1) for line in invoke(*TIMED).stdout.splitlines() if line.startswith(("energy ", "spent ")))
    assert lines["energy"] == f"{total * 1e6:,.4g} µJ, {timing()['mean_watts']:.3g} W on average"
    assert lines["spent"].startswith(f"in  static {found['static'] / total:.1%}, ")
    assert "policies" not in lines["spent"]  # none declares any


def test_text_has_the_figures_and_a_bar_for_each_cause_that_occurred():
    text = invoke(*TIMED).stdout
    assert f"cycles          {timing()['cycles']:,} (" in text
    assert "occupancy       6 CTAs a core, limited by warps" in text
    assert "load latency" in text
    assert "L1 reservation failures" in text
    assert "of 177.4 GB/s" in text
    assert "argument 3" in text  # the arrays, as ever
    lines = text.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("scheduler cycles"))
    bars = lines[start + 1 : lines.index("", start)]
    occurred = {cause.replace("_", " "): count for cause, count in timing()["stalls"].items() if count}
    assert [line.rstrip("#").split("%")[0].rsplit(None, 1)[0].strip() for line in bars] == list(occurred)
    assert all(line.endswith("#") for line in bars)
    assert bars[0].count("#") == 40


def test_functional_runs_say_nothing_of_cycles():
    assert "timing" not in answered(*LAUNCH)
    assert "cycles" not in invoke(*LAUNCH).stdout


# Machines and policies ------------------------------------------------------------------------------------------------


def test_set_and_policy_reach_the_machine():
    found = answered(*TIMED, "--set", "core.max_ctas=1", "--policy", "warp_scheduler=two-level,active_warps=2")["timing"]
    divided = {"l1_bytes": 16384, "shared_bytes": 49152}
    assert found["occupancy"] == [{"kernel": "saxpy", "ctas": 1, "limited_by": "CTA slots", **divided}]
    assert found["set"] == {"core.max_ctas": 1}
    assert found["policies"] == {"warp_scheduler": {"name": "two-level", "parameters": {"active_warps": 2}}}
    gpu = sl.Gpu("caps-gtx480", warp_scheduler="two-level,active_warps=2", set={"core.max_ctas": 1})
    assert found["cycles"] == launched(gpu).cycles
    assert found["cycles"] != timing()["cycles"]


def test_a_policy_of_the_users_and_a_workload(write):
    mine = write("mine.py", LAST_FIRST)
    found = answered("run", "MM", "--size", "tiny", "--gpu", "caps-gtx480", "--policy", f"warp_scheduler={mine}")
    assert (found["gpu"], found["checked"]) == ("caps-gtx480", True)
    assert found["timing"]["cycles"] == found["cycles"] == sum(launch["cycles"] for launch in found["launches"])
    assert sum(found["timing"]["stalls"].values()) == found["cycles"] * 15
    text = invoke("run", "MM", "--size", "tiny", "--gpu", "caps-gtx480").stdout
    assert "as the reference has them" in text
    assert "DRAM bandwidth" in text


def test_a_toml_file_may_name_the_machine_and_the_options_go_before_it(write, tmp_path):
    (tmp_path / "saxpy.cu").write_text(SAXPY.read_text())
    write("mine.py", LAST_FIRST)
    path = write("launches.toml", TOML)
    found = answered("run", path)
    assert found["timing"]["set"] == {"core.max_ctas": 2}
    assert found["timing"]["policies"]["warp_scheduler"]["name"] == str(tmp_path / "mine.py")
    assert [launch["timing"]["occupancy"][0]["ctas"] for launch in found["launches"]] == [2, 2]
    assert found["timing"]["cycles"] == sum(launch["timing"]["cycles"] for launch in found["launches"])
    other = answered("run", path, "--policy", "warp_scheduler=gto", "--set", "core.max_ctas=1")
    assert other["timing"]["policies"]["warp_scheduler"]["name"] == "gto"
    assert other["timing"]["set"] == {"core.max_ctas": 1}
    header = invoke("run", path).stdout.splitlines()[0]
    assert header.split()[-2:] == ["cycles", "ipc"]


def test_options_as_a_choice():
    assert choose(None, [], []) == MachineChoice()
    chosen = choose("gtx480", ["l1d.ways=8"], ["warp-scheduler=two-level, active_warps=6"])
    assert chosen.changes == {"l1d.ways": 8}
    assert chosen.policies == {"warp_scheduler": PolicyChoice("two-level", {"active_warps": 6})}
    assert str(chosen) == "gtx480, l1d.ways=8, warp_scheduler=two-level,active_warps=6"


def test_list_gpus():
    rows = {row["name"]: row for row in json.loads(invoke("list", "gpus", "--json").stdout)["gpus"]}
    assert (rows["caps-gtx480"]["cores"], rows["caps-gtx480"]["l1d_bytes"]) == (15, 16384)
    caps = next(line for line in invoke("list", "gpus").stdout.splitlines() if line.startswith("caps-gtx480 "))
    assert caps.split() == ["caps-gtx480", "15", "1400", "48", "1", "16", "48", "768", "6", "×", "GDDR5", "177.4", "ptx"]
    assert (rows["rtx4090"]["isa"], rows["rtx4090"]["cores"]) == ("sm_89", 128)


def test_list_gpus_says_where_a_launch_divides_l1_and_shared_memory():
    rows = {row["name"]: row for row in json.loads(invoke("list", "gpus", "--json").stdout)["gpus"]}
    assert (rows["h200"]["l1d_bytes"], rows["h200"]["shared_bytes"]) == (262144, 233472)
    assert rows["h200"]["splits"][0] == [262144, 0]
    assert rows["caps-gtx480"]["splits"] == []
    lines = invoke("list", "gpus").stdout.splitlines()
    h200 = next(line.split() for line in lines if line.startswith("h200 "))
    assert h200[5:7] == ["≤256", "≤228"]
    told = next(line for line in lines if line.startswith("h200: "))
    assert "each launch divides it by the shared memory its CTAs want, 256 and 0 KB to 28 and 228 KB" in told


@pytest.mark.parametrize(("shared", "parts"), [(0, (262144, 0)), (100_000, (61440, 200704))])
def test_a_run_says_how_it_divided_l1_and_shared_memory(shared, parts):
    arguments = [*LAUNCH, "--gpu", "h200", "--shared", shared]
    (row,) = answered(*arguments)["timing"]["occupancy"]
    assert (row["l1_bytes"], row["shared_bytes"]) == parts
    line = next(line for line in invoke(*arguments).stdout.splitlines() if line.startswith("divided "))
    assert line.split(maxsplit=1)[1] == f"{parts[0] // 1024} KB of L1, {parts[1] // 1024} KB of shared memory a core"
    assert "divided" not in invoke(*TIMED).stdout  # a machine whose parts are fixed


def test_list_policies():
    rows = json.loads(invoke("list", "policies", "--json").stdout)["policies"]
    two_level = next(row for row in rows if row["name"] == "two-level")
    assert two_level["parameters"] == {"active_warps": 8}
    assert two_level["summary"].startswith("Two-level scheduling with an active set")
    assert re.search(r"warp_scheduler +gto ", invoke("list", "policies").stdout)


# What is wrong --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--gpu", "caps-gtx48"], "no machine named caps-gtx48: did you mean caps-gtx480?"),
        (["--gpu", "none.toml"], "none.toml: cannot be read: No such file"),
        (["--gpu", "gtx480", "--set", "l1d.way=8"], "unknown key l1d.way (given \"8\"): did you mean l1d.ways"),
        (["--gpu", "gtx480", "--set", "l1d.ways=0"], "l1d.ways = 0 is impossible: allowed is"),
        (["--gpu", "gtx480", "--set", "l1d.ways=many"], "l1d.ways = \"many\" is impossible"),
        (["--gpu", "gtx480", "--set", "l1d.ways"], "write key=value, such as l1d.ways=8"),
        (["--gpu", "gtx480", "--policy", "warp_scheduler=gtp"], "no warp scheduler 'gtp'; did you mean 'gto'?"),
        (["--gpu", "gtx480", "--policy", "warp_scheduler=two-level,warps=6"], "has no parameter 'warps'; it has: active_warps"),
        (["--gpu", "gtx480", "--policy", "warp_scheduler=two-level,active_warps=1.5"], "allowed is a whole number"),
        (["--gpu", "gtx480", "--policy", "warp_scheduler=two-level,active_warps=x"], "'x', which is no number; for example"),
        (["--gpu", "gtx480", "--policy", "warp_scheduler=two-level,active_warps"], "'active_warps' is no parameter"),
        (["--gpu", "gtx480", "--policy", "gto"], "it must be a slot and a policy; for example warp_scheduler=gto"),
        (["--gpu", "gtx480", "--policy", "scheduler=gto"], "there is no slot 'scheduler', only warp_scheduler"),
        (["--set", "l1d.ways=8"], "--set is for timed runs and needs a machine: add --gpu"),
        (["--policy", "warp_scheduler=gto"], "--policy is for timed runs and needs a machine: add --gpu"),
        (["--check-policies"], "--check-policies is for timed runs and needs a machine: add --gpu"),
    ],
)
def test_a_machine_that_cannot_be(more, words):
    assert words in refused(2, *LAUNCH, *more)
    assert words in refused(2, "run", "MM", "--size", "tiny", *more)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def pick(core:\n", "SyntaxError"),
        ("import nothing_of_the_kind\n", "ModuleNotFoundError"),
        ("state = 3\n", "state = 3 is impossible"),
        ("x = 3\n", "lacks the hook 'pick'"),
        ("def pick(core, own, ready, cycle):\n    return core.no_such_field\n", "no_such_field"),
    ],
)
def test_a_policy_file_that_cannot_be_used(write, code, words):
    path = write("mine.py", code)
    assert words in refused(2, *TIMED, "--policy", f"warp_scheduler={path}")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("gpu = 3", "'gpu' must be a string, not 3"),
        ("gpu = 'gtx480'\nset = 3", "'set' must be a table"),
        ("gpu = 'gtx480'\nset.l1d.way = 3", "unknown key l1d.way"),
        ("gpu = 'gtx480'\npolicies.prefetch = 'x'", "policies.prefetch: there is no slot 'prefetch'"),
        ("gpu = 'gtx480'\npolicies.warp_scheduler = 3", "policies.warp_scheduler: it must be a string, not 3"),
        ("set.l1d.ways = 8", "needs a machine"),
    ],
)
def test_a_machine_in_a_toml_file_that_cannot_be(write, tmp_path, lines, words):
    (tmp_path / "saxpy.cu").write_text(SAXPY.read_text())
    rest = "\n".join(line for line in TOML.splitlines() if not line.startswith(("gpu", "set", "[policies", "warp")))
    assert words in refused(2, "run", write("bad.toml", f"{lines}\n{rest}"))


def test_a_kernel_that_fits_in_no_core():
    message = refused(2, *TIMED, "--shared", 100_000)
    assert "fits in no core of caps-gtx480: it needs 100000 bytes of shared memory" in message


def test_a_wrong_result_is_no_bad_input(capsys):
    def work():
        raise sl.WrongResult("y", 1, "y differs")

    with pytest.raises(BaseException) as exit:
        answer(work, False)
    assert exit.value.exit_code == FAULT  # type: ignore[attr-defined]


def test_a_bad_number_of_threads_in_the_environment(monkeypatch):
    monkeypatch.setenv("SIMTLAB_THREADS", "abc")
    assert "SIMTLAB_THREADS is 'abc'; it must be a number of host threads" in refused(2, *LAUNCH)


# Ctrl-C and progress --------------------------------------------------------------------------------------------------


def processor_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def stopped(arguments: list, after_seconds: float) -> tuple[subprocess.Popen, str, str, float]:
    """Start a run, press Ctrl-C after so many seconds of the processor's time, and see how long it takes to end."""
    process = subprocess.Popen([*PROGRAM, *map(str, arguments)], env=ENVIRONMENT, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    while process.poll() is None and processor_seconds(process.pid) < after_seconds:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    stdout, stderr = process.communicate(timeout=60)
    return process, stdout, stderr, time.monotonic() - begin


def test_ctrl_c_stops_a_machine_and_gives_the_counters_so_far(write):
    path = write("spin.cu", ENDLESS)
    subprocess_run(*TIMED)  # the machine is compiled by now
    process, stdout, stderr, seconds = stopped(["run", path, *SPIN, "--json"], 5)  # of which two pass before the kernel begins
    assert (process.returncode, stderr) == (130, "")
    found = json.loads(stdout)
    assert found["interrupted"]
    assert found["timing"]["cycles"] > 20_000
    assert sum(found["timing"]["stalls"].values()) == found["timing"]["cycles"] * 15
    assert seconds < 15  # a second to stop; the rest is the process's own end, with other work on this host


def test_an_interrupted_gpu_is_as_new(write):
    gpu = sl.Gpu("caps-gtx480")
    expected = launched(sl.Gpu("caps-gtx480"))
    spin = gpu.compile(write("spin.cu", ENDLESS))["spin"]

    class Watch:
        def __init__(self, kernel: str):
            self.told: list[int] = []

        def __enter__(self):
            return self.report

        def __exit__(self, *error):
            assert self.told[0] == 256

        def report(self, cycles: int, share: float) -> None:
            assert share == 0
            self.told.append(cycles)
            if len(self.told) == 3:
                signal.raise_signal(signal.SIGINT)

    usual, gpu.watch = gpu.watch, Watch
    with pytest.raises(Interrupted) as stop:
        spin(1, 1, [gpu.zeros(1, "u4")])
    assert 3 * 256 <= stop.value.run.cycles <= 7 * 256
    assert sum(stop.value.run.stalls.values()) == stop.value.run.cycles * 15
    assert stop.value.run.instructions == stop.value.run.stalls["issued"] > 0
    gpu.watch = usual
    again = launched(gpu)
    assert (again.counters["l1_misses"], again.instructions) == (expected.counters["l1_misses"], expected.instructions)
    assert sum(again.stalls.values()) == again.cycles * 15


def test_how_often_a_run_looks_up_changes_no_count(monkeypatch):
    """Parts grow and shrink with the host's speed."""
    usual = launched(sl.Gpu("caps-gtx480"))
    monkeypatch.setattr(machine, "next_part", lambda cycles, seconds: 7)
    often = launched(sl.Gpu("caps-gtx480"))
    assert (often.cycles, often.stalls, often.counters) == (usual.cycles, usual.stalls, usual.counters)
    assert np.array_equal(often.timing.stalls_by_instruction, usual.timing.stalls_by_instruction)


def test_parts_of_a_run_take_a_fraction_of_a_second():
    assert machine.next_part(1024, 0.05) == 2048
    assert machine.next_part(1024, 0.2) == 1024
    assert machine.next_part(1024, 0.9) == 512
    assert machine.next_part(machine.FEWEST_CYCLES, 70.0) == machine.FEWEST_CYCLES
    assert machine.next_part(machine.STRETCH, 0.0) == machine.STRETCH


def test_a_terminal_sees_the_cycles_go_by(write):
    path = write("spin.cu", ENDLESS)
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*PROGRAM, *map(str, ["run", path, *SPIN])], env={**ENVIRONMENT, "TERM": "xterm"},
                               stdout=subprocess.PIPE, stderr=theirs, text=True)  # fmt: skip
    os.close(theirs)
    seen, begin = b"", time.monotonic()
    while b" cycles" not in seen and time.monotonic() - begin < 60:
        seen += os.read(ours, 4096)
    process.send_signal(signal.SIGINT)
    stdout, _ = process.communicate(timeout=60)
    os.close(ours)
    assert b"spin: " in seen
    assert process.returncode == 130
    assert stdout.startswith("stopped by Ctrl-C; until then:\nkernel")
    assert "scheduler cycles" in stdout


def test_a_limit_of_cycles_shows_who_waits_and_what_was_counted(tmp_path):
    source = tmp_path / "spin.cu"
    source.write_text(ENDLESS)
    result = invoke("run", source, *SPIN, "--max-cycles", 3000)
    assert result.exit_code == FAULT
    assert result.stderr.startswith("error: kernel '")
    assert "is not done after 3000 cycles" in result.stderr
    assert "core 0: warps 0 " in result.stderr
    assert result.stdout.startswith("stopped at the limit of cycles; until then:\nkernel")
    assert "scheduler cycles" in result.stdout
    result = invoke("run", source, *SPIN, "--max-cycles", 3000, "--json")
    assert result.stderr.startswith("error: kernel '")
    found = json.loads(result.stdout)
    assert found["error"].startswith("kernel '")
    assert found["timing"]["cycles"] == 3000
    assert sum(found["timing"]["stalls_by_scheduler"][0]["stalls"].values()) == 3000


def test_a_limit_of_cycles_needs_a_machine():
    assert "--max-cycles is for timed runs and needs a machine" in refused(2, *LAUNCH, "--max-cycles", 10)


# Saved runs -----------------------------------------------------------------------------------------------------------


def test_a_run_is_saved_and_goes_on(tmp_path):
    file = tmp_path / "mm.saved"
    asked = ["MM", "--size", "tiny", "--gpu", "caps-gtx480", "--json"]
    first = invoke("run", *asked, "--save-every", "0", "--save-to", file)
    assert file.exists()
    again, undisturbed = invoke("run", *asked, "--resume", file), invoke("run", *asked)
    assert without_times(again) == without_times(first) == without_times(undisturbed)


def without_times(done) -> dict:
    """What a command printed but for how long the host took."""
    return {name: value for name, value in json.loads(done.stdout).items() if "seconds" not in name and "rate" not in name}


@pytest.mark.parametrize("asked", [("--save-every", "1"), ("--resume", "x")])
def test_saves_are_for_timed_runs(asked):
    done = invoke("run", "MM", "--size", "tiny", *asked)
    assert done.exit_code == 2
    assert f"{asked[0]} is for timed runs and needs a machine" in done.stderr
