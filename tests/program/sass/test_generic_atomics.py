"""Atomics at generic addresses: machine code does those in global memory, tells so by a predicate, and goes on with the others."""

import numpy as np
import pytest

import simtlab as sl

ISAS = ("sm_75", "sm_90", "sm_120")
FORMS = {
    "add_32": ("unsigned", "atomicAdd(p, 3u + i)"), "add_64": ("unsigned long long", "atomicAdd(p, 3ull + i)"),
    "add_f32": ("float", "atomicAdd(p, 1.5f + i)"), "add_f64": ("double", "atomicAdd(p, 1.5 + i)"),
    "exch_32": ("unsigned", "atomicExch(p, 3u + i)"), "exch_64": ("unsigned long long", "atomicExch(p, 3ull + i)"),
    "cas_32": ("unsigned", "atomicCAS(p, 1u, 3u + i)"), "cas_64": ("unsigned long long", "atomicCAS(p, 1ull, 3ull + i)"),
    "min_s64": ("long long", "atomicMin(p, -(long long)i)"), "max_u64": ("unsigned long long", "atomicMax(p, 9ull * i)"),
    "and_64": ("unsigned long long", "atomicAnd(p, ~(1ull << i))"), "or_64": ("unsigned long long", "atomicOr(p, 1ull << i)"),
    "xor_64": ("unsigned long long", "atomicXor(p, 1ull << i)"), "inc_32": ("unsigned", "atomicInc(p, i)"),
}  # fmt: skip
KERNEL = """
extern "C" __global__ void {name}({type} *data, {type} *out, int turn) {{
  int i = threadIdx.x;
  __shared__ {type} shared[32];
  {type} local[4];
  for (int k = 0; k < 4; k++) local[k] = data[8 + k];
  shared[i] = 1;
  __syncthreads();
  {type} *places[] = {{data + i % 8, shared + i % 8, local + (i + turn) % 4}};
  {type} *p = places[(i + turn) % 3];
  out[i] = {operation};
  __syncthreads();
  out[32 + i] = shared[i];
  for (int k = 0; k < 4; k++) out[64 + 4 * i + k] = local[k];
}}
"""
SOURCE = "".join(KERNEL.format(name=name, type=type, operation=operation) for name, (type, operation) in FORMS.items())
NUMPY = {"unsigned": "u4", "unsigned long long": "u8", "long long": "i8", "float": "f4", "double": "f8"}


def results(isa, module, gpu, name):
    type = NUMPY[FORMS[name][0]]
    found = []
    for turn in range(3):
        data, out = gpu.array(np.arange(12).astype(type) % 5), gpu.zeros(192, type)
        module[name](1, 32, [data, out, turn])
        found += [data.numpy(), out.numpy()]
    return np.concatenate(found)


@pytest.mark.parametrize("isa", ISAS)
def test_lanes_in_global_shared_and_local_memory_get_what_ptx_gives(isa):
    on_ptx, on_machine_code = sl.Gpu(threads=1), sl.Gpu(isa=isa, threads=1)
    ptx, code = on_ptx.compile(SOURCE), on_machine_code.compile(SOURCE)
    for name in FORMS:
        assert np.array_equal(results(isa, code, on_machine_code, name), results("ptx", ptx, on_ptx, name)), name


def test_an_atomic_of_64_bits_asks_for_the_space_only_where_shared_memory_cannot_do_it():
    """So ATOM.CAS.64 and ATOM.EXCH.64 are done there: what follows a false predicate is a load and a store, not atomic."""
    gpu = sl.Gpu(isa="sm_90")
    asks = {}
    for name in ("add_64", "exch_64", "cas_64"):
        code = gpu.compile(KERNEL.format(name="k", type=FORMS[name][0], operation=FORMS[name][1])).sass
        assert "ATOM.E" in code
        asks[name] = "QSPC.E.S" in code
    assert asks == {"add_64": True, "exch_64": False, "cas_64": False}


INDEXED = """
extern "C" __global__ void spaces(int *out, int *given, int n) {
  __shared__ int shared[64];
  int local[64];
  for (int k = 0; k < n; k++) local[k] = given[k];
  int *places[] = {shared, local, given};
  int *p = places[n % 3] + 4 * threadIdx.x + 2;
  out[threadIdx.x] = __isShared(p) | __isLocal(p) << 1 | __isGlobal(p) << 2 | (n > 40 ? local[n - 40] : 0);
}
"""


@pytest.mark.parametrize("isa", ISAS)
def test_an_address_is_asked_for_its_space(isa):
    gpu = sl.Gpu(isa=isa)
    spaces = gpu.compile(INDEXED)["spaces"]
    for n, expected in ((3, 1), (4, 2), (5, 4)):
        out = gpu.zeros(8, np.int32)
        spaces(1, 8, [out, gpu.zeros(64, np.int32), n])
        assert out.numpy().tolist() == [expected] * 8
