"""Every way to get it wrong ends with one message and the right exit status, and never with a traceback."""

import json
import signal
import subprocess
import threading
import time

import pytest

import simtlab.cli
from tests.cli.conftest import ENVIRONMENT, PROGRAM, SAXPY, SAXPY_ARGUMENTS, invoke, refused, subprocess_run

SIZES = ["--grid", 4, "--block", 256]
TWO = "__global__ void one(int *x) { *x = 1; }\n__global__ void two(int *x) { *x = 2; }\n"
OUTSIDE = '__global__ void reach(int *x, int i) { printf("going\\n"); x[i] = 1; }\n'
BARRIER = (
    "__global__ void wait(int *x) { if (threadIdx.x < 32) __syncthreads(); "
    "else while (atomicAdd(x, 0) == 0) { } }\n"
)  # fmt: skip
ENDLESS = "__global__ void spin(volatile unsigned *x) { for (unsigned i = 0;; i++) *x = i; }\n"


def test_a_compile_error_is_in_the_compilers_words(write):
    path = write("bad.cu", "__global__ void k(int *x) {\n  *x = nonsense;\n}\n")
    done = subprocess_run("run", path, "--grid", 1, "--block", 1)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f'{path}(2): error: identifier "nonsense" is undefined' in done.stderr
    assert "Traceback" not in done.stderr
    assert 'identifier "nonsense" is undefined' in refused(2, "inspect", path)


def test_a_compiler_option_it_does_not_know():
    assert "--no-such-option" in refused(2, "run", SAXPY, *SIZES, "--option=--no-such-option")


def test_ptx_with_an_unknown_instruction_names_it_and_its_line(write):
    head = ".version 7.0\n.target sm_75\n.address_size 64\n"
    ptx = ".visible .entry k() {\n.reg .b32 %r<3>;\nfrob.u32 %r1, %r2;\nret;\n}\n"
    message = refused(2, "run", write("k.ptx", head + ptx), "--grid", 1, "--block", 1)
    assert "k.ptx:6" in message
    assert "unknown instruction 'frob.u32'" in message


@pytest.mark.parametrize("command", ["run", "inspect"])
@pytest.mark.parametrize(
    ("name", "words"),
    [("none.cu", "cannot read none.cu: No such file"), ("none.ptx", "cannot read none.ptx"), ("a.txt", "ends in .cu")],
)
def test_a_missing_file_and_one_that_is_no_program(command, name, words):
    sizes = SIZES if command == "run" else []
    assert words in refused(2, command, name, *sizes)


def test_a_folder_is_no_program(tmp_path):
    (tmp_path / "k.cu").mkdir()
    assert "cannot read" in refused(2, "run", tmp_path / "k.cu", *SIZES)


def test_a_bad_argument_is_named_by_its_position():
    message = refused(2, "run", SAXPY, *SIZES, "--arg", "i32:1000", "--arg", "f32:two")
    assert "bad --arg 1 'f32:two': 'two' is no number; for example f32:2.5" in message


@pytest.mark.parametrize(("option", "other"), [("--grid", "--block"), ("--block", "--grid")])
def test_a_bad_or_missing_size(option, other):
    assert f"bad {option}: 'wide' is no size; for example 4096" in refused(2, "run", SAXPY, option, "wide", other, 4)
    assert f"{option} is missing; for example {option} 256" in refused(2, "run", SAXPY, other, 4)
    message = refused(2, "run", SAXPY, option, 0, other, 4, *SAXPY_ARGUMENTS)
    assert f"{option[2:]}.x is 0; it must lie between 1 and" in message


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--block", "2000"], "block.x is 2000"),
        (["--block", "64x64"], "4096 threads; at most 1024"),
        (["--block", "1x1x1x1"], "one to three integers"),
        (["--shared", "1000000"], "1000000 bytes of shared memory"),
        (["--shared", "-1"], "shared is -1"),
        (["--threads", "0"], "threads is 0; at least one is needed"),
        (["--kernel", "saxpi"], "no kernel 'saxpi' here; the kernels are: 'saxpy'"),
        (["--include", "no/such/folder"], "include folder no/such/folder does not exist"),
        (["--arg", "i32:5"], "takes 4 arguments"),
    ],
)
def test_a_launch_that_cannot_be(more, words):
    assert words in refused(2, "run", SAXPY, *SIZES, *SAXPY_ARGUMENTS, *more)


def test_an_argument_of_the_wrong_kind():
    wrong = ["--arg", "f32:1", *SAXPY_ARGUMENTS[2:]]
    assert "argument 0 of kernel" in refused(2, "run", SAXPY, *SIZES, *wrong)


def test_an_array_larger_than_device_memory():
    wrong = [*SAXPY_ARGUMENTS[:-1], "f32[30000000000]=random"]
    assert "out of device memory" in refused(2, "run", SAXPY, *SIZES, *wrong)


def test_one_of_several_kernels_must_be_named(write):
    path = write("two.cu", TWO)
    assert "has 2 kernels, so one must be named: 'one', 'two'" in refused(2, "run", path, *SIZES)
    path = write("none.cu", "template <class T> __global__ void f(T *x) { *x = 1; }\n")
    assert "has no kernel; an instance of a template must be named" in refused(2, "run", path, *SIZES)


@pytest.mark.parametrize(
    ("out", "words"),
    [
        ("0:n.npy", "argument 0 is no array; the arrays are 2, 3 (counted from 0)"),
        ("9:n.npy", "argument 9 is no array"),
        ("y.npy", "for example --out 3:y.npy"),
        ("-1:y.npy", "for example --out 3:y.npy"),
        ("3:y.txt", "must end in .npy"),
        ("3:no/such/folder/y.npy", "cannot write no/such/folder/y.npy: there is no folder no/such/folder"),
    ],
)
def test_an_output_that_cannot_be(out, words):
    assert words in refused(2, "run", SAXPY, *SIZES, *SAXPY_ARGUMENTS, "--out", out)


def test_an_output_that_turns_out_to_be_unwritable(tmp_path):
    (tmp_path / "folder.npy").mkdir()
    message = refused(2, "run", SAXPY, *SIZES, *SAXPY_ARGUMENTS, "--out", f"3:{tmp_path / 'folder.npy'}")
    assert "it is a folder" in message
    message = refused(2, "run", SAXPY, *SIZES, *SAXPY_ARGUMENTS, "--out", f"3:{tmp_path / ('y' * 300)}.npy")
    assert "cannot write" in message
    assert "File name too long" in message


def test_a_fault_exits_1_and_says_where(write):
    path = write("reach.cu", OUTSIDE)
    done = subprocess_run("run", path, "--grid", 1, "--block", 1, "--arg", "i32[4]=zeros", "--arg", "i32:100000")
    assert done.returncode == 1
    assert done.stdout == "going\n"
    assert done.stderr.startswith("error: store of 4 bytes at 0x")
    assert "allocation 'argument 0' of 16 bytes" in done.stderr
    assert f"{path}:1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_fault_in_json_keeps_what_was_printed(write):
    path = write("reach.cu", OUTSIDE)
    arguments = ["--grid", 1, "--block", 1, "--arg", "i32[4]=zeros", "--arg", "i32:100000", "--json"]
    result = invoke("run", path, *arguments)
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert found["printed"] == "going\n"
    assert "store of 4 bytes" in found["error"]
    assert result.stderr.startswith("error: store of 4 bytes")


def test_a_deadlock_exits_1_and_lists_who_waits(write):
    path = write("wait.cu", BARRIER)
    message = refused(1, "run", path, "--grid", 1, "--block", 64, "--arg", "i32[1]=zeros")
    assert "can never finish" in message


def test_ctrl_c_is_quiet_and_exits_130(write):
    path = write("spin.cu", ENDLESS)
    command = [*PROGRAM, "run", str(path), "--grid", "1", "--block", "1", "--arg", "u32[1]=zeros"]
    subprocess_run("run", SAXPY, *SIZES, *SAXPY_ARGUMENTS)  # the executor is compiled by now
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr) == (130, "", "")


def test_an_error_that_ctrl_c_leads_to_is_as_quiet(monkeypatch):
    """One that falls into the taking of a lock, as code is loaded: the lock is released and was not taken."""

    def interrupted(prog_name):
        try:
            raise KeyboardInterrupt
        finally:
            threading.RLock().release()

    monkeypatch.setattr("simtlab.cli.app.app", interrupted)
    with pytest.raises(SystemExit) as exit:
        simtlab.cli.main()
    assert exit.value.code == 130
    monkeypatch.setattr("simtlab.cli.app.app", lambda prog_name: threading.RLock().release())
    with pytest.raises(RuntimeError, match="lock"):
        simtlab.cli.main()


def test_an_unknown_option_and_an_unknown_command_exit_2():
    for arguments in (["run", SAXPY, "--gird", "4"], ["rum"], ["run"], ["list", "cuda"], ["run", SAXPY, "--threads", "two"]):
        result = invoke(*arguments)
        assert result.exit_code == 2
        assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("data['nothing']", "KeyError: 'nothing'"),
        ("sys.exit('enough')", "it called sys.exit('enough')"),
        ("int.from_bytes(launcher)", "TypeError: "),
    ],
)
def test_a_mistake_in_a_workload_is_told_with_its_file_and_line(write, tmp_path, code, words):
    write("kernel.cu", '__global__ void k(int *x) { *x = 1; }\n')
    definition = write("workload.py", "import sys\n\nNAME, SUITE, CATEGORY, SIZES = 'MINE', 'test', 'regular', {'tiny': {}}\n\n\n"
                       "def inputs(*, seed=0):\n    return {}\n\n\n" f"def run(launcher, data):\n    {code}\n\n\n"
                       "def reference(data):\n    return {}\n")  # fmt: skip
    assert refused(2, "run", tmp_path, "--size", "tiny").startswith(f"error: {definition}:11: {words}")


def test_a_mistake_of_simtlabs_own_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("simtlab.cli.machine_lists.gpu_row", None)
    with pytest.raises(TypeError):
        invoke("list", "gpus")
