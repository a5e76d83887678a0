"""Whether CTAs tell each other something, and whether the order in which they do matters."""

import pytest

import simtlab as sl

KERNEL = 'extern "C" __global__ void f(int *a, float *b, unsigned *c) { BODY; }'
ANY_ORDER = ["atomicMin(a, threadIdx.x)", "atomicAdd(c, 2u); atomicOr(a, 1)", "c[1] = 3"]
ONE_ORDER = ["atomicAdd(b, 1.0f)", "c[threadIdx.x] = atomicAdd(c + 1, 2u)", "atomicExch(a, 1)", "*(volatile int *)a = 1",
             "if (atomicAdd(a, 1) == 3) c[0] = 1", "atomicCAS(a, 0, 1)", "atomicInc(c, 7u)"]  # fmt: skip


def program(body, isa):
    return sl.Gpu(isa=isa).compile(KERNEL.replace("BODY", body))["f"].program


@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
@pytest.mark.parametrize("body", ANY_ORDER)
def test_sums_of_integers_may_come_in_any_order_if_nobody_looks_at_what_was_there(body, isa):
    assert program(body, isa).ctas_communicate == ("atomic" in body)
    assert not program(body, isa).depends_on_order


@pytest.mark.parametrize("isa", ["ptx", "sm_90"])
@pytest.mark.parametrize("body", ONE_ORDER)
def test_with_floats_and_old_values_it_matters_who_comes_first(body, isa):
    assert program(body, isa).depends_on_order
