"""A part of an instruction's name that nobody asked for is refused: ignored, it would give a wrong result in silence."""

from dataclasses import replace

import pytest

from simtlab.frontend import ast, cuda
from simtlab.frontend.sass.cubin import Cubin
from simtlab.frontend.sass.disassemble import instructions_of
from simtlab.program.sass import build  # noqa: F401  fills the table of lowerings
from simtlab.program.sass.given import NOTHING, Given, UnknownSass, lower_instruction

SOURCE = """
extern "C" __global__ void k(int *x, const float *y, int n) {
  __shared__ int s[64];
  int i = threadIdx.x;
  s[i] = max(x[i], n) + __popc(x[i + 64]) + atomicAdd(x + 128, i) + __shfl_xor_sync(~0u, i, n);
  __syncthreads();
  for (int k = 0; k < n; k++) if (s[k] > 7) x[i] += __float2int_rz(y[i] * y[k]) >> k;
}
"""
MAY_SAY_ANYTHING = ("NOP", "MEMBAR", "CCTL", "DEPBAR", "ERRBAR")  # they do nothing here


def lowered(i):
    origin = ast.Instruction(i.opcode, i.parts, (), None, ast.Position(1, 1), None)
    return lower_instruction(Given(i, origin, {0: 0, 3: 0}, {0: 4096, 3: 4096}, {}, {}, NOTHING))


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_a_part_that_is_not_known_is_refused(architecture):
    cubin = Cubin(cuda.compile_cuda(SOURCE, "k.cu", architecture=architecture, count_registers=True).cubin)
    kinds = {i.opcode: i for i in instructions_of(cubin, "k") if i.opcode not in MAY_SAY_ANYTHING}
    assert len(kinds) > 20
    for i in kinds.values():
        lowered(i)
        with pytest.raises(UnknownSass, match="NOVEL"):
            lowered(replace(i, parts=(*i.parts, "NOVEL"), text=f"{i.spelling}.NOVEL"))
