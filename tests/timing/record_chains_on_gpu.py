"""Cycles of dependent chains on a real GPU: `python record_chains_on_gpu.py > FILE` where there is one and CuPy."""

import json

import cupy as cp
import numpy as np

CHASE = r"""extern "C" __global__ void chase(void **p, int before, int n, long long *out) {
    for (int k = 0; k < before; k++) p = (void **)*p;
    long long start = clock64();
    #pragma unroll 16
    for (int k = 0; k < n; k++) p = (void **)*p;
    out[0] = clock64() - start; out[1] = (long long)p; }
extern "C" __global__ void shared(int a, int b, int n, long long *out) {
    __shared__ unsigned s[1024]; unsigned p = (unsigned)__cvta_generic_to_shared(s);
    for (int k = 0; k < 1024; k++) s[k] = p + (k + 32) % 1024 * 4;
    long long start = clock64();
    #pragma unroll 64
    for (int k = 0; k < n; k++) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(p));
    out[0] = clock64() - start; out[1] = p; }
"""
CHAIN = r"""extern "C" __global__ void NAME(TYPE a, TYPE b, int n, long long *out) {
    TYPE x = a; long long start = clock64();
    #pragma unroll 64
    for (int k = 0; k < n; k++) asm volatile("TEXT" : "+LETTER"(x) : "LETTER"(b), "LETTER"(a));
    out[0] = clock64() - start; *(TYPE *)(out + 1) = x; }
"""
CHAINS = {  # name: C++ type, its letter in asm, the instruction
    "ffma": ("float", "f", "fma.rn.f32 %0, %0, %1, %2;"), "fadd": ("float", "f", "add.rn.f32 %0, %0, %1;"),
    "fmul": ("float", "f", "mul.rn.f32 %0, %0, %1;"), "imad": ("int", "r", "mad.lo.s32 %0, %0, %1, %2;"),
    "hfma2": ("int", "r", "fma.rn.f16x2 %0, %0, %1, %2;"), "dadd": ("double", "d", "add.rn.f64 %0, %0, %1;"),
    "dmul": ("double", "d", "mul.rn.f64 %0, %0, %1;"), "dfma": ("double", "d", "fma.rn.f64 %0, %0, %1, %2;"),
    "ex2": ("float", "f", "ex2.approx.ftz.f32 %0, %0;"), "rsq": ("float", "f", "rsqrt.approx.ftz.f32 %0, %0;"),
}  # fmt: skip
STEPS = 4096
TYPES = {"float": np.float32, "int": np.int32, "double": np.float64}


def ring(kilobytes):
    """One pointer in each line of 128 bytes, to the next."""
    lines = kilobytes * 8
    memory = cp.zeros(lines * 16, "u8")
    memory[::16] = memory.data.ptr + cp.roll(cp.arange(lines, dtype="u8"), -1) * 128
    return memory


def main():
    source = CHASE
    for name, (type, letter, text) in CHAINS.items():
        source += CHAIN.replace("NAME", name).replace("TYPE", type).replace("LETTER", letter).replace("TEXT", text)
    function, out, found = cp.RawModule(code=source).get_function, cp.zeros(2, "i8"), {}
    for kilobytes, before in ((8, 64), (64, 512), (128, 1024), (1024, 8192), (262144, 0)):
        memory = ring(kilobytes)
        function("chase")((1,), (1,), (memory, np.int32(before), np.int32(STEPS), out))
        found[f"chase_{kilobytes}k"] = int(out[0]) / STEPS
    for name in ("shared", *CHAINS):
        one, cycles = TYPES[CHAINS.get(name, ("int",))[0]](1), []
        for steps in (STEPS, STEPS, 2 * STEPS):  # the first brings the instructions in
            function(name)((1,), (1,), (one, one, np.int32(steps), out))
            cycles.append(int(out[0]))
        found[name] = (cycles[2] - cycles[1]) / STEPS
    print(json.dumps(found, indent=1))


main()
