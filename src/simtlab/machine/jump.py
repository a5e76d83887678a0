"""Jumps over cycles in which nothing can happen: the next one in which something can, in any clock domain."""

import numpy as np

from simtlab.compiled import compiled
from simtlab.machine.bit_set import is_empty
from simtlab.machine.network import network as net

next_in_network = net.next_event
FAR_FUTURE = np.int64(1 << 62)


@compiled
def next_event(gpus, networks):
    """The next core cycle at which any part of the chip can do something."""
    gpu = gpus[0]
    if gpu.dispatching:
        return gpu.cycle + 1
    soonest = gpu.launch_at
    if gpu.finish_at > gpu.cycle:
        soonest = min(soonest, gpu.finish_at)
    in_l2, in_dram = FAR_FUTURE, FAR_FUTURE
    for thread in range(len(gpus)):
        part = gpus[thread]
        if part.undelivered or part.crowded or not is_empty(part.senders):
            return gpu.cycle + 1
        if part.ahead > gpu.cycle:
            soonest = min(soonest, part.ahead)
        for c in range(part.first_core, part.end_core):
            soonest = min(soonest, part.wake[c])
        for s in range(part.first_slice, part.end_slice):
            in_l2 = min(in_l2, part.slice_wake[s], part.reply_ready[s])
        for k in range(part.first_channel, part.end_channel):
            in_dram = min(in_dram, part.channel_wake[k])
    if soonest <= gpu.cycle + 1 or in_l2 <= gpu.l2.cycle:
        return gpu.cycle + 1
    if in_l2 < FAR_FUTURE:
        soonest = min(soonest, core_cycle_of(gpu, in_l2, gpu.l2))
    for direction in range(2):
        event = next_in_network(networks[direction], gpu.network.cycle + 1)
        if event < FAR_FUTURE:
            soonest = min(soonest, core_cycle_of(gpu, event, gpu.network))
    if in_dram < FAR_FUTURE:
        soonest = min(soonest, core_cycle_of(gpu, max(in_dram, gpu.dram.cycle + 1), gpu.dram))
    return max(soonest, gpu.cycle + 1)


@compiled
def core_cycle_of(gpu, event, clock):
    """The first core cycle by which another clock has made that many cycles."""
    left = (event - clock.from_cycle) * gpu.core_khz - clock.from_progress
    return gpu.clocks_from + (left + clock.khz - 1) // clock.khz


@compiled
def jump(gpu, cycle):
    """Go on to a cycle before which nothing happens, in any clock domain."""
    if cycle > gpu.cycle:
        gpu.cycle = cycle
        set_clock(gpu.network, cycle - gpu.clocks_from, gpu.core_khz)
        set_clock(gpu.l2, cycle - gpu.clocks_from, gpu.core_khz)
        set_clock(gpu.dram, cycle - gpu.clocks_from, gpu.core_khz)


@compiled
def set_clock(clock, core_cycles, core_khz):
    """Where another clock stands so many core cycles after they changed."""
    gone = clock.from_progress + core_cycles * clock.khz
    clock.cycle = clock.from_cycle + gone // core_khz
    clock.progress = gone % core_khz
