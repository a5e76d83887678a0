"""Several host threads on one GPU, on two, on one each; processes that are forked; Ctrl-C."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import wait as wait_for

import numpy as np
import pytest

import simtlab as sl
from simtlab.execute import grid

ADD = """
extern "C" __global__ void add(const int *x, int *y, int n, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + v;
}
extern "C" __global__ void reads_parameters(const __grid_constant__ int4 values, int *out) {
    const int *volatile hidden = &values.x;
    *out = hidden[threadIdx.x & 3];
}
"""


def work(gpu, seed, rounds=40):
    """Arrays come and go between launches; wrong results, if any."""
    rng = np.random.default_rng(seed)
    module = gpu.compile(ADD)
    for _ in range(rounds):
        values = rng.integers(0, 1000, int(rng.integers(1, 3000)), dtype=np.int32)
        x, y, one = gpu.array(values), gpu.zeros(values.size, "i4"), gpu.zeros(1, "i4")
        assert not y.numpy().any()
        module["add"](-(-values.size // 128), 128, [x, y, values.size, seed])
        module["reads_parameters"](1, 1, [np.array([seed, 0, 0, 0], "i4"), one])
        np.testing.assert_array_equal(y.numpy(), values + seed)
        assert one[0] == seed
        for array in (x, y, one):
            array.free()
    return seed


@pytest.mark.parametrize("gpus", [1, 2, 4])
def test_four_threads_on_any_number_of_gpus(gpus):
    shared = [sl.Gpu(threads=2) for _ in range(gpus)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda n: work(shared[n % gpus], n), range(8))) == list(range(8))
    assert {gpu.memory.find(gpu.zeros(1).address).size for gpu in shared} == {4}


def test_timed_gpus_are_made_and_run_by_several_threads():
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda n: work(sl.Gpu("caps-gtx480"), n, rounds=2), range(3))) == [0, 1, 2]


def test_several_threads_on_one_timed_gpu():
    gpu = sl.Gpu("caps-gtx480")
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda n: work(gpu, n, rounds=4), range(6))) == list(range(6))


def test_the_first_threads_of_a_process_can_all_compile_at_once():
    code = """
import threading, numpy as np, simtlab as sl
started, right = threading.Barrier(4), []
def one(n):
    gpu = sl.Gpu()
    module = gpu.compile('extern "C" __global__ void k(float *x) { x[threadIdx.x] = sqrtf(x[threadIdx.x]) * %d; }' % n)
    x = gpu.array(np.full(32, 4, "f4"))
    started.wait()
    for _ in range(50):
        module["k"](1, 32, [gpu.array(np.full(32, 4, "f4"))])
    module["k"](1, 32, [x])
    right.append((x.numpy() == 2 * n).all())
threads = [threading.Thread(target=one, args=(n,)) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(right)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200, check=False)
    assert result.stdout.strip() == "[np.True_, np.True_, np.True_, np.True_]", result.stderr


# Forks ---------------------------------------------------------------------------------------------------------------


def in_child(seed):
    return work(sl.Gpu(threads=2), seed, rounds=2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_launches_kernels_after_its_parent_has():
    work(sl.Gpu(threads=2), 1, rounds=1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(in_child, [5, 6, 7]).get(timeout=60) == [5, 6, 7]
    work(sl.Gpu(threads=2), 1, rounds=1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_has_its_own_copy_of_the_gpu():
    gpu = sl.Gpu(threads=2)
    module, x = gpu.compile(ADD), gpu.zeros(32, "i4")
    module["add"](1, 32, [x, x, 32, 1])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        module["add"](1, 32, [x, x, 32, 10])
        os.write(writer, bytes([int(x[0])]))
        os._exit(0)
    killer = threading.Timer(60, os.kill, (child, signal.SIGKILL))
    killer.start()
    assert os.waitpid(child, 0)[1] == 0
    killer.cancel()
    assert os.read(reader, 1) == bytes([11])
    assert x[0] == 1


# Ctrl-C --------------------------------------------------------------------------------------------------------------

ENDLESS = {
    "printf": 'while (*p == 0) printf("x%d ", i++);',
    "malloc": "while (*p == 0) { free(malloc(16)); i++; }",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS)
def test_ctrl_c_stops_kernels_that_keep_asking_the_host(body):
    code = f"""
import signal, threading, os, sys
import numpy as np, simtlab as sl
gpu = sl.Gpu(threads=2)
mod = gpu.compile(r'''#include <cstdio>
extern "C" __global__ void loop(const int *p) {{ int i = 0; {body} }}
extern "C" __global__ void set(int *p) {{ p[threadIdx.x] = -7; }}''')
p = gpu.zeros(32, "i4")
mod["set"](1, 32, [gpu.zeros(32, "i4")])
mod["loop"]
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    mod["loop"](4, 32, [p])
except KeyboardInterrupt:
    print("stopped", file=sys.stderr)
mod["set"](1, 32, [p])
print(p[0], file=sys.stderr)
"""
    result = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr.split() == ["stopped", "-7"], result.stderr
    assert len(result.stdout) <= 1 << 20


def test_a_second_ctrl_c_does_not_leave_threads_behind_that_use_the_launch(monkeypatch):
    presses, finished, may_end = [KeyboardInterrupt, KeyboardInterrupt], [], threading.Event()

    def waiting(futures):
        if presses:
            raise presses.pop()
        may_end.set()
        return wait_for(futures)

    def fails():
        raise KeyboardInterrupt

    def takes_long():
        may_end.wait(30)
        finished.append(True)

    monkeypatch.setattr(grid, "wait_for", waiting)
    run = grid.GridRun(None, grid.new_launch(), None)
    with ThreadPoolExecutor(2) as pool, pytest.raises(KeyboardInterrupt):
        run._run_all(pool, [fails, takes_long])
    assert (finished, run.launch[0].stop, presses) == ([True], 1, [])
