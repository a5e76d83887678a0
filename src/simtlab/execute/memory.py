"""Memory accesses of a warp: pick the window, call the native function, resolve the lanes it refused or report a fault."""

import numpy as np

from simtlab.compiled import call_operation, compiled, fetch_add, load_i64, load_u32, store_i64
from simtlab.execute.simt_stack import count_lanes, lowest_lane
from simtlab.execute.state import FaultCode, allocation_t, field_offset, window_t
from simtlab.execute.warp_parts import context_of
from simtlab.isa.lanes import ROW_BYTES
from simtlab.isa.spaces import LOCAL_BASE, LOCAL_BYTES, SHARED_BASE, SHARED_BYTES
from simtlab.program.action import Action, Space
from simtlab.program.encode import AddressBase, instruction_t

LOAD, STORE = int(Action.LOAD), int(Action.STORE)
SHARED, LOCAL, GENERIC = int(Space.SHARED), int(Space.LOCAL), int(Space.GENERIC)
OUTSIDE, MISALIGNED = int(FaultCode.OUTSIDE), int(FaultCode.MISALIGNED)
READ_ONLY = int(FaultCode.READ_ONLY)
OPERANDS_OFFSET = field_offset(instruction_t, "operands")
INSTRUCTION_BYTES = instruction_t.itemsize
WINDOW_BYTES = window_t.itemsize
CHANGES_OFFSET = field_offset(window_t, "changes")
FLUSHES_OFFSET = field_offset(window_t, "flushes")
ALLOCATION_BYTES = allocation_t.itemsize
BASE_WORD, BASE_DOUBLE, BASE_FRAME = int(AddressBase.WORD), int(AddressBase.DOUBLE), int(AddressBase.FRAME)
BASE_PAIR, BASE_WORD_AND_UNIFORM = int(AddressBase.PAIR), int(AddressBase.WORD_AND_UNIFORM)
HEAP_BASE = 0x7F00_0000_0000
PAGE_BYTES = 2 << 20  # of a GPU's memory; it maps whole pages


@compiled
def access(launch, worker, cta, warp, ins, pc, mask):
    """Carry out a load, store or atomic for the lanes of `mask`. False if it faulted; the worker then knows why."""
    operands = launch.code_address + pc * INSTRUCTION_BYTES + OPERANDS_OFFSET
    if ins.space == SHARED:
        window = cta.shared_window_address
    elif ins.space == LOCAL:
        window = warp.local_window_address
    else:
        window = worker.windows + pc * WINDOW_BYTES
    refused = call_operation(ins.function, warp.window, mask, operands, window)
    if refused != 0 and not resolve(launch, worker, cta, warp, ins, pc, refused):
        return False
    if ins.action == STORE:
        worker.changes += 1
    elif ins.action != LOAD:
        worker.changes += load_i64(window + CHANGES_OFFSET)
        store_i64(window + CHANGES_OFFSET, 0)
    return True


@compiled
def resolve(launch, worker, cta, warp, ins, pc, refused):
    """Serve lanes outside the cached window by finding theirs, one allocation after another."""
    operands = launch.code_address + pc * INSTRUCTION_BYTES + OPERANDS_OFFSET
    cached = worker.windows + pc * WINDOW_BYTES
    while refused != 0:
        lane = lowest_lane(refused)
        address = lane_address(warp, ins, lane)
        if ins.space == SHARED or ins.space == LOCAL:
            limit = cta.shared_window.length if ins.space == SHARED else warp.local_window.length
            return report(worker, warp, ins, pc, lane, address, outside(address, ins.access_bytes, limit))
        left = refused
        if ins.space == GENERIC and is_shared(address):
            cta.shared_window.first = SHARED_BASE
            left = call_operation(ins.function, warp.window, refused, operands, cta.shared_window_address)
            cta.shared_window.first = 0
            worker.changes += cta.shared_window.changes
            cta.shared_window.changes = 0
        elif ins.space == GENERIC and is_local(address):
            warp.local_window.first = LOCAL_BASE
            left = call_operation(ins.function, warp.window, refused, operands, warp.local_window_address)
            warp.local_window.first = 0
            worker.changes += warp.local_window.changes
            warp.local_window.changes = 0
        else:
            found = find_allocation(launch, address)
            if found < 0:
                left = stray(launch, warp, ins, pc, refused, cached, address)
                if left == refused:
                    return report(worker, warp, ins, pc, lane, address, OUTSIDE)
                refused = left
                continue
            if ins.action != LOAD and load_i64(launch.allocations + found * ALLOCATION_BYTES + 16) == 0:
                return report(worker, warp, ins, pc, lane, address, READ_ONLY)
            open_window(launch, cached, found)
            left = call_operation(ins.function, warp.window, refused, operands, cached)
        if left == refused or (left >> np.uint32(lane)) & np.uint32(1):
            aligned = address & (ins.access_bytes - 1) == 0
            return report(worker, warp, ins, pc, lane, address, OUTSIDE if aligned else MISALIGNED)
        refused = left
    return True


@compiled
def stray(launch, warp, ins, pc, refused, window, address):
    """Serve lanes whose address is in no allocation but in a page that a GPU has mapped for one, and count them. Gives the lanes
    that are left: all of them where there is no such page, or where accesses that stray are faults."""
    page = address & ~np.int64(PAGE_BYTES - 1)
    after = count_before(launch, address)
    below, above = page, page + PAGE_BYTES
    is_mapped = False
    if after > 0 and load_i64(launch.allocations + (after - 1) * ALLOCATION_BYTES + 8) > page:
        below, is_mapped = load_i64(launch.allocations + (after - 1) * ALLOCATION_BYTES + 8), True
    if after < launch.n_allocations and load_i64(launch.allocations + after * ALLOCATION_BYTES) < above:
        above, is_mapped = load_i64(launch.allocations + after * ALLOCATION_BYTES), True
    if launch.strays == 0 or not is_mapped:
        return refused
    point(launch, window, below, above)
    operands = launch.code_address + pc * INSTRUCTION_BYTES + OPERANDS_OFFSET
    left = call_operation(ins.function, warp.window, refused, operands, window)
    store_i64(window + 8, 0)  # so that every such access comes here
    if fetch_add(launch.strays + 16 * pc, count_lanes(np.uint32(refused & ~left))) == 0:
        store_i64(launch.strays + 16 * pc + 8, address)
    return left


@compiled
def open_window(launch, window, allocation):
    """Point a cached window at an allocation."""
    start = load_i64(launch.allocations + allocation * ALLOCATION_BYTES)
    point(launch, window, start, load_i64(launch.allocations + allocation * ALLOCATION_BYTES + 8))


@compiled
def point(launch, window, start, end):
    """Point a cached window at some addresses."""
    store_i64(window, start)
    store_i64(window + 8, end - start)
    store_i64(window + 16, launch.arena + (start - HEAP_BASE))
    store_i64(window + FLUSHES_OFFSET, 1)


@compiled
def count_before(launch, address):
    """How many allocations start at an address or below it."""
    low, high = np.int64(0), np.int64(launch.n_allocations)
    while low < high:
        middle = (low + high) // 2
        if load_i64(launch.allocations + middle * ALLOCATION_BYTES) <= address:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def find_allocation(launch, address):
    """The number of the allocation that holds an address, or -1."""
    found = count_before(launch, address) - 1
    if found >= 0 and address < load_i64(launch.allocations + found * ALLOCATION_BYTES + 8):
        return found
    return np.int64(-1)


@compiled
def lane_address(warp, ins, lane):
    """The address an access instruction has in one lane."""
    address = ins.operands[ins.address_at + 1]
    base = ins.operands[ins.address_at]
    if ins.address_base == BASE_WORD:
        address = (address + np.int64(load_u32(warp.window + base + 4 * lane))) & 0xFFFFFFFF
    elif ins.address_base == BASE_DOUBLE:
        address += load_i64(warp.window + base + 8 * lane)
    elif ins.address_base == BASE_FRAME:
        address += context_of(warp).frame
    elif ins.address_base >= BASE_PAIR:
        address = paired_address(warp, ins, lane)
    return address


@compiled
def paired_address(warp, ins, lane):
    """An address of machine code: an offset, a register or two, and a uniform register or two."""
    address = ins.operands[ins.address_at + 1]
    base = warp.window + ins.operands[ins.address_at] + 4 * lane
    if ins.uniform_base == BASE_WORD:
        address += np.int64(load_u32(warp.window + ins.operands[ins.uniform_at]))
    elif ins.uniform_base == BASE_DOUBLE:
        address += load_i64(warp.window + ins.operands[ins.uniform_at])
    if ins.address_base == BASE_PAIR:
        return address + (np.int64(load_u32(base)) | np.int64(load_u32(base + ROW_BYTES)) << 32)
    if ins.address_base == BASE_WORD_AND_UNIFORM:
        address += np.int64(load_u32(base)) << ins.address_shift & 0xFFFFFFFF
    return address if ins.uniform_base == BASE_DOUBLE else address & 0xFFFFFFFF


@compiled
def is_shared(address):
    return SHARED_BASE <= address < SHARED_BASE + SHARED_BYTES


@compiled
def is_local(address):
    return LOCAL_BASE <= address < LOCAL_BASE + LOCAL_BYTES


@compiled
def outside(address, size, limit):
    return MISALIGNED if 0 <= address <= limit - size else OUTSIDE


@compiled
def report(worker, warp, ins, pc, lane, address, code):
    """Note a fault; always False, so that callers can return it."""
    worker.fault = code
    worker.fault_pc = pc
    worker.fault_warp = warp.index
    worker.fault_lane = lane
    worker.fault_address = address
    return False
