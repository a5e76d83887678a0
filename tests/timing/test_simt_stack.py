"""The SIMT stack of BOOK Figs 3.2 to 3.4: four threads through a control flow graph of seven blocks. About 3 s.

The book would push the path with more lanes first, so that the smaller one runs first and the stack stays shallow; so do we
unless told otherwise: F, one lane, runs before B, three lanes. Masks are written as the book does, thread 0 on the left.
`tests/execute/test_simt_stack.py` has the stack's contents at every step.
"""

import pytest

import simtlab as sl
from tests.timing.machines import HEAD

# Each block notes its letter and who is active; all active lanes write the same words.
NOTE = """ activemask.b32 %m; ld.global.u32 %n, [%log]; mul.wide.u32 %w, %n, 8; add.u64 %w, %w, %log;
 st.global.u32 [%w+8], LETTER; st.global.u32 [%w+12], %m; add.u32 %n, %n, 1; st.global.u32 [%log], %n;
"""


def note(letter: str) -> str:
    return NOTE.replace("LETTER", str(ord(letter)))


KERNEL = f"""{HEAD}.visible .entry k(.param .u64 d1, .param .u64 d2, .param .u64 l) {{
 .reg .b32 %t<9>; .reg .b32 %m; .reg .b32 %n; .reg .b32 %x; .reg .b32 %y; .reg .b32 %z; .reg .b32 %i; .reg .b64 %a;
 .reg .b64 %b; .reg .b64 %log; .reg .b64 %w; .reg .pred %p<4>;
 ld.param.u64 %a, [d1]; ld.param.u64 %b, [d2]; ld.param.u64 %log, [l];
 mov.u32 %t1, %tid.x; mul.wide.u32 %w, %t1, 4; add.u64 %a, %a, %w; add.u64 %b, %b, %w; mov.u32 %i, 0;
A: {note("A")} ld.global.u32 %t3, [%a]; setp.eq.u32 %p1, %t3, 0;
 @%p1 bra F;
B: {note("B")} ld.global.u32 %t5, [%b]; setp.eq.u32 %p2, %t5, 0;
 @%p2 bra D;
C: {note("C")} add.u32 %x, %x, 1;
 bra E;
D: {note("D")} add.u32 %y, %y, 2;
E: {note("E")} bra G;
F: {note("F")} add.u32 %z, %z, 3;
G: {note("G")} add.u32 %i, %i, 1; setp.lt.u32 %p3, %i, ITERATIONS;
 @%p3 bra A;
 ret; }}"""


def trace(gpu: sl.Gpu, data1: list[int], data2: list[int], iterations: int = 1) -> list[str]:
    log = gpu.zeros(512, "u4")
    gpu.load(KERNEL.replace("ITERATIONS", str(iterations)))["k"](1, 4, [gpu.array(data1, "u4"), gpu.array(data2, "u4"), log])
    words = log.numpy()
    notes = words[2 : 2 + 2 * int(words[0])].reshape(-1, 2)
    return [f"{chr(letter)}/" + f"{mask:04b}"[::-1] for letter, mask in notes]


@pytest.fixture(params=[None, "caps-gtx480"], ids=["functional", "timed"])
def gpu(request):
    return sl.Gpu(request.param, memory_bytes=1 << 24)


FIGURE = ["A/1111", "F/0001", "B/1110", "C/1000", "D/0110", "E/1110", "G/1111"]
ORDERS = {
    "most-lanes": FIGURE,
    "fewest-lanes": ["A/1111", "B/1110", "D/0110", "C/1000", "E/1110", "F/0001", "G/1111"],
    "taken": ["A/1111", "B/1110", "C/1000", "D/0110", "E/1110", "F/0001", "G/1111"],  # as the figure draws it
}


def test_blocks_run_with_the_masks_of_figure_3_4(gpu):
    assert trace(gpu, [1, 1, 1, 0], [1, 0, 0, 0]) == FIGURE


@pytest.mark.parametrize("machine", [None, "caps-gtx480"], ids=["functional", "timed"])
@pytest.mark.parametrize("order", ORDERS)
def test_blocks_run_in_the_order_they_are_pushed_in(machine, order):
    device = sl.Gpu(machine, memory_bytes=1 << 24, push_order=order)
    assert trace(device, [1, 1, 1, 0], [1, 0, 0, 0], iterations=2) == 2 * ORDERS[order]


def test_the_loop_meets_again_before_every_turn(gpu):
    assert trace(gpu, [1, 1, 1, 0], [1, 0, 0, 0], iterations=3) == 3 * FIGURE


def test_a_path_that_no_lane_takes_is_skipped(gpu):
    assert trace(gpu, [1, 1, 1, 1], [1, 1, 1, 1]) == ["A/1111", "B/1111", "C/1111", "E/1111", "G/1111"]
    assert trace(gpu, [0, 0, 0, 0], [1, 1, 1, 1]) == ["A/1111", "F/1111", "G/1111"]


def test_of_two_equal_halves_the_one_that_falls_through_goes_first(gpu):
    assert trace(gpu, [1, 1, 0, 0], [1, 1, 0, 0]) == ["A/1111", "B/1100", "C/1100", "E/1100", "F/0011", "G/1111"]


def test_every_combination_of_conditions_runs_each_lane_through_its_own_blocks():
    device = sl.Gpu(memory_bytes=1 << 24)
    for case in range(256):
        bits = [case >> k & 1 for k in range(8)]
        found = trace(device, bits[:4], bits[4:])
        for lane in range(4):
            own = "".join(step[0] for step in found if step[2 + lane] == "1")
            assert own == {(0, 0): "AFG", (0, 1): "AFG", (1, 0): "ABDEG", (1, 1): "ABCEG"}[bits[lane], bits[4 + lane]]
        assert len(found) == len(set(found))  # lanes that can run together do


# SIMT deadlock --------------------------------------------------------------------------------------------------------

LOCK = """\
extern "C" __global__ void k(int *mutex, int *inside) {
    while (atomicCAS(mutex, 0, 1) != 0) {}
    *inside += 1;
    __threadfence();
    atomicExch(mutex, 0);
}
"""  # BOOK Fig 3.5; the host has set mutex to 0, which is its line A


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("machine", [None, "caps-gtx480"], ids=["functional", "timed"])
def test_the_simt_deadlock_of_figure_3_5_is_found_and_explained(machine, order, tmp_path):
    """The lane with the lock waits at the loop's end for the others, who wait for the lock; no push order helps."""
    source = tmp_path / "lock.cu"
    source.write_text(LOCK)
    device = sl.Gpu(machine, memory_bytes=1 << 24, push_order=order)
    mutex, inside = device.zeros(1, "i4"), device.zeros(1, "i4")
    kernel = device.compile(source)["k"]
    with pytest.raises(sl.Deadlock) as error:
        kernel(1, 32, [mutex, inside])
    first, warp = str(error.value).splitlines()
    assert first == "kernel 'k' can never finish:"
    spins, waits = warp.split("; lanes 0x00000001 wait for them, next at ")
    assert spins.startswith("  block (0, 0, 0) warp 0 repeats itself at ")
    assert f"{source}:2), lanes 0xfffffffe active" in spins
    assert waits.endswith(f"{source}:3)")
    assert (mutex[0], inside[0]) == (1, 0), "the lock is taken, and nobody got in"


def test_lanes_that_come_one_at_a_time_get_the_lock(gpu):
    mutex, inside = gpu.zeros(1, "i4"), gpu.zeros(1, "i4")
    gpu.compile(LOCK)["k"](5, 1, [mutex, inside])
    assert (mutex[0], inside[0]) == (0, 5)
