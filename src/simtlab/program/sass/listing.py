"""Machine code to read: every instruction with its control bits and the CUDA line it came from, in the order of execution."""

from dataclasses import dataclass

from simtlab.frontend.ast import SourceLine
from simtlab.frontend.sass.cubin import Cubin
from simtlab.frontend.sass.disassemble import instructions_of
from simtlab.frontend.sass.text import Control

NO_BARRIER = 7


@dataclass(frozen=True)
class Listed:
    address: int
    text: str
    control: Control
    source: SourceLine | None


def listed(cubin: Cubin, kernel: str) -> list[Listed]:
    image = cubin.kernel(kernel)
    return [Listed(i.address, i.text, i.control, cubin.line_of(image, i.section, i.address))
            for i in instructions_of(cubin, kernel)]  # fmt: skip


def control_text(control: Control) -> str:
    """The control bits in short: `s5 y w0 r- 000011 1000`: stall, yield, write and read barrier, barriers waited for, reuse."""
    write, read = ("-" if number == NO_BARRIER else str(number) for number in (control.write_barrier, control.read_barrier))
    return f"s{control.stall:<2} {'y' if control.yields else '-'} w{write} r{read} {control.wait:06b} {control.reuse:04b}"


def listing_text(cubin: Cubin) -> str:
    """All kernels of a cubin as text."""
    lines = []
    for kernel in cubin.kernels:
        lines.append(f"{kernel}:")
        lines += [f"  {one.address:#06x}  {control_text(one.control)}  {one.text}" for one in listed(cubin, kernel)]
    return "\n".join(lines) + "\n"
