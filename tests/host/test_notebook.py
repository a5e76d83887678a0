"""How things look in a notebook and at the prompt."""

import re

import numpy as np

import simtlab as sl

SOURCE = """
template <typename T> __global__ void twice(const T *x, T *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
"""


def launched(gpu):
    x, y = gpu.array(np.arange(1000, dtype="f4")), gpu.zeros(1000, "f4")
    return gpu.compile(SOURCE, names=["twice<float>"])["twice<float>"](4, 256, [x, y, 1000]), y


def text_of(html):
    return re.sub(r"<[^>]*>", " ", html)


def test_a_run_is_a_short_line():
    run, _ = launched(sl.Gpu())
    assert repr(run) == "<Run of twice, grid 4, block 256: 576 warp instructions>"
    timed, _ = launched(sl.Gpu("caps-gtx480"))
    took = f"{timed.cycles:,} cycles, {timed.ipc:.3g} a cycle"
    assert repr(timed) == f"<Run of twice, grid 4, block 256: 576 warp instructions, {took}>"


def test_a_timed_run_shows_its_cycles_stalls_and_advice():
    run, _ = launched(sl.Gpu("caps-gtx480"))
    html = run._repr_html_()
    assert "twice&lt;float&gt;" in html
    assert f"{run.cycles:,}" in html
    share = run.stalls["long_scoreboard"] / sum(run.stalls.values())
    assert f"long scoreboard  {share:.1%}" in text_of(html)
    assert "<li>" in html


def test_a_functional_run_shows_what_it_is():
    run, _ = launched(sl.Gpu())
    assert "576 warp instructions" in run._repr_html_()


def test_an_array_shows_its_first_elements():
    _, y = launched(sl.Gpu())
    html = text_of(y._repr_html_())
    assert "(1000,)" in html
    assert "0.0, 2.0, 4.0" in html
    assert "…" in html


def test_a_gpu_shows_its_machine():
    gpu = sl.Gpu("caps-gtx480", warp_scheduler="gto")
    assert repr(gpu) == "<Gpu caps-gtx480: 15 cores at 1400 MHz>"
    html = text_of(gpu._repr_html_())
    assert "15 at 1400 MHz" in html
    assert "warp_scheduler gto" in html
    assert repr(sl.Gpu()) == "<Gpu, functional>"
    assert "no time" in sl.Gpu()._repr_html_()
