"""What a warp has beside its record: special registers, and the tables of its control flow.

They lie apart from it, so that the records of all warps of a core are on a few pages of the host's memory, which its TLB can hold.
"""

from simtlab.compiled import compiled, reader_of
from simtlab.execute.state import cta_t, field_offset, flow_t, warp_t
from simtlab.program.context import context_t

context_at, flow_at = reader_of(context_t), reader_of(flow_t)
LOCAL_WINDOW = field_offset(warp_t, "local_window")
FIRST_WARP, FIRST_CONTEXT, FIRST_FLOW = (field_offset(cta_t, name) for name in ("warps", "context", "flow"))
WARP_BYTES, CONTEXT_BYTES, FLOW_BYTES = warp_t.itemsize, context_t.itemsize, flow_t.itemsize
# The fields with their addresses: where the first warp's is in the CTA, and how far it is from one to the next.
PARTS = [
    ("local_window_address", FIRST_WARP + LOCAL_WINDOW, WARP_BYTES),
    ("context_address", FIRST_CONTEXT, CONTEXT_BYTES),
    ("flow_address", FIRST_FLOW, FLOW_BYTES),
]


@compiled
def note_addresses(warp, cta, w):
    """Tell warp `w` of the CTA at a host address where its parts lie."""
    warp.local_window_address = cta + FIRST_WARP + w * WARP_BYTES + LOCAL_WINDOW
    warp.context_address = cta + FIRST_CONTEXT + w * CONTEXT_BYTES
    warp.flow_address = cta + FIRST_FLOW + w * FLOW_BYTES


@compiled
def address_of(warp):
    return warp.local_window_address - LOCAL_WINDOW


@compiled
def context_of(warp):
    """Its special registers."""
    return context_at(warp.context_address)


@compiled
def flow_of(warp):
    """Where its lanes go: stack, calls, convergence barriers."""
    return flow_at(warp.flow_address)


@compiled
def entry_at(warp, place):
    """An entry of its SIMT stack, or of its table of splits."""
    return flow_at(warp.flow_address).stack[place]
