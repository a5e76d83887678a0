"""The texture unit (BOOK 4.1.2, after Igehy et al. 1998): tags, a fragment FIFO, data in order.

A fetch looks up its lines in the tags one a cycle. A miss takes its place in the tags at once, ahead of the data, and sends a
request. The fetch then waits in the FIFO; at its head it is finished once all it asked for has come. What an earlier fetch
asked for has come by then too, so a hit needs no further check: the FIFO is the reorder buffer.
"""

import numpy as np

from simtlab.compiled import compiled, load_i64
from simtlab.execute.filtering import CORNERS, UNUSED
from simtlab.execute.image import NO_IMAGE, NO_TEXEL, handle_of
from simtlab.execute.memory import HEAP_BASE
from simtlab.execute.state import field_offset
from simtlab.execute.texture import find_texture, place_texels
from simtlab.machine.core.access_records import MAX_FRAGMENT_LINES
from simtlab.machine.core.inflight import plan
from simtlab.machine.core.kinds import Unit
from simtlab.machine.core.state import core_t
from simtlab.machine.limits import MAX_FRAGMENTS
from simtlab.machine.memory.cache import NO_WAY, fill, line_of, probe, reserve, touch, victim
from simtlab.machine.memory.l1 import no_room, send
from simtlab.machine.request import Kind

KIND_TEXTURE, TEX = int(Kind.TEXTURE), int(Unit.TEX)
PLACES, WEIGHTS = field_offset(core_t, "texel_places"), field_offset(core_t, "texel_weights")


@compiled
def has_place(core):
    """Whether another fetch can be issued: it needs a place in the FIFO."""
    return core.fragments.count < core.fragments.limit


@compiled
def take_place(core, number, launch, warp, ins, mask):
    """A fetch is issued: the FIFO's next place is its own, with the lines its lanes touch."""
    fifo = core.fragments
    fragment = fifo.items[(fifo.head + fifo.count) % MAX_FRAGMENTS]
    fifo.count += 1
    fragment.op, fragment.ready, fragment.served, fragment.outstanding, fragment.lines = number, 0, 0, 0, 0
    for lane in range(32):
        if (mask >> np.uint32(lane)) & np.uint32(1):
            add_texels(core, fragment, launch, warp, ins, lane)


@compiled
def add_texels(core, fragment, launch, warp, ins, lane):
    """The lines of the texels that one lane's fetch takes. A bad handle is the fetch's own fault, reported when it runs."""
    image = find_texture(launch, handle_of(warp, ins, lane), ins)
    if image == NO_IMAGE:
        return
    places, weights = core.address + PLACES, core.address + WEIGHTS
    filtered = place_texels(image, warp, ins, lane, places, weights)
    for k in range(CORNERS if filtered else 1):
        place = load_i64(places + 8 * k)
        if place != NO_TEXEL and not (filtered and load_i64(weights + 8 * k) == UNUSED):
            add_line(core, fragment, place - launch.arena + HEAP_BASE)


@compiled
def add_line(core, fragment, address):
    line = line_of(core.l1t, address)
    for k in range(fragment.lines - 1, -1, -1):
        if fragment.line[k] == line:
            return
    if fragment.lines < MAX_FRAGMENT_LINES:
        fragment.line[fragment.lines] = line
        fragment.lines += 1


@compiled
def begin_fetch(core, number):
    """The operands of a fetch are read: its lines may be looked up."""
    fifo = core.fragments
    for k in range(fifo.count):
        fragment = fifo.items[(fifo.head + k) % MAX_FRAGMENTS]
        if fragment.op == number:
            fragment.ready = 1


@compiled
def serve_textures(gpu, core, requests):
    """One cycle: the oldest fetch with lines to look up looks one up; the fetch at the head leaves if its data are there."""
    fifo = core.fragments
    for k in range(fifo.count):
        place = (fifo.head + k) % MAX_FRAGMENTS
        fragment = fifo.items[place]
        if fragment.ready == 0:
            break
        if fragment.served < fragment.lines:
            look_up(gpu, core, requests, place)
            break
    fragment = fifo.items[fifo.head]
    if fragment.ready and fragment.served == fragment.lines and fragment.outstanding == 0:
        core.moved = gpu.cycle
        plan(core, fragment.op, gpu.cycle + core.l1t.hit_latency)
        fifo.head = (fifo.head + 1) % MAX_FRAGMENTS
        fifo.count -= 1


@compiled
def look_up(gpu, core, requests, place):
    """The tags of one line; a miss becomes a hit for all that follow, and its data are in flight."""
    fragment = core.fragments.items[place]
    address = fragment.line[fragment.served]
    cache = core.l1t
    way = probe(cache, address)
    if way == NO_WAY:
        if core.texture_misses >= core.most_texture_misses or no_room(core, requests):
            return
        core.texture_misses += 1
        way = victim(cache, address)
        reserve(cache, way, address, np.uint32(1))
        fill(cache, way, np.uint32(1))
        core.l1t_misses += 1
        fragment.outstanding += 1
        send(gpu, core, requests, KIND_TEXTURE, address, cache.line_bytes, place, fragment.op)
    else:
        touch(cache, way)
        core.l1t_hits += 1
    fragment.served += 1
    core.unit_busy[TEX] += 1
    core.moved = gpu.cycle


@compiled
def texels_came(core, place):
    core.texture_misses -= 1
    core.fragments.items[place].outstanding -= 1
