"""What kernels ask of the host: printing, asserting, allocating."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from simtlab.errors import LaunchError
from simtlab.execute.grid import Slot, Worker
from simtlab.execute.state import FaultCode
from simtlab.host.printed import Printed
from simtlab.host.printf import format_printf
from simtlab.isa.lanes import ROW_BYTES
from simtlab.isa.spaces import LOCAL_BASE, LOCAL_BYTES, SHARED_BASE, SHARED_BYTES
from simtlab.program.action import SERVICE_BASE, SERVICE_STEP, Service
from simtlab.program.program import Program
from simtlab.program.sass.registers import storage_of

if TYPE_CHECKING:
    from simtlab.host.gpu import Gpu

DEVICE_MALLOC = "device malloc"
# Where machine code has results and arguments: in registers from R4 on, those of 64 bits in pairs.
REGISTERS_OF = {
    Service.VPRINTF: [storage_of(4), storage_of(4), storage_of(6)],
    Service.ASSERT_FAIL: [storage_of(4), storage_of(6), storage_of(8), storage_of(10)],
    Service.MALLOC: [storage_of(4), storage_of(4)],
    Service.FREE: [storage_of(4)],
}


class Services:
    """The requests of one launch. Printed text is shown when the launch ends, block by block."""

    def __init__(self, gpu: Gpu, program: Program, launch: np.ndarray):
        self.gpu, self.program, self.launch = gpu, program, launch
        self.printed = Printed(gpu.printf_bytes)
        self.failures: dict[int, str] = {}  # of each CTA that failed

    def serve(self, slot: Slot, worker: Worker) -> None:
        """Do what the warp's call asks, lane by lane, and let the warp go on after it."""
        record = worker.record[0]
        warp = slot.cta.warps[int(record.service_warp)]
        instruction = self.program.code[int(warp.pc)]
        for lane in range(32):
            if int(record.service_mask) >> lane & 1:
                frame: Frame = Frame(self.gpu, slot, warp, lane)
                places = [int(place) for place in instruction.operands]
                service = Service(int(instruction.detail))
                if self.program.is_machine_code:
                    frame = RegisterFrame(self.gpu, slot, warp, lane)
                    service = Service((frame.word(places[0]) - SERVICE_BASE) // SERVICE_STEP)
                    places = REGISTERS_OF[service]
                failure = self._serve_lane(service, slot, frame, places)
                if failure:
                    self.failures[int(slot.cta.number)] = failure
                    record.fault, record.fault_pc = FaultCode.TRAP, warp.pc
                    record.fault_warp, record.fault_lane = record.service_warp, lane
                    return
        if service in (Service.MALLOC, Service.FREE):
            self.gpu.memory.show_to(self.launch[0])
            worker.windows[:] = 0
        warp.pc += 1

    def _serve_lane(self, service: Service, slot: Slot, frame: Frame, places: Sequence[int]) -> str:
        """Gives what went wrong, or nothing."""
        if service == Service.VPRINTF:
            text, count = format_printf(frame.read_string(frame.word(places[1])), frame, frame.word(places[2]))
            self.printed.add(int(slot.cta.number), text)
            frame.store(places[0], count, 4)
        elif service == Service.ASSERT_FAIL:
            message, file, function = (frame.read_string(frame.word(places[k])) for k in (0, 1, 3))
            line = frame.word(places[2]) & 0xFFFFFFFF
            return f"assertion '{message}' failed ({file}:{line}, {function})"
        elif service == Service.MALLOC:
            frame.store(places[0], self._allocate(frame.word(places[1])), 8)
        elif service == Service.FREE:
            return self._free(frame.word(places[0]))
        return ""

    def _allocate(self, size: int) -> int:
        try:
            return self.gpu.memory.allocate(size, DEVICE_MALLOC, zeros=True).start
        except LaunchError:
            return 0

    def _free(self, address: int) -> str:
        allocation = self.gpu.memory.starting_at(address)
        if address == 0:
            return ""
        if allocation is None or allocation.label != DEVICE_MALLOC:
            return f"free of {address:#x}, which malloc did not give ({self.gpu.memory.describe(address)})"
        self.gpu.memory.free(address)
        return ""


class Frame:
    """One thread's memory, as a service sees it; arguments and results lie in its local frame."""

    def __init__(self, gpu: Gpu, slot: Slot, warp: np.record, lane: int):
        self.gpu, self.slot, self.warp = gpu, slot, warp
        window = warp.local_window
        thread = (int(warp.index) * 32 + lane) * int(window.length)
        self.local = slot.local[thread : thread + int(window.length)]
        self.base = int(slot.cta.context[int(warp.index)].frame)

    def word(self, place: int) -> int:
        """A 64-bit argument at a frame offset."""
        return int.from_bytes(self.local[self.base + place : self.base + place + 8].tobytes(), "little")

    def store(self, place: int, value: int, size: int) -> None:
        raw = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        self.local[self.base + place : self.base + place + size] = np.frombuffer(raw, np.uint8)

    def read(self, address: int, size: int) -> bytes:
        """Bytes at a generic address, as many as there are up to `size`."""
        if LOCAL_BASE <= address < LOCAL_BASE + LOCAL_BYTES:
            start = address - LOCAL_BASE
            return self.local[start : start + size].tobytes()
        if SHARED_BASE <= address < SHARED_BASE + SHARED_BYTES:
            start = address - SHARED_BASE
            return self.slot.shared[start : min(start + size, int(self.slot.cta.shared_window.length))].tobytes()
        allocation = self.gpu.memory.find(address)
        if allocation is None:
            return b""
        return self.gpu.memory.bytes(address, min(size, allocation.end - address)).tobytes()

    def read_string(self, address: int) -> str:
        if address == 0:
            return "(null)"
        raw = self.read(address, 1 << 16)
        return raw.split(b"\0", 1)[0].decode("utf-8", "replace") if raw else f"<bad pointer {address:#x}>"


class RegisterFrame(Frame):
    """One thread of machine code: arguments and results lie in its registers, at offsets in the register window."""

    def __init__(self, gpu: Gpu, slot: Slot, warp: np.record, lane: int):
        super().__init__(gpu, slot, warp, lane)
        self.registers = int(warp.window) + 4 * lane

    def word(self, place: int) -> int:
        low, high = (ctypes.c_uint32.from_address(self.registers + place + part).value for part in (0, ROW_BYTES))
        return low | high << 32

    def store(self, place: int, value: int, size: int) -> None:
        for part in range(size // 4):
            ctypes.c_uint32.from_address(self.registers + place + ROW_BYTES * part).value = value >> 32 * part & 0xFFFFFFFF
