"""L2 and DRAM, each at its own clock: a thread's slices and channels that have something to do have their cycles."""

import numpy as np

from simtlab.compiled import compiled, count_trailing_zeros
from simtlab.machine.bit_set import WORD_BITS, those_due
from simtlab.machine.fifo import NOTHING, push
from simtlab.machine.memory import dram, l2_arrival, l2_slice
from simtlab.machine.request import Kind, end

tick_slice, wake_slice = l2_slice.tick, l2_arrival.wake_slice
tick_dram, finished, next_in_dram = dram.tick, dram.finished, dram.next_event
WRITE_BACK = int(Kind.WRITE_BACK)


@compiled
def tick_memory(gpu, slices, channels, requests):
    """L2 and DRAM catch up with the core clock."""
    gpu.l2.progress += gpu.l2.khz
    while gpu.l2.progress >= gpu.core_khz:
        advance(gpu.l2, gpu.core_khz)
        tick_slices(gpu, slices, channels, requests)
    gpu.dram.progress += gpu.dram.khz
    while gpu.dram.progress >= gpu.core_khz:
        advance(gpu.dram, gpu.core_khz)
        tick_channels(gpu, slices, channels, requests)


@compiled
def advance(clock, core_khz):
    clock.progress -= core_khz
    clock.cycle += 1


@compiled
def tick_slices(gpu, slices, channels, requests):
    for first in range(gpu.first_slice, gpu.end_slice, WORD_BITS):
        due = those_due(gpu.slice_wake, first, gpu.end_slice, gpu.l2.cycle)
        while due != 0:
            gpu.units += 1
            slice = slices[first + count_trailing_zeros(due)]
            due = np.uint64(due & (due - np.uint64(1)))
            tick_slice(gpu, slice, channels[slice.channel], requests)


@compiled
def tick_channels(gpu, slices, channels, requests):
    """DRAM channels with something to do; finished reads go back to their slices, finished writes are over."""
    for first in range(gpu.first_channel, gpu.end_channel, WORD_BITS):
        due = those_due(gpu.channel_wake, first, gpu.end_channel, gpu.dram.cycle)
        while due != 0:
            number = first + count_trailing_zeros(due)
            gpu.units += 1
            due = np.uint64(due & (due - np.uint64(1)))
            tick_channel(gpu, slices, channels[number], requests)
            gpu.channel_wake[number] = next_in_dram(channels[number], gpu.dram.cycle + 1)


@compiled
def tick_channel(gpu, slices, channel, requests):
    queued = channel.queued
    tick_dram(channel, requests, gpu.dram.cycle)
    if channel.queued < queued:
        wake_refused(gpu, slices, channel)
    number = finished(channel, requests, gpu.dram.cycle)
    while number != NOTHING:
        if requests.entry[number].kind == WRITE_BACK:
            end(requests, gpu.thread, number)
        else:
            s = requests.entry[number].slice
            push(slices[s].fills, number)
            wake_slice(gpu, s, gpu.l2.cycle + 1)
        number = finished(channel, requests, gpu.dram.cycle)


@compiled
def wake_refused(gpu, slices, channel):
    """A memory controller has room again: as many of its slices as there are places, of those that wait for one, may try."""
    places = channel.queue_entries - channel.queued
    s = channel.first_slice
    while places > 0 and s < channel.first_slice + channel.slices:
        if slices[s].refused:
            wake_slice(gpu, s, gpu.l2.cycle + 1)
            places -= 1
        s += 1
