"""A Triton kernel, run on simtlab.    pip install "simtlab[triton]"

Triton compiles for a named target without a GPU; its kernels take two more pointers for scratch memory, which this one
does not use.
"""

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import simtlab as sl

BLOCK = 1024
WARPS = 4


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, inside) + tl.load(y + i, inside), inside)


signature = {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"}
source = ASTSource(fn=add, signature=signature, constexprs={"BLOCK": BLOCK})
compiled = triton.compile(source, target=GPUTarget("cuda", 75, 32), options={"num_warps": WARPS})

gpu = sl.Gpu()
kernel = gpu.load(compiled.asm["ptx"])["add"]
n = 5000
rng = np.random.default_rng(0)
a, b = (rng.random(n, np.float32) for _ in range(2))
x, y, out = gpu.array(a), gpu.array(b), gpu.zeros(n)
scratch = [np.uint64(0)] * (len(kernel.program.kernel.parameters) - 4)
run = kernel(-(-n // BLOCK), 32 * WARPS, [x, y, out, np.int32(n), *scratch], shared=compiled.metadata.shared)
assert np.array_equal(out.numpy(), a + b)
print(f"triton: {run.instructions} warp instructions, the result matches NumPy")
