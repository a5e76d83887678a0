"""The correlation suite: what is measured, what a kit holds, and how a machine is put beside a GPU."""

import json
import math
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import simtlab as sl
from simtlab.cli.answer import BAD_INPUT
from simtlab.correlate.cases import cases, is_held_out
from simtlab.correlate.compare import Compared, Measured, beside, case_name, compare, groups, read_measured, summary
from simtlab.correlate.kit import write_kit
from simtlab.correlate.launches import SelectedLaunches, choose
from simtlab.correlate.page import page
from simtlab.lab.machines import choose as choose_machine
from tests.cli.conftest import invoke, refused

FEW = ["empty.2112", "chain_fadd", "chase_shared"]


def case(name):
    (found,) = (one for one in cases([name]) if one.name == name)
    return found


def test_every_kernel_that_was_measured_is_one_of_the_suite():
    names = {one.name for one in cases()}
    kernels = read_measured("h200").kernels
    assert {case_name(kernel) for kernel in kernels} == names
    assert len(kernels) >= 80
    assert all(figures["cycles"] > 0 and figures["instructions"] > 0 for figures in kernels.values())


def test_a_third_of_the_kernels_is_held_out_by_their_names():
    kernels = list(read_measured("h200").kernels)
    held = [kernel for kernel in kernels if is_held_out(kernel)]
    assert 0.25 < len(held) / len(kernels) < 0.42
    assert "chain_ffma" in held
    assert "chain_fadd" not in held


def test_of_each_kernel_the_launch_that_executes_most_is_chosen():
    """BFS has a launch of each kernel for each level; the widest level executes most."""
    gpu, runs = sl.Gpu(isa="sm_90"), []
    gpu.on_launch = runs.append
    case("BFS.small").run(gpu)
    chosen = choose(case("BFS.small"), "sm_90")
    assert [one.name for one in chosen] == ["BFS.small/Kernel", "BFS.small/Kernel2"]
    for one in chosen:
        same = [run.instructions for run in runs if run.kernel == one.kernel]
        assert one.instructions == max(same) == runs[one.number].instructions


def test_only_chosen_launches_are_timed_and_each_from_empty_caches():
    gpu = sl.Gpu("caps-gtx480", isa="sm_90")
    chosen = choose(case("BFS.small"), "sm_90")
    runs = SelectedLaunches(chosen, gpu).run()
    alone = sl.Gpu("caps-gtx480", isa="sm_90")
    again = SelectedLaunches(chosen[1:], alone).run()
    assert runs[chosen[1].name].cycles == pytest.approx(again[chosen[1].name].cycles, rel=0.02)  # its code lies elsewhere


def test_a_kit_has_what_its_launches_need(tmp_path):
    count = write_kit(tmp_path, [case("chase_shared"), case("chase_l1"), case("constant_uniform")], "sm_90")
    with zipfile.ZipFile(tmp_path / "kernels.zip") as archive:
        told = json.loads(archive.read("kernels.json"))
        launches = {one["name"]: one for one in told["launches"]}
        ring = launches["chase_l1"]
        contents = [np.frombuffer(archive.read(one["content"]), np.int32) for one in ring["memory"]]
        assert archive.read(ring["cubin"])[:4] == b"\x7fELF"
    assert count == len(launches) == 3
    assert (ring["kernel"], ring["grid"], ring["block"]) == ("chase_global", [1, 1, 1], [256, 1, 1])
    assert len(bytes.fromhex(ring["parameters"])) == 24
    assert int.from_bytes(bytes.fromhex(ring["parameters"])[:8], "little") == ring["memory"][0]["start"]
    at = 0
    for _ in range(100):
        at, before = int(contents[0][at]), at
        assert at == (before + 33) % 4096
    assert [one["variable"] for one in launches["constant_uniform"]["memory"]].count("table") == 1
    done = subprocess.run([sys.executable, tmp_path / "measure.py", "--help"], capture_output=True, text=True)
    assert "Measure the kernels" in done.stdout


FAKE = """#!/bin/sh
case "$1" in --version) echo NVIDIA; echo Version 1.2; exit;; esac
echo ==PROF==
echo '"ID","Kernel Name","sm__cycles_elapsed.max","smsp__inst_executed.sum"'
echo '"","","cycle","inst"'
echo '"0","empty","2,693","8"'
"""


def measured_with(folder, ncu, path):
    command = [sys.executable, folder / "measure.py", "--ncu", ncu, "-o", folder / "measured.json"]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": str(path)})


def test_the_script_of_a_kit_reads_what_ncu_prints(tmp_path):
    write_kit(tmp_path, [case("empty.2112")], "sm_90")
    for name, text in (("ncu", FAKE), ("nvidia-smi", "#!/bin/sh\necho A GPU, 580\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = measured_with(tmp_path, tmp_path / "ncu", f"{tmp_path}:/usr/bin:/bin")
    assert done.returncode == 0, done.stderr
    found = read_measured(str(tmp_path / "measured.json"))
    assert (found.gpu, found.isa) == ("A GPU, 580", "sm_90")
    assert found.date
    assert found.kernels == {"empty.2112": {"cycles": 2693, "instructions": 8}}
    (tmp_path / "ncu").write_text(FAKE.replace("echo '\"0", "# '\"0"))
    assert "ncu measured 0 launches of 1" in measured_with(tmp_path, tmp_path / "ncu", tmp_path).stderr
    assert "nowhere cannot be run: No such file" in measured_with(tmp_path, "nowhere", tmp_path).stderr


def test_a_machine_is_put_beside_a_gpu():
    machine = choose_machine("h200", ["core.cores=4"], [], "sm_90")
    told = []
    rows = compare(machine, read_measured("h200"), FEW, tell=told.append)
    assert [row.name for row in rows] == sorted(FEW, key=list(read_measured("h200").kernels).index)
    assert sorted(row.name for row in told) == sorted(FEW)
    for row in rows:
        assert row.cycles > 0
        assert row.error == row.cycles / row.measured["cycles"] - 1
    counted = {row.name: beside(row, "instructions") for row in rows}
    assert counted == dict.fromkeys(FEW, "1.000")  # the GPU's own instructions


def compared(name, ours, theirs):
    return Compared(name, ours, {"cycles": theirs, "instructions": 1}, {"instructions": 1}, 0.0)


def test_the_summary_is_of_relative_errors():
    rows = [compared("a", 110, 100), compared("b", 80, 100), compared("c", 1000, 1000), compared("d", 200, 100)]
    found = summary(rows)
    assert (found.kernels, found.worst) == (4, 1.0)
    assert found.mean == pytest.approx((0.1 + 0.2 + 0 + 1) / 4)
    assert found.median == pytest.approx(0.15)
    assert found.geometric_mean == pytest.approx(math.exp((math.log(1.1) + math.log(1.25) + math.log(2)) / 4) - 1)
    assert set(groups(rows)) <= {"all", "open", "held out"}
    assert sum(groups(rows)[name].kernels for name in ("open", "held out") if name in groups(rows)) == 4


def test_the_page_has_every_kernel_and_asks_nothing_of_a_network():
    rows = [compared("a", 110, 100), compared("<b>", 80, 100), compared("c", 90, 100)]
    text = page("h200", Measured("NVIDIA H200", "sm_90", "2026-11-17", {}), rows)
    assert "&lt;b&gt;" in text
    assert "+10.0%" in text
    assert "https://" not in text.rpartition("</head>")[2]


def test_the_command_compares_and_says_what_is_wrong(tmp_path):
    told = json.loads(invoke("correlate", "empty.1", "--set", "core.cores=2", "--processes", 1, "--json").stdout)
    assert [one["kernel"] for one in told["kernels"]] == ["empty.1", "empty.132", "empty.16896"]
    assert set(told["summaries"]) == {"all", "open", "held out"}
    assert "no kernel that was measured begins with nothing" in refused(BAD_INPUT, "correlate", "nothing")
    assert "no measurements of 'v100': there are those of h200" in refused(BAD_INPUT, "correlate", "--gpu", "v100")
    assert "no kernel of the suite begins with nothing" in refused(BAD_INPUT, "correlate", "nothing", "--measure", tmp_path / "kit")
    wrong = tmp_path / "measured.json"
    wrong.write_text("[]")
    assert "is no file of measurements" in refused(BAD_INPUT, "correlate", "--against", wrong)
