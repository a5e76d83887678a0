"""A GPU executes the cubins that a real one would: of the same major architecture number, and not newer."""

from functools import cache

import pytest

import simtlab as sl
from simtlab.frontend.cuda import compile_cuda

SOURCE = 'extern "C" __global__ void k(int *out) { out[threadIdx.x] = 3 * threadIdx.x; }'
MEMORY = 1 << 20


@cache
def cubin(architecture: str) -> bytes:
    return compile_cuda(SOURCE, "k.cu", (), (), (), architecture=architecture, count_registers=True).cubin


def executed(gpu: sl.Gpu, content: bytes) -> list[int]:
    out = gpu.zeros(4, "i4")
    gpu.load_cubin(content)["k"](1, 4, [out])
    return list(out)


@pytest.mark.parametrize(("architecture", "isa"), [("sm_90", "sm_90"), ("sm_80", "sm_86"), ("sm_80", "sm_89")])
def test_a_cubin_runs_on_its_architecture_and_on_newer_ones_of_the_same_number(architecture, isa):
    assert executed(sl.Gpu(isa=isa, memory_bytes=MEMORY), cubin(architecture)) == [0, 3, 6, 9]


@pytest.mark.parametrize(("architecture", "isa"), [("sm_90", "sm_75"), ("sm_90", "sm_80"), ("sm_86", "sm_80"), ("sm_90", "sm_120")])
def test_another_architectures_cubin_is_refused_with_the_isa_that_would_be_right(architecture, isa):
    said = rf"for {architecture}, and this GPU's isa is '{isa}'; Gpu\(…, isa='{architecture}'\)"
    with pytest.raises(sl.SimtlabError, match=said):
        sl.Gpu(isa=isa, memory_bytes=MEMORY).load_cubin(cubin(architecture))


def test_a_machine_that_executes_ptx_takes_no_cubin():
    with pytest.raises(sl.SimtlabError, match=r"this GPU's isa is 'ptx'; Gpu\(…, isa='sm_90'\) executes it"):
        sl.Gpu("caps-gtx480", memory_bytes=MEMORY).load_cubin(cubin("sm_90"))


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90"])
def test_a_gpu_with_neither_machine_nor_isa_takes_any(architecture):
    assert executed(sl.Gpu(memory_bytes=MEMORY), cubin(architecture)) == [0, 3, 6, 9]
