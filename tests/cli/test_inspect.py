"""`simtlab inspect`: needs, blocks and PTX of kernels."""

import json

from tests.cli.conftest import ROOT, SAXPY, invoke, refused

LOOP = """\
__device__ __noinline__ int twice(int x) {
    return 2 * x;
}
extern "C" __global__ void loop(int *out, int n) {
    __shared__ int room[32];
    room[threadIdx.x] = n;
    __syncthreads();
    int sum = 0;
    for (int i = 0; i < n; i++) {
        if (room[i] > 3) sum += twice(room[i]);
        else sum ^= out[i];
    }
    out[threadIdx.x] = sum;
}
extern "C" __global__ void other(float x) { }
"""


def inspected(*arguments: object) -> list[dict]:
    result = invoke("inspect", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["kernels"]


def test_saxpy_meets_again_at_its_last_block():
    [kernel] = inspected(SAXPY)
    assert kernel["name"] == "saxpy"
    assert [(p["type"], p["bytes"], p["offset"]) for p in kernel["parameters"]] == [
        (".u32", 4, 0),
        (".f32", 4, 4),
        (".u64", 8, 8),
        (".u64", 8, 16),
    ]
    assert (kernel["static_shared_bytes"], kernel["local_bytes"]) == (0, 0)
    [function] = kernel["functions"]
    assert 0 < function["most_live_registers"] <= kernel["own_registers"]
    entry, body, end = function["blocks"]
    assert (sorted(entry["successors"]), entry["immediate_dominator"], entry["reconvergence"]) == ([1, 2], None, 2)
    assert (body["successors"], body["dominators"], body["reconvergence"]) == ([2], [0, 1], 2)
    assert (end["successors"], end["dominators"], end["reconvergence"]) == ([], [0, 2], None)


def test_both_register_counts_are_there_and_it_says_which_one_decides(write):
    [kernel] = inspected(SAXPY)
    assert kernel["registers_from"] == "ptxas for sm_75"
    told = f"{kernel['registers']} a thread, by ptxas for sm_75; simtlab's own allocation has {kernel['own_registers']}"
    assert f"registers      {told}\n" in invoke("inspect", SAXPY).stdout
    path = write("empty.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }")
    [kernel] = inspected(path)
    assert (kernel["registers"], kernel["own_registers"]) == (0, 0)
    assert kernel["registers_from"] == "simtlab (the kernel came as PTX)"
    assert "registers      0 a thread, by simtlab (the kernel came as PTX)\n" in invoke("inspect", path).stdout


def test_every_ptx_instruction_knows_its_cuda_line():
    [kernel] = inspected(SAXPY)
    lines = {p["text"].split()[0]: p["source_line"] for p in kernel["functions"][0]["ptx"]}
    assert lines["fma.rn.f32"] == 5
    assert lines["setp.ge.s32"] == 4


def test_the_ptx_stands_beside_the_cuda_text():
    result = invoke("inspect", SAXPY, "--ptx")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "4 if (i < n) { B0 setp.ge.s32 %p1, %r1, %r2;" in lines
    assert any(line.startswith("B1 fma.rn.f32 ") for line in lines)
    assert lines.index("B0 @%p1 bra $L__BB0_2;") < next(k for k, line in enumerate(lines) if line.startswith("5 y[i] ="))
    assert "fma" not in invoke("inspect", SAXPY).stdout


def test_functions_shared_memory_and_several_kernels(write):
    path = write("loop.cu", LOOP)
    loop, other = sorted(inspected(path), key=lambda kernel: kernel["name"])
    assert (loop["name"], other["name"]) == ("loop", "other")
    assert loop["static_shared_bytes"] == 128
    assert [f["name"] for f in loop["functions"]] == ["loop", "_Z5twicei"]
    assert loop["own_registers"] == sum(f["registers"] for f in loop["functions"])
    assert len(other["functions"][0]["blocks"]) == 1
    text = invoke("inspect", path).stdout
    assert "function _Z5twicei: " in text
    assert "kernel         other" in text
    assert "other" not in invoke("inspect", path, "--kernel", "loop").stdout


def test_ptx_files_whose_source_is_gone():
    result = invoke("inspect", ROOT / "tests/data/ptx/printf.ptx", "--ptx")
    assert result.exit_code == 0, result.output
    assert "call.uni (retval0), vprintf, ( param0, param1 );" in result.stdout
    assert "local          80 bytes a thread" in result.stdout


def test_templates_and_unknown_kernels(write):
    path = write("scale.cu", "template <typename T> __global__ void scale(T *x, T by) { x[threadIdx.x] *= by; }\n")
    [kernel] = inspected(path, "--kernel", "scale<double>")
    assert (kernel["name"], kernel["full_name"]) == ("scale<double>", "_Z5scaleIdEvPT_S0_")
    assert "has no kernel" in refused(2, "inspect", path)
    assert "no kernel 'saxpi'" in refused(2, "inspect", SAXPY, "--kernel", "saxpi")
