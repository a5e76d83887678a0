"""`simtlab loads`: the classes of a program's global loads, and what made them so."""

import json
from pathlib import Path

import pytest

from simtlab.cli.loads import workload_table
from tests.cli.conftest import ROOT, SAXPY, SAXPY_ARGUMENTS, invoke, refused

GATHER = """\
template <typename T> __device__ __noinline__ T fetch(const T *from, int i) {
    return from[i];
}
template <typename T> __global__ void gather(const T *from, const int *index, T *to) {
    int i = threadIdx.x;
    to[i] = fetch(from, index[i]);
}
extern "C" __global__ void nothing(int *out) { out[threadIdx.x] = 1; }
extern "C" __global__ void copy(const int *from, int *to) {
    to[threadIdx.x] = from[threadIdx.x];
}
"""
CHASE = """\
.version 7.8
.target sm_75
.address_size 64
.visible .entry chase(.param .u64 list)
{
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [list];
    ld.global.u64 %d2, [%d1];
    ld.global.u64 %d3, [%d2];
    st.global.u64 [%d1], %d3;
    ret;
}
"""


def found(*arguments: object) -> dict:
    result = invoke("loads", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_loads_of_a_workload():
    kernels = {kernel["name"]: kernel["loads"] for kernel in found("bfs")["kernels"]}
    assert list(kernels) == ["Kernel", "Kernel2"]
    by_text = {}
    for view in kernels["Kernel"]:
        by_text.setdefault(view["load"]["source"].split("(")[0].strip(), set()).add(view["deterministic"])
    assert by_text == {
        "if": {True, False},  # frontier[node] is, visited[neighbour] is not
        "for": {True},
        "int neighbour = edges[k];": {False},
        "cost[neighbour] = cost[node] + 1;": {True},
    }
    [visited] = [view for view in kernels["Kernel"] if "visited[" in view["load"]["source"]]
    assert not visited["deterministic"]
    assert visited["reads"] == "global memory"
    lines = [place["source_line"] for place in visited["chain"]]
    assert (lines[0], lines[-1]) == (17, 18)
    assert visited["chain"][-1] == visited["load"]


def test_the_table():
    result = invoke("loads", "BFS", "--kernel", "Kernel")
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "global loads 6 deterministic, 2 not" in lines
    assert "line source load class because of" in lines
    start = next(k for k, line in enumerate(lines) if line.startswith("18 if (!visited[neighbour]) {"))
    assert "non-deterministic global memory, read by ld.global.s32" in lines[start]
    assert lines[start + 1 : start + 3] == ["17 int neighbour = edges[k];", "18 if (!visited[neighbour]) {"]
    assert any(line.startswith("19 cost[neighbour] = cost[node] + 1;") and line.endswith(" deterministic") for line in lines)
    assert "Kernel2" not in result.stdout


def test_a_cuda_file_with_several_kernels(write):
    kernels = {k["name"]: k["loads"] for k in found(write("gather.cu", GATHER))["kernels"]}
    assert kernels["nothing"] == []
    assert [view["deterministic"] for view in kernels["copy"]] == [True]
    assert "global loads  none" in invoke("loads", write("gather.cu", GATHER)).stdout


def test_a_template_and_a_function_it_calls(write):
    [kernel] = found(write("gather.cu", GATHER), "--kernel", "gather<float>")["kernels"]
    assert kernel["name"] == "gather<float>"
    index, fetched = kernel["loads"]
    assert (index["deterministic"], index["load"]["source_line"]) == (True, 6)
    assert (fetched["deterministic"], fetched["load"]["source_line"]) == (False, 2)
    assert "fetch" in fetched["load"]["function"]
    assert fetched["chain"][0]["source_line"] == 6
    assert fetched["chain"][-1] == fetched["load"]


def test_ptx_without_cuda_lines(write):
    path = write("chase.ptx", CHASE)
    [kernel] = found(path)["kernels"]
    assert [view["deterministic"] for view in kernel["loads"]] == [True, False]
    assert [place["ptx_line"] for place in kernel["loads"][1]["chain"]] == [8, 9]
    assert kernel["loads"][1]["load"]["source_line"] is None
    lines = [" ".join(line.split()) for line in invoke("loads", path).stdout.splitlines()]
    assert "PTX 8 ld.global.u64 %d2, [%d1];" in lines


def test_a_file_of_launches(write):
    write("gather.cu", GATHER)
    launches = write("launches.toml", """\
source = "gather.cu"
[arrays]
a = "f32[32]=ones"
b = "i32[32]=zeros"
[[launch]]
kernel = "gather<float>"
grid = 1
block = 32
args = ["a", "b", "a"]
""")  # fmt: skip
    [kernel] = found(launches)["kernels"]
    assert (kernel["name"], len(kernel["loads"])) == ("gather<float>", 2)
    assert "--option cannot be used with a .toml file" in refused(2, "loads", launches, "--option=-DN=4")


def test_compiler_options_reach_the_compiler(write):
    text = 'extern "C" __global__ void k(int *a) { a[threadIdx.x] = a[INDEX]; }'
    path = write("option.cu", text)
    [kernel] = found(path, "--option=-DINDEX=a[7]")["kernels"]
    assert [view["deterministic"] for view in kernel["loads"]] == [True, False]
    assert "INDEX" in refused(2, "loads", path)


def test_a_workload_of_the_users(tmp_path):
    (tmp_path / "kernel.cu").write_text(GATHER)
    (tmp_path / "workload.py").write_text("""\
NAME, SUITE, CATEGORY, SIZES = "MINE", "none", "regular", {"only": {}}
KERNEL_NAMES = ("gather<int>",)
def inputs(*, seed=0): return {}
def run(launcher, data): return {}
def reference(data): return {}
""")
    assert "gather<int>" in [kernel["name"] for kernel in found(tmp_path)["kernels"]]


def test_what_cannot_be_looked_at(tmp_path, write):
    assert "there is no workload 'BSF'; did you mean BFS?" in refused(2, "loads", "BSF")
    assert "there is no folder" in refused(2, "loads", "./nowhere/BFS")
    assert "cannot read" in refused(2, "loads", tmp_path / "missing.cu")
    assert "a program ends in .cu (CUDA C++) or .ptx" in refused(2, "loads", SAXPY.with_suffix(".txt"))
    assert "no kernel 'Kernel3' here; the kernels are: 'Kernel', 'Kernel2'" in refused(2, "loads", "BFS", "--kernel", "Kernel3")
    assert "--include cannot be used with a workload" in refused(2, "loads", "BFS", "--include", tmp_path)
    bare = write("bare.cu", "template <typename T> __global__ void scale(T *x) { *x *= 2; }")
    assert "has no kernel" in refused(2, "loads", bare)


@pytest.mark.slow  # all programs are run
def test_the_page_has_the_table_of_the_workloads():
    """If this fails: put the output of `python -m simtlab.cli.loads` into docs/loads.md."""
    assert workload_table() in (ROOT / "docs" / "loads.md").read_text()


def test_the_sources_text_is_found_beside_ptx_that_names_it(write, tmp_path):
    ptx = CHASE.replace("    ld.global.u64 %d3", "    .loc 1 2 0\n    ld.global.u64 %d3") + '.file 1 "chase.cu"\n'
    path = write("chase.ptx", ptx)
    Path(tmp_path / "chase.cu").write_text("// first\nnext = next->next;\n")
    assert found(path)["kernels"][0]["loads"][1]["load"]["source"] == "next = next->next;"


# On a machine ---------------------------------------------------------------------------------------------------------

SIZES = ["--grid", 4, "--block", 256]


def test_the_loads_of_a_program_on_a_machine():
    answer = found(SAXPY, "--gpu", "loads-c2050", *SIZES, *SAXPY_ARGUMENTS)
    assert answer["gpu"] == "loads-c2050"
    both, none = answer["classes"]["D"], answer["classes"]["N"]
    assert none["executed"] == 0
    assert (both["executed"], both["threads"], both["requests"]) == (2 * 32, 2 * 1000, 2 * 32)
    assert both["turnaround"] == sum(both[part] for part in ("unloaded", "by_earlier", "by_itself", "memory"))
    [kernel] = answer["kernels"]
    assert kernel["loads"]["class"] == ["D", "D"]
    assert kernel["requests"]["requests"] == [1, 1]
    assert (answer["sharing"]["blocks"], answer["sharing"]["shared_blocks"]) == (64, 0)


def test_what_it_shows_of_a_workload():
    shown = invoke("loads", "BFS", "--gpu", "loads-c2050", "--size", "tiny").stdout
    assert shown.startswith("program  BFS, size tiny\nmachine  loads-c2050\n")
    rows = {line[:29].strip(): line[29:].split() for line in shown.splitlines() if line}
    assert rows["executed by warps"] == ["2,645", "2,586"]
    assert rows["requests a warp"] == ["1.12", "1.67"]
    assert float(rows["turnaround, cycles"][0].replace(",", "")) > 100
    assert "Kernel, load by load" in shown
    assert "int neighbour = edges[k];" in shown
    assert "distance of these CTAs  1 (100%)" in shown


def test_the_page_has_what_the_program_shows():
    """The rows of docs/loads.md that stand for those of the command."""
    page = (ROOT / "docs" / "loads.md").read_text(encoding="utf-8").split("$ simtlab loads BFS --gpu loads-c2050 --size tiny\n")[1]
    output = invoke("loads", "BFS", "--gpu", "loads-c2050", "--size", "tiny").stdout
    shown = [" ".join(line.split()) for line in output.splitlines()]
    rows = [" ".join(line.split()) for line in page.split("```")[0].splitlines() if line and line != "..."]
    assert len(rows) > 15
    assert [row for row in rows if row not in shown] == []


@pytest.mark.parametrize("option", [["--grid", 4], ["--size", "tiny"], ["--set", "l1d.ways=8"], ["--arg", "i32:1"]])
def test_an_option_that_says_how_to_run_needs_a_machine(option):
    assert f"{option[0]} needs --gpu" in refused(2, "loads", SAXPY if option[0] != "--size" else "BFS", *option)


def test_a_machine_that_is_not_there():
    assert "no-such" in refused(2, "loads", "BFS", "--gpu", "no-such")
