"""What each instruction did, counted on its row: lanes, lines or sectors touched, passes of shared memory."""

import numpy as np

import simtlab as sl

SOURCE = """
extern "C" __global__ void mixed(const int *x, int *y) {
    __shared__ int tile[64 * 32];
    int lane = threadIdx.x;
    tile[lane * 2] = x[lane];           // two lanes a bank: two passes; 32 words side by side: four sectors
    __syncthreads();
    if (lane < 8)
        y[lane * 8] = tile[lane];       // eight lanes, eight sectors
}
"""


def rows_of(run, kernel, word):
    """The rows of the instructions whose spelling has the word."""
    return [pc for pc, lowered in enumerate(kernel.program.lowered) if word in lowered.origin.spelling]


def launched():
    gpu = sl.Gpu("h200", isa="ptx", set={"core.cores": 1})
    kernel = gpu.compile(SOURCE)["mixed"]
    x, y = gpu.array(np.arange(32, dtype="i4")), gpu.zeros(64, "i4")
    return kernel, kernel(3, 32, [x, y])


def test_each_instruction_has_its_lanes_sectors_and_passes():
    kernel, run = launched()
    work = run.timing.work_by_instruction
    (load,), (store,) = rows_of(run, kernel, "ld.global"), rows_of(run, kernel, "st.global")
    (put,), (get,) = rows_of(run, kernel, "st.shared"), rows_of(run, kernel, "ld.shared")
    assert [work["lanes"][pc] for pc in (load, store, put, get)] == [96, 24, 96, 24]
    assert [work["accesses"][pc] for pc in (load, store, put, get)] == [12, 24, 0, 0]
    assert [work["passes"][pc] for pc in (load, store, put, get)] == [0, 0, 6, 3]


def test_rows_add_up_to_the_counters():
    _, run = launched()
    work = run.timing.work_by_instruction
    assert work["lanes"].sum() == run.timing.thread_instructions
    assert work["passes"].sum() == run.counters["shared_passes"]
    assert work["accesses"].sum() == run.counters["l1_accesses"]
