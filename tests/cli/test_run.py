"""`simtlab run`: right answers, in words, in JSON and in files."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tests.cli.conftest import ENVIRONMENT, ROOT, SAXPY, SAXPY_ARGUMENTS, invoke, subprocess_run

LAUNCH = ["run", SAXPY, "--grid", 4, "--block", 256, *SAXPY_ARGUMENTS]
PRINTING = 'extern "C" __global__ void hello(int n) { if (threadIdx.x < n) printf("hi %d\\n", threadIdx.x); }\n'
SHAPES = """
extern "C" __global__ void shape(int *out) {
    extern __shared__ int room[];
    int me = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    room[me] = me;
    __syncthreads();
    if (me == 0) {
        out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
        out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
        out[6] = room[N];
    }
}
"""
TEMPLATE = "template <typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }\n"


def answered(*arguments: object) -> dict:
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_saxpy_is_computed_and_summarised(tmp_path):
    result = invoke(*LAUNCH, "--out", f"3:{tmp_path / 'y.npy'}")
    assert result.exit_code == 0, result.output
    assert np.array_equal(np.load(tmp_path / "y.npy"), 2 * np.arange(1000, dtype=np.float32) + 1)
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["kernel", "saxpy"] in lines
    assert ["grid", "4"] in lines
    assert ["block", "256"] in lines
    assert ["warp", "instructions", "640"] in lines
    assert [*["argument", "3", "f32[1000]", "999", "1", "1999", "1", "3", "5", "7", "9", "11", "13", "15", "…"]] in lines
    assert "argument 2" not in result.stdout  # x did not change
    assert f"wrote {tmp_path / 'y.npy'}" in result.stdout


def test_json_is_one_object_with_everything():
    found = answered(*LAUNCH)
    assert found["kernel"] == "saxpy"
    assert (found["grid"], found["block"]) == ([4, 1, 1], [256, 1, 1])
    assert found["instructions"] == 640
    assert found["registers"] > 0
    assert found["own_registers"] > 0
    assert found["registers_from"] == "ptxas for sm_75"
    assert found["seconds"] > 0
    assert found["million_instructions_per_second"] == pytest.approx(640 / found["seconds"] / 1e6)
    assert found["printed"] == ""
    x, y = found["arrays"]
    assert (x["name"], x["changed"]) == ("argument 2", 0)
    assert y == {"name": "argument 3", "type": "f32[1000]", "changed": 999, "min": 1.0, "max": 1999.0,
                 "first": [1, 3, 5, 7, 9, 11, 13, 15], "file": None}  # fmt: skip


def test_ptx_gives_the_same_as_cuda():
    from_ptx = answered("run", ROOT / "tests/data/ptx/saxpy.ptx", *LAUNCH[2:])
    assert from_ptx["arrays"] == answered(*LAUNCH)["arrays"]


def test_what_a_kernel_prints_comes_before_the_summary(write):
    result = invoke("run", write("hello.cu", PRINTING), "--grid", 1, "--block", 32, "--arg", "i32:2")
    assert result.stdout.startswith("hi 0\nhi 1\nkernel ")


def test_what_a_kernel_prints_is_in_the_json_and_nowhere_else(write):
    path = write("hello.cu", PRINTING)
    done = subprocess_run("run", path, "--grid", 1, "--block", 32, "--arg", "i32:2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["printed"] == "hi 0\nhi 1\n"
    assert done.stderr == ""


@pytest.mark.parametrize(("grid", "block"), [("2", "64"), ("2x3", "8x8"), ("2,3,4", "4,4,2")])
def test_sizes_shared_memory_and_compiler_options_reach_the_kernel(write, grid, block):
    path = write("shape.cu", SHAPES)
    found = answered("run", path, "--grid", grid, "--block", block, "--arg", "i32[7]=zeros", "--shared", 4096,
                     "--option=-DN=7")  # fmt: skip
    expected = [[*map(int, size.replace("x", ",").split(",")), 1, 1][:3] for size in (grid, block)]
    assert found["arrays"][0]["first"] == [*expected[0], *expected[1], 7]
    assert found["dynamic_shared_bytes"] == 4096


def test_an_include_folder_is_searched(write, tmp_path):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "seven.h").write_text("#define SEVEN 7\n")
    path = write("k.cu", '#include "seven.h"\n__global__ void k(int *x) { *x = SEVEN; }\n')
    found = answered("run", path, "--grid", 1, "--block", 1, "--arg", "i32[1]=zeros", "--include", tmp_path / "headers")
    assert found["arrays"][0]["first"] == [7]


def test_a_template_is_named_with_its_type(write):
    path = write("scale.cu", TEMPLATE)
    found = answered("run", path, "--kernel", "scale<double>", "--grid", 1, "--block", 3, "--arg", "f64[3]=arange",
                     "--arg", "f64:0.5")  # fmt: skip
    assert found["kernel"] == "scale<double>"
    assert found["arrays"][0]["first"] == [0.0, 0.5, 1.0]


def test_infinities_and_nan_are_text_in_json():
    source = ["run", SAXPY, "--grid", 1, "--block", 32, "--arg", "i32:2", "--arg", "f32:2"]
    found = answered(*source, "--arg", "f32[2]=inf", "--arg", "f32[2]=nan")
    assert [array["max"] for array in found["arrays"]] == ["inf", "nan"]


def test_threads_and_seed_change_speed_and_inputs_only():
    random = ["run", SAXPY, "--grid", 4, "--block", 256, "--arg", "i32:1000", "--arg", "f32:2", "--arg", "f32[1000]=random",
              "--arg", "f32[1000]=random"]  # fmt: skip
    one, two, other = (answered(*random, *more) for more in (["--threads", 1], ["--threads", 2], ["--seed", 1]))
    assert one["arrays"] == two["arrays"]
    assert one["arrays"] != other["arrays"]
    assert one["instructions"] == other["instructions"]


def test_the_demo_matches_numpy():
    done = subprocess.run([sys.executable, ROOT / "examples/saxpy.py"], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert "matches NumPy" in done.stdout
    assert "655,360 warp instructions" in done.stdout
