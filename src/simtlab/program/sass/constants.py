"""The constant banks that machine code reads: launch dimensions and parameters, literals, `__constant__` variables, addresses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from simtlab.errors import SimtlabError
from simtlab.frontend.sass.cubin import Cubin, KernelImage
from simtlab.isa.spaces import LOCAL_BASE, SHARED_BASE

ALIGN = 16
LAUNCH, VARIABLES = 0, 3  # banks
NOWHERE = 0xFFFF_FFFF_0000_0000  # an address beyond all others


@dataclass(frozen=True)
class Layout:
    """Where the driver puts what in bank 0. Found by what ptxas reads for each; see docs/sass.md."""

    block: int  # three words
    grid: int  # three words
    shared_window: int | None
    local_window: int
    stack: int
    dynamic_shared: int
    cores: int
    constant_window: int  # where bank 3 lies in the generic address space
    reserved_shared: int | None  # what the driver has of shared memory, where a kernel's own begins behind it


BEFORE_HOPPER = Layout(0x0, 0xC, 0x18, 0x20, 0x28, 0x2C, 0x10C, 0x50, None)
HOPPER = Layout(0x0, 0xC, 0x18, 0x20, 0x28, 0x2C, 0x10C, 0xD0, 0x114)
BLACKWELL = Layout(0x360, 0x370, None, 0x2F8, 0x37C, 0x2AC, 0x2D0, 0x120, 0x16C)
RESERVED_SHARED_BYTES = 0x400


def layout_of(architecture: str) -> Layout:
    number = int("".join(letter for letter in architecture if letter.isdigit()) or 0)
    return BLACKWELL if number >= 100 else HOPPER if number >= 90 else BEFORE_HOPPER


@dataclass(frozen=True)
class Launched:
    """What bank 0 tells a kernel of its launch."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    local_bytes: int
    dynamic_shared: int
    cores: int


@dataclass
class ConstantBanks:
    """The banks of a kernel, one after the other in one piece of memory."""

    architecture: str
    parameter_start: int
    starts: dict[int, int]
    sizes: dict[int, int]
    image: np.ndarray  # with everything that no launch changes
    variables: list[tuple[int, int, int]]  # place in the image, address and size of each __constant__ variable

    def of_launch(self, parameters: np.ndarray, launch: Launched, read: Callable[[int, int], np.ndarray]) -> np.ndarray:
        """The banks of one launch. `read(address, size)` gives what is in device memory."""
        filled = self.image.copy()
        layout = layout_of(self.architecture)
        words = filled[: self.sizes[LAUNCH]]

        def put(place: int | None, *values: int, size: int = 4) -> None:
            if place is not None:
                raw = b"".join(value.to_bytes(size, "little") for value in values)
                words[place : place + len(raw)] = np.frombuffer(raw, np.uint8)

        put(layout.block, *launch.block)
        put(layout.grid, *launch.grid)
        put(layout.shared_window, SHARED_BASE, size=8)
        put(layout.local_window, LOCAL_BASE, size=8)
        put(layout.stack, launch.local_bytes)
        put(layout.cores, launch.cores)
        put(layout.dynamic_shared, launch.dynamic_shared)
        put(layout.constant_window, self._constant_window(), size=8)
        put(layout.reserved_shared, RESERVED_SHARED_BYTES)
        words[self.parameter_start : self.parameter_start + len(parameters)] = parameters
        for place, address, size in self.variables:
            filled[place : place + size] = read(address, size)
        return filled

    def _constant_window(self) -> int:
        """The address that the bank of variables would have: there is one if they lie in memory as in the bank."""
        starts = {address - (place - self.starts[VARIABLES]) for place, address, _ in self.variables}
        return starts.pop() if len(starts) == 1 else NOWHERE


def banks_of(cubin: Cubin, image: KernelImage, addresses: Mapping[str, int], services: Mapping[str, int]) -> ConstantBanks:
    """Lay out the banks of a kernel and fill in what is known before a launch."""
    contents = dict(image.banks)
    least = max(image.parameter_start + max(image.parameter_bytes, 8), 0x400)
    contents[LAUNCH] = contents.get(LAUNCH, b"").ljust(least, b"\0")
    starts, end = {}, 0
    for bank in sorted(contents):
        starts[bank] = end
        end += -(-len(contents[bank]) // ALIGN) * ALIGN
    whole = np.zeros(end + ALIGN, np.uint8)  # of the last word, a load of four may read more
    for bank, content in contents.items():
        whole[starts[bank] : starts[bank] + len(content)] = np.frombuffer(content, np.uint8)
        _relocate(cubin, bank, image.name, whole[starts[bank] : starts[bank] + len(content)], {**addresses, **services})
    constants = [(starts[VARIABLES] + v.offset, addresses[v.name], v.size)
                 for v in cubin.variables.values() if v.constant and VARIABLES in starts]  # fmt: skip
    sizes = {bank: len(content) for bank, content in contents.items()}
    return ConstantBanks(cubin.architecture, image.parameter_start, starts, sizes, whole, constants)


def _relocate(cubin: Cubin, bank: int, kernel: str, content: np.ndarray, known: Mapping[str, int]) -> None:
    for name in (f".nv.constant{bank}", f".nv.constant{bank}.{kernel}"):
        for one in cubin.elf.relocations(name):
            if one.symbol.name not in known:
                raise SimtlabError(f"kernel '{kernel}' uses '{one.symbol.name}', which is nowhere in this cubin and not provided")
            raw = (known[one.symbol.name] + one.addend).to_bytes(8, "little")
            content[one.offset : one.offset + 8] = np.frombuffer(raw, np.uint8)
