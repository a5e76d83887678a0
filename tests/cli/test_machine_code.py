"""`simtlab inspect --sass` and a module's own listings."""

import json

import pytest

import simtlab as sl
from tests.cli.conftest import invoke

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
