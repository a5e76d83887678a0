"""`%clock64` counts core cycles on a machine, `%globaltimer` nanoseconds, `%nsmid` cores."""

import numpy as np

import simtlab as sl
from tests.timing.machines import gpu, kernel, loop
from tests.timing.test_latencies import ISSUE_TO_READ

TELL = "ld.param.u64 %d1, [a];\nst.global.u64 [%d1], %d2;\nst.global.u64 [%d1+8], %d3;"
ADD_CYCLES = ISSUE_TO_READ + 1 + 4
BUFFER = {"l1i.bytes": 65536, "issue.instruction_buffer_entries": 8, "issue.decode_width": 8}


def between(device: sl.Gpu, clock: str, additions: int) -> int:
    """What a clock has moved on by over a chain of additions, whose end the second look waits for."""
    out = device.zeros(2, "u8")
    chain = "add.u32 %r1, %r1, 1;\n" * additions + "setp.ne.u32 %p1, %r1, 9999;\n@%p1 "
    again = loop(f"mov.u32 %r1, 0;\nmov.u64 %d2, {clock};\n{chain}mov.u64 %d3, {clock};\n", 2)
    kernel(device, again + TELL)(1, 32, [out, out])  # the second time round its instructions are in the L1I
    first, second = out.numpy()
    return int(second - first)


def test_clock64_counts_the_cycles_of_a_chain():
    device = gpu(BUFFER, warp_scheduler="lrr")
    assert between(device, "%clock64", 24) - between(device, "%clock64", 8) == 16 * ADD_CYCLES


def test_globaltimer_counts_nanoseconds():
    device = gpu(BUFFER, warp_scheduler="lrr")
    cycles, nanoseconds = (between(device, clock, 200) for clock in ("%clock64", "%globaltimer"))
    assert abs(nanoseconds - cycles * 1000 / device.machine.config.clocks.core_mhz) <= 1


def test_a_clock_goes_on_from_launch_to_launch():
    device = gpu()
    out = device.zeros(1, "u8")
    made = kernel(device, "ld.param.u64 %d1, [a]; mov.u64 %d2, %clock64; st.global.u64 [%d1], %d2;")
    first = made(1, 32, [out, out])
    seen = int(out[0])
    made(1, 32, [out, out])
    assert 0 < seen <= first.cycles < int(out[0])


def test_nsmid_is_the_number_of_cores():
    device = gpu({"core.cores": 3})
    out = device.zeros(1, "u4")
    kernel(device, "ld.param.u64 %d1, [a]; mov.u32 %r1, %nsmid; st.global.u32 [%d1], %r1;")(1, 32, [out, np.uint64(0)])
    assert out[0] == 3
