"""`simtlab inspect --sass` and a module's own listings."""

import json

import pytest

import simtlab as sl
from simtlab.cli.answer import BAD_INPUT
from tests.cli.conftest import invoke, refused

SOURCE = """extern "C" __global__ void scale(float *x, float a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[i] = a * x[i];
}
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.cu").write_text(SOURCE)
    return "scale.cu"


def test_machine_code_stands_under_its_cuda_lines_with_control_bits(file):
    lines = invoke("inspect", file, "--sass").stdout.splitlines()
    assert lines[0].startswith("scale, sm_90: ")
    load = next(k for k, line in enumerate(lines) if " LDG.E " in line)
    multiply = next(line for line in lines if " FMUL " in line)
    above = [line for line in lines[:load] if line.startswith("scale.cu:")][-1]
    assert above == "scale.cu:4  x[i] = a * x[i];"
    barrier = lines[load].split(" w")[1][0]  # set when the load has written its register
    waits = int(multiply.split()[5], 2)
    assert waits >> int(barrier) & 1


def test_machine_code_as_json_has_every_instruction(file):
    found = json.loads(invoke("inspect", file, "--sass", "--isa", "sm_75", "--json").stdout)
    assert found["isa"] == "sm_75"
    rows = found["kernels"]["scale"]
    assert [row["address"] for row in rows] == list(range(0, 16 * len(rows), 16))
    assert any(row["text"].startswith("FMUL") and row["source_line"] == 4 for row in rows)


def test_an_architecture_that_there_is_not_is_refused(file):
    result = invoke("inspect", file, "--sass", "--isa", "sm_20")
    assert result.exit_code == 2
    assert "sm_75, sm_80" in result.stderr


def test_a_module_shows_its_ptx_and_its_machine_code():
    module = sl.Gpu(isa="sm_90").compile(SOURCE)
    assert ".visible .entry scale" in module.ptx
    assert "FMUL" in module.sass
    plain = sl.Gpu().compile(SOURCE)
    assert "mul.f32" in plain.ptx
    assert plain.sass == ""


def test_the_ptx_of_a_line_stands_beside_its_machine_code(file):
    lines = invoke("inspect", file, "--sass").stdout.splitlines()
    here = next(k for k, line in enumerate(lines) if line == "scale.cu:4  x[i] = a * x[i];")
    until = next(k for k in range(here + 1, len(lines)) if lines[k].startswith("scale.cu:"))
    assert any("mul.f32" in line for line in lines[here:until])
    found = json.loads(invoke("inspect", file, "--sass", "--json").stdout)["ptx"]["scale"]
    assert any(row["text"].startswith("mul.f32") and row["source_line"] == 4 for row in found)


LAUNCH = ["--grid", 1, "--block", 64, "--arg", "f32[64]=arange", "--arg", "f32:3"]


def test_run_executes_what_isa_says(file):
    ran = {isa: json.loads(invoke("run", file, *LAUNCH, "--isa", isa, "--json").stdout) for isa in ("ptx", "sm_75", "sm_90")}
    assert ran["sm_90"]["registers_from"] == "ptxas for sm_90"
    assert len({one["instructions"] for one in ran.values()}) > 1
    timed = json.loads(invoke("run", file, *LAUNCH, "--gpu", "caps-gtx480", "--isa", "sm_75", "--json").stdout)
    assert timed["timing"]["set"] == {"core.isa": "sm_75"}
    assert timed["instructions"] == ran["sm_75"]["instructions"]
    assert "core.isa" in refused(BAD_INPUT, "run", file, *LAUNCH, "--gpu", "caps-gtx480", "--isa", "sm_20")
    assert "sm_75, sm_80" in refused(BAD_INPUT, "run", file, *LAUNCH, "--isa", "sm_20")
