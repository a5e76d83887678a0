"""Whole applications: those in tests/apps print what they print on an H200; what goes wrong ends clearly."""

import fcntl
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import simtlab
from simtlab.cli.applications import Wishes, execute, read_selection
from simtlab.errors import SimtlabError
from simtlab.lab.machines import Host, MachineChoice
from simtlab.runtime.nvcc import compile_program
from tests.everyday import every
from tests.runtime.conftest import APPS, needs_library, needs_nvcc

RECORDED = Path(__file__).parent.parent / "data" / "apps"
SIMTLAB = [sys.executable, "-c", "from simtlab.cli import main; main()"]
TIMED = ["vector_add", "histogram", "cooperative_scan", "image_textures"]


def exec_command(*arguments: object, **more) -> subprocess.CompletedProcess:
    return subprocess.run([*SIMTLAB, "exec", *map(str, arguments)], capture_output=True, text=True, timeout=300, **more)


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """Compiles an application of tests/apps, once for all the processes of a session."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "apps"
    folder.mkdir(exist_ok=True)

    def build(name: str) -> Path:
        program, source = folder / name, APPS / f"{name}.cu"
        with open(folder / f"{name}.lock", "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if not program.exists():
                first = source.read_text().split("\n", 1)[0]
                flags = first.removeprefix("// flags:").split() if first.startswith("// flags:") else []
                assert compile_program(["-O2", str(source), "-o", str(program), *flags]) == 0
        return program

    return build


@needs_nvcc
@pytest.mark.parametrize("name", every(4, sorted(path.stem for path in APPS.glob("*.cu"))))
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
def test_an_application_starts_beside_much_memory(built, capfd):
    """Linux does not copy a process whose joined mappings are larger than the host's memory: the start must not need it to."""
    half = os.sysconf("SC_PHYS_PAGES") * 6 // 10 * os.sysconf("SC_PAGE_SIZE")
    mappings = [mmap.mmap(-1, half, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) for _ in range(2)]
    assert execute([str(built("vector_add"))], MachineChoice(), Host(), False).status == 0
    for mapping in mappings:
        mapping.close()


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
    answer = execute([str(built("graph_search"))], MachineChoice("caps-gtx480"), Host(), False, Wishes(selection))
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
        int found[8] = {cudaMemcpy(p, h, 32, 1), cudaMemcpy(p, h, 33, 1), cudaMemcpy(h, p + 8, 25, 2), cudaGetLastError(),
                        cudaGetLastError(), cudaFree(p + 8), cudaFree(p), cudaFree(p)};  // in this order
        for (int k = 0; k < 8; k++) printf("%d ", found[k]); }""")
    assert exec_command(program).stdout == "0 1 1 1 0 1 0 1 "


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


@needs_nvcc
def test_launches_before_so_many_instructions_are_not_timed(built, capfd):
    selection = read_selection("", "", True, fast_forward=100_000)
    answer = execute([str(built("graph_search"))], MachineChoice("caps-gtx480"), Host(), False, Wishes(selection))
    assert capfd.readouterr().out == (RECORDED / "graph_search.txt").read_text()
    counts = [one.run.instructions for one in answer.launches]
    timed = [one.run.timing is not None for one in answer.launches]
    assert timed == [sum(counts[:k]) >= 100_000 for k in range(len(counts))]
    assert 0 < sum(timed) < len(timed)


@needs_nvcc
@pytest.mark.slow
def test_what_was_timed_is_stored(built, tmp_path):
    """Under the program's name and arguments; a second run takes the place of the first."""
    for _ in range(2):
        done = exec_command("--gpu", "caps-gtx480", "--store", tmp_path / "s.sqlite", "--kernels", "visit", built("graph_search"))
        assert done.stdout == (RECORDED / "graph_search.txt").read_text()
    found = simtlab.results(tmp_path / "s.sqlite")
    assert len(found) == 1
    record = found.record(next(iter(found)).key)
    assert (record.workload, record.size, record.gpu, record.launches) == ("graph_search", "application", "caps-gtx480", 26)
    assert record.inputs["parameters"] == {"arguments": "", "kernels": "visit"}
    assert record.table("launches")["kernel"] == ["visit"] * 26
    assert sum(record.table("launches")["cycles"]) == record.cycles > 0
    nothing = exec_command("--gpu", "caps-gtx480", "--store", tmp_path / "s.sqlite", "--kernels", "none", built("graph_search"))
    assert nothing.returncode == 2
    assert "was timed, so there is nothing to store" in nothing.stderr
    untimed = exec_command("--json", "--gpu", "caps-gtx480", "--kernels", "none", built("graph_search"))
    assert "cycles" not in json.loads(untimed.stdout)


@needs_nvcc
def test_a_checkpoint_runs_as_the_launch_did(built, tmp_path, capfd):
    """The fifth launch of graph_search: the same instructions, and on a machine the same cycles, as in the application."""
    file = tmp_path / "fifth"
    selection = read_selection("", "5", True)
    wishes = Wishes(selection, checkpoint_at=5, checkpoint=file)
    answer = execute([str(built("graph_search"))], MachineChoice("caps-gtx480"), Host(), False, wishes)
    assert capfd.readouterr().out == (RECORDED / "graph_search.txt").read_text()
    fifth = answer.launches[4].run
    found = simtlab.load_checkpoint(file)
    assert (found.kernel, found.grid, found.block) == (fifth.kernel, fifth.grid, fifth.block)
    assert str(found).startswith("visit, grid (8, 1, 1), block (256, 1, 1), ")
    functional = found.run()
    assert functional.instructions == fifth.instructions
    timed = found.run(simtlab.Gpu("caps-gtx480"))
    assert (timed.instructions, timed.cycles) == (fifth.instructions, fifth.cycles)
    restored = found.on(simtlab.Gpu())
    before = [argument.numpy().copy() if hasattr(argument, "numpy") else argument for argument in restored.arguments]
    restored.run()
    after = [argument.numpy() if hasattr(argument, "numpy") else argument for argument in restored.arguments]
    assert any((one != other).any() for one, other in zip(before, after, strict=True) if hasattr(one, "shape"))
    with pytest.raises(SimtlabError, match="a checkpoint needs a GPU of its own"):
        found.on(restored.gpu)
    whole = file.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:2000] + bytes(100) + whole[2100:]):
        (tmp_path / "damaged").write_bytes(damaged)
        with pytest.raises(SimtlabError, match="damaged is no checkpoint that can be read"):
            simtlab.load_checkpoint(tmp_path / "damaged")
    resumed = exec_command("--json", "--gpu", "caps-gtx480", "--policy", "warp_scheduler=gto", "--resume", file)
    assert [one["instructions"] for one in json.loads(resumed.stdout)["launches"]] == [fifth.instructions]


@needs_nvcc
def test_a_checkpoint_has_textures_and_variables(built, tmp_path, capfd):
    for name, launch in (("image_textures", 1), ("volume_surface", 1), ("histogram", 1)):
        wishes = Wishes(read_selection("", "", False, checkpoint=True), checkpoint_at=launch, checkpoint=tmp_path / name)
        answer = execute([str(built(name))], MachineChoice(), Host(), False, wishes)
        run = simtlab.load_checkpoint(tmp_path / name).run()
        assert run.instructions == answer.launches[launch - 1].run.instructions


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "which program?"),
        (["--resume", "nothing"], "nothing is no checkpoint that can be read: No such file or directory"),
        (["--resume", "nothing", "app"], "the program app is not needed"),
        (["--checkpoint", "here", "app"], "--checkpoint is the file of --checkpoint-at"),
        (["--fast-forward", "9", "app"], "need a machine: add --gpu"),
    ],
)
def test_bad_wishes_are_told(given, told):
    done = exec_command(*given)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.slow  # fifteen seconds
@needs_nvcc
def test_other_commands_take_a_whole_program():
    """`run` runs it, or one kernel of it; `inspect` and `loads` look at its kernels."""
    source = APPS / "vector_add.cu"
    done = subprocess.run([*SIMTLAB, "run", str(source)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, (RECORDED / "vector_add.txt").read_text())
    as_json = subprocess.run([*SIMTLAB, "run", "--json", str(source)], capture_output=True, text=True, timeout=300)
    assert json.loads(as_json.stdout)["launches"]
    for command in ("inspect", "loads"):
        looked = subprocess.run([*SIMTLAB, command, str(source)], capture_output=True, text=True, timeout=300)
        assert looked.returncode == 0, looked.stderr
        assert "add" in looked.stdout


def test_a_whole_program_without_nvcc_is_told_what_to_do(monkeypatch, tmp_path):
    """In one sentence after the compiler's own."""
    from simtlab.cli import source
    from simtlab.errors import CompileError
    from simtlab.host.gpu import Gpu

    monkeypatch.setattr(source, "has_nvcc", lambda: False)
    (tmp_path / "app.cu").write_text("#include <cstdlib>\nint main() { std::system(nullptr); return no_such; }\n")
    with pytest.raises(CompileError, match=r"`simtlab nvcc .*app\.cu -o app` compiles it, and `simtlab exec ./app` runs it"):
        source.open_module(Gpu(), tmp_path / "app.cu", [], [], [])


@needs_nvcc
def test_the_page_shows_what_comes_out(built, tmp_path, monkeypatch):
    """Its first commands, and its block of Python."""
    page = (Path(__file__).parents[2] / "docs" / "applications.md").read_text()
    shown = page.split("$ simtlab exec ./graph_search\n", 1)[1].split("```", 1)[0]
    monkeypatch.chdir(tmp_path)
    done = exec_command("--checkpoint-at", 5, built("graph_search"))
    table = done.stderr.rsplit("wrote ", 1)[0]
    assert done.stdout + "\n".join(line.rstrip() for line in table.splitlines()) + "\n" == shown
    code = page.split("```python\n", 1)[1].split("```", 1)[0]
    exec(compile(code, "applications.md", "exec"), {"simtlab": simtlab})
