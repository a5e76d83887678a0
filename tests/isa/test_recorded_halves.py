"""Pairs of halves and of 16-bit integers, atomics on halves and vectors, functions of halves: the bits an H200 gave."""

from functools import cache

import numpy as np
import pytest

import simtlab as sl
from simtlab.isa.build import provide
from simtlab.isa.table import find
from tests.isa import hardware_vectors, native, recorded_halves
from tests.isa.hardware_vectors import hardware_result, instructions, simulated_result
from tests.isa.recorded_halves import COUNT, HEADER, N_COMPARED, N_FUNCTIONS, THREADS, atomics_recorded, recorded


@cache
def shapes():
    return hardware_vectors.recorded.__wrapped__()


@pytest.fixture(autouse=True)
def recorded_data(monkeypatch):
    monkeypatch.setattr(hardware_vectors, "data", recorded)


def family(shape):
    """What a shape is about: opcode and type of its last instruction that is not there to show predicates."""
    spellings = [spelling for spelling in shape.spellings if not spelling.startswith(("selp", "or.", "setp.lt.s32"))]
    return spellings[-1].partition(".")[0], spellings[-1].rpartition(".")[2]


FAMILIES = sorted(
    {*((name, type) for name in ("set", "setp") for type in ("f16x2", "bf16x2"))}
    | {*((name, type) for name in ("add", "min", "max") for type in ("u16x2", "s16x2")), ("min", "s32"), ("max", "s32")}
    | {*((name, type) for name in ("add", "sub", "mul", "min", "max", "abs", "neg") for type in ("f16x2", "bf16", "bf16x2"))}
    | {*(("fma", type) for type in ("f16", "bf16", "f16x2", "bf16x2"))}
)


def test_every_family_of_the_recording_is_tested():
    assert sorted({family(shape) for shape in shapes()}) == FAMILIES


@pytest.mark.parametrize("chosen", FAMILIES, ids=".".join)
def test_an_instruction_on_pairs_matches_the_hardware_bit_for_bit(chosen):
    wanted = [shape for shape in shapes() if family(shape) == chosen]
    provide(step for shape in wanted for step, _ in instructions(shape))
    wrong = {shape.text: int((hardware_result(shape) != simulated_result(shape)).sum()) for shape in wanted}
    assert not {text: count for text, count in wrong.items() if count}


@pytest.mark.parametrize("type", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["fma.rn.oob", "fma.rn.oob.relu"])
def test_a_factor_that_is_out_of_bounds_makes_the_product_and_the_sum_zero(name, type):
    assert recorded()[f"out_of_bounds/{type}"].tolist() == [0x7FF7, 0xFFF7]
    triples = [recorded()[f"triples/{type}/{k}"] for k in range(3)]
    np.testing.assert_array_equal(native.run(f"{name}.{type}", triples, np.uint16), recorded()[f"triples/{name}.{type}"])


# Atomics --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpu():
    return sl.Gpu()


@pytest.fixture(scope="module")
def atomics(gpu):
    kernels = [recorded_halves.atomic_ptx(k, *row) for k, row in enumerate(atomics_recorded())]
    return gpu.load(HEADER + "\n".join(kernels))


@pytest.mark.parametrize("number", range(len(recorded_halves.atomics())), ids=lambda k: recorded_halves.atomics()[k][0])
def test_an_atomic_leaves_and_gives_back_what_the_hardware_did(gpu, atomics, number):
    spelling, type, _ = atomics_recorded()[number]
    before, new = (recorded()[f"values/{type.removesuffix('x2')}/{k}"] for k in range(2))
    memory, old = gpu.array(before), gpu.zeros((THREADS, 16), "u1")
    atomics[f"a{number}"](1, THREADS, [memory, gpu.array(new), old])
    np.testing.assert_array_equal(memory.numpy(), recorded()[f"memory/{spelling}"])
    np.testing.assert_array_equal(old.numpy(), recorded()[f"old/{spelling}"])


@pytest.mark.parametrize("form", ["atom.global.v4.f32.add", "atom.relaxed.gpu.global.add.v4.f32", "red.global.v2.bf16x2.max.noftz"])
def test_vector_atomics_in_the_orders_that_ptx_writes_them(form):
    assert find(form) is not None


# CUDA's functions -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def functions(gpu):
    return gpu.load(str(recorded()["functions_ptx"]))


@pytest.mark.parametrize("type", ["f16x2", "bf16x2"])
def test_comparisons_of_pairs_in_cuda_give_what_the_hardware_gave(gpu, functions, type):
    pools = [gpu.array(recorded()[f"pool/{type}/{k}"]) for k in range(2)]
    out, flags = gpu.zeros((N_COMPARED, COUNT), "u4"), gpu.zeros((2, COUNT), "u4")
    functions[type](COUNT // 256, 256, [*pools, out, flags])
    np.testing.assert_array_equal(out.numpy(), recorded()[f"compared/{type}"])
    np.testing.assert_array_equal(flags.numpy(), recorded()[f"flags/{type}"])


@pytest.mark.parametrize("type", ["f16x2", "bf16x2"])
def test_functions_of_every_half_are_the_hardwares(gpu, functions, type):
    every = np.arange(1 << 16, dtype=np.uint16)
    out = gpu.zeros((N_FUNCTIONS, len(every) // 2), "u4")
    functions[f"{type}_functions"](len(every) // 512, 256, [gpu.array(every.view(np.uint32)), out])
    np.testing.assert_array_equal(out.numpy(), recorded()[f"functions/{type}"])
