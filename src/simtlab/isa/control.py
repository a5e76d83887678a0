"""Instructions that steer warps or leave values alone. They have no native function: the executor acts on them."""

from simtlab.isa.table import control

control("bra[.uni]", "= LABEL", "branch", "Jump; lanes that disagree diverge and meet again at the immediate post-dominator.")
control("brx.idx[.uni]", "= u32 LABEL", "indirect branch", "Jump to an entry of a `.branchtargets` list.")
control("call[.uni]", "= CALL", "call", "Call a function by name or by address; recursion included.")
control("ret[.uni]", "=", "return", "Return from a function, or end the thread in a kernel.")
control("exit", "=", "exit", "End the thread.")
control("trap", "=", "trap", "Stop the kernel with a fault.")
control("brkpt", "=", "nothing", "A breakpoint for a debugger; nothing happens.")
control("bar{.sync,.arrive}", "= u32 u32?", "barrier", "Wait for (or arrive at) one of 16 barriers of the CTA.")
control("barrier[.cta]{.sync,.arrive}[.aligned]", "= u32 u32?", "barrier", "As `bar`.")
control("bar.red.popc.u32", "u32 = u32 u32? P", "barrier", "Wait, and count the threads whose predicate holds.")
control("bar.red{.and,.or}.pred", "P = u32 u32? P", "barrier", "Wait, and combine a predicate of all threads.")
control("barrier[.cta].red.popc[.aligned].u32", "u32 = u32 u32? P", "barrier", "As `bar.red`.")
control("barrier[.cta].red{.and,.or}[.aligned].pred", "P = u32 u32? P", "barrier", "As `bar.red`.")
control("membar{.cta,.gl,.sys}", "=", "fence", "Order memory accesses; a functional run has them in order.")
control("fence[.sc,.acq_rel,.acquire,.release]{.cta,.cluster,.gpu,.sys}", "=", "fence", "As `membar`.")
control("fence.proxy{.alias,.async,.async.global,.async.shared::cta}", "=", "fence", "As `membar`.")
control("nanosleep.u32", "= u32", "nothing", "Let some time pass; a functional run has none.")
control("prefetch[.global,.local]{.L1,.L2}", "= M", "nothing", "Bring a line closer; values stay as they are.")
control("prefetchu.L1", "= M", "nothing", "As `prefetch`.")
control("pmevent[.mask]", "= u32", "nothing", "A profiler event.")
control("griddepcontrol{.launch_dependents,.wait}", "=", "nothing", "Grids run one after another.")
TEX = "{.1d,.2d,.3d,.a1d,.a2d,.cube}.v4.{f32,u32,s32}.{f32,s32}"
SURFACE = "{.1d,.2d,.3d,.a1d,.a2d}[.v2,.v4].{b8,b16,b32,b64}{.trap,.clamp,.zero}"
control(f"tex{TEX}", "QUAD = TEX", "texture", "Fetch a texel, filtered as the texture says.")
control(f"tex.level{TEX}", "QUAD = TEX f32", "texture", "As `tex`; there is one level.")
control(f"suld.b{SURFACE}", "V = TEX", "surface", "Read an element of a surface.")
control(f"sust.b{SURFACE}", "= TEX V", "surface", "Write an element of a surface.")
