"""Next-line prefetching (CAPS, section III-C): a miss also fetches the line after it."""

from simtlab.policies.hook import hook, prefetch


@hook
def on_miss(core, own, op, cycle):
    load = core.ops[op]
    prefetch(core, load.lines[load.served] + core.l1d.line_bytes, load.slot, load.pc, cycle)
