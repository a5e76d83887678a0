"""Whole applications: those in tests/apps print what they print on an H200; what goes wrong ends clearly."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simtlab.cli.applications import execute, read_selection
from simtlab.errors import SimtlabError
from simtlab.lab.machines import Host, MachineChoice
from tests.runtime.conftest import APPS, needs_library, needs_nvcc

RECORDED = Path(__file__).parent.parent / "data" / "apps"
SIMTLAB = [sys.executable, "-c", "from simtlab.cli import main; main()"]
TIMED = ["vector_add", "histogram", "cooperative_scan", "image_textures"]


def exec_command(*arguments: object, **more) -> subprocess.CompletedProcess:
    return subprocess.run([*SIMTLAB, "exec", *map(str, arguments)], capture_output=True, text=True, timeout=300, **more)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Compiles an application of tests/apps, once a session."""
    folder, made = tmp_path_factory.mktemp("apps"), {}

    def build(name: str) -> Path:
        if name not in made:
            source = APPS / f"{name}.cu"
            first = source.read_text().split("\n", 1)[0]
            flags = first.removeprefix("// flags:").split() if first.startswith("// flags:") else []
            subprocess.run([*SIMTLAB, "nvcc", "-O2", str(source), "-o", str(folder / name), *flags], check=True, timeout=300)
            made[name] = folder / name
        return made[name]

    return build


@needs_nvcc
@pytest.mark.parametrize("name", sorted(path.stem for path in APPS.glob("*.cu")))
def test_an_application_prints_what_it_prints_on_an_h200(name, built, capfd):
    answer = execute([str(built(name))], MachineChoice(), Host(), False)
    assert answer.status == 0
    assert capfd.readouterr().out == (RECORDED / f"{name}.txt").read_text()
    assert answer.launches


@needs_nvcc
@pytest.mark.parametrize("name", TIMED)
def test_an_application_on_a_machine(name, built, capfd):
    answer = execute([str(built(name))], MachineChoice("caps-gtx480"), Host(), False)
    assert answer.status == 0
    assert capfd.readouterr().out == (RECORDED / f"{name}.txt").read_text()
    found = answer.as_json()
    assert found["cycles"] == sum(launch["cycles"] for launch in found["launches"]) > 0


@needs_nvcc
def test_the_command_line(built):
    """The application's output is stdout's; the table of its kernels, or with --json its output, is stderr's."""
    done = exec_command(built("vector_add"))
    assert done.stdout == (RECORDED / "vector_add.txt").read_text()
    assert done.stderr.split("\n")[0].split() == ["kernel", "launches", "warp", "instructions"]
    as_json = exec_command("--json", built("vector_add"))
    assert json.loads(as_json.stdout)["exit"] == 0
    assert as_json.stderr == done.stdout


@needs_nvcc
def test_some_launches_are_timed_and_the_rest_is_run(built, capfd):
    """graph_search launches `visit` and `advance` in turns: the third to the fifth `visit`."""
    selection = read_selection("^vis", "3:5", True)
    answer = execute([str(built("graph_search"))], MachineChoice("caps-gtx480"), Host(), False, selection)
    assert capfd.readouterr().out == (RECORDED / "graph_search.txt").read_text()
    timed = [k for k, one in enumerate(answer.launches) if one.run.timing is not None]
    visits = [k for k, one in enumerate(answer.launches) if one.program.readable_name == "visit"]
    assert timed == visits[2:5]


@pytest.mark.parametrize(("text", "first", "last"), [("", 1, None), ("3", 3, 3), ("3:", 3, None), (":4", 1, 4), ("2:9", 2, 9)])
def test_a_range_of_launches(text, first, last):
    selection = read_selection("", text, True)
    assert (selection.first, selection.last) == (first, last)


@pytest.mark.parametrize(
    ("kernels", "launches", "timed", "problem"),
    [("(", "", True, "no regular expression"), ("", "a", True, "must be a launch or a range"), ("", "5:3", True, "counted from 1"),
     ("", "0", True, "counted from 1"), ("k", "", False, "need a machine")],
)  # fmt: skip
def test_a_bad_selection(kernels, launches, timed, problem):
    with pytest.raises(SimtlabError, match=problem):
        read_selection(kernels, launches, timed)


HEAD = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int cudaMalloc(void **, size_t); int cudaFree(void *); int cudaMemcpy(void *, const void *, size_t, int);
int cudaGetLastError(void); int cudaGraphCreate(void **, unsigned); int cudaDeviceSynchronize(void);
"""


@needs_library
def test_an_exit_status_and_arguments_go_through(in_c):
    program = in_c(HEAD + "int main(int n, char **a) { printf(\"%s %s\\n\", a[1], a[2]); return atoi(a[2]); }")
    done = exec_command(program, "--gpu", "7")
    assert (done.returncode, done.stdout) == (7, "--gpu 7\n")


@needs_library
def test_a_crash_is_told_and_leaves_nothing_behind(in_c):
    program = in_c(HEAD + "int main() { void *p; cudaMalloc(&p, 8); raise(SIGSEGV); }")
    done = exec_command(program)
    assert done.returncode == 128 + signal.SIGSEGV
    assert "was ended by SIGSEGV" in done.stderr


@needs_library
def test_copies_out_of_bounds_and_double_frees_are_errors(in_c):
    program = in_c(HEAD + """int main() {
        char *p, h[64]; cudaMalloc((void **)&p, 32);
        printf("%d %d %d ", cudaMemcpy(p, h, 32, 1), cudaMemcpy(p, h, 33, 1), cudaMemcpy(h, p + 8, 25, 2));
        printf("%d %d %d %d %d\\n", cudaGetLastError(), cudaGetLastError(), cudaFree(p + 8), cudaFree(p), cudaFree(p)); }""")
    done = exec_command(program)
    assert done.stdout in ("0 1 1 1 0 1 0 1\n",)


@needs_library
def test_a_forked_child_has_no_device(in_c):
    program = in_c(HEAD + """int main() {
        void *p; int status; cudaMalloc(&p, 8);
        if (fork() == 0) _exit(cudaMalloc(&p, 8));
        wait(&status); printf("%d %d\\n", WEXITSTATUS(status), cudaMalloc(&p, 8)); }""")
    assert exec_command(program).stdout == "3 0\n"


@needs_library
def test_what_is_not_supported_is_named_once(in_c):
    program = in_c(HEAD + "int main() { void *g; printf(\"%d %d\\n\", cudaGraphCreate(&g, 0), cudaGraphCreate(&g, 0)); }")
    done = exec_command(program)
    assert done.stdout == "801 801\n"
    assert done.stderr.count("cudaGraphCreate is not supported") == 1


@needs_library
def test_a_program_started_alone_says_what_is_missing(in_c):
    program = in_c(HEAD + "int main() { void *p; return cudaMalloc(&p, 8); }")
    from simtlab.runtime.library_file import library_folder

    done = subprocess.run([program], env={"LD_LIBRARY_PATH": str(library_folder())}, capture_output=True, text=True)
    assert done.returncode == 100
    assert "not started by `simtlab exec`" in done.stderr


@needs_library
def test_a_program_whose_simtlab_dies_ends(in_c):
    program = in_c(HEAD + """int main() { void *p; puts("ready"); fflush(stdout); for (;;) { cudaMalloc(&p, 8); cudaFree(p); } }""")
    running = subprocess.Popen([*SIMTLAB, "exec", str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    running.kill()
    running.wait()
    deadline = time.monotonic() + 20
    while any(is_running(int(child)) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert "the process that holds the GPU is gone" in running.stderr.read()


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@needs_library
def test_ctrl_c_ends_both(in_c):
    program = in_c(HEAD + """int main() { puts("ready"); fflush(stdout); for (;;) pause(); }""")
    running = subprocess.Popen([*SIMTLAB, "exec", str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout.readline() == "ready\n"
    os.kill(running.pid, signal.SIGINT)
    assert running.wait(20) == 130


@pytest.mark.parametrize(("name", "problem"), [("nothing", "there is no program"), ("text", "may not be executed")])
def test_what_is_no_program(tmp_path, name, problem):
    (tmp_path / "text").write_text("hello")
    with pytest.raises(SimtlabError, match=problem):
        execute([str(tmp_path / name)], MachineChoice(), Host(), False)


RACES = """
__global__ void accumulate(const float *a, float *x, int n)
{
    int i = threadIdx.x;  // blocks of 32 x 8: eight warps do the same
    for (int j = 0; j < n; j++)
        x[i] += a[j];
}

int main()
{
    float a[16], x[32], *d_a, *d_x;
    for (int j = 0; j < 16; j++)
        a[j] = 1;
    cudaMalloc(&d_a, sizeof a);
    cudaMalloc(&d_x, sizeof x);
    cudaMemcpy(d_a, a, sizeof a, cudaMemcpyHostToDevice);
    cudaMemset(d_x, 0, sizeof x);
    accumulate<<<1, dim3(32, 8)>>>(d_a, d_x, 16);
    cudaMemcpy(x, d_x, sizeof x, cudaMemcpyDeviceToHost);
    return (int)x[0];
}
"""


@needs_nvcc
def test_warps_that_race_run_in_step_and_are_told_of(tmp_path):
    """A GPU gives the sequential sum, 16; warp after warp would give 128."""
    (tmp_path / "races.cu").write_text(RACES)
    subprocess.run([*SIMTLAB, "nvcc", str(tmp_path / "races.cu"), "-o", str(tmp_path / "races")], check=True, timeout=300)
    done = exec_command(tmp_path / "races")
    assert done.returncode == 16
    assert "race in" not in done.stderr
    told = exec_command("--races", tmp_path / "races")
    assert told.returncode == 16
    assert "a race in kernel 'accumulate', block (0, 0, 0): warp 1 writes what warp 0 wrote with no barrier between" in told.stderr
    assert "races.cu:6" in told.stderr
