"""Count the global loads a program executes: its PTX is rewritten so that every one counts itself first."""

import re

COUNTER = "simtlab_loads_executed"
GLOBAL_LOAD = re.compile(r"^(?=[ \t]*(?:@!?%\w+[ \t]+)?ldu?(?:\.\w+)*\.global\b)", re.MULTILINE)
HEADER = re.compile(r"^\.address_size .*$", re.MULTILINE)
# One lane of those that are active adds one for its warp. A guard on the load does not matter: the warp executes it.
COUNT = f"""\
{{
.reg .b32 %sl_active, %sl_below;
.reg .pred %sl_first;
activemask.b32 %sl_active;
mov.u32 %sl_below, %lanemask_lt;
and.b32 %sl_below, %sl_below, %sl_active;
setp.eq.u32 %sl_first, %sl_below, 0;
@%sl_first red.global.add.u64 [{COUNTER}], 1;
}}
"""


def with_counted_loads(ptx: str) -> str:
    """The same program, adding up in a variable how many warp instructions `ld.global` it executes."""
    declared = HEADER.sub(lambda line: f"{line[0]}\n.visible .global .align 8 .u64 {COUNTER};", ptx, count=1)
    return GLOBAL_LOAD.sub(COUNT, declared)
