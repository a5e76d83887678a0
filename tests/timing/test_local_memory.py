"""Local memory at the L1: a thread's words lie 128 bytes apart, those of 32 lanes side by side."""

import pytest

from tests.timing.machines import gpu
from tests.timing.test_l1 import SMALL, counted

BOX = """
.local .align 16 .b8 box[256];
mov.u64 %d3, box;
rem.u32 %r2, %r1, {indices};
mul.wide.u32 %d2, %r2, {bytes};
add.u64 %d2, %d2, %d3;
"""
WIDE = [(4, 1, 32), (4, 2, 32), (4, 5, 32), (4, 16, 32), (4, 16, 9), (2, 1, 32), (2, 9, 32), (2, 32, 32), (2, 32, 17)]


@pytest.mark.parametrize("sector_bytes", [32, 128])
@pytest.mark.parametrize(("words", "indices", "threads"), WIDE)
@pytest.mark.parametrize("stores", [True, False])
def test_lanes_with_different_indices_of_wide_local_variables(words, indices, threads, stores, sector_bytes):
    """A thread's words of four bytes lie 128 bytes apart, those of 32 lanes side by side: more than 32 accesses, if it must be."""
    machine = gpu(SMALL | {"l1d.sector_bytes": sector_bytes, "l1d.write_local": "write-through"})
    vector = f"local.v{words}.u32 "
    registers = "{" + ",".join(f"%r{10 + k}" for k in range(words)) + "}"
    access = f"st.{vector}[%d2], {registers};\n" if stores else f"ld.{vector}{registers}, [%d2];\n"
    found = counted(machine, BOX.format(indices=indices, bytes=4 * words) + access, threads=threads)
    touched = {(lane % indices, word, lane * 4 // sector_bytes) for lane in range(threads) for word in range(words)}
    assert found["l1_accesses"] == len(touched)
