"""Two small kernels, simulated once: a transpose whose stores are not coalesced, a reduction with bank conflicts."""

import os
import shutil

import numpy as np
import pytest

import simtlab as sl
from simtlab.report.profile import profile_of

CUDA = r"""
template <typename T> __global__ void transpose(const T *in, T *out, int n) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    out[x * n + y] = in[y * n + x];
}
template __global__ void transpose<float>(const float *, float *, int);

// Sums of 256 values; a stride that doubles makes banks conflict.
extern "C" __global__ void reduce(const float *in, float *out) {
    __shared__ float part[256];
    int t = threadIdx.x;
    part[t] = in[blockIdx.x * blockDim.x + t];
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        int at = 2 * stride * t;
        if (at < blockDim.x)
            part[at] += part[at + stride];
        __syncthreads();
    }
    if (t == 0)
        out[blockIdx.x] = part[0];
}
"""
N = 128

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def profiled():
    """The runs and their profiles."""
    gpu = sl.Gpu("caps-gtx480")
    gpu.machine.interval_cycles = 64
    data, out = gpu.array(np.arange(N * N, dtype="f4").reshape(N, N)), gpu.zeros((N, N), "f4")
    module = gpu.compile(CUDA)
    transpose, reduce = module["transpose<float>"], module["reduce"]
    runs = [transpose((N // 32, N // 8), (32, 8), [data, out, N]), reduce(N * N // 256, 256, [data, out])]
    shapes = [(run.grid, run.block, run.shared_bytes) for run in runs]
    profiles = [profile_of(run.program, run.timing, shape, gpu.machine.config, gpu.machine.intervals())
                for run, shape in zip(runs, shapes, strict=True)]  # fmt: skip
    return runs, profiles


@pytest.fixture(scope="session")
def profiles(profiled):
    return profiled[1]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's Chromium, without a window."""
    if not (os.path.exists(CHROMIUM) and os.path.exists(DRIVER)):
        pytest.skip("needs Debian's packages chromium and chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    folder = tmp_path_factory.mktemp("chromium")
    for flag in (*FLAGS, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    driver.set_script_timeout(60)
    yield driver
    driver.quit()
    shutil.rmtree(folder, ignore_errors=True)
